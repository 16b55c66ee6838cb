"""Elementwise functions: arithmetic, logic, what Python's operators on tensors mean."""

from collections.abc import Callable
from typing import Any

from tfc.errors import ShapeError
from tfc.graph.building import alike, elementwise, result
from tfc.graph.constants import convert_to_tensor
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Tensor
from tfc.graph.types.dtypes import (
    DType,
    as_dtype,
    bfloat16,
    complex64,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
)

Unary = Callable[..., Tensor]


def _unary(type: str, floating: bool = True) -> Unary:
    """A function of one tensor; Python numbers are floats for it if `floating`."""

    def function(x: Any, name: str | None = None) -> Tensor:
        return result(type, x, name=name)

    function.__name__ = type.lower()
    function.__doc__ = f"Make an operation {type} of each element of x."
    return function


def _binary(type: str) -> Callable[..., Tensor]:
    """A function of two tensors of one dtype, which broadcast."""

    def function(x: Any, y: Any, name: str | None = None) -> Tensor:
        return elementwise(type, x, y, name=name)

    function.__name__ = type.lower()
    function.__doc__ = f"Make an operation {type} of elements of x and y, which broadcast."
    return function


acos, acosh, asin, asinh = _unary("Acos"), _unary("Acosh"), _unary("Asin"), _unary("Asinh")
atan, atanh, cos, cosh = _unary("Atan"), _unary("Atanh"), _unary("Cos"), _unary("Cosh")
sin, sinh, tan, tanh = _unary("Sin"), _unary("Sinh"), _unary("Tan"), _unary("Tanh")
exp, expm1, log, log1p = _unary("Exp"), _unary("Expm1"), _unary("Log"), _unary("Log1p")
sqrt, rsqrt, square = _unary("Sqrt"), _unary("Rsqrt"), _unary("Square")
ceil, floor, rint = _unary("Ceil"), _unary("Floor"), _unary("Rint")
negative, sign, reciprocal = _unary("Neg"), _unary("Sign"), _unary("Reciprocal")
sigmoid, erf, erfc = _unary("Sigmoid"), _unary("Erf"), _unary("Erfc")
lgamma, digamma = _unary("Lgamma"), _unary("Digamma")
is_finite, is_inf, is_nan = _unary("IsFinite"), _unary("IsInf"), _unary("IsNan")
logical_not = _unary("LogicalNot")

add, multiply, subtract = _binary("Add"), _binary("Mul"), _binary("Sub")
maximum, minimum = _binary("Maximum"), _binary("Minimum")
floor_div, floormod = _binary("FloorDiv"), _binary("FloorMod")
truncatediv, truncatemod = _binary("TruncateDiv"), _binary("TruncateMod")
realdiv, squared_difference = _binary("RealDiv"), _binary("SquaredDifference")
atan2, zeta, polygamma = _binary("Atan2"), _binary("Zeta"), _binary("Polygamma")
equal, not_equal = _binary("Equal"), _binary("NotEqual")
less, less_equal = _binary("Less"), _binary("LessEqual")
greater, greater_equal = _binary("Greater"), _binary("GreaterEqual")
logical_and, logical_or = _binary("LogicalAnd"), _binary("LogicalOr")


def abs(x: Any, name: str | None = None) -> Tensor:
    """Absolute values; those of complex numbers are real."""
    x = convert_to_tensor(x, name="x")
    if x.dtype.is_complex:
        return result("ComplexAbs", x, name=name or "Abs", Tout=x.dtype.real_dtype)
    return result("Abs", x, name=name)


def round(x: Any, name: str | None = None) -> Tensor:
    """To the nearest integers, halves to the even ones."""
    return result("Round", x, name=name)


def pow(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x to the power y."""
    return elementwise("Pow", x, y, name=name or "Pow")


def mod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """What floored division leaves; it has the divisor's sign."""
    return elementwise("FloorMod", x, y, name=name)


def logical_xor(x: Any, y: Any, name: str = "LogicalXor") -> Tensor:
    """Whether one of the two is true, and not both."""
    either = logical_or(x, y)
    return logical_and(either, logical_not(logical_and(x, y)), name=name)


def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """The sum of tensors of one shape and dtype.

    Raises:
        ValueError: there are none, or their shapes differ.
    """
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ShapeError("add_n takes a list of one tensor at least")
    tensors = alike(*inputs)
    return result("AddN", *tensors, name=name, N=len(tensors))


# What tf.truediv and / divide integers as.
_QUOTIENTS = {
    uint8: float32, int8: float32, uint16: float32, int16: float32, int32: float64, int64: float64,
    bfloat16: bfloat16, float16: float16,
}  # fmt: skip


def truediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The quotient; integers are made floats first: float64 those of 32 and 64 bits."""
    with get_default_graph().name_scope(name or "truediv") as scope:
        x, y = alike(x, y, names=("x", "y"))
        wanted = _QUOTIENTS.get(x.dtype, x.dtype)
        if wanted != x.dtype:
            x, y = cast(x, wanted), cast(y, wanted)
        return result("RealDiv", x, y, name=scope)


def divide(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y as Python 3 has it."""
    return truediv(x, y, name)


def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The quotient rounded towards -infinity."""
    return elementwise("FloorDiv", x, y, name=name or "floordiv")


def div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The quotient as Python 2 has it: integers are divided towards -infinity."""
    with get_default_graph().name_scope(name or "div") as scope:
        x, y = alike(x, y, names=("x", "y"))
        floating = x.dtype.is_floating or x.dtype.is_complex
        return result("RealDiv" if floating else "FloorDiv", x, y, name=scope)


def div_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The quotient, 0 where y is 0."""
    return elementwise("DivNoNan", x, y, name=name or "div_no_nan")


def scalar_mul(scalar: Any, x: Any) -> Tensor:
    """A tensor times a scalar.

    Raises:
        ValueError: the scalar is none.
    """
    factor = convert_to_tensor(scalar, getattr(x, "dtype", None), name="scalar")
    if factor.shape.ndims not in (0, None):
        raise ShapeError(f"only scalar multiply works, got shape {factor.shape}")
    return multiply(factor, x)


def cast(x: Any, dtype: Any, name: str | None = None) -> Tensor:
    """The elements as ones of another dtype; floats lose what follows the point."""
    wanted = as_dtype(dtype)
    x = convert_to_tensor(x, name="x")
    if x.dtype == wanted:
        return x
    return result("Cast", x, name=name, DstT=wanted)


def _cast_to(dtype: DType, called: str) -> Callable[..., Tensor]:
    def function(x: Any, name: str = called) -> Tensor:
        return cast(x, dtype, name)

    function.__name__ = called.lower()
    function.__doc__ = f"The elements as {dtype.name}."
    return function


to_float, to_double = _cast_to(float32, "ToFloat"), _cast_to(float64, "ToDouble")
to_int32, to_int64 = _cast_to(int32, "ToInt32"), _cast_to(int64, "ToInt64")
to_bfloat16, to_complex64 = _cast_to(bfloat16, "ToBFloat16"), _cast_to(complex64, "ToComplex64")


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """The elements as ones of another dtype, those beyond its limits as the limits."""
    wanted = as_dtype(dtype)
    with get_default_graph().name_scope(name or "saturate_cast") as scope:
        x = convert_to_tensor(value, name="value")
        if x.dtype.min < wanted.min:
            x = maximum(x, _limit(wanted.min, x.dtype))
        if x.dtype.max > wanted.max:
            x = minimum(x, _limit(wanted.max, x.dtype))
        return result("Cast", x, name=scope, DstT=wanted)


def _limit(value: Any, dtype: DType) -> Any:
    return dtype.as_numpy_dtype(int(value) if dtype.is_integer else float(value))


def clip_by_value(
    t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None
) -> Tensor:
    """The elements, those below and above the bounds replaced by them."""
    with get_default_graph().name_scope(name or "clip_by_value") as scope:
        t = convert_to_tensor(t, name="t")
        below = minimum(t, convert_to_tensor(clip_value_max, t.dtype))
        t.shape.assert_is_compatible_with(below.shape)
        return maximum(below, convert_to_tensor(clip_value_min, t.dtype), name=scope)


def complex(real: Any, imag: Any, name: str | None = None) -> Tensor:
    """Complex numbers of real and imaginary parts, float32 or float64 both."""
    with get_default_graph().name_scope(name or "Complex") as scope:
        real, imag = alike(real, imag, names=("real", "imag"))
        made = as_dtype("complex128" if real.dtype == float64 else "complex64")
        return result("Complex", real, imag, name=scope, Tout=made)


def real(input: Any, name: str | None = None) -> Tensor:
    """Real parts; what is real is itself."""
    x = convert_to_tensor(input, name="input")
    return result("Real", x, name=name, Tout=x.dtype.real_dtype) if x.dtype.is_complex else x


def imag(input: Any, name: str | None = None) -> Tensor:
    """Imaginary parts; zeros of what is real."""
    x = convert_to_tensor(input, name="input")
    if x.dtype.is_complex:
        return result("Imag", x, name=name, Tout=x.dtype.real_dtype)
    return result("ZerosLike", x, name=name)


def conj(x: Any, name: str | None = None) -> Tensor:
    """Conjugates; what is real is itself."""
    x = convert_to_tensor(x, name="x")
    return result("Conj", x, name=name) if x.dtype.is_complex else x


def angle(input: Any, name: str | None = None) -> Tensor:
    """The angles of complex numbers."""
    x = convert_to_tensor(input, name="input")
    if x.dtype.is_complex:
        return result("Angle", x, name=name, Tout=x.dtype.real_dtype)
    return result("ZerosLike", x, name=name)
