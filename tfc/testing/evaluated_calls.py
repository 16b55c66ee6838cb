"""Calls outside of traces by the reference evaluator: what functions mean, without a compiler."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tfc.frontend import tree
from tfc.frontend.tensor import Tensor
from tfc.frontend.trace import inner_trace
from tfc.hlo import builder
from tfc.hlo.evaluation.evaluator import evaluate_computation


def evaluate(
    function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any], _: bool
) -> Any:
    """Trace a call and evaluate it; the Tensors of its result become NumPy arrays."""
    trace = inner_trace(getattr(function, "__name__", "function"))
    with trace:
        leaves, structure = tree.flatten(function(*args, **named))
    values: list[Any] = []
    roots = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    if roots or trace.effects:
        operands = [trace.resolve(r.instruction, r.home) for r in roots]
        root = builder.instruction("tuple", operands)
        values = list(evaluate_computation(trace.computation(root), []))
    done = iter(values)
    return tree.unflatten(
        structure, [np.array(next(done)) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
    )
