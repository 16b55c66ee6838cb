"""Functions that neural networks are made of, beyond NumPy's: convolutions, pooling, softmax …

All take Tensors or arrays, and give NumPy arrays outside a trace. Arrays of images and the like
have their channels last (NHWC); `data_format` states another order, wherever it matters.
"""

from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.differentiation.gradient import stop_gradient
from tfc.frontend.numpy.arithmetic import where
from tfc.frontend.numpy.convolutions import conv, conv_transpose
from tfc.frontend.numpy.functions import as_float, exp, isfinite, log, logaddexp, sigmoid
from tfc.frontend.numpy.manipulation import Axes, normalize_axis, squeeze
from tfc.frontend.numpy.parts import require_real
from tfc.frontend.numpy.reductions import max, sum
from tfc.frontend.numpy.window_arguments import data_format_of
from tfc.frontend.numpy.windows import avg_pool, cummax, cummin, max_pool
from tfc.frontend.promotion import as_tensor, cast
from tfc.frontend.python_numbers import real_number, whole
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable
from tfc.hlo.shape import S64

__all__ = [
    "avg_pool",
    "batch_norm_inference",
    "batch_norm_training",
    "conv",
    "conv_transpose",
    "cummax",
    "cummin",
    "log_softmax",
    "logsumexp",
    "max_pool",
    "one_hot",
    "relu",
    "sigmoid",
    "softmax",
    "softplus",
    "stop_gradient",
    "top_k",
]


@evaluable
def relu(x: ArrayLike) -> Tensor:
    """The larger of x and 0, NaN for NaN; the derivative at 0 is 0."""
    tensor = as_tensor(x)
    require_real("relu", tensor)
    zero = ops.full_like(0, tensor)
    return ops.select(ops.compare("LE", tensor, zero), zero, tensor)


@evaluable
def softplus(x: ArrayLike) -> Tensor:
    """log(1 + exp(x)) without overflow."""
    return logaddexp(x, 0)


@evaluable
def softmax(x: ArrayLike, axis: Axes = -1) -> Tensor:
    """exp(x) / sum(exp(x)) along the axes, without overflow."""
    tensor = as_float(x)
    # The maximum cancels, in the derivative too, so it is a constant there.
    scaled = exp(tensor - stop_gradient(max(tensor, axis, keepdims=True)))
    return scaled / sum(scaled, axis, keepdims=True)


@evaluable
def log_softmax(x: ArrayLike, axis: Axes = -1) -> Tensor:
    """log(softmax(x)) along the axes, finite even where softmax rounds to 0."""
    tensor = as_float(x)
    shifted = tensor - stop_gradient(max(tensor, axis, keepdims=True))
    return shifted - log(sum(exp(shifted), axis, keepdims=True))


@evaluable
def logsumexp(x: ArrayLike, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """log(sum(exp(x))) along the axes, without overflow; -inf for nothing but -inf."""
    tensor = as_float(x)
    largest = stop_gradient(max(tensor, axis, keepdims=True))
    finite = where(isfinite(largest), largest, 0)
    result = log(sum(exp(tensor - finite), axis, keepdims=True)) + finite
    return result if keepdims else squeeze(result, _all_axes(tensor, axis))


def _all_axes(tensor: Tensor, axis: Axes | None) -> Any:
    return tuple(range(tensor.ndim)) if axis is None else axis


@evaluable
def one_hot(
    indices: ArrayLike, num_classes: int, dtype: Any = np.float32, axis: int = -1
) -> Tensor:
    """1 at each index along a new axis of size `num_classes`, 0 elsewhere and for others."""
    # In 64 bits, as the indices' own type may not hold the number of classes.
    tensor = as_tensor(indices)
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


@evaluable
def batch_norm_training(
    x: ArrayLike,
    scale: ArrayLike,
    offset: ArrayLike,
    epsilon: float = 1e-5,
    data_format: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """(normalized, mean, variance): x less its mean over its deviation, scaled and shifted.

    Each channel has moments, a scale and an offset of its own; the variance is that of the batch,
    divided by its size.

    Args:
        data_format: which dimension has the channels: NC, NWC, NHWC …, the last one; NCHW … the
            second.

    Raises:
        ShapeError: scale or offset is not a vector with an element for each channel.
    """
    operands = [as_float(v) for v in (x, scale, offset)]
    feature = _feature("batch_norm_training", data_format, *operands)
    made = ops.operation(
        "batch-norm-training",
        *operands,
        epsilon=real_number(epsilon, "epsilon"),
        feature_index=feature,
    )
    normalized, mean, variance = ops.elements(made)
    return normalized, mean, variance


@evaluable
def batch_norm_inference(
    x: ArrayLike,
    scale: ArrayLike,
    offset: ArrayLike,
    mean: ArrayLike,
    variance: ArrayLike,
    epsilon: float = 1e-5,
    data_format: str | None = None,
) -> Tensor:
    """scale * (x - mean) / sqrt(variance + epsilon) + offset for the moments given.

    Args:
        data_format: as in `batch_norm_training`.

    Raises:
        ShapeError: one of the vectors has not an element for each channel.
    """
    operands = [as_float(v) for v in (x, scale, offset, mean, variance)]
    feature = _feature("batch_norm_inference", data_format, *operands)
    return ops.operation(
        "batch-norm-inference",
        *operands,
        epsilon=real_number(epsilon, "epsilon"),
        feature_index=feature,
    )


def _feature(function: str, data_format: str | None, x: Tensor, *vectors: Tensor) -> int:
    """The dimension of the channels, for each of which every vector must have an element."""
    named, (_, feature, *_) = data_format_of(function, data_format, x)
    for vector in vectors:
        if vector.shape != (x.shape[feature],):
            got = vector.array_shape.without_layout()
            raise ShapeError(
                f"{function} requires vectors of {x.shape[feature]} elements for the channels of "
                f"{x.array_shape.without_layout()} ({named}), got {got}"
            )
    return feature
