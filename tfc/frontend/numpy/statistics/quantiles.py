"""Quantiles: the elements, or what lies between two of them, at fractions of an ordered array.

A method says at which place, a real number counted from 0, the quantile of n ordered elements lies;
by its fractional part the two neighbours are weighed. The number of elements is known, or it is a
Tensor: where NaNs are left out, and come last in the order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np

from tfc.errors import ShapeError, TraceError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.arithmetic import named, where
from tfc.frontend.numpy.comparisons import is_nan
from tfc.frontend.numpy.functions import ceil, floor, rint
from tfc.frontend.numpy.manipulation import Axes, expand_dims, normalize_axes
from tfc.frontend.numpy.parts import require_real
from tfc.frontend.numpy.reductions import any, sum
from tfc.frontend.numpy.sorting import sorted_together
from tfc.frontend.numpy.statistics.weights import weighted_places, weights_for
from tfc.frontend.numpy_keywords import refuse_out
from tfc.frontend.operations import compare, operation
from tfc.frontend.promotion import as_inexact, as_tensor, cast, expand, result_type, widen
from tfc.frontend.tensor import ArrayLike, Tensor, is_weak
from tfc.hlo.shape import S64

# The functions of tfc.numpy that methods are made of, as numpy has them for known numbers.
_OF_TENSORS = SimpleNamespace(floor=floor, ceil=ceil, rint=rint, where=where)


def _fitted(alpha: float, beta: float) -> Callable[[Any, Any, Any], Any]:
    """Hyndman and Fan's continuous methods, by their two parameters."""
    return lambda m, n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _step(m: Any, place: Any, is_exact: Callable[[Any, Any], Any]) -> Any:
    """The place before, where `is_exact` of what is left and the place holds, else the next one."""
    before = m.floor(place)
    chosen = m.where(is_exact(place - before, before), before, before + 1)
    return m.where(chosen < 0, 0.0 * chosen, chosen)


def _is_odd_half(rest: Any, before: Any) -> Any:
    return (rest == 0) & (before % 2 == 1)


@dataclass(frozen=True)
class Method:
    """A rule for the place of a quantile.

    place: (functions, n, q) -> the place of the quantile q of n elements.
    weight: (functions, fraction, place) -> the weight of the element after the place.
    chooses: the place is that of an element, so that there is nothing to interpolate.
    """

    place: Callable[[Any, Any, Any], Any]
    weight: Callable[[Any, Any, Any], Any] = lambda m, fraction, place: fraction
    chooses: bool = False


# fmt: off
METHODS: dict[str, Method] = {
    "inverted_cdf": Method(
        lambda m, n, q: _step(m, n * q - 1, lambda rest, _: rest == 0), chooses=True),
    "averaged_inverted_cdf": Method(
        lambda m, n, q: n * q - 1, lambda m, fraction, _: m.where(fraction == 0, 0.5, 1.0)),
    "closest_observation": Method(
        lambda m, n, q: _step(m, n * q - 1.5, _is_odd_half), chooses=True),
    "interpolated_inverted_cdf": Method(_fitted(0, 1)),
    "hazen": Method(_fitted(0.5, 0.5)),
    "weibull": Method(_fitted(0, 0)),
    "linear": Method(lambda m, n, q: (n - 1) * q),
    "median_unbiased": Method(_fitted(1 / 3, 1 / 3)),
    "normal_unbiased": Method(_fitted(3 / 8, 3 / 8)),
    "lower": Method(lambda m, n, q: m.floor((n - 1) * q), chooses=True),
    "higher": Method(lambda m, n, q: m.ceil((n - 1) * q), chooses=True),
    "midpoint": Method(
        lambda m, n, q: 0.5 * (m.floor((n - 1) * q) + m.ceil((n - 1) * q)),
        lambda m, _, place: m.where(place % 1 == 0, 0.0, 0.5)),
    "nearest": Method(lambda m, n, q: m.rint((n - 1) * q), chooses=True),
}
# fmt: on


def ordered_rows(tensor: Tensor, axis: Axes | None) -> Tensor:
    """The elements along the axes in ascending order, as the last dimension; NaNs come last."""
    rows = as_rows(tensor, normalize_axes(axis, tensor.ndim))
    return sorted_together([rows], rows.ndim - 1)[0]


def as_rows(tensor: Tensor, dimensions: Sequence[int]) -> Tensor:
    """The elements along some dimensions as the last one."""
    kept = [d for d in range(tensor.ndim) if d not in dimensions]
    moved = ops.transpose(tensor, [*kept, *dimensions])
    outer = moved.shape[: len(kept)]
    return ops.reshape(moved, (*outer, prod(moved.shape[len(kept) :])))


def quantiles(
    name: str,
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes | None,
    method: str,
    keepdims: bool,
    per_cent: bool = False,
    skip_nans: bool = False,
    weights: ArrayLike | None = None,
) -> Tensor:
    """The quantiles of the elements along the axes, each fraction's along the first dimensions.

    Args:
        name: the function's, for errors.
        q: fractions, of one or of 100; Tensors among them.
        skip_nans: leave NaNs out; else the quantiles of what has one are NaN.
        weights: of how many each element counts, for the method "inverted_cdf".
    """
    if method not in METHODS:
        raise ShapeError(f"{name} requires one of the methods {', '.join(METHODS)}, got {method!r}")
    operand, fractions = as_tensor(a), _fractions(name, q, per_cent)
    require_real(name, operand)
    rule = METHODS[method]
    is_whole = method == "linear" and np.dtype(fractions.dtype).kind in "iu"
    exact = rule.chooses or is_whole
    operand = operand if exact else as_inexact(operand)
    dimensions = normalize_axes(axis, operand.ndim)
    dtype = operand.dtype if exact or is_weak(q) else result_type(operand, fractions)
    values, row_weights = widen(cast(operand, dtype)), None
    if weights is None:
        rows = ordered_rows(values, dimensions)
    else:
        given = weights_for(name, weights, operand, dimensions, method)
        parts = [as_rows(values, dimensions), as_rows(given, dimensions)]
        rows, row_weights = sorted_together(parts, parts[0].ndim - 1)
    if not rows.shape[-1]:
        raise ShapeError(f"{name} of no elements: got {list(operand.shape)} along {dimensions}")
    if row_weights is not None:
        if skip_nans:
            row_weights = where(is_nan(rows), 0.0, row_weights)
        found = _elements(rows, weighted_places(row_weights, fractions))
    else:
        count = sum(operation("not", is_nan(rows)), axis=-1) if skip_nans else rows.shape[-1]
        found = _at_fractions(rows, fractions, count, rule, exact)
    if not skip_nans:
        spoiled = expand(any(is_nan(rows), axis=-1), found.shape)
        found = _nan_where(spoiled, found)
    found = cast(found, dtype)
    if not keepdims:
        return found
    return expand_dims(found, tuple(np.ndim(fractions) + d for d in dimensions))


def _nan_where(spoiled: Tensor, found: Tensor) -> Tensor:
    if not found.array_shape.element_type.is_float:
        return found
    return ops.select(spoiled, ops.full_like(np.nan, found), found)


def _fractions(name: str, q: ArrayLike, per_cent: bool) -> Any:
    """The fractions of one: an array of known numbers, or a Tensor."""
    given = as_tensor(q) if isinstance(q, Tensor) else np.asarray(q)
    if given.dtype.kind not in "biuf" or (per_cent and given.dtype.kind == "b"):
        raise ShapeError(f"{name} requires fractions that are numbers, got {q!r}")
    fractions = given / given.dtype.type(100) if per_cent and given.dtype.kind == "f" else given
    fractions = given / 100 if per_cent and given.dtype.kind != "f" else fractions
    if not isinstance(fractions, Tensor) and not np.all((fractions >= 0) & (fractions <= 1)):
        raise ShapeError(f"quantile requires fractions within 0..1, got {fractions}")
    return fractions


def _at_fractions(rows: Tensor, fractions: Any, count: Any, rule: Method, exact: bool) -> Tensor:
    """The quantiles; the dimensions of the fractions come first."""
    known = not isinstance(fractions, Tensor) and not isinstance(count, Tensor)
    outer, shape = rows.shape[:-1], tuple(fractions.shape)
    m: Any = np if known else _OF_TENSORS
    if not known:
        fractions = ops.reshape(cast(as_tensor(fractions), np.float64), (*shape, *[1] * len(outer)))
        fractions = expand(fractions, (*shape, *outer))
        count = expand(cast(as_tensor(count), np.float64), fractions.shape)
    else:
        fractions = fractions.astype(np.float64)
    place = rule.place(m, count, fractions)
    before = m.floor(place)
    weight = rule.weight(m, place - before, place)
    first, last = _clamped(m, before, place, count), _clamped(m, before + 1, place, count)
    low = _elements(rows, first)
    if exact:
        return low
    high = _elements(rows, last)
    return _between(low, high, weight)


def _clamped(m: Any, number: Any, place: Any, count: Any) -> Any:
    """The number of an element: the last one from the place of the last on, the first below it."""
    low = m.where(place < 0, 0.0 * number, number)
    return m.where(place >= count - 1, 0.0 * number + (count - 1), low)


def _elements(rows: Tensor, numbers: Any) -> Tensor:
    """The elements of the rows at known numbers, or of each row at its own; the numbers' shape."""
    outer = rows.shape[:-1]
    if not isinstance(numbers, Tensor):
        parts = [
            ops.reshape(ops.slice_along(rows, len(outer), n, n + 1), (1, *outer))
            for n in np.ravel(numbers).astype(int).tolist()
        ]
        if not parts:
            raise ShapeError("quantile requires at least one fraction, got none")
        return ops.reshape(ops.concatenate(parts, 0), (*np.shape(numbers), *outer))
    extra = numbers.ndim - len(outer)
    moved = ops.transpose(numbers, [*range(extra, numbers.ndim), *range(extra)])
    limit = rows.shape[-1] - 1
    places = operation("clamp", ops.constant(0, S64), ops.convert(moved, S64),
                       ops.constant(limit, S64))  # fmt: skip
    batch = tuple(range(len(outer)))
    found = operation(
        "gather", rows, places, offset_dims=(), collapsed_slice_dims=(len(outer),),
        start_index_map=(len(outer),), operand_batching_dims=batch,
        start_indices_batching_dims=batch, index_vector_dim=places.ndim,
        slice_sizes=(1,) * rows.ndim,
    )  # fmt: skip
    return ops.transpose(found, [*range(len(outer), found.ndim), *batch])


def _between(low: Tensor, high: Tensor, weight: Any) -> Tensor:
    """Both weighed; the one that has all of the weight alone, as the other may be infinite."""
    kind = low.array_shape.element_type
    share = ops.convert(weight, kind) if isinstance(weight, Tensor) else ops.constant(weight, kind)
    if share.ndim < low.ndim:
        share = ops.reshape(share, [*share.shape, *[1] * (low.ndim - share.ndim)])
    share = expand(share, low.shape)
    rest = ops.full_like(1, share) - share
    zero = ops.full_like(0, low)
    from_low = ops.select(compare("EQ", rest, zero), zero, low * rest)
    from_high = ops.select(compare("EQ", share, zero), zero, high * share)
    return from_low + from_high


def _not_in_place(name: str, overwrite_input: bool) -> None:
    if overwrite_input:
        raise TraceError(
            f"{name} of tfc.numpy never writes to its input; leave overwrite_input out"
        )


def _of_fractions(name: str, doc: str, *, per_cent: bool = False, skip_nans: bool = False):
    """A function of fractions."""

    def function(
        a: ArrayLike,
        q: ArrayLike,
        axis: Axes | None = None,
        out: None = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool = False,
        *,
        weights: ArrayLike | None = None,
    ) -> Tensor:
        refuse_out(name, out)
        _not_in_place(name, overwrite_input)
        return quantiles(name, a, q, axis, method, keepdims, per_cent, skip_nans, weights)

    return named(function, name, doc)


quantile = _of_fractions(
    "quantile",
    """The values below which the fractions q of the elements lie; several make dimensions in front.

    NaN if there is any among the elements; of integers in float64, unless the method chooses
    elements.

    Args:
        method: one of NumPy's thirteen; "linear" interpolates between neighbours.
        weights: of how many each element counts, 0 or more, in the shape of `a` or of the axes;
            for the method "inverted_cdf".

    Raises:
        ShapeError: a known fraction outside 0 … 1, no elements, an unknown method, weights of
            another shape, with another method, or known to be negative.
        TraceError: the elements are complex.
    """,
)
percentile = _of_fractions(
    "percentile", "The quantiles of fractions given in per cent; see `quantile`.", per_cent=True
)
nanquantile = _of_fractions(
    "nanquantile",
    "The quantiles of the elements that are not NaN; NaN if all are. See `quantile`.",
    skip_nans=True,
)
nanpercentile = _of_fractions(
    "nanpercentile",
    "The quantiles of fractions in per cent, of the elements that are not NaN.",
    per_cent=True,
    skip_nans=True,
)


def _middle(name: str, doc: str, *, skip_nans: bool = False):
    """A function of the value in the middle."""

    def function(
        a: ArrayLike,
        axis: Axes | None = None,
        out: None = None,
        overwrite_input: bool = False,
        keepdims: bool = False,
    ) -> Tensor:
        refuse_out(name, out)
        _not_in_place(name, overwrite_input)
        values = as_inexact(a)
        return quantiles(name, values, 0.5, axis, "linear", keepdims, skip_nans=skip_nans)

    return named(function, name, doc)


median = _middle(
    "median",
    "The middle value along the axes, or the mean of the two in the middle; NaN if any is.",
)
nanmedian = _middle(
    "nanmedian",
    "The middle value of the elements that are not NaN; NaN if all are.",
    skip_nans=True,
)
