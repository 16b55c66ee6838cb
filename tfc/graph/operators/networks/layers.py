"""Operators of networks: activations, biases, normalization, losses."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfc import nn
from tfc import numpy as tnp
from tfc.errors import ShapeError
from tfc.frontend.differentiation.custom.vjp import custom_vjp
from tfc.graph.operators.inference import same
from tfc.graph.operators.registry import Attributes, Spec, known, operator
from tfc.graph.types.dtypes import as_dtype, float32
from tfc.graph.types.shapes import TensorShape

SELU_ABOVE = 1.0507009873554805  # the slope of selu above 0, and how far below 0 it falls
SELU_BELOW = 1.7580993408473769


def attribute_number(value: float, like: Any) -> np.ndarray:
    """An attribute as a number of an array's dtype: files hold attributes in single precision."""
    return np.asarray(np.float32(value), like.dtype)


def _activation(name: str, function: Callable[..., Any]) -> None:
    @operator(name, infer=same)
    def row(features: Any) -> Any:
        return function(features)


for _name, _function in {
    "Relu": nn.relu,
    "Relu6": lambda x: tnp.minimum(nn.relu(x), np.asarray(6, x.dtype)),
    "Elu": nn.elu,
    "Selu": nn.selu,
    "Softplus": nn.softplus,
    "Softmax": nn.softmax,
    "LogSoftmax": nn.log_softmax,
}.items():
    _activation(_name, _function)


@operator("LeakyRelu", infer=same)
def leaky_relu(features: Any, alpha: float = 0.2) -> Any:
    """x, or alpha times x below 0."""
    return tnp.where(features > 0, features, features * attribute_number(alpha, features))


@operator("LeakyReluGrad", infer=same)
def leaky_relu_gradient(gradients: Any, features: Any, alpha: float = 0.2) -> Any:
    """The gradient, or alpha times it where the activation was given a number not above 0."""
    return tnp.where(features > 0, gradients, gradients * attribute_number(alpha, gradients))


def _gradient(name: str, slope: Callable[[Any], Any]) -> None:
    """The gradient of an activation, from what it was given or from what it gave."""

    @operator(name, infer=same)
    def row(gradients: Any, features: Any) -> Any:
        return gradients * tnp.astype(slope(features), gradients.dtype)


_gradient("ReluGrad", lambda x: x > 0)
_gradient("Relu6Grad", lambda x: (x > 0) & (x < 6))
_gradient("SoftplusGrad", tnp.sigmoid)
_gradient("SoftsignGrad", lambda x: 1 / tnp.square(1 + tnp.abs(x)))
_gradient("EluGrad", lambda y: tnp.where(y < 0, y + 1, tnp.ones_like(y)))
_gradient("SeluGrad", lambda y: tnp.where(y < 0, y + SELU_BELOW, SELU_ABOVE + 0 * y))


def _of_result(name: str, slope: Callable[[Any], Any]) -> None:
    """The gradient of a function, from what it gave."""

    @operator(name, infer=same)
    def row(y: Any, dy: Any) -> Any:
        return dy * slope(y)


_of_result("SigmoidGrad", lambda y: y * (1 - y))
_of_result("TanhGrad", lambda y: 1 - y * y)
_of_result("SqrtGrad", lambda y: np.asarray(0.5, y.dtype) / tnp.conj(y))
_of_result("RsqrtGrad", lambda y: np.asarray(-0.5, y.dtype) * tnp.conj(y * y * y))
_of_result("ReciprocalGrad", lambda y: -tnp.conj(y * y))


def beside_channels(data_format: str, rank: int) -> list[int]:
    """How a vector of channels lies beside an array: -1 where the channels are."""
    first = data_format.startswith("NC")
    return [-1 if n == (1 if first else rank - 1) else 1 for n in range(rank)]


@operator("BiasAdd", infer=same)
def bias_add(value: Any, bias: Any, data_format: str = "NHWC") -> Any:
    """A number added to each channel."""
    return value + tnp.reshape(bias, beside_channels(data_format, value.ndim))


@operator("BiasAddV1", infer=same)
def bias_add_last(value: Any, bias: Any) -> Any:
    """A number added to each channel, which are last."""
    return value + bias


@operator("BiasAddGrad")
def bias_add_gradient(out_backprop: Any, data_format: str = "NHWC") -> Any:
    """The sum over all but the channels."""
    shape = beside_channels(data_format, out_backprop.ndim)
    axes = tuple(n for n, size in enumerate(shape) if size == 1)
    return tnp.sum(out_backprop, axis=axes, dtype=out_backprop.dtype)


@operator("L2Loss")
def l2_loss(t: Any) -> Any:
    """Half the sum of squares."""
    return tnp.sum(t * t, dtype=t.dtype) / np.asarray(2, t.dtype)


@operator("LRN", infer=same)
def local_response_normalization(
    input: Any, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5
) -> Any:
    """Each element over a power of what the squares in the channels around it sum up to."""
    dtype = input.dtype
    scale = np.asarray(bias, dtype) + np.asarray(alpha, dtype) * sum_around(
        input * input, depth_radius
    )
    return input * tnp.power(scale, np.asarray(-beta, dtype))


def sum_around(x: Any, radius: int) -> Any:
    """Of each element the sum of those so near to it in the last dimension."""
    padded = tnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(radius, radius)])
    channels = x.shape[-1]
    total = padded[..., :channels]
    for n in range(1, 2 * radius + 1):
        total = total + padded[..., n : n + channels]
    return total


def _normalized(inputs: Sequence[Any], attributes: Attributes, results: int) -> list[Spec]:
    x, scale = inputs[0], inputs[1]
    vector = scale.shape.merge_with(inputs[2].shape)
    kept = float32 if x.dtype.name in ("float16", "bfloat16") else scale.dtype
    return [(x.dtype, x.shape), *[(kept, vector)] * results]


def _fused(name: str, types: str, more: int) -> None:
    """Batch normalization of a version that gives `more` results which only gradients ask for."""

    @operator(
        name,
        types=types,
        infer=lambda inputs, attributes: _normalized(inputs, attributes, more + 2),
    )
    def row(
        x: Any,
        scale: Any,
        offset: Any,
        mean: Any,
        variance: Any,
        epsilon: float = 1e-4,
        data_format: str = "NHWC",
        is_training: bool = True,
        exponential_avg_factor: float = 1.0,
    ) -> Any:
        shape = beside_channels(data_format, x.ndim)
        wide = tnp.astype(x, scale.dtype)
        small = attribute_number(epsilon, scale)
        if not is_training:
            made = _scaled(wide, scale, offset, mean, variance, small, shape)
            given = [mean, variance, mean, variance]
            return [tnp.astype(made, x.dtype), *given, *[tnp.zeros(0, scale.dtype)] * (more - 2)]
        axes = tuple(n for n, size in enumerate(shape) if size == 1)
        count = int(np.prod([x.shape[n] for n in axes]))
        middle = tnp.mean(wide, axis=axes)
        spread = tnp.mean(tnp.square(wide - tnp.reshape(middle, shape)), axis=axes)
        made = _scaled(wide, scale, offset, middle, spread, small, shape)
        unbiased = spread * np.asarray(count / max(count - 1, 1), scale.dtype)
        if exponential_avg_factor != 1.0:
            share = attribute_number(exponential_avg_factor, scale)
            unbiased = variance * (1 - share) + unbiased * share
            given_mean = mean * (1 - share) + middle * share
        else:
            given_mean = middle
        rest = [middle, spread, *[tnp.zeros(0, scale.dtype)] * (more - 2)]
        return [tnp.astype(made, x.dtype), given_mean, unbiased, *rest]


def _scaled(
    x: Any, scale: Any, offset: Any, mean: Any, variance: Any, epsilon: Any, shape: Sequence[int]
) -> Any:
    factor = scale * tnp.rsqrt(variance + epsilon)
    return (x - tnp.reshape(mean, shape)) * tnp.reshape(factor, shape) + tnp.reshape(offset, shape)


_fused("FusedBatchNorm", "T", 2)
_fused("FusedBatchNormV2", "T U", 2)
_fused("FusedBatchNormV3", "T U", 3)


def _loss(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    logits = inputs[0]
    dims = logits.shape.dims
    rows = TensorShape(None if dims is None else dims[:1])
    return [(logits.dtype, rows), (logits.dtype, logits.shape)]


@operator("SoftmaxCrossEntropyWithLogits", infer=_loss)
def softmax_cross_entropy(features: Any, labels: Any) -> Any:
    """The cross entropy of each row, and its gradient by the features."""
    features, labels = tnp.broadcast_arrays(features, labels)
    return _cross_entropy(features, labels), nn.softmax(features) - labels


@custom_vjp
def _cross_entropy(features: Any, labels: Any) -> Any:
    """The gradient by the features is softmax - labels, also where labels do not sum to 1.

    That is TensorFlow's; programs in which the labels are the softmax itself rely on its zeros.
    """
    # Where a label is 0 the term is 0, whatever the logarithm is.
    logarithms = nn.log_softmax(features)
    terms = tnp.where(labels == 0, tnp.zeros_like(labels), labels * logarithms)
    return -tnp.sum(terms, axis=-1)


def _cross_entropy_gradient(known: tuple[Any, Any], cotangent: Any) -> tuple[Any, Any]:
    features, labels = known
    by_row = tnp.expand_dims(cotangent, -1)
    return by_row * (nn.softmax(features) - labels), -by_row * nn.log_softmax(features)


_cross_entropy.defvjp(lambda *given: (_cross_entropy(*given), given), _cross_entropy_gradient)


@operator("SparseSoftmaxCrossEntropyWithLogits", types="T Tlabels", infer=_loss)
def sparse_softmax_cross_entropy(features: Any, labels: Any) -> Any:
    """The cross entropy of each row, whose label is the number of a class; and its gradient."""
    if labels.ndim != 1 or features.ndim != 2 or labels.shape[0] != features.shape[0]:
        raise ShapeError(
            f"a label for each row of logits is needed, got shapes {tuple(labels.shape)} and "
            f"{tuple(features.shape)}"
        )
    logarithms = nn.log_softmax(features)
    hit = tnp.expand_dims(labels, 1) == np.arange(features.shape[1]).astype(labels.dtype)
    zero = np.zeros((), features.dtype)
    loss = -tnp.sum(tnp.where(hit, logarithms, zero), axis=-1)
    inside = (labels >= 0) & (labels < np.asarray(features.shape[1], labels.dtype))
    loss = tnp.where(inside, loss, np.asarray(np.nan, features.dtype))
    return loss, tnp.exp(logarithms) - tnp.astype(hit, features.dtype)


@operator("TopKV2", types="T Tk", known=(1,))
def top_k(input: Any, k: Any, sorted: bool = True, index_type: Any = np.int32) -> Any:
    """The largest elements of each row, largest first, and where they are."""
    values, places = nn.top_k(input, int(known(k, "how many elements top_k finds")))
    return values, tnp.astype(places, as_dtype(index_type).dtype)


@operator("TopK")
def top_k_stated(input: Any, *, k: int, sorted: bool = True) -> Any:
    """The largest elements of each row, as many as the attribute says."""
    return top_k(input, k)


def _hits(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(as_dtype(np.bool_), inputs[1].shape)]


@operator("InTopK", types="- T", infer=_hits)
def in_top_k_stated(predictions: Any, targets: Any, *, k: int) -> Any:
    """`InTopKV2` with an attribute for the number."""
    return in_top_k(predictions, targets, np.asarray(k, targets.dtype))


@operator("InTopKV2", types="- T", infer=_hits)
def in_top_k(predictions: Any, targets: Any, k: Any) -> Any:
    """Whether the class of each row is among the k with the largest predictions."""
    places = tnp.expand_dims(targets, 1) == np.arange(predictions.shape[1]).astype(targets.dtype)
    zero = np.zeros((), predictions.dtype)
    own = tnp.sum(tnp.where(places, predictions, zero), axis=1, keepdims=True)
    larger = tnp.sum(predictions > own, axis=1, dtype=np.int64)
    inside = (targets >= 0) & (targets < np.asarray(predictions.shape[1], targets.dtype))
    return (larger < k) & tnp.isfinite(own[:, 0]) & inside
