"""Shapes, parts and arrangements of arrays."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.importers.torch.table import aten, axes_of, axis_of, cast

_END = (1 << 63) - 1


@aten("view.default", "reshape.default", "_unsafe_view.default", "_reshape_copy.default")
def reshape(x: Any, size: Sequence[int]) -> Any:
    """The elements in another shape."""
    return tnp.reshape(x, tuple(size))


@aten("expand.default")
def expand(x: Any, size: Sequence[int], *, implicit: bool = False) -> Any:
    """The array repeated along dimensions of size one; -1 keeps a size."""
    before = len(size) - x.ndim
    sizes = [x.shape[d - before] if n == -1 else n for d, n in enumerate(size)]
    return tnp.broadcast_to(x, tuple(sizes))


@aten("permute.default")
def permute(x: Any, dims: Sequence[int]) -> Any:
    """The dimensions in another order."""
    return tnp.transpose(x, tuple(d % x.ndim for d in dims)) if x.ndim else x


@aten("transpose.int")
def transpose(x: Any, a: int, b: int) -> Any:
    """Two dimensions exchanged."""
    return tnp.swapaxes(x, a, b) if x.ndim else x


@aten("t.default")
def transposed(x: Any) -> Any:
    """A matrix transposed."""
    return tnp.swapaxes(x, 0, 1) if x.ndim == 2 else x


@aten("unsqueeze.default")
def unsqueeze(x: Any, dim: int) -> Any:
    """A dimension of size one inserted."""
    return tnp.expand_dims(x, dim)


@aten("squeeze.dim", "squeeze.dims")
def squeeze(x: Any, dims: Any) -> Any:
    """Those of some dimensions that have size one taken out."""
    axes = axes_of(dims, x.ndim) if dims != [] else ()
    return tnp.reshape(x, [n for d, n in enumerate(x.shape) if d not in axes or n != 1])


@aten("squeeze.default")
def squeeze_all(x: Any) -> Any:
    """All dimensions of size one taken out."""
    return tnp.reshape(x, [n for n in x.shape if n != 1])


@aten("cat.default")
def concatenate(arrays: Sequence[Any], dim: int = 0) -> Any:
    """Arrays one after the other; empty vectors fit any others."""
    parts = [a for a in arrays if a.shape != (0,)] or list(arrays[:1])
    dtype = tnp.result_type(*[a.dtype for a in parts])
    return tnp.concatenate([cast(a, dtype) for a in parts], axis_of(dim, parts[0].ndim))


@aten("split_with_sizes.default")
def split(x: Any, sizes: Sequence[int], dim: int = 0) -> Any:
    """Parts of given sizes."""
    ends = np.cumsum([0, *sizes])
    return [slice_along(x, dim, int(a), int(b)) for a, b in pairwise(ends)]


@aten("slice.Tensor")
def slice_along(
    x: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Any:
    """A part along a dimension."""
    return x[_along(x.ndim, dim, slice(start, None if end == _END else end, step))]


def _along(rank: int, dim: int, part: Any) -> tuple[Any, ...]:
    return (*[slice(None)] * axis_of(dim, rank), part)


@aten("select.int")
def select(x: Any, dim: int, index: int) -> Any:
    """One place along a dimension."""
    return x[_along(x.ndim, dim, index)]


@aten("slice_scatter.default")
def slice_scatter(
    x: Any, source: Any, dim: int = 0, start: int | None = None, end: int | None = None,
    step: int = 1,
) -> Any:  # fmt: skip
    """The array with another part along a dimension."""
    part = slice(start, None if end == _END else end, step)
    return tnp.at(x)[_along(x.ndim, dim, part)].set(cast(source, x.dtype))


@aten("select_scatter.default")
def select_scatter(x: Any, source: Any, dim: int, index: int) -> Any:
    """The array with another content of one place along a dimension."""
    return tnp.at(x)[_along(x.ndim, dim, index)].set(cast(source, x.dtype))


@aten("flip.default")
def flip(x: Any, dims: Sequence[int]) -> Any:
    """The array backwards along dimensions."""
    return tnp.flip(x, tuple(dims)) if dims and x.ndim else x


@aten("roll.default")
def roll(x: Any, shifts: Any, dims: Any = ()) -> Any:
    """The array moved round along dimensions."""
    if not dims:
        return tnp.roll(x, shifts[0])
    return tnp.roll(x, tuple(shifts), tuple(dims)) if x.ndim else x


@aten("repeat.default")
def repeat(x: Any, repeats: Sequence[int]) -> Any:
    """The array so many times along each dimension."""
    return tnp.tile(x, tuple(repeats))


@aten("diagonal.default")
def diagonal(x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """The elements where two dimensions have the same place."""
    return tnp.diagonal(x, offset, dim1, dim2)


@aten("tril.default")
def tril(x: Any, diagonal: int = 0) -> Any:
    """The lower triangle, zeros elsewhere."""
    return tnp.tril(x, diagonal)


@aten("triu.default")
def triu(x: Any, diagonal: int = 0) -> Any:
    """The upper triangle, zeros elsewhere."""
    return tnp.triu(x, diagonal)


@aten("constant_pad_nd.default")
def pad(x: Any, amounts: Sequence[int], value: Any = 0) -> Any:
    """A value around the array, by amounts from the last dimension on; negative ones remove."""
    pairs = [(0, 0)] * x.ndim
    for number in range(len(amounts) // 2):
        pairs[-1 - number] = (amounts[2 * number], amounts[2 * number + 1])
    inner = tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape, pairs))
    around = [(max(a, 0), max(b, 0)) for a, b in pairs]
    return tnp.pad(x[inner], around, constant_values=cast(value, x.dtype)) if pairs else x


@aten("unfold.default")
def windows(x: Any, dim: int, size: int, step: int) -> Any:
    """Windows along a dimension, their elements in a last dimension."""
    if not x.ndim:
        return tnp.reshape(x, (size,))
    axis = axis_of(dim, x.ndim)
    count = (x.shape[axis] - size) // step + 1
    places = np.arange(count)[:, None] * step + np.arange(size)
    return tnp.moveaxis(tnp.take(x, places, axis), axis + 1, -1)


@aten("as_strided.default", "as_strided_copy.default")
def as_strided(x: Any, size: Sequence[int], stride: Sequence[int], offset: int | None = 0) -> Any:
    """The elements at places of the memory that the array has in order."""
    places: Any = np.asarray(offset or 0)
    for n, step in zip(size, stride):
        places = np.add.outer(places, np.arange(n) * step)
    return tnp.take(tnp.reshape(x, (-1,)), places)


@aten("sym_size.int")
def size(x: Any, dim: int) -> int:
    """The size of a dimension."""
    return x.shape[dim]


@aten("sym_numel.default")
def count(x: Any) -> int:
    """How many elements there are."""
    return x.size


@aten("resize.default")
def resize(x: Any, size: Sequence[int], **_: Any) -> Any:
    """As many elements, in order, as another shape has; zeros for those that there are not."""
    count = int(np.prod(tuple(size)))
    flat = tnp.reshape(x, (-1,))[:count]
    return tnp.reshape(tnp.pad(flat, (0, count - flat.size)), tuple(size))


@aten("_local_scalar_dense.default", "item.default")
def item(x: Any) -> Any:
    """The only element."""
    return tnp.reshape(x, ())
