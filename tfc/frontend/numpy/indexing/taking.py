"""Elements taken along an axis at indices: take, take_along_axis, put_along_axis, put."""

from functools import cache

import numpy as np

from tfc.errors import OutOfBoundsError, ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.eager import ask_for_value
from tfc.frontend.numpy.arithmetic import remainder
from tfc.frontend.numpy.indexing.places import (
    Places,
    fill_value_of,
    from_start,
    make_places,
    where_missing,
)
from tfc.frontend.numpy.manipulation import normalize_axis, ravel
from tfc.frontend.operations import operation
from tfc.frontend.promotion import as_tensor, broadcast_shapes, cast, expand
from tfc.frontend.tensor import ArrayLike, Tensor, traceable
from tfc.hlo import builder
from tfc.hlo.ir import Computation
from tfc.hlo.shape import S64, ElementType, Shape

TAKE_MODES = (None, "raise", "clip", "wrap", "fill", "promise_in_bounds")


@traceable
def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: ArrayLike = None,
) -> Tensor:
    """The elements of `a` at integer indices along an axis; of the flattened array without one.

    Args:
        mode: for indices beyond the bounds. None and "raise" refuse those that are known and take
            the nearest element for others, negative ones counting from the end; "clip" takes the
            nearest, the first for negative ones; "wrap" counts around; "fill" gives `fill_value`,
            or NaN or an extreme integer.

    Raises:
        ShapeError: the indices are no integers, or the axis does not exist or is empty.
        OutOfBoundsError: an index that is known is out of bounds.
    """
    refuse_out("take", out)
    tensor = as_tensor(a)
    if axis is None:
        tensor, axis = ops.reshape(tensor, (tensor.size,)), 0
    axis = normalize_axis(axis, tensor.ndim)
    numbers = numbers_within(indices, tensor.shape[axis], mode, axis)
    places = make_places({axis: numbers}, tensor.shape, (axis,), axis)
    found = places.gather(tensor, indices_are_sorted)
    if mode != "fill":
        return found
    dims = range(axis, axis + numbers.ndim)
    return where_missing(found, places.exist(tensor), dims, _fill(fill_value, tensor))


def refuse_out(name: str, out: object) -> None:
    """Refuse an array to write to.

    Raises:
        ShapeError: one is given.
    """
    if out is not None:
        raise ShapeError(f"{name} writes to no array: use its result in place of out=")


def _fill(fill_value: ArrayLike, tensor: Tensor) -> Tensor:
    element_type = tensor.array_shape.element_type
    given = fill_value_of(element_type) if fill_value is None else fill_value
    return cast(as_tensor(given), element_type.dtype)


def numbers_within(indices: ArrayLike, size: int, mode: str | None, axis: int = 0) -> Tensor:
    """Indices of a dimension as integers, with those beyond the bounds as a mode has them.

    Raises:
        ShapeError: they are no integers, there is nothing to index, or the mode is unknown.
        OutOfBoundsError: one that is known is out of bounds, and the mode is "raise" or None.
    """
    if mode not in TAKE_MODES:
        raise ShapeError(f"the mode is one of {', '.join(map(str, TAKE_MODES))}, got {mode!r}")
    places = as_tensor(indices)
    element_type = places.array_shape.element_type
    if isinstance(indices, (list, tuple)) and not places.size:
        return ops.full(0, places.shape, S64)
    if not element_type.is_integer:
        raise ShapeError(f"an index must be an integer, got {element_type}")
    if not size and places.size:
        raise OutOfBoundsError("a dimension of size 0 has no element to index")
    if mode in (None, "raise") and isinstance(indices, Tensor):
        ask_for_value(indices.instruction)
    elif mode in (None, "raise"):
        known = np.asarray(indices)
        outside = (known < -size) | (known >= size)
        if outside.any():
            wrong = int(known[outside][0])
            raise OutOfBoundsError(f"index {wrong} is out of bounds for axis {axis} of size {size}")
    if mode == "clip" and element_type.kind == "signed":
        return operation("maximum", places, ops.full_like(0, places))
    if mode == "wrap" and places.size:
        return remainder(ops.convert(places, S64), size)
    return places


class _Along:
    """An array and indices of its rank, of which each names an element along one axis."""

    def __init__(self, arr: ArrayLike, indices: ArrayLike, axis: int | None, mode: str | None):
        self.given = as_tensor(arr)
        tensor, places = self.given, as_tensor(indices)
        if axis is None:
            tensor, axis = ops.reshape(tensor, (tensor.size,)), 0
        if places.ndim != tensor.ndim:
            raise ShapeError(
                f"indices along an axis need as many dimensions as the array, {tensor.ndim}, "
                f"got {list(places.shape)}"
            )
        self.axis = axis = normalize_axis(axis, tensor.ndim)
        numbers = numbers_within(indices, tensor.shape[axis], mode, axis)
        others = [n for d, n in enumerate(tensor.shape) if d != axis]
        kept = [n for d, n in enumerate(places.shape) if d != axis]
        dims = list(broadcast_shapes(others, kept))
        self.tensor = expand(tensor, [*dims[:axis], tensor.shape[axis], *dims[axis:]])
        starts = from_start(numbers, tensor.shape[axis])
        self.indices = expand(starts, [*dims[:axis], places.shape[axis], *dims[axis:]])

    @property
    def batch(self) -> tuple[int, ...]:
        return tuple(d for d in range(self.tensor.ndim) if d != self.axis)

    def gather(self) -> Tensor:
        tensor = self.tensor
        if not self.indices.size:
            return ops.full(0, self.indices.shape, tensor.array_shape.element_type)
        return operation(
            "gather", tensor, self.indices, offset_dims=(), collapsed_slice_dims=(self.axis,),
            start_index_map=(self.axis,), operand_batching_dims=self.batch,
            start_indices_batching_dims=self.batch, index_vector_dim=tensor.ndim,
            slice_sizes=(1,) * tensor.ndim,
        )  # fmt: skip

    def exist(self) -> Tensor:
        """pred: which indices exist."""
        places = Places(self.indices, (self.axis,), (self.axis,), 0)
        return places.exist(self.tensor)

    def scatter(self, values: Tensor) -> Tensor:
        tensor, element_type = self.tensor, self.tensor.array_shape.element_type
        updates = expand(values, self.indices.shape)
        if not updates.size:
            return tensor
        second = replacing(element_type)
        return operation(
            "scatter", tensor, self.indices, updates, update_window_dims=(),
            inserted_window_dims=(self.axis,), scatter_dims_to_operand_dims=(self.axis,),
            input_batching_dims=self.batch, scatter_indices_batching_dims=self.batch,
            index_vector_dim=tensor.ndim, to_apply=second,
        )  # fmt: skip


@cache
def replacing(element_type: ElementType) -> Computation:
    """The computation (old, update) -> update on scalars."""
    old, update = (builder.parameter(number, Shape(element_type)) for number in range(2))
    return Computation.make("replace", [old, update], update)


@traceable
def take_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    axis: int | None = -1,
    mode: str | None = None,
    fill_value: ArrayLike = None,
) -> Tensor:
    """The elements along an axis at indices of the array's rank, as argsort gives them.

    Sizes of one are repeated; modes are those of take.

    Raises:
        ShapeError: the ranks or the other sizes differ, or the indices are no integers.
        OutOfBoundsError: an index that is known is out of bounds.
    """
    along = _Along(arr, indices, axis, mode)
    found = along.gather()
    if mode != "fill":
        return found
    fill = ops.broadcast(_fill(fill_value, along.tensor), found.shape, ())
    return ops.select(along.exist(), found, fill)


@traceable
def put_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    values: ArrayLike,
    axis: int | None = -1,
    *,
    mode: str | None = None,
    inplace: bool = False,
) -> Tensor:
    """A new array with values at indices along an axis, where take_along_axis would take them.

    An index beyond the bounds that is known only when the program runs is left out.

    Raises:
        ShapeError: as take_along_axis, or an array is to be changed in place.
        OutOfBoundsError: an index that is known is out of bounds.
    """
    refuse_in_place("put_along_axis", inplace)
    along = _Along(arr, indices, axis, mode)
    if along.tensor.size != along.given.size:
        raise ShapeError(
            f"put_along_axis requires indices that broadcast to the other dimensions of "
            f"{list(along.given.shape)}, got {list(np.shape(indices))}"
        )
    made = along.scatter(cast(as_tensor(values), along.given.dtype))
    return ops.reshape(made, along.given.shape)


def refuse_in_place(name: str, inplace: bool) -> None:
    """Refuse to change an array.

    Raises:
        ShapeError: that is asked for.
    """
    if inplace:
        raise ShapeError(f"{name} changes no array: give inplace=False and use its result")


@traceable
def put(
    a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: str | None = None, *, inplace: bool = False
) -> Tensor:
    """A new array with values at indices of the flattened array; values are repeated as needed.

    Raises:
        ShapeError: the indices are no integers, or an array is to be changed in place.
        OutOfBoundsError: an index that is known is out of bounds.
    """
    refuse_in_place("put", inplace)
    tensor = as_tensor(a)
    numbers = numbers_within(ind, tensor.size, mode)
    values = ravel(cast(as_tensor(v), tensor.dtype))
    if not numbers.size or not values.size:
        return tensor
    flat = ops.reshape(numbers, (numbers.size,))
    order = np.arange(numbers.size) % values.size
    updates = take(values, order) if values.size != numbers.size else values
    places = make_places({0: flat}, (tensor.size,), (0,), 0)
    made = places.scatter(
        ops.reshape(tensor, (tensor.size,)), updates, replacing(tensor.array_shape.element_type)
    )
    return ops.reshape(made, tensor.shape)
