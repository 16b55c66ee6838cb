"""Parts, shapes and places that torch defines by other operators, as files have them."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.importers.torch.operators.composites import split_evenly
from tfc.importers.torch.operators.indexing import gather
from tfc.importers.torch.operators.ordering import sort
from tfc.importers.torch.operators.shapes import reshape, slice_along, split
from tfc.importers.torch.table import COMPOSITE, Call, axis_of, cast, composite

COMPOSITE["view_copy.default"] = reshape
COMPOSITE["split.sizes"] = COMPOSITE["unsafe_split_with_sizes.default"] = split
COMPOSITE["unsafe_split.Tensor"] = split_evenly
COMPOSITE["unsafe_chunk.default"] = COMPOSITE["chunk.default"]


@composite("view_as.default", "reshape_as.default")
def view_as(x: Any, other: Any) -> Any:
    """The elements in the shape of another array."""
    return tnp.reshape(x, other.shape)


@composite("ravel.default")
def ravel(x: Any) -> Any:
    """The elements in one dimension."""
    return tnp.reshape(x, (-1,))


@composite("tile.default")
def tile(x: Any, repeats: Sequence[int]) -> Any:
    """The array so many times along each of the last dimensions."""
    return tnp.tile(x, tuple(repeats))


@composite("broadcast_to.default")
def broadcast_to(x: Any, size: Sequence[int]) -> Any:
    """The array repeated to a shape."""
    before = len(size) - x.ndim
    sizes = [x.shape[d - before] if n == -1 else n for d, n in enumerate(size)]
    return tnp.broadcast_to(x, tuple(sizes))


@composite("broadcast_tensors.default")
def broadcast_tensors(arrays: Sequence[Any]) -> list[Any]:
    """Arrays repeated to the shape that they have together."""
    shape = tnp.broadcast_shapes(*[a.shape for a in arrays])
    return [tnp.broadcast_to(a, shape) for a in arrays]


@composite("sum_to_size.default")
def sum_to_size(x: Any, size: Sequence[int]) -> Any:
    """The sums over the dimensions that another shape has not."""
    before = x.ndim - len(size)
    axes = [d for d in range(x.ndim) if d < before or size[d - before] != x.shape[d]]
    return tnp.reshape(tnp.sum(x, axis=tuple(axes)), tuple(size))


@composite("movedim.int", "movedim.intlist", "moveaxis.int", "moveaxis.intlist")
def movedim(x: Any, sources: Any, targets: Any) -> Any:
    """Dimensions moved to other places."""
    return tnp.moveaxis(x, sources, targets) if x.ndim else x


@composite("mT.default")
def matrix_transpose(x: Any) -> Any:
    """Matrices transposed."""
    return tnp.swapaxes(x, -1, -2)


@composite("mH.default", "matrix_H.default", "adjoint.default")
def adjoint(x: Any) -> Any:
    """Matrices transposed and conjugated."""
    made = tnp.swapaxes(x, -1, -2)
    return tnp.conj(made) if np.dtype(x.dtype).kind == "c" else made


@composite("narrow.default", "narrow_copy.default")
def narrow(x: Any, dim: int, start: int, length: int) -> Any:
    """A part of so many places along a dimension."""
    start = start % max(x.shape[axis_of(dim, x.ndim)], 1)
    return slice_along(x, dim, start, start + length)


@composite("tensor_split.sections", "tensor_split.indices")
def tensor_split(x: Any, parts: Any, dim: int = 0) -> list[Any]:
    """So many parts, or parts between places."""
    n = x.shape[axis_of(dim, x.ndim)]
    if isinstance(parts, int):
        small, more = divmod(n, parts)
        return split(x, [small + 1] * more + [small] * (parts - more), dim)
    return [slice_along(x, dim, a, b) for a, b in pairwise([0, *parts, n])]


def _enter_splits() -> None:
    for name, dim in (("hsplit", 1), ("vsplit", 0), ("dsplit", 2)):

        def row(x: Any, parts: Any, dim: int = dim) -> list[Any]:
            return tensor_split(x, parts, 0 if x.ndim == 1 else dim)

        composite(f"{name}.int", f"{name}.array")(row)


_enter_splits()


@composite("atleast_1d.default")
def atleast_1d(x: Any) -> Any:
    """The array with a dimension at least."""
    return tnp.atleast_1d(x)


@composite("atleast_2d.default")
def atleast_2d(x: Any) -> Any:
    """The array with two dimensions at least."""
    return tnp.atleast_2d(x)


@composite("atleast_3d.default")
def atleast_3d(x: Any) -> Any:
    """The array with three dimensions at least."""
    return tnp.atleast_3d(x)


@composite("hstack.default")
def hstack(arrays: Sequence[Any]) -> Any:
    """Arrays side by side."""
    return tnp.hstack(list(arrays))


@composite("vstack.default", "row_stack.default")
def vstack(arrays: Sequence[Any]) -> Any:
    """Arrays one below the other."""
    return tnp.vstack(list(arrays))


@composite("dstack.default")
def dstack(arrays: Sequence[Any]) -> Any:
    """Arrays one behind the other."""
    return tnp.dstack(list(arrays))


@composite("column_stack.default")
def column_stack(arrays: Sequence[Any]) -> Any:
    """Vectors as columns, matrices side by side."""
    return tnp.column_stack(list(arrays))


@composite("meshgrid.default", "meshgrid.indexing")
def meshgrid(arrays: Sequence[Any], *, indexing: str = "ij") -> list[Any]:
    """Vectors repeated along each other's dimensions."""
    return list(tnp.meshgrid(*[tnp.reshape(a, (-1,)) for a in arrays], indexing=indexing))


@composite("repeat_interleave.self_int")
def repeat_interleave(x: Any, count: int, dim: int | None = None, **_: Any) -> Any:
    """Each element so many times."""
    if dim is None:
        return tnp.repeat(tnp.reshape(x, (-1,)), count, 0)
    return tnp.repeat(x, count, axis_of(dim, x.ndim))


@composite("one_hot.default")
def one_hot(x: Any, count: int = -1, *, node: Call) -> Any:
    """Ones at the places that numbers say, else zeros."""
    return cast(x[..., None] == np.arange(count), node.dtype)


@composite("take.default")
def take(x: Any, places: Any) -> Any:
    """The elements at places in order."""
    return tnp.take(tnp.reshape(x, (-1,)), places)


@composite("take_along_dim.default")
def take_along_dim(x: Any, places: Any, dim: int | None = None) -> Any:
    """For each index, the element at that place along a dimension."""
    if dim is None:
        return take(x, tnp.reshape(places, (-1,)))
    axis = axis_of(dim, x.ndim)
    shape = list(tnp.broadcast_shapes(
        *[tuple(1 if d == axis else n for d, n in enumerate(v.shape)) for v in (x, places)]
    ))  # fmt: skip
    whole, at = ((*shape[:axis], v.shape[axis], *shape[axis + 1 :]) for v in (x, places))
    return gather(tnp.broadcast_to(x, whole), dim, tnp.broadcast_to(places, at))


@composite("index_fill.int_Scalar", "index_fill.int_Tensor")
def index_fill(x: Any, dim: int, places: Any, value: Any) -> Any:
    """The array with one value at places along a dimension."""
    if not x.ndim:
        return cast(value, x.dtype)
    key = (*[slice(None)] * axis_of(dim, x.ndim), places)
    return tnp.at(x)[key].set(cast(value, x.dtype))


@composite("index_copy.default")
def index_copy(x: Any, dim: int, places: Any, source: Any) -> Any:
    """The array with parts of another at places along a dimension."""
    if not x.ndim:
        return tnp.reshape(source, ())
    return tnp.at(x)[(*[slice(None)] * axis_of(dim, x.ndim), places)].set(source)


@composite("diag.default")
def diag(x: Any, diagonal: int = 0) -> Any:
    """A matrix with a diagonal, or that of a matrix."""
    return tnp.diag(x, diagonal)


@composite("diagflat.default")
def diagflat(x: Any, offset: int = 0) -> Any:
    """A matrix with the elements on a diagonal."""
    return tnp.diag(tnp.reshape(x, (-1,)), offset)


@composite("diag_embed.default")
def diag_embed(x: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Matrices with the elements of the last dimension on a diagonal."""
    n = x.shape[-1] + abs(offset)
    on = np.eye(n, k=offset, dtype=np.bool_)
    around = (max(-offset, 0), max(offset, 0))
    rows = tnp.pad(x, [(0, 0)] * (x.ndim - 1) + [around])
    made = tnp.where(on, rows[..., :, None], cast(0, x.dtype))
    return tnp.moveaxis(made, (-2, -1), (dim1, dim2))


@composite("linalg_diagonal.default")
def matrix_diagonal(x: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The diagonals of matrices."""
    return tnp.diagonal(x, offset, dim1, dim2)


@composite("fliplr.default")
def fliplr(x: Any) -> Any:
    """The array backwards along its second dimension."""
    return tnp.flip(x, 1)


@composite("flipud.default")
def flipud(x: Any) -> Any:
    """The array backwards along its first dimension."""
    return tnp.flip(x, 0)


@composite("rot90.default")
def rot90(x: Any, k: int = 1, dims: Sequence[int] = (0, 1)) -> Any:
    """The array turned by right angles."""
    return tnp.rot90(x, k, tuple(dims))


@composite("msort.default")
def msort(x: Any) -> Any:
    """The elements in order along the first dimension."""
    return tnp.sort(x, 0)


@composite("argsort.stable")
def argsort(x: Any, *, stable: bool = True, dim: int = -1, descending: bool = False) -> Any:
    """The places of the elements in their order."""
    return sort(x, dim, descending)[1]


@composite("new_full.default")
def new_full(x: Any, size: Sequence[int], value: Any, *, node: Call, **_: Any) -> Any:
    """An array of one value."""
    return tnp.broadcast_to(cast(value, node.dtype), tuple(size))


@composite("new_ones.default")
def new_ones(x: Any, size: Sequence[int], *, node: Call, **_: Any) -> Any:
    """An array of ones."""
    return tnp.ones(tuple(size), node.dtype)


@composite("ones_like.default")
def ones_like(x: Any, *, node: Call, **_: Any) -> Any:
    """An array of ones in the shape of x."""
    return tnp.ones(x.shape, node.dtype)


@composite("zero.default")
def zero(x: Any, *, node: Call) -> Any:
    """An array of zeros in the shape of x."""
    return tnp.zeros(x.shape, node.dtype)


@composite("eye.default", "eye.m")
def eye(rows: int, columns: int | None = None, *, node: Call, **_: Any) -> Any:
    """A matrix with ones on its diagonal."""
    return np.eye(rows, columns, dtype=node.dtype)


@composite("linspace.default")
def linspace(start: Any, end: Any, steps: int, *, node: Call, **_: Any) -> Any:
    """So many numbers from start to end, at one distance."""
    return np.linspace(start, end, steps).astype(node.dtype)


@composite("to.device", "to.dtype_layout", "to.other", "type_as.default", "positive.default",
           "resolve_conj.default", "resolve_neg.default")  # fmt: skip
def converted(x: Any, *_: Any, **__: Any) -> Any:
    """The array, which is converted to what is stated."""
    return x


@composite("bucketize.Tensor")
def bucketize(
    x: Any, bounds: Any, *, out_int32: bool = False, right: bool = False, node: Call
) -> Any:
    """Between which bounds each element lies."""
    return cast(tnp.searchsorted(bounds, x, "right" if right else "left"), node.dtype)


@composite("cartesian_prod.default")
def cartesian_prod(arrays: Sequence[Any]) -> Any:
    """Each choice of one element of each vector."""
    if len(arrays) == 1:
        return arrays[0]
    return tnp.stack([tnp.reshape(g, (-1,)) for g in meshgrid(arrays)], -1)
