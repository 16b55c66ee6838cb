"""Arithmetic, comparisons, logic and elementary functions, in the dtypes that torch states."""

from collections.abc import Callable
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc import nn, special
from tfc.importers.torch.table import Call, aten, cast

_UNARY: dict[str, Callable[[Any], Any]] = {
    "acos": tnp.arccos, "acosh": tnp.arccosh, "asin": tnp.arcsin, "asinh": tnp.arcsinh,
    "atan": tnp.arctan, "atanh": tnp.arctanh, "ceil": tnp.ceil, "cos": tnp.cos, "cosh": tnp.cosh,
    "erf": special.erf, "erfc": special.erfc, "erfinv": special.erfinv, "exp": tnp.exp,
    "exp2": tnp.exp2, "expm1": tnp.expm1, "floor": tnp.floor, "lgamma": special.gammaln,
    "digamma": special.digamma, "log": tnp.log, "log10": tnp.log10, "log1p": tnp.log1p,
    "log2": tnp.log2, "neg": tnp.negative, "reciprocal": lambda x: 1 / x, "relu": nn.relu,
    "round": tnp.rint, "rsqrt": lambda x: 1 / tnp.sqrt(x), "sigmoid": nn.sigmoid,
    "sign": tnp.sign, "sin": tnp.sin, "sinh": tnp.sinh, "sqrt": tnp.sqrt, "tan": tnp.tan,
    "tanh": tnp.tanh, "trunc": tnp.trunc, "conj_physical": tnp.conj, "_conj": tnp.conj,
    "bitwise_not": tnp.invert, "sgn": tnp.sign,
}  # fmt: skip
_WHOLE = ("ceil", "floor", "round", "trunc")
_SIGNS = ("sign", "sgn")


def _enter_unary(name: str, function: Callable[[Any], Any]) -> None:
    @aten(f"{name}.default")
    def row(x: Any, *, node: Call) -> Any:
        x = cast(x, node.dtype)
        kind = np.dtype(node.dtype).kind
        is_same = (name in _WHOLE and kind in "iub") or (name in _SIGNS and kind == "b")
        return x if is_same else function(x)


for _name, _function in _UNARY.items():
    _enter_unary(_name, _function)


@aten("abs.default")
def absolute(x: Any) -> Any:
    """The absolute values, of complex numbers real ones."""
    return tnp.absolute(x)


@aten("isinf.default")
def is_infinite(x: Any) -> Any:
    """Which elements are infinite."""
    return tnp.isinf(x)


@aten("isnan.default")
def is_nan(x: Any) -> Any:
    """Which elements are no numbers."""
    return tnp.isnan(x)


@aten("angle.default")
def angle(x: Any, *, node: Call) -> Any:
    """The angles of complex numbers."""
    return tnp.angle(cast(x, node.dtype) if np.dtype(x.dtype).kind in "iub" else x)


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "mul": tnp.multiply, "remainder": tnp.remainder, "fmod": tnp.fmod, "maximum": tnp.maximum,
    "minimum": tnp.minimum, "fmax": tnp.fmax, "fmin": tnp.fmin, "atan2": tnp.arctan2,
    "bitwise_and": tnp.bitwise_and, "bitwise_or": tnp.bitwise_or, "bitwise_xor": tnp.bitwise_xor,
    "hypot": tnp.hypot, "copysign": tnp.copysign, "nextafter": tnp.nextafter, "gcd": tnp.gcd,
    "logaddexp": tnp.logaddexp, "logaddexp2": tnp.logaddexp2, "heaviside": tnp.heaviside,
}  # fmt: skip
_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "eq": tnp.equal, "ne": tnp.not_equal, "lt": tnp.less, "le": tnp.less_equal,
    "gt": tnp.greater, "ge": tnp.greater_equal,
}  # fmt: skip
_LOGICAL: dict[str, Callable[..., Any]] = {
    "logical_and": tnp.logical_and, "logical_or": tnp.logical_or, "logical_xor": tnp.logical_xor,
}  # fmt: skip
_OVERLOADS = ("default", "Tensor", "Scalar", "Scalar_Tensor")


def _enter_binary(name: str, function: Callable[[Any, Any], Any], compares: bool) -> None:
    @aten(*[f"{name}.{overload}" for overload in _OVERLOADS])
    def row(a: Any, b: Any, *, node: Call) -> Any:
        dtype = node.common if compares else node.dtype
        return function(cast(a, dtype), cast(b, dtype))


for _name, _pair in _BINARY.items():
    _enter_binary(_name, _pair, False)
for _name, _pair in _COMPARED.items():
    _enter_binary(_name, _pair, True)


def _enter_logical(name: str, function: Callable[..., Any]) -> None:
    @aten(f"{name}.default")
    def row(a: Any, b: Any) -> Any:
        return function(a, b)


for _name, _pair in _LOGICAL.items():
    _enter_logical(_name, _pair)


@aten("logical_not.default")
def logical_not(x: Any) -> Any:
    """Which elements are zero."""
    return tnp.logical_not(x)


@aten("add.Tensor", "add.Scalar")
def add(a: Any, b: Any, alpha: Any = 1, *, node: Call) -> Any:
    """a + alpha · b."""
    b = cast(b, node.dtype)
    return tnp.add(cast(a, node.dtype), b if alpha == 1 else b * cast(alpha, node.dtype))


@aten("sub.Tensor", "sub.Scalar")
def subtract(a: Any, b: Any, alpha: Any = 1, *, node: Call) -> Any:
    """a - alpha · b."""
    b = cast(b, node.dtype)
    return tnp.subtract(cast(a, node.dtype), b if alpha == 1 else b * cast(alpha, node.dtype))


@aten("div.Tensor", "div.Scalar")
def divide(a: Any, b: Any, *, node: Call) -> Any:
    """a / b, of integers in floats."""
    return tnp.divide(cast(a, node.dtype), cast(b, node.dtype))


@aten("div.Tensor_mode", "div.Scalar_mode")
def divide_rounded(a: Any, b: Any, *, rounding_mode: str | None, node: Call) -> Any:
    """a / b, rounded towards zero or down."""
    a, b = cast(a, node.dtype), cast(b, node.dtype)
    if rounding_mode == "floor":
        return tnp.floor_divide(a, b)
    if rounding_mode is None:
        return tnp.divide(a, b)
    if np.dtype(node.dtype).kind in "iu":
        return tnp.floor_divide(a - tnp.fmod(a, b), b)
    return tnp.trunc(tnp.divide(a, b))


@aten("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar")
def power(a: Any, b: Any, *, node: Call) -> Any:
    """a to the power b; of integers to negative powers what is whole of it."""
    a = cast(a, node.dtype)
    if not isinstance(b, (int, float)):
        return tnp.power(a, cast(b, node.dtype))
    if b == 2:
        return a * a
    if b == 0.5:
        return tnp.sqrt(a)
    return tnp.power(a, cast(b, node.dtype))


@aten("round.decimals")
def rounded(x: Any, *, decimals: int) -> Any:
    """x rounded to decimals, those halfway to even ones."""
    scale = 10.0 ** abs(decimals)
    return tnp.rint(x * scale) / scale if decimals >= 0 else tnp.rint(x / scale) * scale


@aten("clamp.default", "clamp.Tensor", "clamp_min.default", "clamp_min.Tensor")
def clamp(x: Any, min: Any = None, max: Any = None, *, node: Call) -> Any:
    """x between bounds, of which the upper one wins."""
    x = cast(x, node.dtype)
    if min is not None:
        x = tnp.maximum(x, cast(min, node.dtype))
    return x if max is None else tnp.minimum(x, cast(max, node.dtype))


@aten("clamp_max.default", "clamp_max.Tensor")
def clamp_max(x: Any, max: Any, *, node: Call) -> Any:
    """x, or a bound where it is larger."""
    return clamp(x, None, max, node=node)


@aten("where.self")
def where(condition: Any, a: Any, b: Any, *, node: Call) -> Any:
    """a where the condition holds, b elsewhere."""
    return tnp.where(condition, cast(a, node.dtype), cast(b, node.dtype))


@aten("bitwise_left_shift.Tensor", "bitwise_left_shift.Tensor_Scalar", "__lshift__.Tensor",
      "__lshift__.Scalar")  # fmt: skip
def left_shift(a: Any, b: Any, *, node: Call) -> Any:
    """a shifted by b bits."""
    return tnp.left_shift(cast(a, node.dtype), cast(b, node.dtype))


@aten("bitwise_right_shift.Tensor", "bitwise_right_shift.Tensor_Scalar", "__rshift__.Tensor",
      "__rshift__.Scalar")  # fmt: skip
def right_shift(a: Any, b: Any, *, node: Call) -> Any:
    """a shifted by b bits, the sign kept."""
    return tnp.right_shift(cast(a, node.dtype), cast(b, node.dtype))


@aten("_to_copy.default")
def converted(x: Any, **_: Any) -> Any:
    """The array, which the walk converts to what is stated."""
    return x


@aten("clone.default", "alias.default", "detach.default", "lift_fresh_copy.default",
      "lift_fresh.default", "contiguous.default")  # fmt: skip
def same(x: Any, **_: Any) -> Any:
    """The array itself."""
    return x


@aten("copy.default")
def copied(x: Any, source: Any, non_blocking: bool = False) -> Any:
    """The source in the shape of x."""
    return tnp.broadcast_to(cast(source, x.dtype), x.shape)


@aten("fill.Scalar", "fill.Tensor")
def filled(x: Any, value: Any) -> Any:
    """An array of one value in the shape of x."""
    return tnp.broadcast_to(cast(value, x.dtype), x.shape)


@aten("complex.default")
def complex_number(a: Any, b: Any, *, node: Call) -> Any:
    """a + b i."""
    return cast(a, node.dtype) + cast(b, node.dtype) * np.asarray(1j, node.dtype)


@aten("view_as_real.default")
def as_pairs(x: Any) -> Any:
    """Complex numbers as pairs of real ones in a last dimension."""
    return tnp.stack([tnp.real(x), tnp.imag(x)], -1)


@aten("view_as_complex.default")
def as_complex(x: Any, *, node: Call) -> Any:
    """Pairs of real numbers in the last dimension as complex ones."""
    return complex_number(x[..., 0], x[..., 1], node=node)


@aten("real.default")
def real(x: Any) -> Any:
    """The real parts."""
    return tnp.real(x)


@aten("imag.default")
def imaginary(x: Any) -> Any:
    """The imaginary parts."""
    return tnp.imag(x)
