"""Arrays in order, and places in ordered ones."""

from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.importers.torch.table import aten, axis_of


def order(x: Any, dim: int, descending: bool) -> Any:
    """The places of the elements in order, equal ones and NaN (the largest) as they come."""
    axis = axis_of(dim, x.ndim)
    if not descending:
        return tnp.argsort(x, axis, stable=True)
    backwards = tnp.argsort(tnp.flip(x, axis), axis, stable=True)
    return x.shape[axis] - 1 - tnp.flip(backwards, axis)


@aten("sort.default")
def sort(x: Any, dim: int = -1, descending: bool = False) -> Any:
    """The elements in order along a dimension, and where they were."""
    if not x.ndim:
        return x, np.zeros((), np.int64)
    places = order(x, dim, descending)
    return tnp.take_along_axis(x, places, axis_of(dim, x.ndim)), places


@aten("sort.stable")
def sort_stable(x: Any, *, stable: bool | None, dim: int = -1, descending: bool = False) -> Any:
    """The elements in order along a dimension, and where they were."""
    return sort(x, dim, descending)


@aten("argsort.default")
def argsort(x: Any, dim: int = -1, descending: bool = False) -> Any:
    """Where the elements are in order."""
    return sort(x, dim, descending)[1]


@aten("topk.default")
def top(x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k largest or smallest elements along a dimension, and where they are."""
    values, places = sort(x, dim, largest)
    if not x.ndim:
        return values, places
    part = (*[slice(None)] * axis_of(dim, x.ndim), slice(0, k))
    return values[part], places[part]


@aten("kthvalue.default")
def kth(x: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest element along a dimension, and where it is."""
    values, places = sort(x, dim)
    if not x.ndim:
        return values, places
    axis = axis_of(dim, x.ndim)
    at = slice(k - 1, k) if keepdim else k - 1
    part = (*[slice(None)] * axis, at)
    return values[part], places[part]
