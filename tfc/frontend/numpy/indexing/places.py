"""Start indices of gathers and scatters, and those two, for what a key takes.

Indices count from the end where they are negative. What is beyond the bounds then, a gather clamps
and a scatter leaves out; other modes are made of that.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.operations import compare, full_like, operation, select
from tfc.frontend.promotion import broadcast_shapes, expand
from tfc.frontend.tensor import Tensor
from tfc.hlo.ir import Computation
from tfc.hlo.shape import S32, S64, U64, ElementType

MODES = (None, "clip", "fill", "drop", "promise_in_bounds")


def require_mode(mode: str | None) -> None:
    """Refuse what is no mode for places beyond the bounds.

    Raises:
        ShapeError: it is none of MODES.
    """
    if mode not in MODES:
        raise ShapeError(
            f"the mode for indices out of bounds is 'clip', 'fill', 'drop' or "
            f"'promise_in_bounds', got {mode!r}"
        )


def index_type(size: int) -> ElementType:
    """The narrowest of s32 and s64 that counts a dimension and what lies just beyond it."""
    return S32 if size < 2**31 - 1 else S64


def from_start(places: Tensor, size: int) -> Tensor:
    """Integers with negative ones counted from the end, in a signed type that fits the size."""
    element_type = places.array_shape.element_type
    if element_type == U64:
        places = operation("minimum", places, full_like(size, places))
    signed = index_type(size) if element_type.bits <= (16 if _unsigned(places) else 32) else S64
    wide = ops.convert(places, signed)
    if _unsigned(places):
        return wide
    negative = compare("LT", wide, full_like(0, wide))
    return select(negative, operation("add", wide, full_like(size, wide)), wide)


def _unsigned(places: Tensor) -> bool:
    return places.array_shape.element_type.kind == "unsigned"


def index_tensor(places: Tensor | np.ndarray, size: int) -> Tensor:
    """The indices of a dimension: known ones count from the start already."""
    if isinstance(places, np.ndarray):
        return ops.constant(places, index_type(size))
    return from_start(places, size)


@dataclass(frozen=True)
class Places:
    """Windows of one element in some dimensions of an array, and all of it in the others.

    indices: the start indices; their last dimension has the components if there are several.
    dimensions: the dimension of the array for each component.
    dropped: those and further dimensions of size one that windows leave out.
    at: before how many dimensions of the windows the result has those of the indices.
    """

    indices: Tensor
    dimensions: tuple[int, ...]
    dropped: tuple[int, ...]
    at: int

    @property
    def vector_dim(self) -> int:
        """The dimension of the indices that has the components."""
        return self.indices.ndim - (len(self.dimensions) > 1)

    @property
    def dims(self) -> tuple[int, ...]:
        """How many windows there are."""
        return self.indices.shape[: self.vector_dim]

    def window_dims(self, rank: int) -> tuple[int, ...]:
        """The dimensions of the result that lie within a window of an array of this rank."""
        count = self.vector_dim
        kept = rank - len(self.dropped)
        return tuple(d if d < self.at else d + count for d in range(kept))

    def sizes(self, tensor: Tensor) -> tuple[int, ...]:
        """The sizes of a window of an array."""
        return tuple(1 if d in self.dropped else n for d, n in enumerate(tensor.shape))

    def result_dims(self, tensor: Tensor) -> tuple[int, ...]:
        """The dimensions of all windows of an array together."""
        kept = [n for d, n in enumerate(tensor.shape) if d not in self.dropped]
        return (*kept[: self.at], *self.dims, *kept[self.at :])

    def limits(self, tensor: Tensor) -> list[int]:
        """The last place in each of the dimensions."""
        return [tensor.shape[d] - 1 for d in self.dimensions]

    def clipped(self, tensor: Tensor) -> "Places":
        """The nearest places that exist."""
        low = full_like(0, self.indices)
        high = self._spread(self.limits(tensor))
        inside = operation("clamp", low, self.indices, high)
        return Places(inside, self.dimensions, self.dropped, self.at)

    def exist(self, tensor: Tensor) -> Tensor:
        """pred: which places exist."""
        high = self._spread(self.limits(tensor))
        inside = operation(
            "and",
            compare("GE", self.indices, full_like(0, self.indices)),
            compare("LE", self.indices, high),
        )
        if self.vector_dim == self.indices.ndim:
            return inside
        return ops.reduce(inside, "and", True, (self.vector_dim,))

    def _spread(self, numbers: Sequence[int]) -> Tensor:
        if self.vector_dim == self.indices.ndim:
            return full_like(numbers[0], self.indices)
        vector = ops.constant(numbers, self.indices.array_shape.element_type)
        return ops.broadcast(vector, self.indices.shape, [self.vector_dim])

    def gather(self, tensor: Tensor, is_sorted: bool = False) -> Tensor:
        """The windows, from the nearest places that exist."""
        result = self.result_dims(tensor)
        if not all(self.sizes(tensor)) or not all(tensor.shape[d] for d in self.dimensions):
            return ops.full(0, result, tensor.array_shape.element_type)
        return operation(
            "gather", tensor, self.indices, offset_dims=self.window_dims(tensor.ndim),
            collapsed_slice_dims=self.dropped, start_index_map=self.dimensions,
            index_vector_dim=self.vector_dim, slice_sizes=self.sizes(tensor),
            indices_are_sorted=is_sorted,
        )  # fmt: skip

    def scatter(
        self,
        tensor: Tensor,
        updates: Tensor,
        combine: Computation,
        is_sorted: bool = False,
        unique: bool = False,
    ) -> Tensor:
        """The array with windows combined into it, but for those at places that do not exist."""
        return operation(
            "scatter", tensor, self.indices, updates, to_apply=combine,
            update_window_dims=self.window_dims(tensor.ndim), inserted_window_dims=self.dropped,
            scatter_dims_to_operand_dims=self.dimensions, index_vector_dim=self.vector_dim,
            indices_are_sorted=is_sorted, unique_indices=unique,
        )  # fmt: skip


def make_places(
    chosen: dict[int, Tensor | np.ndarray],
    sizes: Sequence[int],
    dropped: Sequence[int],
    at: int,
) -> Places:
    """The places at the indices chosen for some dimensions, broadcast together.

    Args:
        chosen: the indices of each of the dimensions.
        sizes: those of the array's dimensions.
        dropped, at: as in Places.
    """
    tensors = [index_tensor(i, sizes[d]) for d, i in chosen.items()]
    dims = broadcast_shapes(*(t.shape for t in tensors))
    if len(tensors) == 1:
        return Places(tensors[0], tuple(chosen), tuple(dropped), at)
    wide = S64 if any(t.array_shape.element_type == S64 for t in tensors) else S32
    columns = [ops.reshape(expand(ops.convert(t, wide), dims), (*dims, 1)) for t in tensors]
    return Places(ops.concatenate(columns, len(dims)), tuple(chosen), tuple(dropped), at)


def fill_value_of(element_type: ElementType) -> object:
    """What stands for an element that does not exist: NaN, or an extreme of integers."""
    if element_type.is_float or element_type.is_complex:
        return np.nan
    if element_type.kind == "pred":
        return True
    low, high = element_type.limits
    return high if element_type.kind == "unsigned" else low


def where_missing(found: Tensor, exist: Tensor, dims: Sequence[int], fill: Tensor) -> Tensor:
    """The elements found, but `fill` where the place, along some of the dimensions, is none."""
    mask = ops.broadcast(exist, found.shape, dims)
    return select(mask, found, ops.broadcast(fill, found.shape, ()))
