"""exp, expm1, tanh and logistic for f32 and f64, in straight-line code without a library.

Reduction: x = n·ln2 + r with |r| ≤ ½ln2, exp(x) = 2^n · exp(r), where exp(r) = 1 + r + r²·Q(r) and
Q is a polynomial. ln2 is held as a sum of two floats, the first so short that x - n·(high part) is
exact, so r and even its rounding error are known.

Coefficients were computed for tfc: weighted least squares on 80 Chebyshev nodes in 400-bit
arithmetic, each coefficient rounded in turn and the remaining ones fitted again. The stated error
is that of the rounded polynomial in exact arithmetic, relative to the function.
"""

import math
from dataclasses import dataclass

from tfc.backends.mlir.arithmetic.floating import (
    SHORT_LN2,
    Pair,
    absolute,
    at_most,
    clamp,
    format_of,
    nearly_inverse,
    polynomial,
    power_of_two,
    ratio,
    with_sign,
)
from tfc.backends.mlir.arithmetic.value import Scalar, bitcast, fma, multiply_add, select
from tfc.hlo.shape import F32, F64

LOG2_E = 1.4426950408889634


@dataclass(frozen=True)
class _Exponential:
    """Constants of exp in one format."""

    q: tuple[float, ...]
    """(exp(r) - 1 - r) / r²  for |r| ≤ 0.3477."""
    low: float
    """exp rounds to zero below this."""
    high: float
    """exp overflows above this, and n is still at most 1 + the largest exponent."""
    half_expm1: tuple[float, ...]
    """((exp(2r) - 1)/2 - r) / r²  for -0.0036 ≤ r ≤ 0.3455; the error is that of tanh."""
    tanh_one: float
    """tanh rounds to one above this."""


# fmt: off
_CONSTANTS = {
    F32: _Exponential(
        q=(  # error 2^-26.5
            0.5, 0.16666576266288757, 0.041666507720947266, 0.008363320492208004,
            0.0013930926797911525,
        ),
        low=-104.0, high=89.0,
        half_expm1=(  # error 2^-31.4
            0.9999999403953552, 0.6666699051856995, 0.3332735002040863, 0.13384275138378143,
            0.04226941615343094, 0.017148781567811966,
        ),
        tanh_one=10.0,
    ),
    F64: _Exponential(
        q=(  # error 2^-55.7
            0.5000000000000001, 0.1666666666666667, 0.041666666666622484, 0.008333333333325827,
            0.0013888888917903757, 0.00019841269875755328, 2.4801520312456937e-05,
            2.7557254316009192e-06, 2.7620532277516737e-07, 2.5105641033782203e-08,
        ),
        low=-746.0, high=710.0,
        half_expm1=(  # error 2^-61.1
            1.0, 0.6666666666666574, 0.33333333333417664, 0.13333333330306177, 0.0444444450244271,
            0.012698405999674997, 0.003174652593893471, 0.00070522920115342, 0.00014183851052737567,
            2.4203577358649434e-05, 5.843257353704312e-06,
        ),
        tanh_one=22.0,
    ),
}
# fmt: on


def _reduce(x: Scalar, bias: int) -> tuple[Scalar, Scalar, Scalar]:
    """(fields, r, low): x = n·ln2 + r + low; the low bits of `fields` are n + bias, if positive.

    low is the rounding error of r. The bias comes with the number that rounds n to an integer.
    """
    form, (high_ln2, low_ln2) = format_of(x), SHORT_LN2[x.element_type]
    magic = 1.5 * 2.0**form.mantissa_bits + bias
    shifted = multiply_add(x, LOG2_E, magic)
    n = shifted - magic
    partial = multiply_add(n, -high_ln2, x)
    r = multiply_add(n, -low_ln2, partial)
    return bitcast(shifted, form.unsigned), r, multiply_add(n, -low_ln2, partial - r)


def scaled(x: Scalar, fields: Scalar) -> Scalar:
    """x·2^n rounded once, where 1/2 ≤ x < 2 and 2^n may be beyond the normal range (by a half).

    The low bits of `fields` are n and twice the bias.
    """
    # Two factors; both exponent fields come out of one sum, without an arithmetic shift.
    first = fields >> 1
    x = x * power_of_two(first, x.element_type)
    return x * power_of_two(fields - first, x.element_type)


def exp(x: Scalar) -> Scalar:
    """e^x, f32 or f64; inf above the range, 0 and subnormal numbers below it."""
    form, constants = format_of(x), _CONSTANTS[format_of(x).element_type]
    fields, r, _ = _reduce(clamp(x, constants.low, constants.high), 2 * form.bias)
    # Factoring r out would round once less, but adding 1 last keeps the error of r·(…) small.
    return scaled(multiply_add(multiply_add(polynomial(r, constants.q), r, 1.0), r, 1.0), fields)


def exp_pair(high: Scalar, low: Scalar) -> Scalar:
    """e^(high + low) for a pair; `high` may be anything, `low` is at most 2^-40."""
    form, constants = format_of(high), _CONSTANTS[format_of(high).element_type]
    high = clamp(high, 1.1 * constants.low, 1.1 * constants.high)
    fields, r, error = _reduce(high, 2 * form.bias)
    q = polynomial(r, constants.q)
    square = r * r
    # exp(r + low) = 1 + r + r²·q + low·exp(r)
    low = low + error
    low = multiply_add(low, multiply_add(square, q, r), low)
    return scaled((multiply_add(square, q, low) + r) + 1.0, fields)


def exp_normal(x: Scalar) -> Scalar:
    """e^x in fewer steps than `exp`; arbitrary unless the result is a normal number or NaN."""
    fields, r, _ = _reduce(x, format_of(x).bias)
    q = polynomial(r, _CONSTANTS[x.element_type].q)
    return multiply_add(multiply_add(q, r, 1.0), r, 1.0) * power_of_two(fields, x.element_type)


def _half_expm1(x: Scalar) -> Pair:
    """(e^x - 1)/2 as high + low; half, so that 2^n stays finite up to the end of the range."""
    constants = _CONSTANTS[format_of(x).element_type]
    # Below -60 the result is -1 in either format.
    fields, r, error = _reduce(clamp(x, -60.0, constants.high), format_of(x).bias - 1)
    scale = power_of_two(fields, x.element_type)
    rest = multiply_add(r * r, polynomial(r, constants.q), error)
    # (2^n - 1)/2 + 2^n/2·r is a fast two-sum: the first term is larger, or zero.
    integral = scale - 0.5
    high = multiply_add(scale, r, integral)
    return high, multiply_add(scale, rest, multiply_add(scale, r, integral - high))


def expm1(x: Scalar) -> Scalar:
    """e^x - 1 without cancellation near zero, f32 or f64; HLO's exponential-minus-one."""
    high, low = _half_expm1(x)
    # Halving loses bits of subnormal numbers and the sign of zero; there x is the answer.
    tiny = absolute(x) < 2.0 ** -(format_of(x).mantissa_bits + 3)
    return select(tiny, x, (high + low) * 2.0)


def tanh(x: Scalar) -> Scalar:
    """The hyperbolic tangent, f32 or f64: p/(p + 1), where p = (e^2|x| - 1)/2."""
    form, constants = format_of(x), _CONSTANTS[format_of(x).element_type]
    magnitude = at_most(absolute(x), constants.tanh_one)
    # |x| = n·ln2/2 + r with 0 ≤ r, almost: then no terms of p cancel. One float for ln2 will do, as
    # tanh hardly changes where n is large.
    magic = 1.5 * 2.0**form.mantissa_bits + form.bias
    shifted = multiply_add(magnitude, 2 * LOG2_E, -0.49) + magic
    r = multiply_add(shifted - magic, -0.5 * math.log(2), magnitude)
    scale = power_of_two(bitcast(shifted, form.unsigned), x.element_type)
    half = multiply_add(r * r, polynomial(r, constants.half_expm1), r)
    p = multiply_add(scale, half, multiply_add(scale, 0.5, -0.5))
    quotient = ratio(p, p + 1.0)
    # Of a small quotient the roundings of the sum and the division take part in a small term only.
    return with_sign(select(p < 0.5, multiply_add(-p, quotient, p), quotient), x)


def logistic(x: Scalar) -> Scalar:
    """1/(1 + e^-x), f32 or f64; for negative x as e^x/(1 + e^x), which is accurate down to zero."""
    power = exp(-absolute(x))
    denominator = power + 1.0
    lost = power - (denominator - 1.0)
    inverse = nearly_inverse(denominator)
    numerator = select(x < 0.0, power, 1.0)
    quotient = numerator * inverse
    # One correction step makes up for the rounding of the sum and of the quotient.
    remainder = multiply_add(-quotient, lost, fma(-quotient, denominator, numerator))
    return multiply_add(remainder, inverse, quotient)
