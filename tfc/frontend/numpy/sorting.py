"""Functions of the NumPy namespace that order elements: sort, argsort, searches, quantiles.

NaN comes after all numbers, as in NumPy, and equal elements keep their order.
"""

from collections.abc import Sequence
from math import floor
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.comparisons import is_nan
from tfc.frontend.numpy.manipulation import (
    Axes,
    expand_dims,
    normalize_axes,
    normalize_axis,
    ravel,
    stack,
)
from tfc.frontend.numpy.parts import is_complex, parts, require_real
from tfc.frontend.numpy.reductions import any, sum
from tfc.frontend.operations import compare, operation
from tfc.frontend.promotion import as_inexact, as_tensor, promote, widen
from tfc.frontend.tensor import ArrayLike, Tensor, traceable
from tfc.frontend.trace import Trace, current_trace
from tfc.hlo.ir import Computation
from tfc.hlo.shape import S64, ElementType, Shape


@traceable
def sort(
    a: ArrayLike, axis: int | None = -1, *, descending: bool = False, stable: bool = True
) -> Tensor:
    """The elements in ascending order along an axis; all of them in one dimension if it is None.

    NaN comes last; a descending order is the ascending one reversed, so that NaN comes first.
    Equal elements keep their order whatever `stable` says.
    """
    tensor, dimension = _along(a, axis)
    return sorted_together([tensor], dimension, descending)[0]


@traceable
def argsort(
    a: ArrayLike, axis: int | None = -1, *, descending: bool = False, stable: bool = True
) -> Tensor:
    """The int64 indices along an axis that put the elements in the order of `sort`."""
    tensor, dimension = _along(a, axis)
    numbers = ops.iota(S64, tensor.shape, dimension)
    return sorted_together([tensor, numbers], dimension, descending)[1]


def _along(a: ArrayLike, axis: int | None) -> tuple[Tensor, int]:
    tensor = ravel(a) if axis is None else as_tensor(a)
    return tensor, normalize_axis(0 if axis is None else axis, tensor.ndim)


def _comes_before(left: Tensor, right: Tensor) -> Tensor:
    """pred: the left element is the smaller one, or the right one alone is NaN."""
    if is_complex(left):
        return _complex_comes_before(left, right)
    before = compare("LT", left, right)
    if not left.array_shape.element_type.is_float:
        return before
    is_last = operation("and", compare("EQ", left, left), is_nan(right))
    return operation("or", before, is_last)


def _complex_comes_before(left: Tensor, right: Tensor) -> Tensor:
    """By real parts, then by imaginary ones; NaN in one part counts before NaN in the other:

    numbers, NaN imaginary parts, NaN real parts, both; each of them in the order of what is known.
    """
    sides = [(is_nan(part), part) for tensor in (left, right) for part in parts(tensor)]
    left_real, left_imag, right_real, right_imag = sides
    keys = [
        (left_real[0], right_real[0]),
        (left_imag[0], right_imag[0]),
        (left_real[1], right_real[1]),
        (left_imag[1], right_imag[1]),
    ]
    before = compare("LT", *keys[-1])
    for smaller, larger in reversed(keys[:-1]):
        # Two NaN in one part are alike: what follows decides.
        decided = operation("or", compare("LT", smaller, larger), compare("GT", smaller, larger))
        before = ops.select(decided, compare("LT", smaller, larger), before)
    return before


def sorted_together(
    operands: Sequence[Tensor], dimension: int, descending: bool = False
) -> list[Tensor]:
    """Arrays in the order of the first one."""
    types = [o.array_shape.element_type for o in operands]
    made = operation(
        "sort", *operands, dimensions=(dimension,), is_stable=True,
        to_apply=_comparator(types, descending),
    )  # fmt: skip
    return ops.elements(made) if len(operands) > 1 else [made]


def _comparator(types: Sequence[ElementType], descending: bool) -> Computation:
    trace = Trace("descending" if descending else "ascending", current_trace())
    with trace:
        sides = [trace.parameter(Shape(t)) for t in types for _side in range(2)]
        left, right = (ops.wrap(s) for s in sides[:2])
        before = _comes_before(right, left) if descending else _comes_before(left, right)
    return trace.computation(before.instruction)


@traceable
def searchsorted(a: ArrayLike, v: ArrayLike, side: str = "left") -> Tensor:
    """Where each value belongs in an ascending vector, as int64: before equal elements, or after.

    Every value is compared with every element, which costs less than it seems for short vectors.

    Raises:
        ShapeError: `a` is no vector, or `side` neither "left" nor "right".
    """
    vector, values = promote(a, v)
    if vector.ndim != 1:
        raise ShapeError(f"searchsorted requires a vector to search, got {list(vector.shape)}")
    if side not in ("left", "right"):
        raise ShapeError(f"searchsorted requires the side 'left' or 'right', got {side!r}")
    dims = (*values.shape, vector.size)
    elements = ops.broadcast(vector, dims, [values.ndim])
    spread = ops.broadcast(values, dims, range(values.ndim))
    if side == "left":
        return sum(_comes_before(elements, spread), axis=-1)
    return sum(operation("not", _comes_before(spread, elements)), axis=-1)


@traceable
def quantile(
    a: ArrayLike, q: float | Sequence[float], axis: Axes | None = None, keepdims: bool = False
) -> Tensor:
    """The values below which the fractions q of the elements lie, interpolated between neighbours.

    NaN if there is any among the elements; of integers in float64. Several fractions make the first
    dimension.

    Raises:
        ShapeError: a fraction outside 0 … 1, or no elements.
        TraceError: the elements are complex.
    """
    return _quantile("quantile", a, q, axis, keepdims)


def _quantile(name: str, a: ArrayLike, q: Any, axis: Axes | None, keepdims: bool) -> Tensor:
    operand, fractions = as_inexact(a), np.asarray(q)
    require_real(name, operand)
    if fractions.dtype.kind not in "biuf":
        raise ShapeError(f"{name} requires fractions that are numbers, got {q!r}")
    tensor = widen(operand)
    dimensions = normalize_axes(axis, tensor.ndim)
    kept = [d for d in range(tensor.ndim) if d not in dimensions]
    moved = ops.transpose(tensor, [*kept, *dimensions])
    outer = moved.shape[: len(kept)]
    rows = ops.reshape(moved, (*outer, int(np.prod(moved.shape[len(kept) :], dtype=int))))
    if not rows.shape[-1]:
        raise ShapeError(f"{name} of no elements: got {list(tensor.shape)} along {dimensions}")
    ordered = sorted_together([rows], len(kept))[0]
    has_nan = any(is_nan(rows), axis=-1)
    found = []
    for fraction in np.ravel(fractions):
        value = _at(ordered, float(fraction))
        value = ops.select(has_nan, ops.full_like(np.nan, value), value)
        value = ops.convert(value, operand.array_shape.element_type)
        found.append(expand_dims(value, dimensions) if keepdims else value)
    if not found:
        raise ShapeError(f"{name} requires at least one fraction, got none")
    return ops.reshape(stack(found), (*fractions.shape, *found[0].shape))


def _at(ordered: Tensor, fraction: float) -> Tensor:
    """The value at a fraction of the way along the last dimension."""
    if not 0 <= fraction <= 1:
        raise ShapeError(f"quantile requires fractions within 0..1, got {fraction}")
    last = ordered.shape[-1] - 1
    place = fraction * last
    below = floor(place)
    weight = place - below

    def element(number: int) -> Tensor:
        part = ops.slice_along(ordered, ordered.ndim - 1, number, number + 1)
        return ops.reshape(part, ordered.shape[:-1])

    if not weight:
        return element(below)
    return element(below) * (1 - weight) + element(below + 1) * weight


@traceable
def percentile(
    a: ArrayLike, q: float | Sequence[float], axis: Axes | None = None, keepdims: bool = False
) -> Tensor:
    """The quantiles of fractions given in per cent."""
    given = np.asarray(q)
    fractions = given / 100 if given.dtype.kind in "biuf" else given
    return _quantile("percentile", a, fractions, axis, keepdims)


@traceable
def median(a: ArrayLike, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """The middle value along the axes, or the mean of the two in the middle; NaN if any is."""
    return _quantile("median", a, 0.5, axis, keepdims)
