"""pow, cbrt and rsqrt for f32 and f64, in straight-line code without a library.

pow(x, y) = exp(y·log|x|), where the logarithm needs as many more bits as the result's exponent has:
f32 computes in f64, f64 with unevaluated sums of two floats (`Pair`). Special values are those of
C99 Annex F.9.4.4, chosen by selects at the end.

Coefficients were computed for tfc as those of `exponential`.
"""

import math

from tfc.backends.mlir.arithmetic.exponential import LOG2_E, exp_pair
from tfc.backends.mlir.arithmetic.floating import (
    SHORT_LN2,
    Pair,
    absolute,
    clamp,
    copy_sign,
    fast_two_sum,
    format_of,
    polynomial,
    power_of_two,
    round_to_integer,
    sign_bit,
    split_exponent,
    sqrt,
    two_product,
    two_sum,
)
from tfc.backends.mlir.arithmetic.value import Scalar, constant, convert, fma, multiply_add, select
from tfc.hlo.shape import F32, F64

# (2·atanh(s) - 2s)/s³ in s²  for s² ≤ 0.02973; error of log 2^-43.
_LOG_SERIES_SHORT = (
    0.6666666666741662, 0.3999999874240231, 0.28571765512659175, 0.2219071567856456,
    0.19375779629167458,
)  # fmt: skip

# (exp(r) - 1 - r)/r²  for |r| ≤ 0.3477; error of exp 2^-32.
_EXP_SERIES_SHORT = (
    0.5000000013706555, 0.1666666671995762, 0.041666462542380205, 0.008333298059837912,
    0.0013933912874566623, 0.00019899625275163823,
)  # fmt: skip

# (atanh(s)/s - 1 - s²/3)/s⁴ in s²  for s² ≤ 0.02973; error of atanh 2^-70.6.
_ATANH_SERIES = (
    0.2, 0.14285714285712492, 0.11111111111957116, 0.0909090891163488, 0.07692327858833882,
    0.06665377609337296, 0.05929434591707801, 0.04343457413076901, 0.12383321467520639,
)  # fmt: skip

# 1/3 as high + low.
_THIRD = (1 / 3, 1.850371707708594e-17)


def rsqrt(x: Scalar) -> Scalar:
    """1/√x, f32 or f64: two correctly rounded operations; ±inf at ±0, NaN for negative numbers."""
    return constant(x.element_type, 1.0) / sqrt(x)


def power(x: Scalar, y: Scalar) -> Scalar:
    """x^y, f32 or f64, both of one type."""
    magnitude = absolute(x)
    result = _power_f32(magnitude, y) if x.element_type == F32 else _power_f64(magnitude, y)
    # 1 to any power, NaN included; anything to the power 0; and (-1)^±inf.
    infinite_power = magnitude.eq(1.0) & absolute(y).eq(math.inf)
    result = select(y.eq(0.0) | x.eq(1.0) | infinite_power, 1.0, result)
    integral, odd = _parity(y)
    undefined = (x < 0.0) & (x > -math.inf) & ~integral
    result = select(undefined & (y.eq(y)), math.nan, result)
    sign = select(odd, x, constant(x.element_type, 1.0))
    return select(sign_bit(sign), -result, result)


def _parity(y: Scalar) -> tuple[Scalar, Scalar]:
    """(is an integer or infinite, is an odd integer), as preds; both false for NaN."""
    # Adding 2^p leaves only integers; numbers that large are integers already.
    limit = 2.0 ** format_of(y).mantissa_bits
    y = absolute(y)
    half = y * 0.5
    integral = (y >= limit) | ((y + limit) - limit).eq(y)
    half_integral = (half >= limit) | ((half + limit) - limit).eq(half)
    return integral, integral & ~half_integral


def _power_f32(x: Scalar, y: Scalar) -> Scalar:
    """x^y for x ≥ 0 but for the cases `power` handles; f64 inside, where no f32 is subnormal."""
    x, y = convert(x, F64), convert(y, F64)
    e, m = split_exponent(x, may_be_subnormal=False)
    f = m - 1.0
    s = f / (f + 2.0)
    square = s * s
    series = multiply_add(polynomial(square, _LOG_SERIES_SHORT), square, 2.0)
    logarithm = multiply_add(s * series, LOG2_E, e)
    logarithm = select(x < math.inf, logarithm, x)
    logarithm = select(x.eq(0.0), -math.inf, logarithm)
    # Far beyond f32's range on both sides, yet normal in f64.
    exponent = clamp(y * logarithm, -200.0, 200.0)
    n, integer = round_to_integer(exponent)
    r = (exponent - n) * math.log(2)
    q = polynomial(r, _EXP_SERIES_SHORT)
    scale = power_of_two(integer + 1023, F64)
    return convert(multiply_add(multiply_add(q, r, 1.0), r, 1.0) * scale, F32)


def log_pair(x: Scalar, exponent: Scalar | float = 0.0) -> Pair:
    """log(2^exponent·x) for 0 < x < inf as a pair with a relative error below 2^-64; f64."""
    e, m = split_exponent(x)
    e = e + exponent
    f = m - 1.0
    # s = f / (1 + m) as a pair, the denominator being one too.
    denominator, lost = fast_two_sum(constant(F64, 2.0), f)
    inverse = constant(F64, 1.0) / denominator
    s = f * inverse
    s_low = multiply_add(-s, lost, fma(-s, denominator, f)) * inverse
    z, z_low = two_product(s, s)
    z_low = multiply_add(s + s, s_low, z_low)
    # c = 1/3 + z·(…), b = z·c, then log m = 2s·(1 + b).
    c, c_low = fast_two_sum(constant(F64, _THIRD[0]), z * polynomial(z, _ATANH_SERIES))
    c_low = c_low + _THIRD[1]
    b, b_low = two_product(z, c)
    b_low = multiply_add(z, c_low, multiply_add(z_low, c, b_low))
    g, g_low = two_product(s, b)
    g_low = multiply_add(s, b_low, multiply_add(s_low, b, g_low))
    half, half_low = fast_two_sum(s, g)
    half_low = half_low + (s_low + g_low)
    high, low = two_sum(e * SHORT_LN2[F64][0], half + half)
    return fast_two_sum(high, low + multiply_add(e, SHORT_LN2[F64][1], half_low + half_low))


def _power_f64(x: Scalar, y: Scalar) -> Scalar:
    """x^y for x ≥ 0 but for the cases `power` handles."""
    logarithm, low = log_pair(x)
    logarithm = select(x < math.inf, logarithm, x)
    logarithm = select(x.eq(0.0), -math.inf, logarithm)
    product, error = two_product(y, logarithm)
    error = multiply_add(y, low, error)
    # Out of range the error is neither needed nor, perhaps, finite.
    return exp_pair(product, select(absolute(product) < 1000.0, error, 0.0))


# b^(-1/3) in b - 1 for √½ ≤ b ≤ √2; error 2^-17.2.
_INVERSE_CUBE_ROOT = (
    1.0000030994415283, -0.33325356245040894, 0.22167761623859406, -0.1761108785867691,
    0.15958543121814728, -0.10549809038639069,
)  # fmt: skip


def cbrt(x: Scalar) -> Scalar:
    """The cube root, f32 or f64, with the sign of x."""
    form = format_of(x)
    magnitude = absolute(x)
    e, m = split_exponent(magnitude)
    third, integer = round_to_integer(e * (1 / 3))
    rest = multiply_add(third, -3.0, e)
    # b = m·2^rest, rest being -1, 0 or 1; r is near its inverse cube root.
    b = m * select(rest < 0.0, 0.5, select(rest > 0.0, constant(x.element_type, 2.0), 1.0))
    root = constant(x.element_type, 2 ** (-1 / 3))
    turn = select(rest < 0.0, 2 ** (1 / 3), select(rest > 0.0, root, 1.0))
    r = polynomial(m - 1.0, _INVERSE_CUBE_ROOT) * turn
    if x.element_type == F64:
        # One Newton step for b^(-1/3): the error is squared.
        r = multiply_add(r * (1 / 3), multiply_add(-b * r, r * r, 1.0), r)
    # The last Newton step is for the cube root; c³ - b is computed as if exactly.
    inverse_square = r * r
    c = b * inverse_square
    square, square_low = two_product(c, c)
    excess = multiply_add(square_low, c, fma(square, c, -b))
    c = multiply_add(-excess, inverse_square * (1 / 3), c)
    result = copy_sign(c * power_of_two(integer + form.bias, x.element_type), x)
    return select((magnitude > 0.0) & (magnitude < math.inf), result, x)
