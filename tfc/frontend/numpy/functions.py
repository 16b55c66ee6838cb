"""Elementwise functions of floats in the NumPy namespace: elementary functions, rounding, tests.

Integers are converted to the float in which NumPy computes their functions: int32 and int64 to
float64, int16 to float32, int8 and bool to float16.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tfc.errors import ShapeError, TraceError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.arithmetic import absolute, is_infinite, is_negative, is_zero, meet, named
from tfc.frontend.numpy.comparisons import is_nan, maximum, minimum
from tfc.frontend.numpy.parts import is_complex, on_parts, parts, require_kind, require_real
from tfc.frontend.numpy_keywords import refuse_out
from tfc.frontend.operations import compare, full_like, operation, select
from tfc.frontend.promotion import as_tensor, cast, float_type, result_type, widen
from tfc.frontend.python_numbers import real_number, whole
from tfc.frontend.tensor import FUNCTIONS, ArrayLike, Tensor, alias, evaluable, traceable
from tfc.hlo.op import OPS, Op
from tfc.hlo.shape import ELEMENT_TYPES


def as_float(x: ArrayLike) -> Tensor:
    """The operand as a float: integers become what NumPy computes their functions in."""
    tensor = as_tensor(x)
    return cast(tensor, float_type(tensor.dtype))


def of_op(op: Op) -> Callable[..., Tensor]:
    """The function that an elementwise op is declared to be, by its first name; not yet traceable.

    Integers are converted to the float that NumPy computes them in, unless the op takes integers.
    """
    convert = as_tensor if op.domain & {"signed", "unsigned"} else as_float

    def unary(x: ArrayLike, /) -> Tensor:
        tensor = convert(x)
        require_kind(op.numpy[0], tensor, op.domain)
        return operation(op.name, tensor)

    def binary(x1: ArrayLike, x2: ArrayLike, /) -> Tensor:
        both = meet(convert(x1), convert(x2))
        require_kind(op.numpy[0], both[0], op.domain)
        return operation(op.name, *both)

    function = unary if op.arity == 1 else binary
    function.__name__ = function.__qualname__ = op.numpy[0]
    function.__module__, function.__doc__ = "tfc.numpy", op.description
    return function


def generated(name: str) -> Callable[..., Tensor] | None:
    """The function made from the op that is declared to have this name; None if none is."""
    op = next((op for op in OPS.values() if name in op.numpy), None)
    # An op may have been defined after this module was imported.
    return op and (FUNCTIONS.get(name) or evaluable(of_op(op)))


for _op in OPS.values():
    if _op.numpy:
        traceable(of_op(_op), *_op.numpy[1:])
cos, exp, log, log1p, sigmoid, sin, sqrt = (
    FUNCTIONS[name] for name in ("cos", "exp", "log", "log1p", "sigmoid", "sin", "sqrt")
)


def _real_floats(name: str, x: ArrayLike, y: ArrayLike) -> list[Tensor]:
    """Two operands as floats of one dtype and shape.

    Raises:
        TraceError: one of them is complex.
    """
    left, right = as_tensor(x), as_tensor(y)
    if not (left.weak or right.weak or any(t.dtype.kind not in "biu" for t in (left, right))):
        left, right = as_float(left), as_float(right)  # int8 and uint8 meet in float16, not int16
    both = meet(left, right, dtype=float_type(result_type(left, right)))
    require_real(name, both[0])
    return both


@alias("atan2")
def arctan2(x: ArrayLike, y: ArrayLike, /) -> Tensor:
    """The angle of the point (y, x), in [-pi, pi]."""
    return operation("atan2", *_real_floats("arctan2", x, y))


@alias("atan")
def arctan(x: ArrayLike, /) -> Tensor:
    """Inverse tangent."""
    tensor = as_float(x)
    require_real("arctan", tensor)
    return operation("atan2", tensor, full_like(1, tensor))


@traceable
def hypot(x: ArrayLike, y: ArrayLike, /) -> Tensor:
    """sqrt(x² + y²) without overflow on the way."""
    both = _real_floats("hypot", x, y)
    left, right = (absolute(widen(t)) for t in both)
    large, small = maximum(left, right), minimum(left, right)
    infinite = full_like(np.inf, large)
    is_exact = operation("or", is_zero(large), compare("EQ", large, infinite))
    ratio = operation("divide", small, select(is_exact, full_like(1, large), large))
    length = large * operation("sqrt", ratio * ratio + full_like(1, ratio))
    any_infinite = operation("or", compare("EQ", left, infinite), compare("EQ", right, infinite))
    # An infinite side decides even beside a NaN, as C's hypot says.
    return cast(select(any_infinite, infinite, select(is_exact, large, length)), both[0].dtype)


def _log_over(x: ArrayLike, base: float) -> Tensor:
    tensor = as_float(x)
    logarithm = operation("log", widen(tensor))
    # By parts: a complex quotient would be NaN beside infinities.
    found = on_parts(lambda t: operation("divide", t, full_like(np.log(base), t)), logarithm)
    return cast(found, tensor.dtype)


@traceable
def log2(x: ArrayLike, /) -> Tensor:
    """Logarithm to base 2; of a power of 2 exactly its exponent."""
    tensor = widen(as_float(x))
    found = _log_over(tensor, 2.0)
    if not is_complex(tensor):
        found = found + ops.stop_gradient(_to_exponent(tensor, found))
    return cast(found, float_type(as_tensor(x).dtype))


def _to_exponent(x: Tensor, logarithm: Tensor) -> Tensor:
    """What is missing in the logarithm of a power of 2, known by its mantissa; else 0."""
    element_type = x.array_shape.element_type
    mantissa = (1 << element_type.float_limits.nmant) - 1
    integer = ELEMENT_TYPES[f"u{element_type.bits}"]
    bits = operation(
        "bitcast-convert", x, shape=x.array_shape.with_element_type(integer)
    )  # fmt: skip
    is_power = is_zero(operation("and", bits, full_like(mantissa, bits)))
    is_power = operation("and", is_power, operation("is-finite", logarithm))
    missing = operation("round-nearest-even", logarithm) - logarithm
    return select(is_power, missing, full_like(0, missing))


@traceable
def log10(x: ArrayLike, /) -> Tensor:
    """Logarithm to base 10."""
    return _log_over(x, 10.0)


@traceable
def exp2(x: ArrayLike, /) -> Tensor:
    """2 to the power x."""
    tensor = as_float(x)
    return operation("power", full_like(2, tensor), tensor)


def larger_and_gap(left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """The larger of two, and what the other has less.

    One of them is chosen where both are equal, and no absolute value is taken: what is smooth keeps
    its second derivatives there.
    """
    is_right = compare("LT", left, right)
    larger, other = select(is_right, right, left), select(is_right, left, right)
    # Equal infinities have no difference: their logarithm of a sum is themselves plus log 2.
    alike = operation("and", compare("EQ", left, right), is_infinite(left))
    return larger, select(alike, full_like(0, left), other - larger)


@traceable
def logaddexp(x: ArrayLike, y: ArrayLike, /) -> Tensor:
    """log(exp(x) + exp(y)) without overflow."""
    both = _real_floats("logaddexp", x, y)
    larger, gap = larger_and_gap(*(widen(t) for t in both))
    return cast(larger + log1p(exp(gap)), both[0].dtype)


def _rounding(name: str, rounded: Callable[[Tensor], Tensor], doc: str, *names: str):
    """A function that rounds floats to integers and leaves integers as they are."""

    def function(x: ArrayLike, /) -> Tensor:
        tensor = as_tensor(x)
        require_real(name, tensor)
        return rounded(tensor) if tensor.array_shape.element_type.is_float else tensor

    return named(function, name, doc, *names)


def _truncated(x: Tensor) -> Tensor:
    return select(is_negative(x), operation("ceil", x), operation("floor", x))


# fmt: off
floor = _rounding("floor", lambda x: operation("floor", x), "The largest integer not above x.")
ceil  = _rounding("ceil",  lambda x: operation("ceil", x),  "The smallest integer not below x.")
trunc = _rounding("trunc", _truncated, "x rounded toward zero.", "fix")
# fmt: on


@traceable
def rint(x: ArrayLike, /) -> Tensor:
    """The nearest integer, halves to the even one; of complex numbers in both parts."""
    return on_parts(lambda t: operation("round-nearest-even", t), as_float(x))


@alias("around")
def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Tensor:
    """a rounded to `decimals` digits after the point, halves to the even one; complex by parts."""
    refuse_out("round", out)
    decimals = whole(decimals, "the number of digits")
    if not -300 <= decimals <= 300:
        raise ShapeError(f"round requires a number of digits within -300..300, got {decimals}")
    tensor = as_tensor(a)
    element_type = tensor.array_shape.element_type
    if element_type.is_float or element_type.is_complex:
        return on_parts(lambda part: _rounded(part, decimals), tensor)
    if decimals < 0:
        raise TraceError("round takes decimals >= 0 for integers; convert to float first")
    return tensor


def _rounded(x: Tensor, decimals: int) -> Tensor:
    if not decimals:
        return operation("round-nearest-even", x)
    wide = widen(x)
    scale = full_like(10.0 ** abs(decimals), wide)
    there, back = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
    rounded = operation("round-nearest-even", operation(there, wide, scale))
    return cast(operation(back, rounded, scale), x.dtype)


@traceable
def isnan(x: ArrayLike, /) -> Tensor:
    """True where x is NaN."""
    return is_nan(as_tensor(x))


@traceable
def isinf(x: ArrayLike, /) -> Tensor:
    """True where x is plus or minus infinity."""
    tensor = as_tensor(x)
    if is_complex(tensor):
        return operation("or", *map(is_infinite, parts(tensor)))
    if not tensor.array_shape.element_type.is_float:
        return compare("NE", tensor, tensor)
    return is_infinite(tensor)


@traceable
def isfinite(x: ArrayLike, /) -> Tensor:
    """True where x is neither infinite nor NaN (UN-1)."""
    tensor = as_tensor(x)
    if is_complex(tensor):
        return operation("and", *(operation("is-finite", part) for part in parts(tensor)))
    if not tensor.array_shape.element_type.is_float:
        return compare("EQ", tensor, tensor)
    return operation("is-finite", tensor)


@traceable
def signbit(x: ArrayLike, /) -> Tensor:
    """True where the sign bit is set, in -0.0 and negative NaNs too."""
    tensor = as_float(x)
    require_real("signbit", tensor)
    bits = ELEMENT_TYPES[f"s{tensor.array_shape.element_type.bits}"]
    shape = tensor.array_shape.with_element_type(bits)
    return is_negative(operation("bitcast-convert", tensor, shape=shape))


@traceable
def copysign(x: ArrayLike, y: ArrayLike, /) -> Tensor:
    """The magnitude of x with the sign of y."""
    left, right = _real_floats("copysign", x, y)
    magnitude = operation("abs", left)
    return select(signbit(right), operation("negate", magnitude), magnitude)


@traceable
def nan_to_num(
    x: ArrayLike, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None
) -> Tensor:
    """NaN replaced by `nan`, infinities by the largest finite numbers or by what is given."""
    tensor = as_tensor(x)
    component = tensor.array_shape.element_type.component
    if not component.is_float:
        return tensor
    limits = component.float_limits
    high = limits.max if posinf is None else real_number(posinf, "posinf")
    low = limits.min if neginf is None else real_number(neginf, "neginf")
    other = real_number(nan, "nan")

    def of_part(part: Tensor) -> Tensor:
        below = compare("EQ", part, full_like(-np.inf, part))
        finite = select(compare("EQ", part, full_like(np.inf, part)), full_like(high, part), part)
        finite = select(below, full_like(low, part), finite)
        return select(is_nan(part), full_like(other, part), finite)

    return on_parts(of_part, tensor)


@traceable
def isclose(
    a: ArrayLike, b: ArrayLike, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """True where |a - b| <= atol + rtol * |b|, and where infinities agree; NaNs too if wanted."""
    left, right = meet(a, b, dtype=float_type(result_type(a, b)))
    size = operation("abs", right)
    near_zero, beside = real_number(atol, "atol"), real_number(rtol, "rtol")
    bound = full_like(near_zero, size) + full_like(beside, size) * size
    near = compare("LE", operation("abs", left - right), bound)
    near = operation("and", near, isfinite(right))
    close = operation("or", near, compare("EQ", left, right))
    if not equal_nan:
        return close
    return operation("or", close, operation("and", is_nan(left), is_nan(right)))
