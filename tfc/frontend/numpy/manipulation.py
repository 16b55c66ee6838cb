"""Functions of the NumPy namespace that rearrange: reshape, transpose, join, split, repeat, pad."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.namespace import require_device
from tfc.frontend.numpy_keywords import refuse_out
from tfc.frontend.promotion import as_tensor, broadcast_shapes, cast, expand, promote, shortened
from tfc.frontend.python_numbers import sizes, whole
from tfc.frontend.tensor import ArrayLike, Tensor, alias, traceable

Axes = int | Sequence[int]


def normalize_axis(axis: Any, rank: int) -> int:
    """The axis counted from the front.

    Raises:
        ShapeError: there is no such axis, or it is no integer.
    """
    if isinstance(axis, bool):
        raise ShapeError(f"an axis must be an integer, got {axis}")
    number = whole(axis, "an axis")
    if not -rank <= number < rank:
        raise ShapeError(f"axis {number} is out of bounds for an array of {rank} dimensions")
    return number % rank if rank else 0


def normalize_axes(axes: Axes | None, rank: int) -> tuple[int, ...]:
    """The axes counted from the front, in the order given; None is all of them.

    Raises:
        ShapeError: an axis does not exist or is repeated.
    """
    if axes is None:
        return tuple(range(rank))
    listed = axes if isinstance(axes, (tuple, list)) else (axes,)
    found = tuple(normalize_axis(a, rank) for a in listed)
    if len(set(found)) < len(found):
        raise ShapeError(f"axes must not be repeated, got {list(found)}")
    return found


@traceable
def reshape(a: ArrayLike, shape: Axes, *, copy: bool | None = None) -> Tensor:
    """The same elements, row-major, under other dimensions; one may be -1 and is worked out.

    Raises:
        ShapeError: the number of elements differs (RS-2).
    """
    tensor = as_tensor(a)
    dims = sizes(shape)
    if dims.count(-1) == 1:
        known = prod(n for n in dims if n != -1)
        if known == 0 or tensor.size % known:
            raise ShapeError(f"reshape cannot give {list(tensor.shape)} the dimensions {dims}")
        dims[dims.index(-1)] = tensor.size // known
    return ops.reshape(tensor, dims)


@traceable
def ravel(a: ArrayLike) -> Tensor:
    """All elements in one dimension, row-major."""
    return ops.reshape(tensor := as_tensor(a), [tensor.size])


@alias("permute_dims")
def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Tensor:
    """The dimensions in the order `axes`; reversed if left out.

    Raises:
        ShapeError: the axes are no rearrangement (TR-1).
    """
    tensor = as_tensor(a)
    if axes is None:
        return ops.transpose(tensor, range(tensor.ndim)[::-1])
    return ops.transpose(tensor, [normalize_axis(d, tensor.ndim) for d in sizes(axes, "an axis")])


@traceable
def matrix_transpose(x: ArrayLike, /) -> Tensor:
    """The last two dimensions swapped."""
    return swapaxes(x, -1, -2)


@traceable
def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Tensor:
    """Two dimensions swapped."""
    tensor = as_tensor(a)
    order = list(range(tensor.ndim))
    i, j = normalize_axis(axis1, tensor.ndim), normalize_axis(axis2, tensor.ndim)
    order[i], order[j] = order[j], order[i]
    return ops.transpose(tensor, order)


@traceable
def moveaxis(a: ArrayLike, source: Axes, destination: Axes) -> Tensor:
    """Dimensions moved to other places; the others keep their order."""
    tensor = as_tensor(a)
    sources, places = (normalize_axes(x, tensor.ndim) for x in (source, destination))
    if len(sources) != len(places):
        raise ShapeError(f"moveaxis requires as many places as axes, got {source}, {destination}")
    order = [d for d in range(tensor.ndim) if d not in sources]
    for place, axis in sorted(zip(places, sources)):
        order.insert(place, axis)
    return ops.transpose(tensor, order)


@traceable
def expand_dims(a: ArrayLike, axis: Axes = 0) -> Tensor:
    """New dimensions of size one, at `axis` of the result."""
    tensor = as_tensor(a)
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    places = normalize_axes(axis, tensor.ndim + count)
    kept = iter(tensor.shape)
    dims = [1 if d in places else next(kept) for d in range(tensor.ndim + count)]
    return ops.reshape(tensor, dims)


@traceable
def squeeze(a: ArrayLike, axis: Axes | None = None) -> Tensor:
    """Without the dimensions of size one, or without those of `axis`.

    Raises:
        ShapeError: a dimension of `axis` is not of size one.
    """
    tensor = as_tensor(a)
    if axis is None:
        return ops.reshape(tensor, [n for n in tensor.shape if n != 1])
    dropped = normalize_axes(axis, tensor.ndim)
    if any(tensor.shape[d] != 1 for d in dropped):
        raise ShapeError(f"squeeze requires axes of size one, got {axis} of {list(tensor.shape)}")
    return ops.reshape(tensor, [n for d, n in enumerate(tensor.shape) if d not in dropped])


def at_least(a: ArrayLike, rank: int) -> Tensor:
    """The array with dimensions of size one before its own, where it has less than `rank`."""
    tensor = as_tensor(a)
    return ops.reshape(tensor, [1] * (rank - tensor.ndim) + list(tensor.shape))


def _each(function: Callable[[ArrayLike], Tensor], arrays: Sequence[ArrayLike]) -> Any:
    """The function of the only array, or the tuple of those of several."""
    return function(arrays[0]) if len(arrays) == 1 else tuple(map(function, arrays))


@traceable
def atleast_1d(*arys: ArrayLike) -> Any:
    """Scalars as arrays of one element; a tuple if there are several."""
    return _each(lambda a: at_least(a, 1), arys)


@traceable
def atleast_2d(*arys: ArrayLike) -> Any:
    """Vectors as matrices of one row; a tuple if there are several."""
    return _each(lambda a: at_least(a, 2), arys)


def _at_least_three(a: ArrayLike) -> Tensor:
    tensor = as_tensor(a)
    rows = at_least(tensor, 2) if tensor.ndim else at_least(tensor, 3)
    return ops.reshape(rows, [*rows.shape, 1]) if rows.ndim == 2 else rows


@traceable
def atleast_3d(*arys: ArrayLike) -> Any:
    """Vectors as (1, n, 1) and matrices as (m, n, 1); a tuple if there are several."""
    return _each(_at_least_three, arys)


def require_arrays(name: str, arrays: Any) -> None:
    """Check that an argument is a list of arrays, or an array of rows, with one or more in it.

    Raises:
        ShapeError: it is not.
    """
    is_array = isinstance(arrays, (np.ndarray, Tensor)) and arrays.ndim > 0
    if not is_array and not isinstance(arrays, (list, tuple)):
        raise ShapeError(f"{name} requires a list of arrays, got {shortened(arrays)}")
    if not len(arrays):
        raise ShapeError(f"{name} requires at least one array, got none")


@alias("concat")
def concatenate(
    arrays: Sequence[ArrayLike], axis: int | None = 0, out: None = None, *, dtype: Any = None
) -> Tensor:
    """The arrays one after the other along an axis; None flattens them first (CON-1).

    Raises:
        ShapeError: the other dimensions differ (CON-2).
    """
    refuse_out("concatenate", out)
    require_arrays("concatenate", arrays)
    tensors = promote(*arrays, dtype=dtype)
    if axis is None:
        tensors, axis = [ravel(t) for t in tensors], 0
    return ops.concatenate(tensors, normalize_axis(axis, tensors[0].ndim))


@traceable
def stack(
    arrays: Sequence[ArrayLike], axis: int = 0, out: None = None, *, dtype: Any = None
) -> Tensor:
    """Arrays of one shape side by side along a new axis."""
    refuse_out("stack", out)
    require_arrays("stack", arrays)
    tensors = promote(*arrays, dtype=dtype)
    if any(t.shape != tensors[0].shape for t in tensors):
        shapes = " and ".join(str(list(t.shape)) for t in tensors)
        raise ShapeError(f"stack requires arrays of one shape, got {shapes}")
    place = normalize_axis(axis, tensors[0].ndim + 1)
    return ops.concatenate([expand_dims(t, place) for t in tensors], place)


@traceable
def vstack(tup: Sequence[ArrayLike], *, dtype: Any = None) -> Tensor:
    """The arrays below each other, vectors as rows."""
    require_arrays("vstack", tup)
    return concatenate([at_least(a, 2) for a in tup], 0, dtype=dtype)


@traceable
def hstack(tup: Sequence[ArrayLike], *, dtype: Any = None) -> Tensor:
    """The arrays beside each other: along the second axis, vectors along their only one."""
    require_arrays("hstack", tup)
    tensors = [at_least(a, 1) for a in tup]
    return concatenate(tensors, 0 if tensors[0].ndim == 1 else 1, dtype=dtype)


@traceable
def split(ary: ArrayLike, indices_or_sections: Axes, axis: int = 0) -> list[Tensor]:
    """The pieces between given positions along an axis, or as many equal ones.

    Raises:
        ShapeError: the axis does not divide into equal pieces.
    """
    tensor = as_tensor(ary)
    axis = normalize_axis(axis, tensor.ndim)
    size = tensor.shape[axis]
    if np.ndim(indices_or_sections):
        positions = sizes(indices_or_sections, "a position to split at")
        cuts = [slice(i).indices(size)[1] for i in positions]
    else:
        count = whole(indices_or_sections, "the number of pieces")
        if count <= 0 or size % count:
            raise ShapeError(f"split requires {size} to divide into {count} equal pieces")
        cuts = [size // count * k for k in range(1, count)]
    ends = zip([0, *cuts], [*cuts, size])
    return [ops.slice_along(tensor, axis, start, max(start, end)) for start, end in ends]


@traceable
def broadcast_to(array: ArrayLike, shape: Axes) -> Tensor:
    """The array repeated to a shape by NumPy's rules.

    Raises:
        ShapeError: it does not broadcast to that shape.
    """
    return expand(as_tensor(array), sizes(shape))


@traceable
def broadcast_arrays(*args: ArrayLike) -> tuple[Tensor, ...]:
    """The arrays repeated to their common shape."""
    tensors = [as_tensor(a) for a in args]
    dims = broadcast_shapes(*(t.shape for t in tensors))
    return tuple(expand(t, dims) for t in tensors)


@traceable
def tile(A: ArrayLike, reps: Axes) -> Tensor:
    """The whole array repeated along each axis."""
    counts = sizes(reps, "the number of copies")
    tensor = at_least(A, len(counts))
    counts = [1] * (tensor.ndim - len(counts)) + counts
    spread = [n for pair in zip(counts, tensor.shape) for n in pair]
    copies = ops.broadcast(tensor, spread, range(1, 2 * tensor.ndim, 2))
    return ops.reshape(copies, [c * n for c, n in zip(counts, tensor.shape)])


@traceable
def repeat(a: ArrayLike, repeats: Axes, axis: int | None = None) -> Tensor:
    """Each element repeated; along an axis, or of the flattened array.

    Args:
        repeats: one count for all elements, or one for each, which are part of the program.

    Raises:
        ShapeError: there are several counts for another number of elements.
    """
    tensor = ravel(a) if axis is None else as_tensor(a)
    dimension = normalize_axis(0 if axis is None else axis, tensor.ndim)
    counts = sizes(repeats, "the number of copies")
    if len(counts) != 1:
        return _repeated(tensor, counts, dimension)
    place, count = dimension + 1, counts[0]
    dims = [*tensor.shape[:place], count, *tensor.shape[place:]]
    copies = ops.broadcast(tensor, dims, [d for d in range(len(dims)) if d != place])
    merged = [*tensor.shape]
    merged[dimension] *= count
    return ops.reshape(copies, merged)


def _repeated(tensor: Tensor, counts: Sequence[int], dimension: int) -> Tensor:
    """Each element along a dimension as often as its own count says."""
    size = tensor.shape[dimension]
    if len(counts) != size or any(count < 0 for count in counts):
        raise ShapeError(f"repeat requires {size} counts of 0 or more, got {shortened(counts)}")
    places = ops.constant(np.repeat(np.arange(size), counts))
    return ops.operation(
        "gather", tensor, places,
        offset_dims=tuple(d for d in range(tensor.ndim) if d != dimension),
        collapsed_slice_dims=(dimension,), start_index_map=(dimension,), index_vector_dim=1,
        slice_sizes=tuple(1 if d == dimension else n for d, n in enumerate(tensor.shape)),
    )  # fmt: skip


@traceable
def flip(m: ArrayLike, axis: Axes | None = None) -> Tensor:
    """The elements in the opposite order along the axes; along all if left out."""
    tensor = as_tensor(m)
    return ops.reverse(tensor, normalize_axes(axis, tensor.ndim))


@traceable
def flipud(m: ArrayLike) -> Tensor:
    """The rows in the opposite order."""
    return flip(m, 0)


@traceable
def fliplr(m: ArrayLike) -> Tensor:
    """The columns in the opposite order."""
    return flip(m, 1)


@traceable
def roll(a: ArrayLike, shift: Axes, axis: Axes | None = None) -> Tensor:
    """The elements moved along axes; what leaves at one end comes back at the other.

    Without an axis the flattened array is moved. One shift may serve several axes, and one axis
    several shifts.

    Raises:
        ShapeError: there are several shifts for another number of axes.
    """
    tensor = as_tensor(a)
    moved = ravel(tensor) if axis is None else tensor
    shifts = sizes(shift, "a shift")
    axes = axis if isinstance(axis, (tuple, list)) else [0 if axis is None else axis]
    if len(shifts) != len(axes) and 1 not in (len(shifts), len(axes)):
        raise ShapeError(f"roll requires a shift for each axis, got {shift} for {axis}")
    count = max(len(shifts), len(axes)) if shifts and axes else 0
    for number in range(count):
        along = normalize_axis(axes[number % len(axes)], moved.ndim)
        moved = _rolled(moved, shifts[number % len(shifts)], along)
    return ops.reshape(moved, tensor.shape)


def _rolled(tensor: Tensor, shift: int, axis: int) -> Tensor:
    size = tensor.shape[axis]
    cut = (size - shift % size) if size else 0
    head, tail = ops.slice_along(tensor, axis, 0, cut), ops.slice_along(tensor, axis, cut, size)
    return ops.concatenate([tail, head], axis)


@traceable
def array(
    object: ArrayLike,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    ndmin: int = 0,
    device: Any = None,
) -> Tensor:
    """An array of a nested list of numbers, arrays and Tensors, or a copy of an array.

    Args:
        ndmin: how many dimensions it has at least; those that are missing come first.
    """
    require_device(device)
    made = _array(object, dtype)
    missing = whole(ndmin, "the least number of dimensions") - made.ndim
    return ops.reshape(made, [1] * missing + list(made.shape)) if missing > 0 else made


def _array(object: ArrayLike, dtype: Any) -> Tensor:
    if isinstance(object, (list, tuple)) and _has_tensor(object):
        made = stack([_array(x, None) for x in object])
        return made if dtype is None else cast(made, dtype)
    if isinstance(object, (list, tuple)):
        return as_tensor(object, dtype)  # as NumPy does, which refuses what the dtype cannot hold
    tensor = as_tensor(object)
    return cast(tensor, tensor.dtype if dtype is None else dtype)


def _has_tensor(values: Sequence[Any]) -> bool:
    return any(
        _has_tensor(v) if isinstance(v, (list, tuple)) else isinstance(v, Tensor) for v in values
    )


@traceable
def meshgrid(
    *xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Tensor, ...]:
    """Vectors repeated over the grid they span; "xy" has the first one along the columns.

    Args:
        sparse: leave sizes of one where a vector would only be repeated.
    """
    if indexing not in ("xy", "ij"):
        raise ShapeError(f"meshgrid requires the indexing 'xy' or 'ij', got {indexing!r}")
    tensors = [ravel(v) for v in xi]
    order = list(range(len(tensors)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    grid = [0] * len(order)
    for tensor, place in zip(tensors, order):
        grid[place] = tensor.size
    shapes = [[n if d == place or not sparse else 1 for d, n in enumerate(grid)] for place in order]
    return tuple(ops.broadcast(t, dims, [d]) for t, dims, d in zip(tensors, shapes, order))
