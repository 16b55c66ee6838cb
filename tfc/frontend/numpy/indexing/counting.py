"""Counts of values: bincount, and histograms in one, two and more dimensions."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tfc.errors import ShapeError, TraceError
from tfc.frontend import operations as ops
from tfc.frontend.numpy import reductions
from tfc.frontend.numpy.arithmetic import where
from tfc.frontend.numpy.indexing.known import numpy_if_known, require_size
from tfc.frontend.numpy.indexing.places import make_places
from tfc.frontend.numpy.indexing.searching import searchsorted
from tfc.frontend.numpy.manipulation import ravel, stack
from tfc.frontend.numpy.spacings import linspace
from tfc.frontend.operations import operation
from tfc.frontend.promotion import as_tensor, cast
from tfc.frontend.tensor import ArrayLike, Tensor
from tfc.hlo.shape import F64, S64


def counted(places: Tensor, weights: Tensor | None, length: int) -> Tensor:
    """How often each of 0, 1 … length - 1 is among a vector of integers, or their weights' sum."""
    kind = S64 if weights is None else weights.array_shape.element_type
    zeros = ops.full(0, (length,), kind)
    if not places.size or not length:
        return zeros
    ones = ops.full(1, places.shape, kind) if weights is None else weights
    at = make_places({0: places}, (length,), (0,), 0)
    return at.scatter(zeros, ones, ops.scalar_computation("add", kind))


def _bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    return np.bincount(x, weights, minlength)


@numpy_if_known(_bincount)
def bincount(
    x: ArrayLike, weights: ArrayLike = None, minlength: int = 0, *, length: int | None = None
) -> Tensor:
    """How often each of 0, 1, 2 … is in a vector, as int64; or the float64 sums of their weights.

    Args:
        length: how many counts there are, needed if values are not known. Larger numbers are left
            out then, and negative ones count as 0, as in JAX.

    Raises:
        ShapeError: x is no vector of integers.
        TraceError: the length is needed and not given.
    """
    tensor = as_tensor(x)
    element_type = tensor.array_shape.element_type
    if tensor.ndim != 1 or not (element_type.is_integer or element_type.kind == "pred"):
        raise ShapeError(f"bincount requires a vector of integers, got {tensor!r}")
    count = require_size("bincount", length, "length")
    if element_type.kind == "signed":
        tensor = operation("maximum", tensor, ops.full_like(0, tensor))
    if not element_type.is_integer:
        tensor = ops.convert(tensor, S64)
    given = None if weights is None else cast(as_tensor(weights), np.float64)
    if given is not None and given.shape != tensor.shape:
        raise ShapeError(
            f"bincount requires weights of shape {list(tensor.shape)}, got {list(given.shape)}"
        )
    return counted(tensor, given, max(count, minlength))


@numpy_if_known(np.histogram_bin_edges)
def histogram_bin_edges(
    a: ArrayLike, bins: Any = 10, range: Any = None, weights: ArrayLike = None
) -> Tensor:
    """The bounds of a histogram's bins: those given, or as many of one width over the values.

    Raises:
        ShapeError: the bins are neither a number nor a vector.
        TraceError: they are to be found by a rule, and the values are not known.
    """
    return _edges(as_tensor(a), bins, range)


def _edges(values: Tensor, bins: Any, span: Any, stated: Any = None) -> Tensor:
    """The bounds of bins; those of a given span are of the dtype `stated`, if one is."""
    if isinstance(bins, str):
        raise TraceError(
            f"the number of bins by the rule '{bins}' depends on values that are not known while "
            "tracing; give a number"
        )
    if isinstance(bins, Tensor) or np.ndim(bins):
        found = as_tensor(bins)
        if found.ndim != 1:
            raise ShapeError(f"a histogram requires a vector of bounds, got {list(found.shape)}")
        return found
    count = int(bins)
    if count < 1:
        raise ShapeError(f"a histogram requires at least one bin, got {count}")
    if span is None and not values.size:
        span = (0.0, 1.0)
    low, high = (reductions.min(values), reductions.max(values)) if span is None else span
    narrow = values.array_shape.element_type.is_float
    dtype = values.dtype if narrow else np.dtype(np.float64)
    if span is not None and stated is not None:
        dtype = np.dtype(stated)
    low, high = (cast(as_tensor(bound), dtype) for bound in (low, high))
    same = ops.compare("EQ", low, high)
    low, high = ops.select(same, low - 0.5, low), ops.select(same, high + 0.5, high)
    return linspace(low, high, count + 1)


def _bins(values: Tensor, edges: Tensor) -> Tensor:
    """The number of the bin of each value; beyond their number for those in none."""
    count = edges.size - 1
    found = searchsorted(edges, values, "right") - 1
    first = ops.reshape(ops.slice_along(edges, 0, 0, 1), ())
    last = ops.reshape(ops.slice_along(edges, 0, count, count + 1), ())
    found = where(values == last, count - 1, found)
    inside = (values >= first) & (values <= last)
    return where(inside, found, count)


def _density(counts: Tensor, edges: Sequence[Tensor]) -> Tensor:
    """Counts over their sum and the size of their bins."""
    found = cast(counts, np.float64) / reductions.sum(counts)
    for axis, bounds in enumerate(edges):
        widths = ops.slice_along(bounds, 0, 1, bounds.size) - ops.slice_along(
            bounds, 0, 0, bounds.size - 1
        )
        shape = [widths.size if d == axis else 1 for d in range(found.ndim)]
        found = found / ops.reshape(widths, shape)
    return found


@numpy_if_known(np.histogram)
def histogram(
    a: ArrayLike,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: ArrayLike = None,
) -> tuple[Tensor, Tensor]:
    """How many values lie in each bin, or their weights' sum, and the bounds of the bins.

    Each bin holds its lower bound, the last one its upper bound too.

    Args:
        bins: how many of one width there are, or their bounds.
        range: the first and the last bound; the least and the largest value if left out.
        density: whether to divide by the sum and by the widths.

    Raises:
        ShapeError: the bins are neither a number nor a vector.
    """
    values = ravel(as_tensor(a))
    edges = _edges(values, bins, range)
    given = None if weights is None else ravel(as_tensor(weights))
    counts = counted(_bins(values, edges), given, edges.size - 1)
    return (_density(counts, [edges]) if density else counts), edges


@numpy_if_known(np.histogramdd)
def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: ArrayLike = None,
) -> tuple[Tensor, list[Tensor]]:
    """How many points lie in each bin of a grid, as float64, and the bounds along each dimension.

    Args:
        sample: points as rows, or a sequence of vectors, one for each dimension.
        bins: a number, or for each dimension a number or the bounds.
        range: for each dimension None or the first and the last bound.
        density, weights: as of histogram.

    Raises:
        ShapeError: there are not as many bins or ranges as dimensions.
    """
    if isinstance(sample, (list, tuple)):
        points = stack([as_tensor(column) for column in sample], 1)
    else:
        points = as_tensor(sample)
        points = ops.reshape(points, (points.size, 1)) if points.ndim == 1 else points
    rank = points.shape[1]
    several = isinstance(bins, (list, tuple))
    all_bins = bins if several else [bins] * rank
    spans = [None] * rank if range is None else range
    if len(all_bins) != rank or len(spans) != rank:
        raise ShapeError(f"histogramdd requires bins and ranges for {rank} dimensions")
    columns = [
        ops.reshape(ops.slice_along(points, 1, d, d + 1), (points.shape[0],))
        for d, _ in enumerate(all_bins)
    ]
    edges = [_edges(c, b, s, np.float64) for c, b, s in zip(columns, all_bins, spans)]
    sizes = [e.size - 1 for e in edges]
    flat, inside = ops.full(0, columns[0].shape, S64), None
    for column, bounds, size in zip(columns, edges, sizes):
        number = _bins(column, bounds)
        fits = number < size
        inside = fits if inside is None else inside & fits
        flat = flat * size + number
    flat = where(inside, flat, prod(sizes))
    given = ops.full(1, flat.shape, F64) if weights is None else cast(as_tensor(weights), "f8")
    counts = ops.reshape(counted(flat, given, prod(sizes)), sizes)
    return (_density(counts, edges) if density else counts), edges


def _histogram2d(x: Any, y: Any, *args: Any, **named: Any) -> Any:
    return np.histogram2d(x, y, *args, **named)


@numpy_if_known(_histogram2d)
def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: ArrayLike = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """How many points (x, y) lie in each bin of a grid, and the bounds along each dimension.

    Args:
        bins: a number, bounds for both dimensions, or a number or bounds for each.
        range, density, weights: as of histogramdd.
    """
    pair = isinstance(bins, (list, tuple)) and len(bins) == 2
    given = bins if pair or np.ndim(bins) == 0 else [bins, bins]
    counts, edges = histogramdd([x, y], given, range, density, weights)
    return counts, edges[0], edges[1]
