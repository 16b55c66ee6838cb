"""Arithmetic, logic, comparisons and elementary functions."""

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc import special
from tfc.importers.onnx.table import operator

_UNARY: dict[str, Callable[[Any], Any]] = {
    "Abs": tnp.absolute, "Neg": tnp.negative, "Ceil": tnp.ceil, "Floor": tnp.floor,
    "Exp": tnp.exp, "Log": tnp.log, "Sqrt": tnp.sqrt, "Sign": tnp.sign,
    "Sin": tnp.sin, "Cos": tnp.cos, "Tan": tnp.tan, "Asin": tnp.arcsin, "Acos": tnp.arccos,
    "Atan": tnp.arctan, "Sinh": tnp.sinh, "Cosh": tnp.cosh, "Asinh": tnp.arcsinh,
    "Acosh": tnp.arccosh, "Atanh": tnp.arctanh, "Not": tnp.logical_not, "IsNaN": tnp.isnan,
    "BitwiseNot": tnp.invert, "Round": tnp.rint, "Erf": special.erf, "Identity": lambda x: x,
    "Reciprocal": tnp.reciprocal,
}  # fmt: skip
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": tnp.add, "Sub": tnp.subtract, "Mul": tnp.multiply, "And": tnp.logical_and,
    "Or": tnp.logical_or, "Xor": tnp.logical_xor, "Equal": tnp.equal, "Less": tnp.less,
    "Greater": tnp.greater, "LessOrEqual": tnp.less_equal, "GreaterOrEqual": tnp.greater_equal,
    "BitwiseAnd": tnp.bitwise_and, "BitwiseOr": tnp.bitwise_or, "BitwiseXor": tnp.bitwise_xor,
}  # fmt: skip


def _enter_unary(name: str, function: Callable[[Any], Any]) -> None:
    @operator(name)
    def unary(x: Any) -> Any:
        return function(x)


def _enter_binary(name: str, function: Callable[[Any, Any], Any]) -> None:
    @operator(name, since=7)
    def binary(a: Any, b: Any) -> Any:
        return function(a, b)

    @operator(name, until=6)
    def first(a: Any, b: Any, *, broadcast: int = 0, axis: int | None = None) -> Any:
        if broadcast and axis is not None and b.ndim:
            b = tnp.reshape(b, (*b.shape, *[1] * (a.ndim - axis - b.ndim)))
        return function(a, b)


for _name, _function in _UNARY.items():
    _enter_unary(_name, _function)
for _name, _operation in _BINARY.items():
    _enter_binary(_name, _operation)


def _quotient(a: Any, b: Any) -> Any:
    """Division; of integers, towards zero."""
    if np.dtype(a.dtype).kind not in "iu":
        return tnp.divide(a, b)
    if np.dtype(a.dtype).kind == "u":
        return tnp.floor_divide(a, b)
    return (a - tnp.fmod(a, b)) // b


_enter_binary("Div", _quotient)


@operator("Pow", since=7)
def power(x: Any, y: Any) -> Any:
    """x ** y in the dtype of x."""
    if np.dtype(x.dtype).kind in "iu" and np.dtype(y.dtype).kind in "iu":
        return tnp.power(x, tnp.astype(y, x.dtype))
    if np.dtype(x.dtype).kind in "iu":
        return tnp.astype(tnp.power(tnp.astype(x, np.float64), tnp.astype(y, np.float64)), x.dtype)
    return tnp.power(x, tnp.astype(y, x.dtype))


@operator("Mod", since=10)
def modulo(a: Any, b: Any, *, fmod: int = 0) -> Any:
    """The remainder with the divisor's sign, or as C's fmod with the dividend's."""
    return tnp.fmod(a, b) if fmod else tnp.remainder(a, b)


@operator("BitShift", since=11)
def bit_shift(x: Any, y: Any, *, direction: str) -> Any:
    """x shifted by y bits; bits beyond the width are lost."""
    return tnp.left_shift(x, y) if direction == "LEFT" else tnp.right_shift(x, y)


@operator("IsInf", since=10)
def is_infinite(x: Any, *, detect_negative: int = 1, detect_positive: int = 1) -> Any:
    """Which elements are infinite, of the signs asked for."""
    positive = tnp.equal(x, np.inf) & bool(detect_positive)
    return positive | (tnp.equal(x, -np.inf) & bool(detect_negative))


def _enter_sum(name: str, function: Callable[[Any, Any], Any]) -> None:
    operator(name)(lambda *data: reduce(function, data))


_enter_sum("Sum", tnp.add)
_enter_sum("Max", tnp.maximum)
_enter_sum("Min", tnp.minimum)


@operator("Mean")
def mean(*data: Any) -> Any:
    """The mean of several arrays, element by element."""
    return reduce(tnp.add, data) / len(data)


@operator("Clip", since=11)
def clip(x: Any, min: Any = None, max: Any = None) -> Any:
    """x between bounds, of which the upper one wins."""
    if min is not None:
        x = tnp.maximum(x, tnp.reshape(min, ()))
    return x if max is None else tnp.minimum(x, tnp.reshape(max, ()))


@operator("Clip", until=10)
def clip_by_attributes(x: Any, *, min: float | None = None, max: float | None = None) -> Any:
    """x between bounds."""
    if min is not None:
        x = tnp.maximum(x, np.asarray(min, x.dtype))
    return x if max is None else tnp.minimum(x, np.asarray(max, x.dtype))


@operator("Where", since=9)
def where(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition holds, y elsewhere."""
    return tnp.where(condition, x, y)
