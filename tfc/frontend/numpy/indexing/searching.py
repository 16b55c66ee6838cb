"""Places in ascending vectors: searchsorted, digitize, and what is interpolated there."""

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.control.loops import fori_loop
from tfc.frontend.numpy import arithmetic, reductions
from tfc.frontend.numpy.indexing.known import numpy_if_known
from tfc.frontend.numpy.indexing.places import Places, index_type
from tfc.frontend.numpy.indexing.taking import take
from tfc.frontend.numpy.manipulation import flip
from tfc.frontend.numpy.sorting import argsort, comes_before, sort
from tfc.frontend.operations import compare, full_like, operation, select
from tfc.frontend.promotion import as_tensor, cast, expand, promote
from tfc.frontend.tensor import ArrayLike, Tensor, traceable
from tfc.hlo.shape import S64

FEW = 16  # elements that are quicker compared with each value than searched


@traceable
def searchsorted(
    a: ArrayLike,
    v: ArrayLike,
    side: str = "left",
    sorter: ArrayLike = None,
    *,
    method: str | None = None,
) -> Tensor:
    """Where each value belongs in an ascending vector, as int64: before equal elements, or after.

    NaN comes after all numbers.

    Args:
        sorter: the indices that sort the vector, where it is not sorted.
        method: JAX's; there is one for all.

    Raises:
        ShapeError: `a` is no vector, or `side` neither "left" nor "right".
    """
    vector, values = promote(a, v)
    if vector.ndim != 1:
        raise ShapeError(f"searchsorted requires a vector to search, got {list(vector.shape)}")
    if side not in ("left", "right"):
        raise ShapeError(f"searchsorted requires the side 'left' or 'right', got {side!r}")
    if sorter is not None:
        vector = take(vector, sorter)
    if not vector.size or not values.size:
        return ops.full(0, values.shape, S64)
    if vector.size <= FEW:
        return _compared(vector, values, side)
    return _halved(vector, values, side)


def _compared(vector: Tensor, values: Tensor, side: str) -> Tensor:
    """By counting the elements that come before each value."""
    dims = (*values.shape, vector.size)
    elements = ops.broadcast(vector, dims, [values.ndim])
    spread = ops.broadcast(values, dims, range(values.ndim))
    if side == "left":
        return reductions.sum(comes_before(elements, spread), axis=-1)
    return reductions.sum(operation("not", comes_before(spread, elements)), axis=-1)


def _halved(vector: Tensor, values: Tensor, side: str) -> Tensor:
    """By a loop that halves the stretch in which each place lies, which is as long for all of them.

    The elements that all values ask for in one step are read independently of each other, where a
    value's own are read one after the other. Stretches whose lengths are powers of two would have
    them in a few sets of the cache.
    """
    size = vector.size
    number = index_type(size)

    def step(_: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        place, length = state
        half = (length + 1) >> 1
        element = Places(place + (half - 1), (0,), (0,), 0).gather(vector)
        if side == "left":
            goes_on = comes_before(element, values)
        else:
            goes_on = operation("not", comes_before(values, element))
        return select(goes_on, place + half, place), length >> 1

    start = (ops.full(0, values.shape, number), ops.constant(size, number))
    place, _ = fori_loop(0, size.bit_length(), step, start)
    return ops.convert(place, S64)


@traceable
def digitize(
    x: ArrayLike, bins: ArrayLike, right: bool = False, *, method: str | None = None
) -> Tensor:
    """The number of the interval between bins that each value lies in, as int64.

    Args:
        bins: the bounds, ascending or descending.
        right: whether an interval holds its upper bound, instead of its lower one.

    Raises:
        ShapeError: the bins are no vector.
    """
    vector, values = as_tensor(bins), as_tensor(x)
    if vector.ndim != 1:
        raise ShapeError(f"digitize requires a vector of bins, got {list(vector.shape)}")
    if not vector.size:
        return ops.full(0, values.shape, S64)
    side = "left" if right else "right"
    ascending = searchsorted(vector, values, side)
    if vector.size == 1:
        return ascending
    other = searchsorted(flip(vector), values, side)
    descending = operation("subtract", full_like(vector.size, other), other)
    first = ops.reshape(ops.slice_along(vector, 0, 0, 1), ())
    last = ops.reshape(ops.slice_along(vector, 0, vector.size - 1, vector.size), ())
    grows = compare("LE", first, last)
    return select(ops.broadcast(grows, values.shape, ()), ascending, descending)


@numpy_if_known(np.interp)
def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLike = None,
    right: ArrayLike = None,
    period: float | None = None,
) -> Tensor:
    """The values at x of the function through the points (xp, fp), straight between them; float64.

    Args:
        xp: the ascending places of the points.
        left, right: the values before the first point and after the last; theirs if left out.
        period: with one, places count modulo it, and xp need not be sorted.

    Raises:
        ShapeError: the points are no vectors of one size.
    """
    places, points = cast(as_tensor(x), np.float64), cast(as_tensor(xp), np.float64)
    values = as_tensor(fp)
    is_complex = values.array_shape.element_type.is_complex
    values = cast(values, np.complex128 if is_complex else np.float64)
    if points.ndim != 1 or values.shape != points.shape or not points.size:
        raise ShapeError(
            f"interp requires points that are vectors of one size, got {list(points.shape)} and "
            f"{list(values.shape)}"
        )
    if period is not None:
        places, points, values = _periodic(places, points, values, abs(float(period)))
        left = right = None
    found = _between(places, points, values)
    first, last = _element(points, 0), _element(points, -1)
    below, above = (_element(values, end) if given is None else given
                    for end, given in ((0, left), (-1, right)))  # fmt: skip
    found = arithmetic.where(places < first, cast(as_tensor(below), values.dtype), found)
    return arithmetic.where(places > last, cast(as_tensor(above), values.dtype), found)


def _element(vector: Tensor, place: int) -> Tensor:
    start = place % vector.size
    return ops.reshape(ops.slice_along(vector, 0, start, start + 1), ())


def _between(places: Tensor, points: Tensor, values: Tensor) -> Tensor:
    """The value on the line through the points beside each place; that of a point at it."""
    size = points.size
    if size == 1:
        return expand(_element(values, 0), places.shape)
    above = searchsorted(points, places, "right")
    low = operation("clamp", full_like(0, above), above - 1, full_like(size - 2, above))
    x0, x1 = take(points, low), take(points, low + 1)
    y0, y1 = take(values, low), take(values, low + 1)
    is_last = places == _element(points, -1)
    width = x1 - x0
    slope = (y1 - y0) / arithmetic.where(width == 0, 1.0, width)
    found = slope * (places - x0) + y0
    other = slope * (places - x1) + y1  # where infinities meet, the other end may tell
    found = arithmetic.where(found != found, other, found)
    found = arithmetic.where((found != found) & (y0 == y1), y0, found)
    found = arithmetic.where(is_last, _element(values, -1), found)
    return arithmetic.where(places != places, places, found)


def _periodic(places: Tensor, points: Tensor, values: Tensor, period: float) -> tuple[Tensor, ...]:
    """Places within one period, and the points in order with a neighbour of it at each end."""
    if not period:
        raise ShapeError("interp requires a period that is not zero")
    places, points = arithmetic.remainder(places, period), arithmetic.remainder(points, period)
    order = argsort(points)
    points, values = sort(points), take(values, order)
    last = points.size - 1

    def around(vector: Tensor, shift: float) -> Tensor:
        head, tail = ops.slice_along(vector, 0, last, last + 1), ops.slice_along(vector, 0, 0, 1)
        return (
            ops.concatenate([head - shift, vector, tail + shift], 0)
            if shift
            else (ops.concatenate([head, vector, tail], 0))
        )

    return places, around(points, period), around(values, 0)
