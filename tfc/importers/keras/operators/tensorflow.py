"""Functions of TensorFlow within Functional models of Keras 2: TFOpLambda and SlicingOpLambda."""

from collections.abc import Callable
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc import nn
from tfc.errors import UnsupportedError
from tfc.importers.keras.layer import dtype_of
from tfc.importers.keras.operators.numbers import promoted
from tfc.importers.keras.operators.operations import BINARY, REAL, added
from tfc.importers.keras.table import Use, layer


def tf(*names: str) -> Callable[[Any], Any]:
    """The decorator of a row of TensorFlow's functions."""
    return layer(*names, domain="tf")


def _binary(names: tuple[str, ...], function: Callable[[Any, Any], Any]) -> None:
    def row(use: Use, x: Any, y: Any, name: Any = None, *, function: Any = None) -> Any:
        return operation(*promoted(x, y))

    operation = function
    tf(*names)(row)


_PAIRS = {
    "Add": ("math.add", "__operators__.add"), "Subtract": ("math.subtract",),
    "Multiply": ("math.multiply",), "Divide": ("math.truediv", "math.divide"),
    "Power": ("math.pow",), "Maximum": ("math.maximum",), "Minimum": ("math.minimum",),
    "FloorDivide": ("math.floordiv",), "Mod": ("math.floormod",),
    "Greater": ("math.greater",), "GreaterEqual": ("math.greater_equal",),
    "Less": ("math.less",), "LessEqual": ("math.less_equal",),
    "Equal": ("math.equal", "__operators__.eq"), "NotEqual": ("math.not_equal",),
    "LogicalAnd": ("math.logical_and",), "LogicalOr": ("math.logical_or",),
}  # fmt: skip
for _name, _names in _PAIRS.items():
    _binary(_names, BINARY[_name])


def _unary(names: tuple[str, ...], function: Callable[[Any], Any]) -> None:
    def row(use: Use, x: Any, name: Any = None, *, function: Any = None) -> Any:
        return operation(x)

    operation = function
    tf(*names)(row)


_SINGLES: dict[tuple[str, ...], Callable[[Any], Any]] = {
    ("math.exp",): REAL["Exp"], ("math.log",): REAL["Log"], ("math.sqrt",): REAL["Sqrt"],
    ("math.rsqrt",): REAL["Rsqrt"], ("math.tanh",): tnp.tanh, ("math.sin",): tnp.sin,
    ("math.cos",): tnp.cos, ("math.square",): lambda x: x * x, ("math.abs",): tnp.absolute,
    ("math.negative",): tnp.negative, ("math.sigmoid", "nn.sigmoid"): nn.sigmoid,
    ("nn.relu",): nn.relu, ("nn.relu6",): nn.relu6, ("nn.silu", "nn.swish"): nn.silu,
    ("nn.elu",): nn.elu, ("nn.selu",): nn.selu, ("math.softplus", "nn.softplus"): nn.softplus,
    ("nn.tanh",): tnp.tanh, ("math.erf",): REAL["Erf"], ("stop_gradient",): lambda x: x,
    ("identity",): lambda x: x, ("math.floor",): tnp.floor, ("math.ceil",): tnp.ceil,
    ("math.sign",): tnp.sign, ("math.reciprocal",): lambda x: 1 / x,
    ("math.logical_not",): tnp.logical_not, ("math.log1p",): tnp.log1p,
}  # fmt: skip
for _names, _function in _SINGLES.items():
    _unary(_names, _function)


def _reduction(names: tuple[str, ...], function: Callable[..., Any]) -> None:
    def row(use: Use, input_tensor: Any, axis: Any = None, keepdims: bool = False,
            name: Any = None, *, function: Any = None) -> Any:  # fmt: skip
        axes = tuple(axis) if isinstance(axis, (list, tuple)) else axis
        return operation(input_tensor, axis=axes, keepdims=bool(keepdims)).astype(
            bool if input_tensor.dtype.kind == "b" else input_tensor.dtype
        )

    operation = function
    tf(*names)(row)


_REDUCTIONS = {
    "sum": tnp.sum, "mean": tnp.mean, "max": tnp.max, "min": tnp.min, "prod": tnp.prod,
    "any": tnp.any, "all": tnp.all, "variance": tnp.var, "std": tnp.std,
    "logsumexp": nn.logsumexp,
}  # fmt: skip
for _name, _reduced in _REDUCTIONS.items():
    _reduction((f"math.reduce_{_name}",), _reduced)


@tf("linalg.matmul")
def matmul(use: Use, a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False,
           name: Any = None, *, function: Any = None) -> Any:  # fmt: skip
    """The product of matrices."""
    left = tnp.swapaxes(a, -1, -2) if transpose_a else a
    right = tnp.swapaxes(b, -1, -2) if transpose_b else b
    return tnp.matmul(*promoted(left, right))


@tf("reshape")
def reshape(use: Use, tensor: Any, shape: Any, name: Any = None, *, function: Any = None) -> Any:
    """Another shape."""
    return tnp.reshape(tensor, tuple(int(n) for n in shape))


@tf("transpose")
def transpose(use: Use, a: Any, perm: Any = None, conjugate: bool = False, name: Any = None, *,
              function: Any = None) -> Any:  # fmt: skip
    """Another order of the dimensions."""
    return tnp.transpose(a, None if perm is None else tuple(perm))


@tf("concat")
def concat(use: Use, values: Any, axis: int, name: Any = None, *, function: Any = None) -> Any:
    """One after the other."""
    return tnp.concatenate(promoted(*values), axis=axis)


@tf("stack")
def stack(use: Use, values: Any, axis: int = 0, name: Any = None, *, function: Any = None) -> Any:
    """Arrays along a new dimension."""
    return tnp.stack(promoted(*values), axis=axis)


@tf("math.add_n")
def add_n(use: Use, inputs: Any, name: Any = None, *, function: Any = None) -> Any:
    """The sum of several arrays."""
    return added(inputs)


@tf("expand_dims")
def expand_dims(use: Use, input: Any, axis: int, name: Any = None, *, function: Any = None) -> Any:
    """A new dimension."""
    return tnp.expand_dims(input, axis)


@tf("squeeze")
def squeeze(use: Use, input: Any, axis: Any = None, name: Any = None, *,
            function: Any = None) -> Any:  # fmt: skip
    """Without dimensions of size 1."""
    return tnp.squeeze(input, tuple(axis) if isinstance(axis, list) else axis)


@tf("cast")
def cast_to(use: Use, x: Any, dtype: Any, name: Any = None, *, function: Any = None) -> Any:
    """Another dtype."""
    return x.astype(dtype_of(dtype, use.layer.name))


@tf("clip_by_value")
def clip(use: Use, t: Any, clip_value_min: Any, clip_value_max: Any, name: Any = None, *,
         function: Any = None) -> Any:  # fmt: skip
    """Elements within bounds."""
    return tnp.clip(t, clip_value_min, clip_value_max)


@tf("split")
def split(use: Use, value: Any, num_or_size_splits: Any, axis: int = 0, num: Any = None,
          name: Any = None, *, function: Any = None) -> Any:  # fmt: skip
    """Parts along a dimension."""
    parts = num_or_size_splits
    if isinstance(parts, (list, tuple)):
        parts = [int(n) for n in np.cumsum(parts)[:-1]]
    return tuple(tnp.split(value, parts, axis=axis))


@tf("nn.softmax")
def softmax(use: Use, logits: Any, axis: Any = -1, name: Any = None, *,
            function: Any = None) -> Any:  # fmt: skip
    """softmax along an axis."""
    return nn.softmax(logits, -1 if axis is None else axis)


@tf("nn.gelu")
def gelu(use: Use, features: Any, approximate: bool = False, name: Any = None, *,
         function: Any = None) -> Any:  # fmt: skip
    """x · Φ(x)."""
    return nn.gelu(features, bool(approximate))


@tf("nn.leaky_relu")
def leaky_relu(use: Use, features: Any, alpha: float = 0.2, name: Any = None, *,
               function: Any = None) -> Any:  # fmt: skip
    """x above 0, and a slope of it below."""
    return nn.leaky_relu(features, alpha)


@tf("math.l2_normalize", "linalg.l2_normalize", "nn.l2_normalize")
def l2_normalize(use: Use, x: Any, axis: Any = None, epsilon: float = 1e-12, name: Any = None, *,
                 function: Any = None) -> Any:  # fmt: skip
    """Vectors over their lengths."""
    axes = tuple(axis) if isinstance(axis, list) else axis
    return x / tnp.sqrt(tnp.maximum(tnp.sum(x * x, axis=axes, keepdims=True), epsilon))


@tf("pad")
def pad(use: Use, tensor: Any, paddings: Any, mode: str = "CONSTANT", constant_values: Any = 0,
        name: Any = None, *, function: Any = None) -> Any:  # fmt: skip
    """Elements around."""
    pairs = [tuple(p) for p in paddings]
    if mode.upper() == "CONSTANT":
        return tnp.pad(tensor, pairs, constant_values=constant_values)
    return tnp.pad(tensor, pairs, mode=mode.lower())


@tf("tile")
def tile(use: Use, input: Any, multiples: Any, name: Any = None, *, function: Any = None) -> Any:
    """The array so many times."""
    return tnp.tile(input, tuple(int(n) for n in multiples))


@tf("math.argmax", "math.argmin")
def argument(use: Use, input: Any, axis: Any = 0, output_type: Any = "int64", name: Any = None, *,
             function: Any = None) -> Any:  # fmt: skip
    """The place of the largest or the smallest element."""
    found = tnp.argmax if use.layer.class_name == "math.argmax" else tnp.argmin
    return found(input, axis=axis or 0).astype(dtype_of(output_type, use.layer.name))


@tf("where", "where_v2")
def where(use: Use, condition: Any, x: Any = None, y: Any = None, name: Any = None, *,
          function: Any = None) -> Any:  # fmt: skip
    """One or the other."""
    if x is None or y is None:
        raise UnsupportedError("where without values has a size that is not known")
    return tnp.where(condition, *promoted(x, y))


@tf("__operators__.getitem")
def get_item(use: Use, tensor: Any, slice_spec: Any, var: Any = None, *,
             function: Any = None) -> Any:  # fmt: skip
    """Part of an array."""
    parts = slice_spec if isinstance(slice_spec, (list, tuple)) else [slice_spec]
    return tensor[tuple(map(_part, parts))]


def _part(stated: Any) -> Any:
    if isinstance(stated, dict):
        return slice(*(stated.get(k) for k in ("start", "stop", "step")))
    return Ellipsis if stated == "..." else stated


@tf("math.reduce_euclidean_norm")
def length(use: Use, input_tensor: Any, axis: Any = None, keepdims: bool = False,
           name: Any = None, *, function: Any = None) -> Any:  # fmt: skip
    """The root of the sum of squares."""
    axes = tuple(axis) if isinstance(axis, list) else axis
    return tnp.sqrt(tnp.sum(input_tensor * input_tensor, axis=axes, keepdims=bool(keepdims)))
