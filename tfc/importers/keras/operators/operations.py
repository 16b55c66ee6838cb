"""Operations of keras.ops within Functional models."""

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

import tfc.linalg as linalg
import tfc.numpy as tnp
from tfc import nn, special
from tfc.errors import UnsupportedError
from tfc.importers.keras.layer import dtype_of
from tfc.importers.keras.operators import activations
from tfc.importers.keras.operators.convolutions import channels_back, channels_last, numbers
from tfc.importers.keras.operators.numbers import as_real, promoted
from tfc.importers.keras.operators.resizing import resized
from tfc.importers.keras.table import Use, layer


def op(*names: str) -> Callable[[Any], Any]:
    """The decorator of a row of keras.ops."""
    return layer(*names, domain="ops")


def _unary(name: str, function: Callable[[Any], Any], real: bool) -> None:
    def row(use: Use, x: Any) -> Any:
        return function(as_real(x) if real else x)

    op(name)(row)


REAL: dict[str, Callable[[Any], Any]] = {
    "Exp": tnp.exp, "Log": tnp.log, "Log1p": tnp.log1p, "Log2": tnp.log2, "Log10": tnp.log10,
    "Expm1": tnp.expm1, "Sqrt": tnp.sqrt, "Rsqrt": lambda x: 1 / tnp.sqrt(x), "Sin": tnp.sin,
    "Cos": tnp.cos, "Tan": tnp.tan, "Tanh": tnp.tanh, "Sinh": tnp.sinh, "Cosh": tnp.cosh,
    "Arcsin": tnp.arcsin, "Arccos": tnp.arccos, "Arctan": tnp.arctan, "Arcsinh": tnp.arcsinh,
    "Arccosh": tnp.arccosh, "Arctanh": tnp.arctanh, "Reciprocal": lambda x: 1 / x,
    "Erf": special.erf, "Erfinv": special.erfinv, "Sigmoid": nn.sigmoid, "Softplus": nn.softplus,
    "Softsign": nn.soft_sign, "Silu": nn.silu, "LogSigmoid": nn.log_sigmoid, "Selu": nn.selu,
    "Mish": nn.mish, "HardSigmoid": activations.hard_sigmoid,
    "HardSilu": lambda x: x * activations.hard_sigmoid(x), "HardTanh": nn.hard_tanh,
    "TanhShrink": lambda x: x - tnp.tanh(x), "SparsePlus": nn.sparse_plus,
    "SparseSigmoid": nn.sparse_sigmoid,
}  # fmt: skip
PLAIN: dict[str, Callable[[Any], Any]] = {
    "Absolute": tnp.absolute, "Abs": tnp.absolute, "Negative": tnp.negative, "Relu": nn.relu,
    "Square": lambda x: x * x, "Relu6": nn.relu6, "Sign": tnp.sign, "Floor": tnp.floor,
    "Ceil": tnp.ceil, "Trunc": tnp.trunc, "LogicalNot": lambda x: ~x.astype(bool),
    "Isnan": tnp.isnan, "Isinf": tnp.isinf, "Isfinite": tnp.isfinite, "Ravel": tnp.ravel,
    "Copy": lambda x: x, "StopGradient": nn.stop_gradient,
}  # fmt: skip
for _name, _function in REAL.items():
    _unary(_name, _function, True)
for _name, _function in PLAIN.items():
    _unary(_name, _function, False)


def _real_pair(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: function(as_real(a), as_real(b))


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": lambda a, b: a + b, "Subtract": lambda a, b: a - b, "Multiply": lambda a, b: a * b,
    "Divide": _real_pair(lambda a, b: a / b), "TrueDivide": _real_pair(lambda a, b: a / b),
    "FloorDivide": lambda a, b: a // b, "Mod": lambda a, b: a % b, "Power": tnp.power,
    "Maximum": tnp.maximum, "Minimum": tnp.minimum, "Greater": lambda a, b: a > b,
    "GreaterEqual": lambda a, b: a >= b, "Less": lambda a, b: a < b,
    "LessEqual": lambda a, b: a <= b, "Equal": lambda a, b: a == b,
    "NotEqual": lambda a, b: a != b, "Arctan2": _real_pair(tnp.arctan2),
    "Matmul": tnp.matmul, "Dot": tnp.dot, "Outer": tnp.outer,
    "LogicalAnd": tnp.logical_and, "LogicalOr": tnp.logical_or, "LogicalXor": tnp.logical_xor,
    "DivideNoNan": _real_pair(
        lambda a, b: tnp.where(b == 0, tnp.zeros_like(a / b), a / tnp.where(b == 0, 1, b))
    ),
}  # fmt: skip


def _binary(name: str, function: Callable[[Any, Any], Any]) -> None:
    def row(use: Use, x1: Any, x2: Any) -> Any:
        return function(*promoted(x1, x2))

    op(name)(row)


for _name, _pair in BINARY.items():
    _binary(_name, _pair)


def axes_of(axis: Any) -> Any:
    """An axis, or a tuple of them."""
    return tuple(axis) if isinstance(axis, (list, tuple)) else axis


REDUCTIONS: dict[str, tuple[Callable[..., Any], bool]] = {
    "Sum": (tnp.sum, False), "Mean": (tnp.mean, True), "Max": (tnp.max, False),
    "Min": (tnp.min, False), "Amax": (tnp.max, False), "Amin": (tnp.min, False),
    "Std": (tnp.std, True), "Var": (tnp.var, True), "Any": (tnp.any, False),
    "All": (tnp.all, False), "Prod": (tnp.prod, False), "Logsumexp": (nn.logsumexp, True),
}  # fmt: skip


def _reduction(name: str, function: Callable[..., Any], real: bool) -> None:
    def row(use: Use, x: Any, *, axis: Any = None, keepdims: bool = False, initial: Any = None,
            dtype: Any = None) -> Any:  # fmt: skip
        if initial is not None:
            raise UnsupportedError(f"{name} with an initial value is not supported")
        array = as_real(x) if real else x
        array = array if dtype is None else array.astype(dtype_of(dtype, name))
        made = function(array, axis=axes_of(axis), keepdims=bool(keepdims))
        small = array.dtype.kind in "iub" and name in ("Sum", "Prod")
        return made.astype(np.int32 if array.dtype.kind in "ib" else np.uint32) if (
            small and array.dtype.itemsize < 8
        ) else made  # fmt: skip

    op(name)(row)


for _name, (_function, _real) in REDUCTIONS.items():
    _reduction(_name, _function, _real)


@op("Argmax", "Argmin")
def argument(use: Use, x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The place of the largest or the smallest element."""
    function = tnp.argmax if use.layer.class_name == "Argmax" else tnp.argmin
    return function(x, axis=axis, keepdims=bool(keepdims)).astype(np.int32)


@op("Softmax")
def softmax(use: Use, x: Any, *, axis: Any = -1) -> Any:
    """softmax along axes."""
    return nn.softmax(as_real(x), tuple(range(x.ndim)) if axis is None else axes_of(axis))


@op("LogSoftmax")
def log_softmax(use: Use, x: Any, *, axis: Any = -1) -> Any:
    """The logarithm of softmax."""
    return nn.log_softmax(as_real(x), tuple(range(x.ndim)) if axis is None else axes_of(axis))


@op("Gelu")
def gelu(use: Use, x: Any, *, approximate: bool = True) -> Any:
    """x · Φ(x)."""
    return nn.gelu(as_real(x), bool(approximate))


@op("LeakyRelu")
def leaky_relu(use: Use, x: Any, *, negative_slope: float = 0.2) -> Any:
    """x above 0, and a slope of it below."""
    return nn.leaky_relu(as_real(x), negative_slope)


@op("Elu")
def elu(use: Use, x: Any, *, alpha: float = 1.0) -> Any:
    """x above 0, and alpha · (exp(x) - 1) below."""
    return nn.elu(as_real(x), alpha)


@op("ReLU")
def relu(use: Use, x: Any, *, negative_slope: float = 0.0, max_value: Any = None,
         threshold: float = 0.0) -> Any:  # fmt: skip
    """relu with its options."""
    return activations.relu(x, negative_slope, max_value, threshold)


@op("Cast", "SaturateCast")
def cast_to(use: Use, x: Any, *, dtype: Any) -> Any:
    """Another dtype; the second one keeps to its range."""
    wanted = dtype_of(dtype, use.layer.name)
    if use.layer.class_name == "SaturateCast" and wanted.kind in "iu":
        limits = np.iinfo(wanted)
        x = tnp.clip(x, limits.min, limits.max)
    return x.astype(wanted)


@op("ConvertToTensor")
def convert(use: Use, x: Any, *, dtype: Any = None) -> Any:
    """The array, in another dtype if one is stated."""
    return x if dtype is None else x.astype(dtype_of(dtype, use.layer.name))


@op("Clip")
def clip(use: Use, x: Any, *, x_min: Any, x_max: Any) -> Any:
    """Elements within bounds."""
    return tnp.clip(x, x_min, x_max)


@op("Reshape")
def reshape(use: Use, x: Any, *, newshape: Any) -> Any:
    """Another shape."""
    sizes = newshape if isinstance(newshape, (list, tuple)) else (newshape,)
    return tnp.reshape(x, tuple(-1 if n is None else int(n) for n in sizes))


@op("Transpose")
def transpose(use: Use, x: Any, *, axes: Any = None) -> Any:
    """Another order of the dimensions."""
    return tnp.transpose(x, axes_of(axes))


@op("ExpandDims")
def expand_dims(use: Use, x: Any, *, axis: Any) -> Any:
    """New dimensions of size 1."""
    return tnp.expand_dims(x, axes_of(axis))


@op("Squeeze")
def squeeze(use: Use, x: Any, *, axis: Any = None) -> Any:
    """Without dimensions of size 1."""
    return tnp.squeeze(x, axes_of(axis))


@op("Concatenate")
def concatenate(use: Use, xs: Any, *, axis: Any = 0) -> Any:
    """One after the other."""
    return tnp.concatenate(promoted(*xs), axis=axis)


@op("Stack")
def stack(use: Use, x: Any, *, axis: int = 0) -> Any:
    """Arrays along a new dimension."""
    return tnp.stack(promoted(*x), axis=axis)


@op("Unstack")
def unstack(use: Use, x: Any, *, num: Any = None, axis: int = 0) -> Any:
    """The slices along a dimension."""
    return tuple(tnp.squeeze(part, axis) for part in tnp.split(x, x.shape[axis], axis=axis))


@op("Split")
def split(use: Use, x: Any, *, indices_or_sections: Any, axis: int = 0) -> Any:
    """Parts along a dimension."""
    stated = indices_or_sections
    parts = list(stated) if isinstance(stated, (list, tuple)) else int(stated)
    return tuple(tnp.split(x, parts, axis=axis))


@op("Repeat")
def repeat(use: Use, x: Any, *, repeats: Any, axis: Any = None) -> Any:
    """Each element so many times."""
    return tnp.repeat(x, repeats if isinstance(repeats, int) else tuple(repeats), axis=axis)


@op("Tile")
def tile(use: Use, x: Any, *, repeats: Any) -> Any:
    """The array so many times."""
    return tnp.tile(x, axes_of(repeats))


@op("Flip")
def flip(use: Use, x: Any, *, axis: Any = None) -> Any:
    """Turned around along axes."""
    return tnp.flip(x, axis=axes_of(axis))


@op("Roll")
def roll(use: Use, x: Any, *, shift: Any, axis: Any = None) -> Any:
    """Moved along axes, with what leaves coming in again."""
    return tnp.roll(x, axes_of(shift), axis=axes_of(axis))


@op("Swapaxes")
def swapaxes(use: Use, x: Any, *, axis1: int, axis2: int) -> Any:
    """Two dimensions in each other's place."""
    return tnp.swapaxes(x, axis1, axis2)


@op("Moveaxis")
def moveaxis(use: Use, x: Any, *, source: Any, destination: Any) -> Any:
    """Dimensions in other places."""
    return tnp.moveaxis(x, axes_of(source), axes_of(destination))


@op("BroadcastTo")
def broadcast_to(use: Use, x: Any, *, shape: Any) -> Any:
    """The array repeated to a shape."""
    return tnp.broadcast_to(x, tuple(shape))


@op("Pad")
def pad(use: Use, x: Any, constant_values: Any = None, *, pad_width: Any,
        mode: str = "constant") -> Any:  # fmt: skip
    """Elements around."""
    width = pad_width if isinstance(pad_width, int) else [tuple(p) if isinstance(p, list) else p
                                                          for p in pad_width]  # fmt: skip
    if mode == "constant":
        return tnp.pad(x, width, constant_values=constant_values or 0)
    return tnp.pad(x, width, mode=mode)


@op("Einsum")
def einsum(use: Use, *operands: Any, subscripts: str) -> Any:
    """Sums of products by an equation."""
    return tnp.einsum(subscripts.replace(" ", ""), *promoted(*operands))


@op("Tensordot")
def tensordot(use: Use, x1: Any, x2: Any, *, axes: Any = 2) -> Any:
    """Sums of products along axes."""
    return tnp.tensordot(*promoted(x1, x2), axes=axes)


@op("Where")
def where(use: Use, condition: Any, x1: Any = None, x2: Any = None) -> Any:
    """One or the other."""
    if x1 is None or x2 is None:
        raise UnsupportedError("where without values has a size that is not known")
    return tnp.where(condition, *promoted(x1, x2))


@op("Take")
def take(use: Use, x: Any, indices: Any, *, axis: Any = None) -> Any:
    """Elements at places along an axis."""
    return tnp.take(x, indices, axis=axis)


@op("TakeAlongAxis")
def take_along_axis(use: Use, x: Any, indices: Any, *, axis: Any = None) -> Any:
    """For each place, the element at a place along an axis."""
    return tnp.take_along_axis(x, indices, axis=axis)


@op("GetItem")
def get_item(use: Use, x: Any, key: Any) -> Any:
    """Part of an array."""
    return x[tuple(key) if isinstance(key, (list, tuple)) else key]


@op("ZerosLike", "OnesLike")
def like(use: Use, x: Any, *, dtype: Any = None) -> Any:
    """Zeros or ones of an array's shape."""
    wanted = x.dtype if dtype is None else dtype_of(dtype, use.layer.name)
    function = tnp.zeros if use.layer.class_name == "ZerosLike" else tnp.ones
    return function(x.shape, wanted)


@op("Cumsum", "Cumprod")
def cumulative(use: Use, x: Any, *, axis: Any = None, dtype: Any = None) -> Any:
    """Sums or products of all elements up to each."""
    function = tnp.cumsum if use.layer.class_name == "Cumsum" else tnp.cumprod
    wanted = x.dtype if dtype is None else dtype_of(dtype, use.layer.name)
    return function(x.astype(wanted), axis=axis).astype(wanted)


@op("Sort")
def sort(use: Use, x: Any, *, axis: int = -1) -> Any:
    """Elements in order."""
    return tnp.sort(x, axis=axis)


@op("TopK")
def top_k(use: Use, x: Any, *, k: int, sorted: bool = True) -> Any:
    """The largest elements along the last axis, and their places."""
    values, places = nn.top_k(x, k)
    return values, places.astype(np.int32)


@op("OneHot")
def one_hot(use: Use, x: Any, *, num_classes: int, axis: int = -1, dtype: Any = None) -> Any:
    """A 1 for each category."""
    return nn.one_hot(x, num_classes, dtype_of(dtype, use.layer.name), axis)


@op("Norm")
def norm(use: Use, x: Any, *, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Lengths of vectors, or norms of matrices."""
    return linalg.norm(as_real(x), ord, axes_of(axis), bool(keepdims))


@op("Normalize")
def normalize(use: Use, x: Any, *, axis: Any = -1, order: Any = 2, epsilon: Any = None) -> Any:
    """Vectors over their lengths.

    Raises:
        UnsupportedError: the length is of another order than 2.
    """
    if order != 2:
        raise UnsupportedError(f"normalize of the order {order} is not supported")
    least = (1e-7 if epsilon is None else epsilon) ** 2
    return x / tnp.sqrt(tnp.maximum(tnp.sum(x * x, axis=axes_of(axis), keepdims=True), least))


@op("MaxPool", "AveragePool")
def pool(use: Use, inputs: Any, *, pool_size: Any, strides: Any = None, padding: str = "valid",
         data_format: Any = None) -> Any:  # fmt: skip
    """The largest element or the mean of each window."""
    function = nn.max_pool if use.layer.class_name == "MaxPool" else nn.avg_pool
    array = channels_last(inputs, data_format)
    window = numbers(pool_size, array.ndim - 2)
    steps = window if strides is None else numbers(strides, array.ndim - 2)
    return channels_back(function(array, window, steps, padding.upper()), data_format)


@op("Resize")
def resize(
    use: Use, images: Any, *, size: Any, interpolation: str = "bilinear", antialias: bool = False,
    crop_to_aspect_ratio: bool = False, pad_to_aspect_ratio: bool = False,
    fill_mode: Any = None, fill_value: Any = None, data_format: Any = None,
) -> Any:  # fmt: skip
    """Images of another size.

    Raises:
        UnsupportedError: it smooths, or pads.
    """
    if antialias or pad_to_aspect_ratio:
        raise UnsupportedError("resize with antialias or pad_to_aspect_ratio is not supported")
    batch = images if images.ndim == 4 else images[None]
    last = channels_last(batch, data_format)
    made = channels_back(
        resized(last, tuple(size), interpolation, bool(crop_to_aspect_ratio)), data_format
    )
    return made if images.ndim == 4 else made[0]


@op("Hstack", "Vstack")
def side_by_side(use: Use, xs: Any) -> Any:
    """Arrays beside or below each other."""
    function = tnp.hstack if use.layer.class_name == "Hstack" else tnp.vstack
    return function(promoted(*xs))


@op("Average")
def average(use: Use, x: Any, weights: Any = None, *, axis: Any = None) -> Any:
    """The mean.

    Raises:
        UnsupportedError: elements have weights.
    """
    if weights is not None:
        raise UnsupportedError("average with weights is not supported")
    return tnp.mean(as_real(x), axis=axes_of(axis))


def added(values: Any) -> Any:
    """The sum of several arrays."""
    return reduce(lambda a, b: a + b, promoted(*values))
