"""Sums, extremes and what else combines the elements of dimensions; running ones."""

from collections.abc import Callable
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc import nn
from tfc.importers.torch.table import Call, aten, axes_of, axis_of, cast


@aten("sum.dim_IntList", "sum.default")
def total(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, node: Call) -> Any:
    """The sums over dimensions."""
    return tnp.sum(cast(x, node.dtype), axis=axes_of(dim, x.ndim), keepdims=keepdim)


@aten("mean.dim", "mean.default")
def mean(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, node: Call) -> Any:
    """The means over dimensions."""
    return tnp.mean(cast(x, node.dtype), axis=axes_of(dim, x.ndim), keepdims=keepdim)


@aten("prod.default")
def product(x: Any, *, dtype: Any = None, node: Call) -> Any:
    """The product of all elements."""
    return tnp.prod(cast(x, node.dtype))


@aten("prod.dim_int")
def product_along(x: Any, dim: int, keepdim: bool = False, *, dtype: Any = None, node: Call) -> Any:
    """The products along a dimension."""
    return tnp.prod(cast(x, node.dtype), axis=axes_of(dim, x.ndim), keepdims=keepdim)


@aten("var.correction")
def variance(x: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    """The variances over dimensions; NaN where there are too few elements."""
    axes = axes_of(dim, x.ndim)
    mean_of = tnp.mean(x, axis=axes, keepdims=True)
    squares = tnp.sum(tnp.square(tnp.absolute(x - mean_of)), axis=axes, keepdims=keepdim)
    count = int(np.prod([x.shape[a] for a in axes])) - (1 if correction is None else correction)
    return squares / np.asarray(max(count, 0), squares.dtype)


def _enter_logical(name: str, function: Callable[..., Any]) -> None:
    @aten(f"{name}.default")
    def row(x: Any) -> Any:
        return function(x)

    @aten(f"{name}.dim", f"{name}.dims")
    def along(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        axes = () if dim == [] else axes_of(dim, x.ndim)
        return function(x, axis=axes, keepdims=keepdim)


_enter_logical("any", tnp.any)
_enter_logical("all", tnp.all)


def _enter_extreme(name: str, function: Callable[..., Any], places: Callable[..., Any]) -> None:
    @aten(f"a{name}.default")
    def over(x: Any, dim: Any = (), keepdim: bool = False) -> Any:
        return function(x, axis=axes_of(list(dim), x.ndim), keepdims=keepdim)

    @aten(f"{name}.default")
    def whole(x: Any) -> Any:
        return function(x)

    @aten(f"{name}.dim")
    def along(x: Any, dim: int, keepdim: bool = False) -> Any:
        if not x.ndim:
            return x, np.zeros((), np.int64)
        axis = axis_of(dim, x.ndim)
        return function(x, axis=axis, keepdims=keepdim), places(x, axis=axis, keepdims=keepdim)

    @aten(f"arg{name}.default")
    def place(x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        if not x.ndim:
            return np.zeros((), np.int64)
        return places(x, axis=dim, keepdims=keepdim)


_enter_extreme("max", tnp.max, tnp.argmax)
_enter_extreme("min", tnp.min, tnp.argmin)


@aten("cumsum.default")
def cumsum(x: Any, dim: int, *, dtype: Any = None, node: Call) -> Any:
    """The sums up to each element."""
    x = cast(x, node.dtype)
    return tnp.cumsum(x, axis_of(dim, x.ndim), dtype=node.dtype) if x.ndim else x


@aten("cumprod.default")
def cumprod(x: Any, dim: int, *, dtype: Any = None, node: Call) -> Any:
    """The products up to each element."""
    x = cast(x, node.dtype)
    return tnp.cumprod(x, axis_of(dim, x.ndim), dtype=node.dtype) if x.ndim else x


def _enter_running(name: str, function: Callable[..., Any]) -> None:
    @aten(f"{name}.default")
    def row(x: Any, dim: int) -> Any:
        if not x.ndim:
            return x, np.zeros((), np.int64)
        axis = axis_of(dim, x.ndim)
        found = function(x, axis)
        shape = [-1 if d == axis else 1 for d in range(x.ndim)]
        own = np.arange(x.shape[axis]).reshape(shape)
        is_new = (x == found) | (x != x)
        return found, nn.cummax(tnp.where(is_new, own, 0), axis)


_enter_running("cummax", nn.cummax)
_enter_running("cummin", nn.cummin)


@aten("var_mean.correction")
def variance_and_mean(
    x: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False
) -> Any:
    """The variances over dimensions, and the means."""
    found = variance(x, dim, correction=correction, keepdim=keepdim)
    return found, tnp.mean(x, axis=axes_of(dim, x.ndim), keepdims=keepdim)
