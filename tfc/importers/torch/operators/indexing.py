"""Elements by their places: gathers and scatters."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.errors import UnsupportedError
from tfc.importers.torch.table import aten, axis_of, cast


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
    masks = [i for i in indices if i is not None and i.dtype == np.bool_]
    if masks and len(indices) == 1 and values.size == 1:
        mask = tnp.reshape(masks[0], (*masks[0].shape, *[1] * (x.ndim - masks[0].ndim)))
        value = tnp.reshape(values, ())
        return tnp.where(mask, x + value if accumulate else value, x)
    update = tnp.at(x)[_key(indices)]
    return update.add(values) if accumulate else update.set(values)


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
