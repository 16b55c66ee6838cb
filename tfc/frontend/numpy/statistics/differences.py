"""Differences of neighbours, and what is made of them: slopes, areas, unwrapped angles."""

from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.arithmetic import absolute, divide, multiply, remainder, subtract, where
from tfc.frontend.numpy.comparisons import not_equal
from tfc.frontend.numpy.manipulation import (
    concatenate,
    normalize_axes,
    normalize_axis,
    ravel,
    reshape,
)
from tfc.frontend.numpy.reductions import sum
from tfc.frontend.numpy.windows import cumsum
from tfc.frontend.promotion import as_tensor, cast, expand, promote, result_type
from tfc.frontend.python_numbers import whole
from tfc.frontend.tensor import ArrayLike, Tensor, is_weak, traceable


def neighbours(tensor: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """All elements along an axis but the last, and all but the first."""
    n = tensor.shape[axis]
    return ops.slice_along(tensor, axis, 0, n - 1), ops.slice_along(tensor, axis, 1, n)


@traceable
def diff(
    a: ArrayLike,
    n: int = 1,
    axis: int = -1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> Tensor:
    """Each element along an axis minus the one before it, `n` times over; of booleans not_equal.

    Args:
        prepend, append: what to put before and after the array first; numbers, or arrays.

    Raises:
        ShapeError: a scalar, or an n below 0.
    """
    tensor, n = as_tensor(a), whole(n, "the order of a difference")
    if n < 0:
        raise ShapeError(f"diff requires an order of 0 or more, got {n}")
    if not tensor.ndim:
        raise ShapeError("diff requires an array of one dimension or more, got a scalar")
    axis = normalize_axis(axis, tensor.ndim)
    if not n:
        return tensor
    parts = [_beside(prepend, tensor, axis), tensor, _beside(append, tensor, axis)]
    tensor = concatenate([part for part in parts if part is not None], axis)
    step = not_equal if tensor.dtype == np.bool_ else subtract
    for _ in range(n):
        if not tensor.shape[axis]:
            break
        before, after = neighbours(tensor, axis)
        tensor = step(after, before)
    return tensor


def _beside(values: ArrayLike | None, tensor: Tensor, axis: int) -> Tensor | None:
    """What is put before or after an array; a number once along the axis."""
    if values is None:
        return None
    given = as_tensor(values)
    if given.ndim:
        return given
    return expand(given, [1 if d == axis else n for d, n in enumerate(tensor.shape)])


@traceable
def ediff1d(
    ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
) -> Tensor:
    """The differences of neighbours in the flattened array, between what is to begin and to end."""
    tensor = ravel(ary)
    found = diff(tensor)
    sides = [None if s is None else cast(ravel(s), tensor.dtype) for s in (to_begin, to_end)]
    return ops.concatenate([p for p in (sides[0], found, sides[1]) if p is not None], 0)


@traceable
def trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1
) -> Tensor:
    """The area under straight lines between the points along an axis.

    Args:
        x: where the points are; `dx` apart if left out.
    """
    values = as_tensor(y)
    axis = normalize_axis(axis, values.ndim)
    width = dx
    if x is not None:
        places = as_tensor(x)
        if places.ndim == 1:
            width = diff(places)
            width = reshape(width, [width.size if d == axis else 1 for d in range(values.ndim)])
        else:
            width = diff(places, axis=axis)
    before, after = neighbours(values, axis)
    return sum(divide(multiply(width, after + before), 2.0), axis)


@traceable
def unwrap(
    p: ArrayLike, discont: ArrayLike | None = None, axis: int = -1, *, period: float = 2 * np.pi
) -> Tensor:
    """Angles without jumps: steps larger than half a period are made smaller by whole periods.

    Args:
        discont: how large a step is at least that is changed, if larger than half a period.
    """
    tensor = as_tensor(p)
    axis = normalize_axis(axis, tensor.ndim)
    step = diff(tensor, axis=axis)
    is_whole = result_type(step, period).kind in "iu"
    half = period // 2 if is_whole else period / 2
    moved = remainder(step + half, period) - half
    if not is_whole or period % 2 == 0:
        moved = where((moved == -half) & (step > 0), half, moved)
    limit = period / 2 if discont is None else discont
    correction = where(absolute(step) < limit, 0, moved - step)
    first = ops.slice_along(tensor, axis, 0, 1)
    rest = ops.slice_along(tensor, axis, 1, tensor.shape[axis])
    turned = concatenate([first, rest + cumsum(correction, axis)], axis)
    return cast(turned, result_type(step, period))


@traceable
def gradient(f: ArrayLike, *varargs: ArrayLike, axis: Any = None, edge_order: int = 1) -> Any:
    """The slopes along the axes, by central differences; one-sided at the ends.

    Args:
        varargs: how far elements are apart: one number for all axes, or for each a number or where
            its elements are.
        edge_order: 1 or 2, the order of accuracy at the ends.

    Raises:
        ShapeError: too few elements, or distances that do not fit.
    """
    tensor = as_tensor(f)
    axes = normalize_axes(axis, tensor.ndim)
    if tensor.dtype.kind in "iu":
        tensor = cast(tensor, np.float64)
    if edge_order not in (1, 2):
        raise ShapeError(f"gradient requires an edge_order of 1 or 2, got {edge_order!r}")
    if len(varargs) not in (0, 1, len(axes)):
        raise ShapeError(f"gradient requires a distance for each of {len(axes)} axes")
    distances = list(varargs) or [1.0]
    distances = distances * len(axes) if len(distances) == 1 else distances
    found = [_slope(tensor, d, given, edge_order) for d, given in zip(axes, distances)]
    return found[0] if len(axes) == 1 else tuple(found)


def _slope(tensor: Tensor, axis: int, distance: ArrayLike, order: int) -> Tensor:
    size = tensor.shape[axis]
    if size < order + 1:
        raise ShapeError(f"gradient requires {order + 1} elements or more along axis {axis}")
    steps = _steps(distance, size, axis)

    def element(number: int) -> Tensor:
        return ops.slice_along(tensor, axis, number % size, number % size + 1)

    def weighed(weights: list[Any], values: list[Tensor]) -> Tensor:
        terms = [_across(w, tensor.ndim, axis) * v for w, v in zip(weights, values)]
        return terms[0] + terms[1] + terms[2]

    if order == 1:
        first = (element(1) - element(0)) / _at(steps, 0)
        last = (element(-1) - element(-2)) / _at(steps, -1)
    else:
        first = weighed(_front(_at(steps, 0), _at(steps, 1)), [element(n) for n in (0, 1, 2)])
        back = _front(_at(steps, -1), _at(steps, -2))
        last = weighed([-w for w in reversed(back)], [element(n) for n in (-3, -2, -1)])
    middle = [ops.slice_along(tensor, axis, n, size - 2 + n) for n in range(3)]
    if isinstance(steps, Tensor) and steps.ndim:
        before, after = neighbours(steps, 0)
        inner = weighed(_middle(before, after), middle)
    else:
        inner = (middle[2] - middle[0]) / (2.0 * steps)
    return ops.concatenate(promote(first, inner, last), axis)


def _steps(distance: ArrayLike, size: int, axis: int) -> Any:
    """How far neighbours are apart: a number, or a vector of the distances between places."""
    given = distance if is_weak(distance) else as_tensor(distance)
    if not isinstance(given, Tensor) or not given.ndim:
        return given
    if given.shape != (size,):
        raise ShapeError(
            f"gradient requires {size} places along axis {axis}, got {list(given.shape)}"
        )
    return diff(cast(given, np.float64) if given.dtype.kind in "iu" else given)


def _at(steps: Any, number: int) -> Any:
    if not isinstance(steps, Tensor) or not steps.ndim:
        return steps
    number %= steps.size
    return ops.reshape(ops.slice_along(steps, 0, number, number + 1), [])


def _across(weight: Any, rank: int, axis: int) -> Any:
    """A vector of weights as one along an axis."""
    if not isinstance(weight, Tensor) or not weight.ndim:
        return weight
    return ops.reshape(weight, [weight.size if d == axis else 1 for d in range(rank)])


def _front(near: Any, next_: Any) -> list[Any]:
    """The weights of three elements for the slope at the first."""
    both = near + next_
    return [-(near + both) / (near * both), both / (near * next_), -near / (next_ * both)]


def _middle(before: Any, after: Any) -> list[Any]:
    """The weights of three elements for the slope at the one between."""
    both = before + after
    return [-after / (before * both), (after - before) / (before * after), before / (after * both)]
