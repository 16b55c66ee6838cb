"""Which classes of floats values can be: NaN, and by sign infinities, zeros and other numbers.

    exponential of anything: {nan, 0, positive, inf}         abs of that: the same

A set of classes is the sum of its bits. What an operation makes of classes is found by computing
it, as the reference semantics does, on samples: NaN, infinities and zeros, and of all other numbers
of a sign the least, one, and the greatest. This is done for operations whose results these show
(`Op.monotone`): they are monotonous in each operand while its sign is the same, and zero, finite or
infinite for some samples if they are for any numbers of the classes. Integers and preds that they
make lie between those that they make of the samples.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.op import op_named
from tfc.hlo.shape import ElementType, Shape

Interval = tuple[int, int]
Classes = int
NAN, MINUS_INFINITY, NEGATIVE, MINUS_ZERO, ZERO, POSITIVE, INFINITY = (1 << k for k in range(7))
ALL: Classes = 127
SIGNED: Classes = MINUS_INFINITY | NEGATIVE | MINUS_ZERO  # not NaN, whose sign means nothing


def classes_of(array: np.ndarray) -> Classes:
    """The classes of the floats in an array."""
    with np.errstate(all="ignore"):
        wide = np.asarray(array).astype(np.float64)
    minus, zero, infinite = np.signbit(wide), wide == 0, np.isinf(wide)
    found = np.where(minus, NEGATIVE, POSITIVE)
    found = np.where(zero, np.where(minus, MINUS_ZERO, ZERO), found)
    found = np.where(infinite, np.where(minus, MINUS_INFINITY, INFINITY), found)
    found = np.where(np.isnan(wide), NAN, found)
    return int(np.bitwise_or.reduce(found, axis=None))


def order(classes: Classes) -> Interval | None:
    """Places in the order of all numbers between which those of some classes lie; None for NaN.

    Places are equal for equal numbers only: the numbers of one sign lie between two.
    """
    numbers = classes & ~NAN
    if not numbers:
        return None
    least, most = (numbers & -numbers).bit_length(), numbers.bit_length()
    return 2 * least, 2 * most + (most in (NEGATIVE.bit_length(), POSITIVE.bit_length()))


@cache
def _samples(element_type: ElementType) -> tuple[tuple[Classes, np.ndarray], ...]:
    """Values of each class that a type has."""
    limits = element_type.float_limits
    most, least = float(limits.max), float(limits.smallest_subnormal)
    with np.errstate(all="ignore"):
        several = np.array([np.nan, -np.inf, -most, -1, -least, -0.0, 0, least, 1, most, np.inf])
        values = several.astype(element_type.dtype)
    kinds = [classes_of(v) for v in values]
    return tuple(
        (kind, values[[k == kind for k in kinds]]) for kind in dict.fromkeys(kinds)
    )  # fmt: skip


def _values(element_type: ElementType, known: Classes | Interval) -> np.ndarray:
    """Samples of what is known to be of some classes, or within an interval."""
    if isinstance(known, int):
        return np.concatenate([v for kind, v in _samples(element_type) if kind & known])
    low, high = known
    found = sorted({low, high, *(n for n in (-1, 0, 1) if low <= n <= high)})
    # One by one: NumPy makes an array of f64 of 0 and the largest u64, which is none.
    return np.array([element_type.dtype.type(n) for n in found])


def span(array: np.ndarray, element_type: ElementType) -> Classes | Interval:
    """What describes all elements of an array of floats, integers or preds."""
    if element_type.is_float:
        return classes_of(array)
    return int(array.min()), int(array.max())


Given = tuple[ElementType, Classes | Interval]


@lru_cache(maxsize=1 << 12)
def outcome(
    opcode: str, attributes: Attributes, to: ElementType, given: tuple[Given, ...], alike: bool
) -> Classes | Interval:
    """What a sampled operation makes of values of which something is known.

    Args:
        to: the result's element type.
        alike: whether all operands are one value.
    """
    arrays: Sequence[Any] = [_values(*each) for each in given]
    if alike:
        arrays = [arrays[0]] * len(given)
    else:
        arrays = [a.reshape(-1) for a in np.meshgrid(*arrays)]
    shapes = [Shape(t, a.shape) for (t, _), a in zip(given, arrays)]
    operands = tuple(Instruction("parameter", (), shape) for shape in shapes)
    sampled = Instruction(opcode, operands, shapes[0].with_element_type(to), attributes)
    return span(op_named(opcode).evaluate(sampled, arrays, _no_call), to)


def _no_call(*_: object) -> Any:
    raise AssertionError("an elementwise operation calls nothing")
