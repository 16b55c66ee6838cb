"""Operators that torch defines by others, as torch.export leaves them: whole layers.

A program of these and of the table's other rows is read as it is, without torch's rewriting, which
takes most of the time that an import takes.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc import nn
from tfc.importers.torch.operators.creation import arange
from tfc.importers.torch.operators.creation import dropout as native_dropout
from tfc.importers.torch.operators.pooling import adaptive_avg_pool, max_pool2d
from tfc.importers.torch.operators.products import attention, convolution
from tfc.importers.torch.operators.shapes import split
from tfc.importers.torch.table import COMPOSITE, Call, axis_of, cast, composite, wide


@composite("linear.default")
def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """x weightᵀ + bias."""
    made = tnp.matmul(x, tnp.swapaxes(weight, 0, 1) if weight.ndim == 2 else weight)
    return made if bias is None else made + bias


@composite("matmul.default")
def matmul(a: Any, b: Any) -> Any:
    """The products of matrices."""
    return tnp.matmul(a, b)


@composite("conv1d.default", "conv2d.default", "conv3d.default")
def conv(
    x: Any, w: Any, bias: Any = None, stride: Any = (1,), padding: Any = (0,), dilation: Any = (1,),
    groups: int = 1,
) -> Any:  # fmt: skip
    """A convolution with channels before the last dimensions."""
    return convolution(x, w, bias, stride, padding, dilation, False, (0,), groups)


@composite("conv_transpose1d.default", "conv_transpose2d.input", "conv_transpose3d.input")
def conv_transpose(
    x: Any, w: Any, bias: Any = None, stride: Any = (1,), padding: Any = (0,),
    output_padding: Any = (0,), groups: int = 1, dilation: Any = (1,),
) -> Any:  # fmt: skip
    """The transpose of a convolution."""
    return convolution(x, w, bias, stride, padding, dilation, True, output_padding, groups)


def normalized(x: Any, axes: tuple[int, ...], eps: float) -> Any:
    """The elements with mean zero and variance one over dimensions."""
    x = wide(x)
    centered = x - tnp.mean(x, axis=axes, keepdims=True)
    variance = tnp.mean(centered * centered, axis=axes, keepdims=True)
    return centered / tnp.sqrt(variance + cast(eps, x.dtype))


def scaled(x: Any, weight: Any, bias: Any) -> Any:
    """x by a weight and with a bias, where there are any."""
    x = x if weight is None else x * wide(weight)
    return x if bias is None else x + wide(bias)


@composite("layer_norm.default")
def layer_norm(
    x: Any, sizes: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any
) -> Any:
    """The elements normalized over the last dimensions."""
    axes = tuple(range(x.ndim - len(sizes), x.ndim))
    return scaled(normalized(x, axes, eps), weight, bias)


def channels(x: Any, rank: int) -> Any:
    """A vector along the second of so many dimensions."""
    return None if x is None else tnp.reshape(x, (-1, *[1] * (rank - 2)))


@composite("group_norm.default")
def group_norm(
    x: Any, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any
) -> Any:
    """The elements normalized over groups of channels."""
    parts = tnp.reshape(x, (x.shape[0], groups, -1))
    made = tnp.reshape(normalized(parts, (2,), eps), x.shape)
    return scaled(made, channels(weight, x.ndim), channels(bias, x.ndim))


@composite("batch_norm.default")
def batch_norm(
    x: Any, weight: Any, bias: Any, mean: Any, variance: Any, training: bool, momentum: float,
    eps: float, *_: Any,
) -> Any:  # fmt: skip
    """The elements normalized by means and variances of channels that are given."""
    mean, variance = (channels(wide(v), x.ndim) for v in (mean, variance))
    made = (wide(x) - mean) / tnp.sqrt(variance + cast(eps, variance.dtype))
    return scaled(made, channels(weight, x.ndim), channels(bias, x.ndim))


def _enter(name: str, function: Callable[..., Any]) -> None:
    @composite(f"{name}.default")
    def row(x: Any, *given: Any, node: Call, **named: Any) -> Any:
        return function(wide(cast(x, node.dtype)), *given, **named)


def _elu(x: Any, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Any:
    below = alpha * tnp.expm1(tnp.minimum(x, 0) * input_scale)
    return tnp.where(x > 0, x, below) * scale


for _name, _function in {
    "silu": nn.silu, "hardswish": nn.hard_silu, "hardsigmoid": nn.hard_sigmoid, "relu6": nn.relu6,
    "leaky_relu": nn.leaky_relu, "elu": _elu, "square": tnp.square,
    "mish": lambda x: x * tnp.tanh(nn.softplus(x)),
    "hardtanh": lambda x, low=-1, high=1: tnp.clip(x, low, high),
    "gelu": lambda x, approximate="none": nn.gelu(x, approximate == "tanh"),
}.items():  # fmt: skip
    _enter(_name, _function)


@composite("softmax.int")
def softmax(x: Any, dim: int, dtype: Any = None, *, node: Call) -> Any:
    """The softmax along a dimension."""
    return nn.softmax(wide(cast(x, node.dtype)), axis_of(dim, x.ndim)) if x.ndim else x * 0 + 1


@composite("log_softmax.int")
def log_softmax(x: Any, dim: int, dtype: Any = None, *, node: Call) -> Any:
    """The logarithms of the softmax along a dimension."""
    return nn.log_softmax(wide(cast(x, node.dtype)), axis_of(dim, x.ndim)) if x.ndim else x * 0


@composite("dropout.default")
def dropout(x: Any, p: float, train: bool, *, node: Call) -> Any:
    """The array, of which elements are dropped where the module is trained."""
    return native_dropout(x, p, True, node=node)[0] if train else x


@composite("max_pool2d.default")
def max_pool(x: Any, *given: Any) -> Any:
    """The largest elements of windows."""
    return max_pool2d(x, *given)[0]


COMPOSITE["adaptive_avg_pool2d.default"] = adaptive_avg_pool


@composite("flatten.using_ints")
def flatten(x: Any, start: int = 0, end: int = -1) -> Any:
    """Some dimensions as one."""
    first, last = axis_of(start, x.ndim), axis_of(end, x.ndim)
    merged = int(np.prod(x.shape[first : last + 1]))
    return tnp.reshape(x, (*x.shape[:first], merged, *x.shape[last + 1 :]))


@composite("unflatten.int")
def unflatten(x: Any, dim: int, sizes: Sequence[int]) -> Any:
    """A dimension as several."""
    axis = axis_of(dim, x.ndim)
    known = int(np.prod([n for n in sizes if n != -1]))
    parts = [x.shape[axis] // known if n == -1 else n for n in sizes]
    return tnp.reshape(x, (*x.shape[:axis], *parts, *x.shape[axis + 1 :]))


@composite("scaled_dot_product_attention.default")
def sdpa(
    query: Any, key: Any, value: Any, mask: Any = None, dropout_p: float = 0.0,
    is_causal: bool = False, *, scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """Scaled dot product attention.

    Raises:
        UnsupportedError: it drops elements, as when it is trained.
    """
    q, k, v = map(wide, (query, key, value))
    return attention(q, k, v, dropout_p, is_causal, attn_mask=mask, scale=scale)[0]


@composite("unbind.int")
def unbind(x: Any, dim: int = 0) -> list[Any]:
    """The places of a dimension."""
    axis = axis_of(dim, x.ndim)
    return [x[(*[slice(None)] * axis, n)] for n in range(x.shape[axis])]


@composite("split.Tensor")
def split_evenly(x: Any, size: int, dim: int = 0) -> list[Any]:
    """Parts of one size, of which the last may be smaller."""
    n = x.shape[axis_of(dim, x.ndim)]
    sizes = [min(size, n - start) for start in range(0, n, size)] if n else [0]
    return split(x, sizes, dim)


@composite("chunk.default")
def chunk(x: Any, chunks: int, dim: int = 0) -> list[Any]:
    """So many parts, or as many as there can be."""
    return split_evenly(x, max(-(-x.shape[axis_of(dim, x.ndim)] // chunks), 1), dim)


@composite("stack.default")
def stack(arrays: Sequence[Any], dim: int = 0, *, node: Call) -> Any:
    """Arrays along a new dimension."""
    return tnp.stack([cast(a, node.dtype) for a in arrays], dim % (arrays[0].ndim + 1))


@composite("ones.default")
def ones(size: Sequence[int], *, node: Call, **_: Any) -> Any:
    """An array of ones."""
    return tnp.ones(tuple(size), node.dtype)


@composite("arange.default")
def arange_below(end: Any, *, node: Call, **_: Any) -> Any:
    """The numbers from zero up to end."""
    return arange(0, end, node=node)


COMPOSITE["arange.start"] = arange


@composite("to.dtype")
def converted(x: Any, *_: Any, **__: Any) -> Any:
    """The array, which is converted to what is stated."""
    return x


@composite("numpy_T.default")
def reversed_dimensions(x: Any) -> Any:
    """The dimensions the other way round."""
    return tnp.transpose(x)


@composite("expand_as.default")
def expand_as(x: Any, other: Any) -> Any:
    """The array repeated to the shape of another."""
    return tnp.broadcast_to(x, other.shape)


@composite("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    """The array with one value where a mask holds."""
    return tnp.where(mask, cast(value, x.dtype), x)


@composite("lstm_cell.default", "lstm_cell.input")
def lstm_cell(x: Any, state: Sequence[Any], w: Any, u: Any, b: Any = None, c: Any = None) -> Any:
    """A step of an LSTM: the new hidden state and the new cell."""
    hidden, cell = state
    gates = linear(x, w, b) + linear(hidden, u, c)
    entry, kept, new, shown = chunk(gates, 4, 1)
    cell = nn.sigmoid(kept) * cell + nn.sigmoid(entry) * tnp.tanh(new)
    return nn.sigmoid(shown) * tnp.tanh(cell), cell


@composite("gru_cell.default", "gru_cell.input")
def gru_cell(x: Any, hidden: Any, w: Any, u: Any, b: Any = None, c: Any = None) -> Any:
    """A step of a GRU."""
    given, before = chunk(linear(x, w, b), 3, 1), chunk(linear(hidden, u, c), 3, 1)
    kept = nn.sigmoid(given[1] + before[1])
    new = tnp.tanh(given[2] + nn.sigmoid(given[0] + before[0]) * before[2])
    return (1 - kept) * new + kept * hidden
