"""Functions of `nn` between layers: activations, softmax, biases, dropout, normalization."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.graph.building import alike, operation, result
from tfc.graph.constants import constant, convert_to_tensor
from tfc.graph.functions.arithmetic import add, multiply, subtract
from tfc.graph.functions.arrays import concat
from tfc.graph.functions.creation import shape_tensor
from tfc.graph.functions.products import matmul
from tfc.graph.functions.random import random_uniform
from tfc.graph.functions.reductions import either, reduce_mean, reduce_sum
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Tensor
from tfc.graph.types.dtypes import float16, float32


def _activation(type: str) -> Any:
    def function(features: Any, name: str | None = None) -> Tensor:
        return result(type, features, name=name)

    function.__name__ = type.lower()
    function.__doc__ = f"Make an operation {type} of each element."
    return function


relu, relu6, elu, selu = (_activation(type) for type in ("Relu", "Relu6", "Elu", "Selu"))
softplus, softsign = _activation("Softplus"), _activation("Softsign")


def leaky_relu(features: Any, alpha: Any = 0.2, name: str | None = None) -> Tensor:
    """The elements, those below 0 times alpha."""
    return result("LeakyRelu", features, name=name, alpha=float(alpha))


def crelu(features: Any, name: str | None = None, axis: int = -1) -> Tensor:
    """What is above 0 and, behind it along an axis, what is below 0 with its sign changed."""
    with get_default_graph().name_scope(name or "CRelu") as scope:
        x = convert_to_tensor(features, name="features")
        return result("Relu", concat([x, result("Neg", x)], axis), name=scope)


def swish(features: Any) -> Tensor:
    """x times its sigmoid."""
    x = convert_to_tensor(features, name="features")
    return multiply(x, result("Sigmoid", x), name="swish")


def log_sigmoid(x: Any, name: str | None = None) -> Tensor:
    """The logarithm of the sigmoid."""
    with get_default_graph().name_scope(name or "LogSigmoid") as scope:
        x = convert_to_tensor(x, name="x")
        return result("Neg", result("Softplus", result("Neg", x)), name=scope)


def along_last(x: Tensor, axis: int, function: Any) -> Tensor:
    """Apply a function that acts along the last axis to another one, and put it back."""
    rank = x.shape.ndims
    if axis == -1 or (rank is not None and axis == rank - 1):
        return function(x, True)
    if rank is None:
        raise ShapeError(f"axis {axis} of a tensor of unknown rank")
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    back = constant(np.asarray(order, np.int32))
    return result("Transpose", function(result("Transpose", x, back), False), back)


def _softmax(type: str, logits: Any, axis: Any, dim: Any, name: str | None) -> Tensor:
    along = either(axis, dim, "axis and dim", -1)
    x = convert_to_tensor(logits, name="logits")
    return along_last(x, along, lambda v, last: result(type, v, name=name if last else None))


def softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """Exponentials over their sum along an axis."""
    return _softmax("Softmax", logits, axis, dim, name)


def log_softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """The logarithm of `softmax`."""
    return _softmax("LogSoftmax", logits, axis, dim, name)


def bias_add(
    value: Any, bias: Any, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """A number added to each channel."""
    with get_default_graph().name_scope(name or "BiasAdd") as scope:
        value, bias = alike(value, bias, names=("input", "bias"))
        dims = value.shape.dims
        channels = None if dims is None else dims[1 if (data_format or "").startswith("NC") else -1]
        bias.shape.assert_is_compatible_with([channels])
        return result("BiasAdd", value, bias, name=scope, data_format=data_format or "NHWC")


def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """A product of matrices, and a number added to each column."""
    with get_default_graph().name_scope(name or "xw_plus_b") as scope:
        return bias_add(matmul(x, weights), biases, name=scope)


def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """`relu` of `xw_plus_b`."""
    with get_default_graph().name_scope(name or "relu_layer") as scope:
        return relu(bias_add(matmul(x, weights), biases), name=scope)


def dropout(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Tensor:
    """Elements are 0 with a probability, and those that stay grow so that the mean stays.

    Args:
        keep_prob: the probability to stay. rate: that to go; one of the two is stated.
        noise_shape: the shape in which it is decided; 1 where one decision is for all.

    Raises:
        ValueError: a probability is none, or neither is stated.
    """
    with get_default_graph().name_scope(name or "dropout") as scope:
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_floating:
            raise ShapeError(f"dropout takes floats, as it scales them, got {x.dtype.name}")
        if (keep_prob is None) == (rate is None):
            raise ShapeError("dropout takes one of keep_prob and rate")
        keep = keep_prob if rate is None else 1 - rate
        if isinstance(keep, (int, float)):
            if not 0 < keep <= 1:
                raise ShapeError(f"keep_prob must be in (0, 1], got {keep}")
            if keep == 1:
                return x
        kept = convert_to_tensor(keep, x.dtype, name="keep_prob")
        dims = result("Shape", x) if noise_shape is None else shape_tensor(noise_shape)
        noise = random_uniform(dims, 0, 1, x.dtype, seed)
        mask = result("Floor", add(kept, noise))
        made = multiply(result("RealDiv", x, kept, name="div"), mask, name=scope)
        made.set_shape(x.shape)
        return made


def l2_loss(t: Any, name: str | None = None) -> Tensor:
    """Half the sum of squares."""
    return result("L2Loss", t, name=name)


def l2_normalize(
    x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None
) -> Tensor:
    """The elements over the root of their sum of squares along axes."""
    with get_default_graph().name_scope(name or "l2_normalize") as scope:
        x = convert_to_tensor(x, name="x")
        along = either(axis, dim, "axis and dim")
        total = reduce_sum(result("Square", x), along, keepdims=True)
        least = convert_to_tensor(epsilon, x.dtype)
        return multiply(x, result("Rsqrt", result("Maximum", total, least)), name=scope)


def local_response_normalization(
    input: Any,
    depth_radius: int = 5,
    bias: float = 1,
    alpha: float = 1,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """Each element over (bias + alpha times the squares in the channels around it) ** beta."""
    more = {"depth_radius": depth_radius, "bias": bias, "alpha": alpha, "beta": beta}
    return result("LRN", input, name=name, **more)


lrn = local_response_normalization


def moments(
    x: Any,
    axes: Any,
    shift: Any = None,
    name: str | None = None,
    keep_dims: Any = None,
    keepdims: Any = None,
) -> tuple[Tensor, Tensor]:
    """(mean, variance) over axes."""
    keep = bool(either(keepdims, keep_dims, "keepdims and keep_dims", False))
    with get_default_graph().name_scope(name or "moments"):
        given = convert_to_tensor(x, name="x")
        wide = result("Cast", given, DstT=float32) if given.dtype == float16 else given
        mean = reduce_mean(wide, axes, keepdims=True, name="mean")
        squares = result("SquaredDifference", wide, result("StopGradient", mean))
        variance = reduce_mean(squares, axes, keepdims=True, name="variance")
        if not keep:
            listed = [int(n) for n in np.ravel(np.asarray(axes))]
            mean = result("Squeeze", mean, squeeze_dims=listed)
            variance = result("Squeeze", variance, squeeze_dims=listed)
        if wide is not given:
            mean, variance = (result("Cast", v, DstT=float16) for v in (mean, variance))
        return mean, variance


def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    offset: Any,
    scale: Any,
    variance_epsilon: float,
    name: str | None = None,
) -> Tensor:
    """(x - mean) / sqrt(variance + epsilon) * scale + offset; either may be None."""
    with get_default_graph().name_scope(name or "batchnorm"):
        x = convert_to_tensor(x)
        factor = result("Rsqrt", add(convert_to_tensor(variance), variance_epsilon))
        if scale is not None:
            factor = multiply(factor, scale)
        shift = multiply(mean, factor)
        rest = result("Neg", shift) if offset is None else subtract(offset, shift)
        return add(multiply(x, factor), rest)


def fused_batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any = None,
    variance: Any = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """(normalized images, mean, variance): of the batch in training, those given otherwise.

    Raises:
        ValueError: mean and variance are given in training, or are not given otherwise.
    """
    if is_training != (mean is None) or is_training != (variance is None):
        raise ShapeError("mean and variance must be given when is_training=False, and only then")
    with get_default_graph().name_scope(name or "FusedBatchNorm") as scope:
        x = convert_to_tensor(x, name="input")
        scale = convert_to_tensor(scale, name="scale")
        offset = convert_to_tensor(offset, name="offset")
        if is_training:
            mean = variance = constant(np.zeros(0, scale.dtype.dtype))
        more = {"epsilon": epsilon, "data_format": data_format, "is_training": is_training}
        type = "FusedBatchNormV2" if x.dtype != scale.dtype else "FusedBatchNorm"
        made = operation(type, [x, scale, offset, mean, variance], scope, **more).outputs
        return made[0], made[1], made[2]


def zero_fraction(value: Any, name: str | None = None) -> Tensor:
    """How large a share of the elements is 0."""
    with get_default_graph().name_scope(name or "zero_fraction"):
        x = convert_to_tensor(value, name="value")
        zero = result("Equal", x, constant(0, x.dtype))
        return reduce_mean(result("Cast", zero, DstT=float32))


def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """(mean, variance) from sums of elements and of their squares."""
    with get_default_graph().name_scope(name or "normalize"):
        divisor = result("Reciprocal", convert_to_tensor(counts))
        shifted = multiply(mean_ss, divisor)
        mean = shifted if shift is None else add(shifted, shift)
        variance = subtract(multiply(variance_ss, divisor), result("Square", shifted))
        return mean, variance


def sufficient_statistics(
    x: Any, axes: Sequence[int], shift: Any = None, keep_dims: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor, Any]:
    """(number of elements, their sum, the sum of their squares, what was taken off before)."""
    with get_default_graph().name_scope(name or "sufficient_statistics"):
        x = convert_to_tensor(x, name="x")
        dims = [x.shape.as_list()[n] for n in axes]
        if None in dims:
            sizes = result("GatherV2", result("Shape", x), list(axes), 0)
            count = result("Prod", result("Cast", sizes, DstT=x.dtype), [0])
        else:
            count = constant(float(np.prod(dims)), x.dtype)
        moved = x if shift is None else subtract(x, shift)
        total = reduce_sum(moved, axes, keepdims=keep_dims)
        squares = reduce_sum(result("Square", moved), axes, keepdims=keep_dims)
        return count, total, squares, shift
