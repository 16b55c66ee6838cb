"""Sets of values as sorted vectors: unique and its kin, unions, intersections, differences, isin.

Traced, each needs the size of its result: what comes after the last value is `fill_value`, or the
least value.
"""

from typing import Any, NamedTuple

import numpy as np

from tfc.errors import ShapeError, UnsupportedError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.arithmetic import meet
from tfc.frontend.numpy.comparisons import is_nan
from tfc.frontend.numpy.indexing.counting import counted
from tfc.frontend.numpy.indexing.known import numpy_if_known, require_size
from tfc.frontend.numpy.indexing.locating import count_before, positions
from tfc.frontend.numpy.indexing.places import make_places
from tfc.frontend.numpy.indexing.searching import FEW, searchsorted
from tfc.frontend.numpy.indexing.taking import replacing, take
from tfc.frontend.numpy.manipulation import concatenate, ravel
from tfc.frontend.numpy.reductions import any as any_of
from tfc.frontend.numpy.sorting import sort, sorted_together
from tfc.frontend.operations import compare, full_like, operation, select
from tfc.frontend.promotion import as_tensor, cast
from tfc.frontend.tensor import ArrayLike, Tensor
from tfc.hlo.shape import PRED, S64


class _Sorted:
    """A vector in order, and which of its elements are the first of their value."""

    def __init__(self, values: Tensor, equal_nan: bool):
        self.values, self.order = sorted_together([values, ops.iota(S64, values.shape, 0)], 0)
        size = values.size
        left = ops.slice_along(self.values, 0, 0, size - 1)
        right = ops.slice_along(self.values, 0, 1, size)
        differs = compare("NE", left, right)
        if equal_nan:
            both = operation("and", is_nan(left), is_nan(right))
            differs = operation("and", differs, operation("not", both))
        self.is_first = ops.concatenate([ops.full(True, (1,), PRED), differs], 0)

    def ranks(self) -> Tensor:
        """The number of each element's value among the different ones."""
        count = ops.convert(count_before(self.is_first), S64)
        return operation("subtract", count, full_like(1, count))


def _filled(values: Tensor, exist: Tensor, fill_value: ArrayLike) -> Tensor:
    """The values that exist, then the fill; the first value if it is left out."""
    if not values.size:
        return values
    first = ops.reshape(ops.slice_along(values, 0, 0, 1), ())
    fill = first if fill_value is None else cast(as_tensor(fill_value), values.dtype)
    return select(exist, values, ops.broadcast(fill, values.shape, ()))


def _unique_traced(
    ar: ArrayLike, size: int, fill_value: ArrayLike, equal_nan: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The values, and the index of the first, the number and the count of each."""
    tensor = as_tensor(ar)
    if not tensor.size:
        fill = ops.full(
            0 if fill_value is None else fill_value, (size,), tensor.array_shape.element_type
        )
        none = ops.full(0, (size,), S64)
        return fill, none, ops.full(0, tensor.shape, S64), none
    vector = ravel(tensor)
    ordered = _Sorted(vector, equal_nan)
    places, exist = positions(ordered.is_first, size)
    values = _filled(take(ordered.values, places), exist, fill_value)
    ranks = ordered.ranks()
    back = make_places({0: ordered.order}, vector.shape, (0,), 0)
    inverse = back.scatter(full_like(0, ranks), ranks, replacing(S64), unique=True)
    counts = counted(ranks, None, size)
    return values, take(ordered.order, places), ops.reshape(inverse, tensor.shape), counts


@numpy_if_known(np.unique)
def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
    size: int | None = None,
    fill_value: ArrayLike = None,
) -> Any:
    """The different values in ascending order, with what else is asked for.

    Args:
        return_index, return_inverse, return_counts: whether to give the index of the first element
            of each value, the number of each element's value, how often each value is there.
        equal_nan: whether all NaN are one value.
        size: how many values to give, needed if they are not known.
        fill_value: what comes after the last value; the least value if left out.

    Raises:
        TraceError: the size is needed and not given.
        UnsupportedError: different rows of what is not known.
    """
    if axis is not None:
        raise UnsupportedError(
            "unique along an axis takes known values only: number the rows, or use it on a vector"
        )
    count = require_size("unique", size)
    values, index, inverse, counts = _unique_traced(ar, count, fill_value, equal_nan)
    asked = ((index, return_index), (inverse, return_inverse), (counts, return_counts))
    more = [part for part, wanted in asked if wanted]
    return (values, *more) if more else values


class UniqueAll(NamedTuple):
    """What unique_all gives."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """What unique_counts gives."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """What unique_inverse gives."""

    values: Any
    inverse_indices: Any


@numpy_if_known(lambda x, /: UniqueAll(*np.unique_all(x)))
def unique_all(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike = None
) -> UniqueAll:
    """The different values, each NaN one; the first index, the numbers, the counts of them."""
    return UniqueAll(*_unique_traced(x, require_size("unique_all", size), fill_value, False))


@numpy_if_known(lambda x, /: UniqueCounts(*np.unique_counts(x)))
def unique_counts(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike = None
) -> UniqueCounts:
    """The different values, each NaN one, and how often each is there."""
    found = _unique_traced(x, require_size("unique_counts", size), fill_value, False)
    return UniqueCounts(found[0], found[3])


@numpy_if_known(lambda x, /: UniqueInverse(*np.unique_inverse(x)))
def unique_inverse(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike = None
) -> UniqueInverse:
    """The different values, each NaN one, and the number of each element's value."""
    found = _unique_traced(x, require_size("unique_inverse", size), fill_value, False)
    return UniqueInverse(found[0], found[2])


@numpy_if_known(np.unique_values)
def unique_values(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike = None
) -> Tensor:
    """The different values, each NaN one, in ascending order."""
    return _unique_traced(x, require_size("unique_values", size), fill_value, False)[0]


@numpy_if_known(np.isin)
def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Tensor:
    """Whether each element is among others."""
    values, others = (as_tensor(x) for x in (element, test_elements))
    dims = values.shape
    left, right = meet(ops.reshape(values, (values.size, 1)), ops.reshape(others, (1, others.size)))
    if others.size <= FEW:
        found = ops.reshape(any_of(compare("EQ", left, right), axis=1), dims)
    else:
        found = _is_among(ops.reshape(ops.slice_along(left, 1, 0, 1), dims),
                          ops.reshape(ops.slice_along(right, 0, 0, 1), (others.size,)))  # fmt: skip
    return operation("not", found) if invert else found


def _is_among(values: Tensor, others: Tensor) -> Tensor:
    """Whether each value is in a vector, which is sorted and searched."""
    ordered = sort(others)
    return compare("EQ", take(ordered, searchsorted(ordered, values)), values)


def _kept(values: Tensor, keep: Tensor, size: int, fill_value: ArrayLike) -> Tensor:
    places, exist = positions(keep, size)
    return _filled(take(values, places), exist, fill_value)


@numpy_if_known(np.union1d)
def union1d(
    ar1: ArrayLike, ar2: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = None
) -> Tensor:
    """The different values of both arrays in ascending order; size and fill as of unique."""
    count = require_size("union1d", size)
    both = concatenate([ravel(as_tensor(ar1)), ravel(as_tensor(ar2))])
    return _unique_traced(both, count, fill_value, True)[0]


def _different(ar: ArrayLike) -> tuple[Tensor, Tensor, Tensor]:
    """A vector in order, which elements are the first of their value, and their indices."""
    vector = ravel(as_tensor(ar))
    if not vector.size:
        return vector, ops.full(False, (0,), PRED), ops.full(0, (0,), S64)
    ordered = _Sorted(vector, True)
    return ordered.values, ordered.is_first, ordered.order


@numpy_if_known(np.intersect1d)
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike = None,
) -> Any:
    """The values that both arrays have, in ascending order; size and fill as of unique.

    Args:
        return_indices: whether to give the first index of each value in both arrays too, after
            which come their sizes.
    """
    count = require_size("intersect1d", size)
    left, right = (ravel(as_tensor(x)) for x in (ar1, ar2))
    values, is_first, order = _different(left)
    keep = operation("and", is_first, isin(values, right))
    if not values.size:
        raise ShapeError("intersect1d of an empty array that is traced")
    places, exist = positions(keep, count)
    found = _filled(take(values, places), exist, fill_value)
    if not return_indices:
        return found
    theirs, _, their_order = _different(right)
    first = take(order, places)
    second = take(their_order, searchsorted(theirs, cast(found, theirs.dtype)))
    return (
        found,
        select(exist, first, full_like(left.size, first)),
        select(exist, second, full_like(right.size, second)),
    )


@numpy_if_known(np.setdiff1d)
def setdiff1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike = None,
) -> Tensor:
    """The values of the first array that the second has not; what comes after them is 0."""
    count = require_size("setdiff1d", size)
    values, is_first, _ = _different(ar1)
    keep = operation("and", is_first, isin(values, ar2, invert=True))
    return _kept(values, keep, count, 0 if fill_value is None else fill_value)


@numpy_if_known(np.setxor1d)
def setxor1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike = None,
) -> Tensor:
    """The values that one of both arrays has and the other has not; size and fill as of unique."""
    count = require_size("setxor1d", size)
    left, right = ravel(as_tensor(ar1)), ravel(as_tensor(ar2))
    values, is_first, _ = _different(concatenate([left, right]))
    both = operation("and", isin(values, left), isin(values, right))
    keep = operation("and", is_first, operation("not", both))
    return _kept(values, keep, count, fill_value)
