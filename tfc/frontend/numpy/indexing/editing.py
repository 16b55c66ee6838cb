"""Arrays with elements put in, left out or replaced: insert, delete, fill_diagonal."""

from typing import Any

import numpy as np

from tfc.errors import OutOfBoundsError, ShapeError, TraceError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.arithmetic import where
from tfc.frontend.numpy.indexing.known import are_known, numpy_if_known
from tfc.frontend.numpy.indexing.places import from_start
from tfc.frontend.numpy.indexing.taking import refuse_in_place, take
from tfc.frontend.numpy.indexing.updates import at
from tfc.frontend.numpy.manipulation import concatenate, moveaxis, normalize_axis, ravel
from tfc.frontend.promotion import as_tensor, cast, expand
from tfc.frontend.tensor import ArrayLike, Tensor, traceable
from tfc.hlo.shape import S64


def _along(arr: ArrayLike, axis: int | None) -> tuple[Tensor, int]:
    tensor = as_tensor(arr)
    if axis is None:
        return ravel(tensor), 0
    return tensor, normalize_axis(axis, tensor.ndim)


def _edited(name: str, *args: Any) -> np.ndarray:
    """What NumPy's function makes of the numbers of elements."""
    try:
        return getattr(np, name)(*args)
    except IndexError as error:
        raise OutOfBoundsError(f"{name}: {error}") from error
    except (ValueError, TypeError) as error:
        raise ShapeError(f"{name}: {error}") from error


@numpy_if_known(np.delete)
def delete(arr: ArrayLike, obj: Any, axis: int | None = None) -> Tensor:
    """The array without what has certain indices along an axis; flattened without one.

    Args:
        obj: an integer, a slice, or known integers or a known mask. An integer that is not known
            leaves out the nearest element if it is beyond the bounds.

    Raises:
        OutOfBoundsError: an index that is known is out of bounds.
        TraceError: several indices that are not known: how many differ is not known either.
    """
    tensor, axis = _along(arr, axis)
    size = tensor.shape[axis]
    if are_known(obj):
        kept = _edited("delete", np.arange(size), obj)
        return take(tensor, kept, axis)
    place = as_tensor(obj)
    if place.size != 1 or not place.array_shape.element_type.is_integer or not size:
        raise TraceError("delete at places that are not known takes one integer; use compress")
    start = ops.reshape(from_start(place, size), ())
    start = ops.operation("clamp", ops.full_like(0, start), start, ops.full_like(size - 1, start))
    numbers = ops.iota(S64, (size - 1,), 0)
    after = ops.compare("GE", numbers, ops.broadcast(ops.convert(start, S64), numbers.shape, ()))
    return take(tensor, where(after, numbers + 1, numbers), axis)


@numpy_if_known(np.insert)
def insert(arr: ArrayLike, obj: Any, values: ArrayLike, axis: int | None = None) -> Tensor:
    """The array with values before certain indices along an axis; flattened without one.

    Args:
        obj: an integer, a slice, or known integers or a known mask.
        values: what broadcasts to the slices put in.

    Raises:
        OutOfBoundsError: an index is out of bounds.
        TraceError: the indices are not known.
    """
    if not are_known(obj):
        raise TraceError("insert requires places that are known while tracing; use where")
    tensor, axis = _along(arr, axis)
    size = tensor.shape[axis]
    new = cast(as_tensor(values), tensor.dtype)
    new = ops.reshape(new, [1] * (tensor.ndim - new.ndim) + list(new.shape))
    count = _edited("insert", np.arange(size), obj, 0).size - size
    if not isinstance(obj, slice) and not np.ndim(obj):
        new = moveaxis(new, 0, axis)
    if count == 1:
        count = new.shape[axis]
    new = expand(new, [count if d == axis else n for d, n in enumerate(tensor.shape)])
    order = _edited("insert", np.arange(size), obj, size + np.arange(count))
    return take(concatenate([tensor, new], axis), order, axis)


@numpy_if_known(np.trim_zeros)
def trim_zeros(filt: ArrayLike, trim: str = "fb", axis: Any = None) -> Any:
    """The array without the zeros at its ends, of known values.

    Raises:
        TraceError: the values are not known, nor then how many zeros there are.
    """
    raise TraceError(
        "trim_zeros requires values that are known: how many zeros there are gives the size"
    )


@traceable
def fill_diagonal(
    a: ArrayLike, val: ArrayLike, wrap: bool = False, *, inplace: bool = False
) -> Tensor:
    """A new array with values, in turn and from the first again, on the main diagonal.

    Args:
        wrap: whether the diagonal of a tall matrix begins again below its end.

    Raises:
        ShapeError: the array has less than two dimensions, or more that are not equal; or it is to
            be changed in place.
    """
    refuse_in_place("fill_diagonal", inplace)
    tensor = as_tensor(a)
    dims = list(tensor.shape)
    if tensor.ndim < 2 or (tensor.ndim > 2 and len(set(dims)) > 1):
        raise ShapeError(f"fill_diagonal requires a matrix or equal dimensions, got {dims}")
    step = sum(dims[0] ** d for d in range(len(dims))) if len(dims) > 2 else dims[1] + 1
    end = tensor.size if wrap or len(dims) > 2 else dims[1] * dims[1]
    places = range(0, min(end, tensor.size), step)
    values = ravel(cast(as_tensor(val), tensor.dtype))
    if not len(places) or not values.size:
        return tensor
    turns = take(values, np.arange(len(places)) % values.size)
    return ops.reshape(at(ravel(tensor))[: places.stop : step].set(turns), dims)
