"""The parts of floating-point numbers, and their neighbours: frexp, ldexp, modf, nextafter.

They are computed in the bits of a number: its sign, exponent and mantissa.
"""

import numpy as np

from tfc.errors import TraceError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.arithmetic import is_infinite, is_negative, is_zero, meet, where
from tfc.frontend.numpy.comparisons import is_nan
from tfc.frontend.numpy.functions import as_float, copysign, signbit, trunc
from tfc.frontend.numpy.parts import require_kind, require_real
from tfc.frontend.operations import compare, full_like, operation, select
from tfc.frontend.promotion import (
    as_tensor,
    broadcast_together,
    cast,
    float_type,
    result_type,
    widen,
)
from tfc.frontend.tensor import ArrayLike, Tensor, traceable
from tfc.hlo.shape import ELEMENT_TYPES, S32, ElementType


def _bits(x: Tensor) -> Tensor:
    """The bits of floats as signed integers."""
    integer = ELEMENT_TYPES[f"s{x.array_shape.element_type.bits}"]
    return operation("bitcast-convert", x, shape=x.array_shape.with_element_type(integer))


def _of_bits(bits: Tensor, element_type: ElementType) -> Tensor:
    """The floats that have these bits."""
    return operation(
        "bitcast-convert", bits, shape=bits.array_shape.with_element_type(element_type)
    )


def _is_finite(x: Tensor) -> Tensor:
    return operation("and", operation("is-finite", x), operation("not", is_zero(x)))


def _exponent(x: Tensor) -> Tensor:
    """e such that |x| is within 2**(e - 1) … 2**e, as s32; 0 for zeros, infinities and NaN."""
    limits = x.array_shape.element_type.float_limits
    digits, bias = limits.nmant, limits.maxexp - 1
    is_small = compare("LT", operation("abs", x), full_like(limits.smallest_normal, x))
    scale = full_like(2.0 ** (digits + 1), x)
    bits = _bits(select(is_small, operation("multiply", x, scale), x))
    field = operation("shift-right-logical", bits, full_like(digits, bits))
    mask = (1 << x.array_shape.element_type.bits - 1 - digits) - 1
    found = ops.convert(operation("and", field, full_like(mask, field)), S32)
    found = found - full_like(bias - 1, found)
    found = select(is_small, found - full_like(digits + 1, found), found)
    return select(_is_finite(x), found, full_like(0, found))


def _power_of_two(exponent: Tensor, element_type: ElementType) -> Tensor:
    """2**exponent for the exponents of normal numbers, from its bits."""
    limits = element_type.float_limits
    integer = ELEMENT_TYPES[f"s{element_type.bits}"]
    field = ops.convert(exponent + full_like(limits.maxexp - 1, exponent), integer)
    return _of_bits(operation("shift-left", field, full_like(limits.nmant, field)), element_type)


def _scaled(x: Tensor, exponent: Tensor) -> Tensor:
    """x times 2**exponent, by two factors that are normal numbers, each of half the exponent."""
    kind = x.array_shape.element_type
    half = operation("shift-right-arithmetic", exponent, full_like(1, exponent))
    once = operation("multiply", x, _power_of_two(half, kind))
    return operation("multiply", once, _power_of_two(exponent - half, kind))


@traceable
def frexp(x: ArrayLike, /) -> tuple[Tensor, Tensor]:
    """(mantissa, exponent): x = mantissa * 2**exponent, 0.5 <= |mantissa| < 1; int32 exponents."""
    tensor = as_float(x)
    require_real("frexp", tensor)
    wide = widen(tensor)
    exponent = _exponent(wide)
    return cast(_scaled(wide, operation("negate", exponent)), tensor.dtype), exponent


@traceable
def ldexp(x1: ArrayLike, x2: ArrayLike, /) -> Tensor:
    """x1 * 2**x2, rounded once.

    Raises:
        TraceError: x2 is not of integers.
    """
    tensor, places = as_float(x1), as_tensor(x2)
    require_real("ldexp", tensor)
    if not places.array_shape.element_type.is_integer and places.dtype != np.bool_:
        raise TraceError(f"ldexp requires integers as exponents, got {places.dtype}; convert them")
    wide, exponents = broadcast_together(widen(tensor), places)
    limits = wide.array_shape.element_type.float_limits
    # Beyond this everything is zero or infinite.
    bound = 2 * (limits.maxexp + limits.nmant)
    held = operation("clamp", ops.constant(-bound), ops.convert(exponents, ELEMENT_TYPES["s64"]),
                     ops.constant(bound))  # fmt: skip
    exponent = _exponent(wide)
    mantissa = _scaled(wide, operation("negate", exponent))
    total = exponent + ops.convert(held, S32)
    most = limits.maxexp + limits.nmant + 4
    total = operation("clamp", ops.constant(-most, S32), total, ops.constant(most, S32))
    return cast(_scaled(mantissa, total), tensor.dtype)


@traceable
def modf(x: ArrayLike, /) -> tuple[Tensor, Tensor]:
    """(fraction, whole): the part after the point and the rest, both with the sign of x."""
    tensor = as_float(x)
    require_real("modf", tensor)
    whole = copysign(trunc(tensor), tensor)
    known = ops.stop_gradient(whole)
    # Either way round a difference of equal numbers is 0.0: below zero it is negated.
    rest = select(signbit(tensor), operation("negate", known - tensor), tensor - known)
    return select(is_infinite(tensor), copysign(full_like(0, tensor), tensor), rest), whole


@traceable
def nextafter(x1: ArrayLike, x2: ArrayLike, /) -> Tensor:
    """The next number after x1 toward x2; x2 itself where they are equal, NaN if either is."""
    left, right = meet(x1, x2, dtype=float_type(result_type(x1, x2)))
    require_kind("nextafter", left, ("float",))
    bits = _bits(left)
    away = compare("GT", right, left)
    up = compare("EQ", away, operation("not", is_negative(left)))
    one = full_like(1, bits)
    moved = _of_bits(select(up, bits + one, bits - one), left.array_shape.element_type)
    least = copysign(full_like(left.array_shape.element_type.float_limits.smallest_subnormal, left),
                     right)  # fmt: skip
    found = select(is_zero(left), least, moved)
    found = select(compare("EQ", left, right), right, found)
    is_unknown = operation("or", is_nan(left), is_nan(right))
    return select(is_unknown, full_like(np.nan, left), found)


@traceable
def spacing(x: ArrayLike, /) -> Tensor:
    """How far the next number is away from x, on the side that is farther from zero."""
    tensor = as_float(x)
    require_real("spacing", tensor)
    # The least numbers of both signs have a distance above zero.
    outward = where(is_zero(tensor), np.inf, copysign(full_like(np.inf, tensor), tensor))
    found = nextafter(tensor, outward) - tensor
    return where(is_infinite(tensor), np.nan, found)
