"""Operators that go over axes: sums, extremes, their places, running sums."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfc import numpy as tnp
from tfc import special
from tfc.graph.operators.elementwise import truncated_quotient
from tfc.graph.operators.registry import axis_of, known, known_numbers, operator
from tfc.graph.types.dtypes import as_dtype


def _axes(value: Any, name: str) -> tuple[int, ...]:
    return known_numbers(value, f"the axes of {name}")


def _reduction(name: str, function: Callable[..., Any], hints: Sequence[int] = (1,)) -> None:
    @operator(name, types="T Tidx", known=hints)
    def row(input: Any, reduction_indices: Any, keep_dims: bool = False) -> Any:
        axes = _axes(reduction_indices, name)
        if not axes and name != "EuclideanNorm":
            return input
        return function(input, axis=axes, keepdims=bool(keep_dims))


def _sum(x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    return tnp.sum(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


def _product(x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    return tnp.prod(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


def _mean(x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    """The mean; of integers without what follows the point."""
    if as_dtype(x.dtype).is_integer:
        count = np.asarray(int(np.prod([x.shape[n] for n in axis])), x.dtype)
        return truncated_quotient(_sum(x, axis, keepdims), count)
    return tnp.mean(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


def _maximum(x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    return tnp.max(x, axis=axis, keepdims=keepdims, initial=_extreme(x, -1))


def _minimum(x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    return tnp.min(x, axis=axis, keepdims=keepdims, initial=_extreme(x, 1))


def _extreme(x: Any, sign: int) -> Any:
    """What an extreme of no elements is: an infinity, or the limit of integers; None if it has."""
    if x.size:
        return None
    dtype = as_dtype(x.dtype)
    if dtype.is_floating:
        return np.asarray(sign * np.inf, x.dtype)
    return np.asarray(dtype.max if sign > 0 else dtype.min, x.dtype)


def _norm(x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    return tnp.astype(tnp.sqrt(_sum(tnp.conj(x) * x, axis, keepdims)), x.dtype)


_reduction("Sum", _sum)
_reduction("Prod", _product)
_reduction("Mean", _mean)
_reduction("Max", _maximum)
_reduction("Min", _minimum)
_reduction("EuclideanNorm", _norm)
_reduction("All", tnp.all)
_reduction("Any", tnp.any)


def _place(function: Callable[..., Any]) -> Callable[..., Any]:
    def row(input: Any, dimension: Any, output_type: Any = np.int64) -> Any:
        axis = axis_of(dimension, input.ndim, "an extreme's place")
        return tnp.astype(function(input, axis=axis), as_dtype(output_type).dtype)

    return row


operator("ArgMax", types="T Tidx", known=(1,))(_place(tnp.argmax))
operator("ArgMin", types="T Tidx", known=(1,))(_place(tnp.argmin))


def _running(x: Any, axis: Any, function: Callable[..., Any], neutral: Any, *how: bool) -> Any:
    """A running fold along an axis: (exclusive, reverse)."""
    exclusive, reverse = how
    along = axis_of(axis, x.ndim, "a running sum")
    if reverse:
        x = tnp.flip(x, along)
    if exclusive and x.shape[along]:
        before = [slice(None)] * x.ndim
        before[along] = slice(0, -1)
        first = tnp.full([1 if n == along else size for n, size in enumerate(x.shape)], neutral)
        x = tnp.concatenate([tnp.astype(first, x.dtype), x[tuple(before)]], along)
    made = function(x, along)
    return tnp.flip(made, along) if reverse else made


@operator("Cumsum", types="T Tidx", known=(1,))
def cumulative_sum(x: Any, axis: Any, exclusive: bool = False, reverse: bool = False) -> Any:
    """The sums of the elements up to each; without itself if exclusive."""
    return _running(
        x, axis, lambda v, n: tnp.cumsum(v, axis=n, dtype=v.dtype), 0, exclusive, reverse
    )


@operator("Cumprod", types="T Tidx", known=(1,))
def cumulative_product(x: Any, axis: Any, exclusive: bool = False, reverse: bool = False) -> Any:
    """The products of the elements up to each; without itself if exclusive."""
    return _running(
        x, axis, lambda v, n: tnp.cumprod(v, axis=n, dtype=v.dtype), 1, exclusive, reverse
    )


@operator("Bincount", types="- - T", known=(1,))
def bincount(arr: Any, size: Any, weights: Any) -> Any:
    """How often each number below `size` occurs, or the sums of their weights."""
    count = int(known(size, "the number of bins"))
    weight = weights if weights.size else tnp.ones(arr.shape, weights.dtype)
    places = tnp.arange(count, dtype=arr.dtype)
    hit = tnp.reshape(arr, (-1, 1)) == places
    return tnp.sum(
        tnp.where(hit, tnp.reshape(weight, (-1, 1)), tnp.zeros((), weight.dtype)),
        axis=0,
        dtype=weight.dtype,
    )


@operator("DenseBincount", types="Tidx Tidx T", known=(1,))
def dense_bincount(input: Any, size: Any, weights: Any, binary_output: bool = False) -> Any:
    """The same of each row; with `binary_output` whether a number occurs, as 1 or 0."""
    count = int(known(size, "the number of bins"))
    weight = weights if weights.size and not binary_output else tnp.ones(input.shape, weights.dtype)
    hit = tnp.expand_dims(input, -1) == np.arange(count).astype(input.dtype)
    each = tnp.where(hit, tnp.expand_dims(weight, -1), np.zeros((), weight.dtype))
    fold = tnp.max(each, axis=-2, initial=0) if binary_output else tnp.sum(each, axis=-2)
    return tnp.astype(fold, weights.dtype)


@operator("CumulativeLogsumexp", types="T Tidx", known=(1,))
def cumulative_log_sum_exp(
    x: Any, axis: Any, exclusive: bool = False, reverse: bool = False
) -> Any:
    """The logarithms of the sums of the exponentials up to each element."""
    return _running(x, axis, _log_sums, np.asarray(-np.inf, x.dtype), exclusive, reverse)


def _log_sums(x: Any, axis: int) -> Any:
    """Each element with the one before, these with those two before, four, …"""
    size, reach = x.shape[axis], 1
    none = np.asarray(-np.inf, x.dtype)
    while reach < size:
        widths = [(reach if n == axis else 0, 0) for n in range(x.ndim)]
        before = tnp.pad(x, widths, constant_values=none)
        kept = tuple(slice(size if n == axis else None) for n in range(x.ndim))
        x = tnp.logaddexp(x, before[kept])
        reach *= 2
    return x


def log_sum_exp(x: Any, axis: Any, keepdims: bool = False) -> Any:
    """The logarithm of the sum of exponentials."""
    return special.logsumexp(x, axis=axis, keepdims=keepdims)
