"""What a program should give, and how far each element may be from it.

The rule is that of `tfc.testing.compare`: a few units in the last place, or as much farther as the
reference moves when each inexact operation in it is disturbed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfc.hlo.evaluation.evaluator import evaluate
from tfc.hlo.ir import Module
from tfc.hlo.op import op_named
from tfc.hlo.shape import AnyShape, Shape
from tfc.hlo.traits import Accuracy
from tfc.testing.compare import (
    MARGIN,
    TRIALS,
    UNITS,
    disturbed,
    flat,
    is_inexact,
    same_values,
    tiny,
    unit_of,
    wide,
)
from tfc.testing.conformance.runner.checking import ALLOWED_ANY, ALLOWED_NONE


@dataclass(frozen=True)
class Expected:
    """A result.

    relative, absolute: by how much of an element's value, and by how much besides, it may be off.
    allowed: for each element the power of two by which it may be off where that is more; None
        where it never is.
    unit, least: the distance from 1 to the next number of its type, and from 0.
    """

    value: np.ndarray
    relative: float = 0.0
    absolute: float = 0.0
    allowed: np.ndarray | None = None
    unit: float = 0.0
    least: float = 0.0


def expected_results(
    module: Module, arrays: Sequence[np.ndarray], tolerance: float = 0.0
) -> list[Expected]:
    """The results of a module, depth first, for its arguments' leaves.

    Args:
        tolerance: how far an element may be off besides, of the largest one.
    """
    leaves = iter(arrays)
    arguments = [_value(p.shape, leaves) for p in module.entry.parameters]
    values = list(flat(evaluate(module, *arguments)))
    runs: list[list[np.ndarray]] = []
    if not _is_exact(module):
        runs = [list(flat(disturbed(module, arguments, seed))) for seed in range(TRIALS)]
    return [as_expected(v, tolerance, [run[n] for run in runs]) for n, v in enumerate(values)]


def _value(shape: AnyShape, leaves: Iterator[np.ndarray]) -> Any:
    if isinstance(shape, Shape):
        return next(leaves)
    return tuple(_value(s, leaves) for s in shape.elements)


def _is_exact(module: Module) -> bool:
    """Whether no operation's value depends on how it is computed."""
    return all(
        max(op_named(i.opcode).accuracy, op_named(i.opcode).complex_accuracy) <= Accuracy.ROUNDED
        for c in module.computations for i in c.instructions
    )  # fmt: skip


def as_expected(
    value: np.ndarray, tolerance: float = 0.0, runs: Sequence[np.ndarray] = ()
) -> Expected:
    """A result of which the reference gave other values when it was disturbed."""
    if not is_inexact(value):
        allowed = np.full(value.shape, ALLOWED_NONE, np.int16)
        if runs:
            allowed[np.any([run != value for run in runs], axis=0)] = ALLOWED_ANY
        return Expected(value, allowed=_none_or(allowed))
    finite = np.abs(wide(value))[np.isfinite(wide(value))]
    largest = float(np.max(finite, initial=0.0))
    unit = unit_of(value)
    absolute = max(tiny(value), tolerance * largest)
    return Expected(
        value, UNITS * unit, absolute, _allowed(value, UNITS * unit, absolute, runs), unit,
        tiny(value) / UNITS,
    )  # fmt: skip


def _allowed(
    value: np.ndarray, relative: float, absolute: float, runs: Sequence[np.ndarray]
) -> np.ndarray | None:
    if not runs:
        return None
    with np.errstate(all="ignore"):
        y = wide(value)
        spread = np.max([np.abs(wide(run) - y) for run in runs], axis=0)
        other = np.any([~same_values(run, value) for run in runs], axis=0)
        # A value that turns infinite or NaN under disturbance may be either.
        is_any = np.where(np.isfinite(y), ~np.isfinite(spread), other)
        is_more = np.isfinite(y) & (MARGIN * spread > relative * np.abs(y) + absolute)
        _, exponent = np.frexp(MARGIN * np.where(is_more, spread, 1.0))
    allowed = np.where(is_more, exponent, ALLOWED_NONE).astype(np.int16)
    return _none_or(np.where(is_any, np.int16(ALLOWED_ANY), allowed))


def _none_or(allowed: np.ndarray) -> np.ndarray | None:
    return allowed if np.any(allowed != ALLOWED_NONE) else None
