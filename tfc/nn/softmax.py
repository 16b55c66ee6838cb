"""Exponentials along axes without overflow: softmax, logarithms of sums, and their kin."""

from typing import Any

import numpy as np

from tfc.frontend import operations as ops
from tfc.frontend.differentiation.gradient import stop_gradient
from tfc.frontend.numpy.arithmetic import square, where
from tfc.frontend.numpy.functions import as_float, exp, isfinite, log, sqrt
from tfc.frontend.numpy.manipulation import Axes, normalize_axes, normalize_axis, squeeze
from tfc.frontend.numpy.parts import require_real
from tfc.frontend.numpy.reductions import max, mean, sum
from tfc.frontend.promotion import as_tensor, broadcast_together, cast, expand
from tfc.frontend.python_numbers import whole
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable
from tfc.hlo.shape import S64

Mask = ArrayLike | None


def _masked(tensor: Tensor, mask: ArrayLike, value: float) -> tuple[Tensor, Tensor]:
    """The Tensor with a value where the mask is False, and the mask in its shape."""
    chosen = expand(cast(as_tensor(mask), np.bool_), tensor.shape)
    return ops.select(chosen, tensor, ops.full_like(value, tensor)), chosen


def _finite(largest: Tensor) -> Tensor:
    return where(isfinite(largest), largest, ops.full_like(0, largest))


@evaluable
def softmax(x: ArrayLike, axis: Axes = -1, where: Mask = None) -> Tensor:
    """exp(x) / sum(exp(x)) along the axes, without overflow.

    Args:
        where: booleans that broadcast to x: elements that count; the others become 0, all of them
            if none counts.
    """
    tensor = as_float(x)
    if where is None:
        # The maximum cancels, in the derivative too, so it is a constant there.
        scaled = exp(tensor - stop_gradient(max(tensor, axis, keepdims=True)))
        return scaled / sum(scaled, axis, keepdims=True)
    inside, chosen = _masked(tensor, where, -np.inf)
    scaled = exp(inside - stop_gradient(_finite(max(inside, axis, keepdims=True))))
    total = sum(scaled, axis, keepdims=True)
    is_empty = ops.compare("EQ", total, ops.full_like(0, total))
    return _masked(scaled / ops.select(is_empty, ops.full_like(1, total), total), chosen, 0)[0]


@evaluable
def log_softmax(x: ArrayLike, axis: Axes = -1, where: Mask = None) -> Tensor:
    """log(softmax(x)) along the axes, finite even where softmax rounds to 0.

    Args:
        where: as for `softmax`; what does not count becomes -inf.
    """
    tensor = as_float(x)
    if where is None:
        shifted = tensor - stop_gradient(max(tensor, axis, keepdims=True))
        return shifted - log(sum(exp(shifted), axis, keepdims=True))
    inside, chosen = _masked(tensor, where, -np.inf)
    shifted = tensor - stop_gradient(_finite(max(inside, axis, keepdims=True)))
    # Elements that do not count may be too large for an exponential.
    total = sum(exp(_masked(shifted, chosen, -np.inf)[0]), axis, keepdims=True)
    is_empty = ops.compare("EQ", total, ops.full_like(0, total))
    total = ops.select(is_empty, ops.full_like(1, total), total)
    return _masked(shifted - log(total), chosen, -np.inf)[0]


@evaluable
def logsumexp(
    a: ArrayLike,
    axis: Axes | None = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    where: Mask = None,
) -> Tensor:
    """log(sum(b exp(a))) along the axes, without overflow; -inf for nothing but -inf.

    Args:
        b: factors that broadcast with `a`; 1 if they are left out.
        where: booleans that broadcast to `a`: elements that count.
    """
    tensor = as_float(a)
    if where is not None:
        tensor = _masked(tensor, where, -np.inf)[0]
    factor = None
    if b is not None:
        tensor, factor = broadcast_together(tensor, cast(as_tensor(b), tensor.dtype))
    finite = _finite(stop_gradient(max(tensor, axis, keepdims=True)))
    scaled = exp(tensor - finite)
    scaled = scaled if factor is None else scaled * factor
    result = log(sum(scaled, axis, keepdims=True)) + finite
    return result if keepdims else squeeze(result, _all_axes(tensor, axis))


def _all_axes(tensor: Tensor, axis: Axes | None) -> Any:
    return tuple(range(tensor.ndim)) if axis is None else axis


@evaluable
def logmeanexp(
    x: ArrayLike, axis: Axes | None = None, where: Mask = None, keepdims: bool = False
) -> Tensor:
    """log(mean(exp(x))) along the axes, without overflow.

    Args:
        where: booleans that broadcast to x: elements that count.
    """
    tensor = as_float(x)
    total = logsumexp(tensor, axis, keepdims=keepdims, where=where)
    if where is None:
        count = np.prod([tensor.shape[d] for d in normalize_axes(axis, tensor.ndim)])
        return total - ops.full_like(np.log(count), total)
    ones = _masked(ops.full_like(1, tensor), where, 0)[0]
    return total - log(sum(ones, axis, keepdims=keepdims))


@evaluable
def standardize(
    x: ArrayLike,
    axis: Axes | None = -1,
    mean: ArrayLike | None = None,
    variance: ArrayLike | None = None,
    epsilon: ArrayLike = 1e-5,
    where: Mask = None,
) -> Tensor:
    """(x - mean) / sqrt(variance + epsilon) along the axes.

    Args:
        mean, variance: those of the elements if they are left out; others broadcast with x.
        where: booleans that broadcast to x: elements of which mean and variance are made.
    """
    tensor = as_float(x)
    middle = _mean(tensor, axis, where) if mean is None else as_tensor(mean)
    centred = tensor - middle
    spread = _mean(square(centred), axis, where) if variance is None else as_tensor(variance)
    return centred / sqrt(spread + epsilon)


def _mean(tensor: Tensor, axis: Axes | None, where: Mask) -> Tensor:
    if where is None:
        return mean(tensor, axis, keepdims=True)
    counted = _masked(ops.full_like(1, tensor), where, 0)[0]
    total = sum(_masked(tensor, where, 0)[0], axis, keepdims=True)
    return total / sum(counted, axis, keepdims=True)


@evaluable
def one_hot(x: ArrayLike, num_classes: int, dtype: Any = np.float32, axis: int = -1) -> Tensor:
    """1 at each index along a new axis of size `num_classes`, 0 elsewhere and for others."""
    # In 64 bits, as the indices' own type may not hold the number of classes.
    tensor = as_tensor(x)
    require_real("one_hot", tensor)
    tensor = tensor if tensor.array_shape.element_type.is_float else ops.convert(tensor, S64)
    place = normalize_axis(axis, tensor.ndim + 1)
    dims = [*tensor.shape[:place], whole(num_classes, "a number of classes"), *tensor.shape[place:]]
    numbers = ops.iota(tensor.array_shape.element_type, dims, place)
    spread = ops.broadcast(tensor, dims, [d for d in range(len(dims)) if d != place])
    return cast(ops.compare("EQ", numbers, spread), dtype)


@evaluable
def top_k(operand: ArrayLike, k: int) -> tuple[Tensor, Tensor]:
    """The k largest elements along the last axis in descending order, and their int32 indices.

    Of equal elements the first comes first; NaN counts as larger than all numbers.

    Raises:
        ShapeError: the last axis has fewer elements, or there is none.
    """
    tensor = as_tensor(operand)
    require_real("top_k", tensor)
    made = ops.operation("topk", tensor, k=whole(k, "the k of top_k"), largest=True)
    values, indices = ops.elements(made)
    return values, indices
