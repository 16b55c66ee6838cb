"""Elements by their places: gathers and scatters."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.errors import UnsupportedError
from tfc.importers.torch.operators.distances import norms
from tfc.importers.torch.table import aten, axis_of, cast, wide


def _key(indices: Sequence[Any]) -> tuple[Any, ...]:
    """NumPy's key for indices, of which None stands for a whole dimension."""
    for index in indices:
        if index is not None and index.dtype == np.bool_ and not isinstance(index, np.ndarray):
            raise UnsupportedError(
                "a mask as an index gives an array whose size depends on values, which cannot be "
                "compiled: use torch.where"
            )
    return tuple(slice(None) if index is None else index for index in indices)


@aten("index.Tensor", "_unsafe_index.Tensor")
def index(x: Any, indices: Sequence[Any]) -> Any:
    """The elements at places of some dimensions."""
    return x[_key(indices)]


@aten("index_put.default", "_unsafe_index_put.default")
def index_put(x: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Any:
    """The array with other elements at places, or with elements added there."""
    values = cast(values, x.dtype)
    masks = [n for n, i in enumerate(indices) if i is not None and i.dtype == np.bool_]
    if len(masks) == 1 and all(i is None for n, i in enumerate(indices) if n != masks[0]):
        return _put_where(x, masks[0], indices[masks[0]], values, accumulate)
    update = tnp.at(x)[_key(indices)]
    return update.add(values) if accumulate else update.set(values)


def _put_where(x: Any, before: int, mask: Any, values: Any, accumulate: bool) -> Any:
    """The array with other elements where a mask of some dimensions holds.

    The values have a dimension of those elements in order, or one of size one, in their place.
    """
    after = x.ndim - before - mask.ndim
    values = tnp.reshape(values, (*[1] * (before + 1 + after - values.ndim), *values.shape))
    count = values.shape[before]
    if not count:
        return x
    order = tnp.cumsum(cast(tnp.reshape(mask, (-1,)), np.int64), 0) - 1
    chosen = tnp.take(values, tnp.clip(order, 0, count - 1), before)
    sizes = *values.shape[:before], *mask.shape, *values.shape[before + 1 :]
    new = tnp.reshape(chosen, sizes)
    mask = tnp.reshape(mask, (*mask.shape, *[1] * after))
    return tnp.where(mask, x + new if accumulate else new, x)


@aten("masked_scatter.default")
def masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    """The array with the elements of a source, in order, where a mask holds."""
    shape = tnp.broadcast_shapes(x.shape, mask.shape)
    x, mask = tnp.broadcast_to(x, shape), tnp.broadcast_to(mask, shape)
    return _put_where(x, 0, mask, cast(tnp.reshape(source, (-1,)), x.dtype), False)


@aten("index_select.default")
def index_select(x: Any, dim: int, places: Any) -> Any:
    """The parts at places along a dimension."""
    if not x.ndim:
        return x
    return tnp.take(x, tnp.reshape(places, (-1,)), axis_of(dim, x.ndim))


@aten("gather.default")
def gather(x: Any, dim: int, places: Any, *, sparse_grad: bool = False) -> Any:
    """For each index, the element at that place along a dimension."""
    if not x.ndim:
        return tnp.broadcast_to(x, places.shape)
    if not places.ndim:
        return tnp.reshape(tnp.take(x, places), ())
    axis = axis_of(dim, x.ndim)
    inside = [slice(None) if d == axis else slice(0, n) for d, n in enumerate(places.shape)]
    return tnp.take_along_axis(x[tuple(inside)], places, axis)


def _places(x: Any, dim: int, places: Any) -> tuple[Any, ...]:
    """The key of the elements that scatters write to."""
    axis = axis_of(dim, x.ndim)
    own = [np.arange(n).reshape([-1 if e == d else 1 for e in range(places.ndim)])
           for d, n in enumerate(places.shape)]  # fmt: skip
    own[axis] = places
    return tuple(own)


_REDUCE = {"sum": "add", "prod": "multiply", "amax": "max", "amin": "min", "add": "add",
           "multiply": "multiply"}  # fmt: skip


def _scattered(x: Any, dim: int, places: Any, source: Any, method: str) -> Any:
    shape = x.shape
    if not x.ndim:
        x, places = tnp.reshape(x, (1,)), tnp.reshape(places, (-1,))
    elif not places.ndim:
        places = tnp.reshape(places, (1,))
    if source.ndim and places.ndim:
        source = source[tuple(slice(0, n) for n in places.shape)]
    elif source.size == 1:
        source = tnp.reshape(source, ())
    update = tnp.at(x)[_places(x, dim, places)]
    found = getattr(update, method)(tnp.broadcast_to(cast(source, x.dtype), places.shape))
    return tnp.reshape(found, shape)


@aten("scatter.src", "scatter.value")
def scatter(x: Any, dim: int, places: Any, source: Any) -> Any:
    """The array with other elements at places along a dimension."""
    return _scattered(x, dim, places, cast(source, x.dtype), "set")


@aten("scatter.reduce", "scatter.value_reduce")
def scatter_combined(x: Any, dim: int, places: Any, source: Any, *, reduce: str) -> Any:
    """The array with elements combined with others at places along a dimension."""
    return _scattered(x, dim, places, cast(source, x.dtype), _REDUCE[reduce])


@aten("scatter_add.default")
def scatter_add(x: Any, dim: int, places: Any, source: Any) -> Any:
    """The array with elements added at places along a dimension."""
    return _scattered(x, dim, places, source, "add")


@aten("scatter_reduce.two")
def scatter_reduce(
    x: Any, dim: int, places: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    """The array with elements combined at places along a dimension, maybe without its own."""
    counted = reduce == "mean"
    method = "add" if counted else _REDUCE[reduce]
    start = x
    if not include_self:
        kind = np.dtype(x.dtype).kind
        low, high = (np.iinfo(x.dtype).min, np.iinfo(x.dtype).max) if kind in "iu" else (
            (False, True) if kind == "b" else (-np.inf, np.inf))  # fmt: skip
        neutral = {"add": 0, "multiply": 1, "max": low, "min": high}[method]
        start = _scattered(x, dim, places, cast(neutral, x.dtype), "set")
    found = _scattered(start, dim, places, source, method)
    if not counted:
        return found
    ones = tnp.ones(x.shape, x.dtype) if include_self else tnp.zeros(x.shape, x.dtype)
    counts = tnp.maximum(_scattered(ones, dim, places, cast(1, x.dtype), "add"), cast(1, x.dtype))
    return found // counts if np.dtype(x.dtype).kind in "iu" else found / counts


@aten("index_add.default")
def index_add(x: Any, dim: int, places: Any, source: Any, *, alpha: Any = 1) -> Any:
    """The array with parts added at places along a dimension."""
    source = cast(source, x.dtype) * cast(alpha, x.dtype)
    if not x.ndim:
        return x + tnp.sum(source)
    key = (*[slice(None)] * axis_of(dim, x.ndim), tnp.reshape(places, (-1,)))
    return tnp.at(x)[key].add(source)


@aten("embedding.default")
def embedding(
    weight: Any, places: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:  # fmt: skip
    """The rows of a table."""
    return tnp.take(weight, places, 0)


_BAGS = ("sum", "mean", "max")


@aten("_embedding_bag.default", "_embedding_bag_forward_only.default")
def embedding_bag(
    weight: Any, places: Any, offsets: Any, scale_grad_by_freq: bool = False, mode: int = 0,
    sparse: bool = False, scales: Any = None, include_last_offset: bool = False,
    padding_idx: int = -1,
) -> Any:  # fmt: skip
    """The rows of a table combined in bags, which begin at offsets.

    Returns them, the bag of each place, how many places each has, and where maxima were taken.
    """
    offsets = cast(offsets, np.int64)
    begins = offsets[:-1] if include_last_offset else offsets
    bags = tnp.sum(cast(begins[None, :] <= np.arange(places.size)[:, None], np.int64), axis=1) - 1
    is_in = places != (padding_idx if padding_idx >= 0 else -1)
    rows = tnp.take(weight, places, 0)
    rows = wide(rows if scales is None else rows * scales[:, None])
    counts = tnp.at(tnp.zeros(begins.shape, np.int64))[bags].add(cast(is_in, np.int64))
    start = tnp.zeros((begins.size, weight.shape[1]), rows.dtype)
    if _BAGS[mode] == "max":
        least = np.asarray(-np.inf, rows.dtype)
        found = tnp.at(start + least)[bags].max(tnp.where(is_in[:, None], rows, least))
        found = tnp.where(counts[:, None] > 0, found, 0)
    else:
        found = tnp.at(start)[bags].add(tnp.where(is_in[:, None], rows, 0))
        if _BAGS[mode] == "mean":
            found = found / cast(tnp.maximum(counts, 1), rows.dtype)[:, None]
    return found, bags, counts, tnp.zeros(begins.shape, np.int64)


@aten("embedding_renorm.default")
def embedding_renorm(weight: Any, places: Any, max_norm: float, norm_type: float) -> Any:
    """A table whose rows at places are scaled down to a norm, if theirs is larger."""
    rows = wide(weight)
    sizes = norms(rows, norm_type)[:, None]
    is_used = tnp.at(tnp.zeros((weight.shape[0], 1), np.bool_))[tnp.reshape(places, (-1,))].set(
        True
    )
    scaled = rows * (max_norm / (sizes + 1e-7))
    return tnp.where(is_used & (sizes > max_norm), cast(scaled, weight.dtype), weight)
