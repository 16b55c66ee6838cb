"""atan2, atan, asin and acos for f32 and f64, in straight-line code without a library.

All are the angle of a point in the plane. The ratio t of the smaller coordinate to the larger lies
in [0, 1]; above tan(π/8) it is reduced further by atan(t) = π/4 + atan((t - 1)/(t + 1)). f32
computes in f64 throughout; f64 holds coordinates and angles as pairs.

Coefficients were computed for tfc as those of `exponential`.
"""

import math

from tfc.backends.mlir.arithmetic.floating import (
    Pair,
    absolute,
    copy_sign,
    fast_two_sum,
    polynomial,
    sign_bit,
    sqrt,
    two_product,
)
from tfc.backends.mlir.arithmetic.value import Scalar, constant, convert, fma, multiply_add, select
from tfc.hlo.shape import F32, F64

# (atan(t)/t - 1)/t² in t²  for |t| ≤ tan(π/8); errors 2^-33.5 and 2^-63.7.
_SERIES_SHORT = (
    -0.3333333328079126, 0.19999977682522618, -0.14284169956111795, 0.11071655940530721,
    -0.08626516459172763, 0.05052208196734027,
)  # fmt: skip
_SERIES = (
    -0.3333333333333333, 0.1999999999999892, -0.14285714285526, 0.11111111095819251,
    -0.09090908391503111, 0.07692287797427785, -0.06666294329988981, 0.05877626214514683,
    -0.05221977077113103, 0.0451695290395804, -0.033763613956674585, 0.015468361454321535,
)  # fmt: skip

# What rounding π/4 to f64 loses; π/2 and π lose twice and four times as much.
_QUARTER_PI_LOW = 3.061616997868383e-17


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """The angle of the point (x, y) in [-π, π], f32 or f64; at origin and infinity as in C."""
    if y.element_type == F32:
        return convert(_atan2_for_f32(convert(y, F64), convert(x, F64)), F32)
    return atan2_pair(y, x)[0]


def atan2_pair(y: Scalar, x: Scalar) -> Pair:
    """The angle of an f64 point as a pair."""
    zero = constant(F64, 0.0)
    # A sum of coordinates must not overflow.
    huge = (absolute(y) > 2.0**1020) | (absolute(x) > 2.0**1020)
    scale = select(huge, constant(F64, 2.0**-8), 1.0)
    return _angle_pair((y * scale, zero), (x * scale, zero), _SERIES)


def _atan2_for_f32(y: Scalar, x: Scalar) -> Scalar:
    """atan2 of f64 numbers far from f64's limits, with the accuracy that f32 needs."""
    zero = constant(F64, 0.0)
    return _angle((y, zero), (x, zero), _SERIES_SHORT)


def atan(x: Scalar) -> Scalar:
    """The arctangent, f32 or f64."""
    return atan2(x, constant(x.element_type, 1.0))


def asin(x: Scalar) -> Scalar:
    """The arcsine, f32 or f64; NaN outside [-1, 1]."""
    if x.element_type == F32:
        wide = convert(x, F64)
        return convert(_atan2_for_f32(wide, sqrt((1.0 - wide) * (wide + 1.0))), F32)
    return _angle((x, constant(F64, 0.0)), _cathetus(x), _SERIES)


def acos(x: Scalar) -> Scalar:
    """The arccosine, f32 or f64; NaN outside [-1, 1]."""
    if x.element_type == F32:
        wide = convert(x, F64)
        return convert(_atan2_for_f32(sqrt((1.0 - wide) * (wide + 1.0)), wide), F32)
    return _angle(_cathetus(x), (x, constant(F64, 0.0)), _SERIES)


def _cathetus(x: Scalar) -> Pair:
    """√(1 - x²) as a pair; NaN if |x| exceeds one."""
    square, square_low = two_product(x, x)
    high, low = fast_two_sum(constant(F64, 1.0), -square)
    low = low - square_low
    root = sqrt(high)
    root_low = (fma(-root, root, high) + low) / (root + root)
    return root, select(root > 0.0, root_low, 0.0)


def _ratio(numerator: Pair, denominator: Pair) -> Pair:
    """The quotient of pairs; the denominator is not zero."""
    quotient = numerator[0] / denominator[0]
    remainder = fma(-quotient, denominator[0], numerator[0]) + numerator[1]
    return quotient, multiply_add(-quotient, denominator[1], remainder) / denominator[0]


def _reduced_ratio(little: Pair, big: Pair) -> tuple[Scalar, Pair]:
    """(reduced, t) for 0 ≤ little ≤ big: atan(little/big) is atan(t), plus π/4 if `reduced`."""
    # inf/inf counts as 1, anything finite over inf as 0, 0/0 as 0.
    infinite = big[0].eq(math.inf)
    little_high = select(
        infinite, select(little[0].eq(math.inf), constant(F64, 1.0), 0.0), little[0]
    )
    big_high = select(infinite | big[0].eq(0.0), 1.0, big[0])
    reduced = little_high > big_high * 0.41421356237309503
    difference, difference_low = fast_two_sum(big_high, -little_high)
    total, total_low = fast_two_sum(big_high, little_high)
    numerator = select(reduced, -difference, little_high)
    numerator_low = select(reduced, (little[1] - big[1]) - difference_low, little[1])
    denominator = select(reduced, total, big_high)
    denominator_low = select(reduced, total_low + (big[1] + little[1]), big[1])
    return reduced, _ratio((numerator, numerator_low), (denominator, denominator_low))


def _angle(y: Pair, x: Pair, series: tuple[float, ...]) -> Scalar:
    """The angle of the point (x, y), f64; the low parts of infinite coordinates are zero."""
    return _angle_pair(y, x, series)[0]


def _angle_pair(y: Pair, x: Pair, series: tuple[float, ...]) -> Pair:
    """As `_angle`, with what its rounding loses; that has an error of about 2^-57."""
    y_sign, x_sign = sign_bit(y[0]), sign_bit(x[0])
    y_high, x_high = absolute(y[0]), absolute(x[0])
    y_low = select(y_sign, -y[1], y[1])
    x_low = select(x_sign, -x[1], x[1])
    steep = y_high > x_high
    little = (select(steep, x_high, y_high), select(steep, x_low, y_low))
    big = (select(steep, y_high, x_high), select(steep, y_low, x_low))
    reduced, (t, t_low) = _reduced_ratio(little, big)
    square = t * t
    tail = multiply_add(t * square, polynomial(square, series), t_low)
    zero = constant(F64, 0.0)
    angle, rest = fast_two_sum(select(reduced, constant(F64, math.pi / 4), 0.0), t)
    rest = (rest + tail) + select(reduced, constant(F64, _QUARTER_PI_LOW), 0.0)
    # The other octants: π/2 - a, π/2 + a, π - a.
    turn = select(steep, math.pi / 2, select(x_sign, constant(F64, math.pi), 0.0))
    turn_low = select(
        steep, 2 * _QUARTER_PI_LOW, select(x_sign, constant(F64, 4 * _QUARTER_PI_LOW), zero)
    )
    backwards = steep ^ x_sign
    angle, lost = fast_two_sum(turn, select(backwards, -angle, angle))
    rest = lost + (select(backwards, -rest, rest) + turn_low)
    result, low = fast_two_sum(angle, rest)
    ordered = y_high.eq(y_high) & x_high.eq(x_high)
    return select(ordered, copy_sign(result, y[0]), math.nan), select(y_sign, -low, low)
