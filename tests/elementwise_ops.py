"""Elementwise ops by their definitions: which have functions of NumPy's, and where to try them."""

import numpy as np

from tfc.hlo import builder
from tfc.hlo.evaluation.evaluator import evaluate_computation
from tfc.hlo.ir import Computation
from tfc.hlo.op import OPS, Op

# The ops of which tfc.numpy has functions made from their definitions, by the functions' names.
GENERATED = {name: op for op in OPS.values() for name in op.numpy}
_INTERVALS = ((-2.0, 2.0), (-0.9, 0.9), (0.1, 3.0), (1.1, 3.0))


def points(op: Op, number: int = 6) -> np.ndarray:
    """Places where an op of one float has finite values; an even number, so that none is zero."""
    for interval in _INTERVALS:
        x = np.linspace(*interval, number)
        root = builder.instruction(op.name, [builder.constant(x)])
        values = evaluate_computation(Computation.make("op", (), root), ())
        if np.isfinite(values).all() and np.abs(values).max() < 50:
            return x
    raise AssertionError(f"{op.name} has no values on {_INTERVALS}: give its tests rows")
