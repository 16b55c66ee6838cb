"""Reductions, running totals, and the places of extremes."""

from collections.abc import Callable
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc import nn
from tfc.importers.onnx.table import operator
from tfc.importers.values import whole_numbers

Reduction = Callable[[Any, Any, bool], Any]


def _typed(function: Callable[..., Any]) -> Reduction:
    """A reduction that keeps the dtype, as narrow integers do not with NumPy."""
    return lambda x, axes, keep: tnp.astype(function(x, axis=axes, keepdims=keep), x.dtype)


def _mean(x: Any, axes: Any, keep: bool) -> Any:
    if np.dtype(x.dtype).kind not in "iu":
        return tnp.mean(x, axis=axes, keepdims=keep)
    total = tnp.sum(x, axis=axes, keepdims=keep)
    return tnp.astype(tnp.fix(total / max(x.size // max(total.size, 1), 1)), x.dtype)


def _root_of_squares(x: Any, axes: Any, keep: bool) -> Any:
    if np.dtype(x.dtype).kind in "iu":
        wide = tnp.astype(x, np.float64)
        return tnp.astype(tnp.sqrt(tnp.sum(wide * wide, axis=axes, keepdims=keep)), x.dtype)
    return tnp.sqrt(tnp.sum(x * x, axis=axes, keepdims=keep))


def _logarithm(x: Any, axes: Any, keep: bool) -> Any:
    return tnp.astype(tnp.log(tnp.sum(x, axis=axes, keepdims=keep)), x.dtype)


def _log_of_sum_of_exponentials(x: Any, axes: Any, keep: bool) -> Any:
    if np.dtype(x.dtype).kind in "iu":
        wide = nn.logsumexp(tnp.astype(x, np.float64), axes, keepdims=keep)
        return tnp.astype(wide, x.dtype)
    if not x.size:
        return _logarithm(x, axes, keep)
    return nn.logsumexp(x, axes, keepdims=keep)


def _extreme(function: Callable[..., Any], is_largest: bool) -> Reduction:
    def reduced(x: Any, axes: Any, keep: bool) -> Any:
        dtype = np.dtype(x.dtype)
        if dtype.kind in "iu":
            bound = np.iinfo(dtype).min if is_largest else np.iinfo(dtype).max
        else:
            bound = (not is_largest) if dtype.kind == "b" else (-np.inf if is_largest else np.inf)
        return function(x, axis=axes, keepdims=keep, initial=bound)

    return reduced


_REDUCTIONS: dict[str, Reduction] = {
    "ReduceSum": _typed(tnp.sum),
    "ReduceProd": _typed(tnp.prod),
    "ReduceMean": _mean,
    "ReduceMax": _extreme(tnp.max, True),
    "ReduceMin": _extreme(tnp.min, False),
    "ReduceL1": lambda x, axes, keep: _typed(tnp.sum)(tnp.absolute(x), axes, keep),
    "ReduceL2": _root_of_squares,
    "ReduceSumSquare": lambda x, axes, keep: _typed(tnp.sum)(x * x, axes, keep),
    "ReduceLogSum": _logarithm,
    "ReduceLogSumExp": _log_of_sum_of_exponentials,
}


def _enter(name: str, reduction: Reduction) -> None:
    @operator(name, since=13 if name == "ReduceSum" else 18, needs=("axes",))
    def by_input(
        data: Any, axes: Any = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
    ) -> Any:
        places = () if axes is None else tuple(whole_numbers(axes))
        if not places and noop_with_empty_axes:
            # Nothing is reduced, though what is done to each element is.
            return reduction(data[None], (0,), False)
        return reduction(data, places or None, bool(keepdims))

    @operator(name, until=12 if name == "ReduceSum" else 17)
    def by_attribute(data: Any, *, axes: tuple[int, ...] | None = None, keepdims: int = 1) -> Any:
        return reduction(data, axes or None, bool(keepdims))


for _name, _reduction in _REDUCTIONS.items():
    _enter(_name, _reduction)


def _enter_extreme(name: str, function: Callable[..., Any]) -> None:
    @operator(name)
    def place(data: Any, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Any:
        axis = axis % data.ndim
        if select_last_index:
            last = function(tnp.flip(data, axis), axis=axis, keepdims=bool(keepdims))
            return tnp.astype(data.shape[axis] - 1 - last, np.int64)
        return tnp.astype(function(data, axis=axis, keepdims=bool(keepdims)), np.int64)


_enter_extreme("ArgMax", tnp.argmax)
_enter_extreme("ArgMin", tnp.argmin)


def _enter_running(name: str, function: Callable[..., Any], neutral: int) -> None:
    @operator(name, since=11, needs=("axis",))
    def running(x: Any, axis: Any, *, exclusive: int = 0, reverse: int = 0) -> Any:
        place = int(np.asarray(axis).reshape(())) % x.ndim
        found = tnp.flip(x, place) if reverse else x
        if exclusive:
            first = [(0, 0)] * x.ndim
            first[place] = (1, 0)
            shorter = found[(slice(None),) * place + (slice(0, x.shape[place] - 1),)]
            found = tnp.pad(shorter, first, constant_values=neutral)
        found = tnp.astype(function(found, axis=place), x.dtype)
        return tnp.flip(found, place) if reverse else found


_enter_running("CumSum", tnp.cumsum, 0)
_enter_running("CumProd", tnp.cumprod, 1)


def top(x: Any, k: int, axis: int, is_largest: bool) -> tuple[Any, Any]:
    """The k largest or smallest elements along an axis, in order, and their places."""
    axis = axis % x.ndim
    dtype = np.dtype(x.dtype)
    last = tnp.moveaxis(x, axis, -1)
    order = last
    if not is_largest:
        order = tnp.invert(last) if dtype.kind in "iu" else -last
    _, places = nn.top_k(order, k)
    values = tnp.take_along_axis(last, places, -1)
    return tnp.moveaxis(values, -1, axis), tnp.astype(tnp.moveaxis(places, -1, axis), np.int64)


@operator("TopK", since=10, needs=("k",))
def top_k(x: Any, k: Any, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> Any:
    """The k largest or smallest elements along an axis, in order, and their places."""
    return top(x, int(np.asarray(k).reshape(())), axis, bool(largest))


@operator("TopK", until=9)
def top_k_by_attribute(x: Any, *, axis: int = -1, k: int) -> Any:
    """The k largest elements along an axis, in order, and their places."""
    return top(x, k, axis, True)


def norm(x: Any, p: int, axes: Any, keepdims: bool = True) -> Any:
    """The p-norm along axes."""
    if p == 1:
        return tnp.sum(tnp.absolute(x), axis=axes, keepdims=keepdims)
    if p == 2:
        return tnp.sqrt(tnp.sum(x * x, axis=axes, keepdims=keepdims))
    total = tnp.sum(tnp.absolute(x) ** float(p), axis=axes, keepdims=keepdims)
    return total ** (1.0 / p)


@operator("LpNormalization")
def lp_normalization(x: Any, *, axis: int = -1, p: int = 2) -> Any:
    """Divided by the p-norm along an axis; zeros stay zero."""
    size = norm(x, p, axis)
    return tnp.where(size == 0, tnp.zeros_like(x), x / size)


@operator("Trilu", since=14, needs=("k",))
def trilu(x: Any, k: Any = None, *, upper: int = 1) -> Any:
    """The part of matrices on one side of a diagonal, zeros elsewhere."""
    offset = 0 if k is None else int(np.asarray(k).reshape(()))
    return tnp.triu(x, offset) if upper else tnp.tril(x, offset)
