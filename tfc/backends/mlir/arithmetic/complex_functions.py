"""Complex functions, made from real ones of the parts: the names that the emission table uses.

Each computes in f64, from formulas in which no part is lost to cancellation or to overflow of what
is between; results of c64 are rounded once. Special values, signs of zeros and branch cuts are
those of C99's Annex G. Wherever C leaves a sign open it is arbitrary.
"""

import math
from collections.abc import Callable

from tfc.backends.mlir.arithmetic import math_functions as functions
from tfc.backends.mlir.arithmetic.complex_arithmetic import (
    COMPLEX_ARITHMETIC,
    INFINITY,
    Parts,
    divide_parts,
    in_f64,
    is_infinite,
    scale_exponent,
    sum_of_products,
)
from tfc.backends.mlir.arithmetic.floating import (
    Pair,
    absolute,
    clamp,
    copy_sign,
    fast_two_sum,
    power_of_two,
    small_integer_to_float,
    sqrt,
    two_product,
    two_sum,
)
from tfc.backends.mlir.arithmetic.inverse_trigonometry import atan2_pair
from tfc.backends.mlir.arithmetic.logarithm import log_of_pair
from tfc.backends.mlir.arithmetic.power import log_pair
from tfc.backends.mlir.arithmetic.value import Scalar, constant, maximum, multiply_add, select
from tfc.hlo.shape import F64

ONE = 1.0
_STEP = 700.0  # e^700 is finite, and so is e^-700


def _is_wild(size: Scalar, angle: Scalar) -> Scalar:
    """pred: infinite, in no direction."""
    return is_infinite(size) & ~(absolute(angle) < INFINITY)


def _times_exp(part: Scalar, exponent: Scalar) -> Scalar:
    """part · e^exponent, finite wherever the product is and for any part up to 1."""
    for _ in range(2):  # what is left is below 700, or the product is infinite
        large = exponent > _STEP
        part = part * select(large, constant(F64, math.exp(_STEP)), ONE)
        exponent = select(large, exponent - _STEP, exponent)
    return part * functions.exp(exponent)


def exp_parts(a: Scalar, b: Scalar) -> Parts:
    """e^(a + bi)."""
    wild = _is_wild(a, b)
    cosine = select(wild, ONE, functions.cos(b))
    sine = select(wild & (a < 0.0), copy_sign(constant(F64, 0.0), b), functions.sin(b))
    return _times_exp(cosine, a), select(b.eq(0.0), b, _times_exp(sine, a))


def expm1_parts(a: Scalar, b: Scalar) -> Parts:
    """e^(a + bi) - 1; the real part is expm1(a)·cos b - 2·sin²(b/2)."""
    real, imaginary = exp_parts(a, b)
    half = functions.sin(b * 0.5)
    shrunk = functions.expm1(a)
    near = sum_of_products(shrunk, functions.cos(b), half * -2.0, half)
    near = select(b.eq(0.0), shrunk, select(_is_wild(a, b), -ONE, near))
    return select(a > _STEP, real, near), imaginary


def _square_of_size(a: Scalar, b: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """(total, low, e): |a + bi|² = 2^e · (total + low), accurate near one."""
    exponent = scale_exponent(a, b)
    factor = power_of_two(exponent, F64)
    (p, p_low), (q, q_low) = (two_product(x * factor, x * factor) for x in (a, b))
    # Beside a sum of one, the low parts may cancel once more.
    total, lost = two_sum(p, q)
    low, lowest = two_sum(p_low, q_low)
    low, lower = two_sum(lost, low)
    total, low = fast_two_sum(total, low + (lower + lowest))
    return total, low, small_integer_to_float((1023 - exponent) * 2, F64)


def _log_of_size(a: Scalar, b: Scalar, total: Scalar, result: Scalar) -> Scalar:
    """The logarithm of a magnitude, at poles and beyond numbers too."""
    result = select(total > 0.0, result, select(total.eq(0.0), -INFINITY, total))
    return select(is_infinite(a) | is_infinite(b), INFINITY, result)


def log_parts(a: Scalar, b: Scalar) -> Parts:
    """The principal logarithm."""
    total, low, exponent = _square_of_size(a, b)
    real = _log_of_size(a, b, total, log_of_pair(total, low, exponent) * 0.5)
    return real, functions.atan2(b, a)


def log1p_parts(a: Scalar, b: Scalar) -> Parts:
    """log(1 + a + bi); near |1 + a + bi| = 1 from what the square has beyond one."""
    shifted, lost = two_sum(a, constant(F64, 2.0))
    excess = multiply_add(a, lost, sum_of_products(a, shifted, b, b))
    sum_ = a + 1.0
    total, low, exponent = _square_of_size(sum_, b)
    near = absolute(excess) < 0.5
    near_total, near_low = two_sum(constant(F64, ONE), excess)
    real = log_of_pair(
        select(near, near_total, total), select(near, near_low, low), select(near, 0.0, exponent)
    )
    real = select(absolute(excess) < 2.0**-54, excess, real) * 0.5
    return _log_of_size(a, b, total, real), functions.atan2(b, sum_)


def _scaled_root(a: Scalar, b: Scalar) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """(t, size, q, factor): |z|·factor² is size, near one, as is t = √((size + |a|·factor²)/2);
    q is |b|·factor²."""
    exponent = (scale_exponent(a, b) - 1) | 1
    factor = power_of_two((exponent + 1023) >> 1, F64)
    square = factor * factor
    p, q = absolute(a) * square, absolute(b) * square
    size = sqrt(multiply_add(p, p, q * q))
    size = select(is_infinite(a) | is_infinite(b), INFINITY, size)
    return sqrt((size + p) * 0.5), size, q, factor


def sqrt_parts(a: Scalar, b: Scalar) -> Parts:
    """The principal square root; its real part is not negative."""
    t, _, _, factor = _scaled_root(a, b)
    larger = t / factor
    smaller = select(larger.eq(0.0), 0.0, absolute(b) / larger * 0.5)
    right = a >= 0.0
    real, imaginary = select(right, larger, smaller), select(right, smaller, larger)
    infinite = is_infinite(b)
    return (
        select(infinite, INFINITY, real),
        copy_sign(select(infinite, INFINITY, imaginary), b),
    )


def rsqrt_parts(a: Scalar, b: Scalar) -> Parts:
    """1/√z = conj(√z)/|z|; 0 at infinity, and inf + NaN·i at zero."""
    t, size, q, factor = _scaled_root(a, b)
    larger, smaller = t / size * factor, q / (t * size * 2.0) * factor
    right = a >= 0.0
    real, imaginary = select(right, larger, smaller), select(right, smaller, larger)
    infinite = size.eq(INFINITY)
    real = select(infinite, 0.0, select(size.eq(0.0), INFINITY, real))
    return real, copy_sign(select(infinite, 0.0, imaginary), -b)


def power_parts(a: Scalar, b: Scalar, c: Scalar, d: Scalar) -> Parts:
    """(a + bi)^(c + di) = exp((c + di)·log(a + bi)).

    Zero times infinity or NaN counts as zero in that product: x^0 and 1^y are one for every x and
    y, as in C's real power. The product is held as a pair, since its error is magnified.
    """
    total, low, exponent = _square_of_size(a, b)
    size, size_low = log_pair(total, exponent)
    size = _log_of_size(a, b, total, size * 0.5), (size_low + low / total) * 0.5
    angle = atan2_pair(b, a)
    (p, p_low), (q, q_low) = _sum_of_pairs(c, size, -d, angle), _sum_of_pairs(c, angle, d, size)
    real, imaginary = exp_parts(p, q)
    # Turned by the angle's error, not moved along it: of large angles that is no small number.
    half = q_low * 0.5
    turn = q_low / multiply_add(half, half, ONE)
    along = p_low - half * turn
    return (
        _corrected(real, real * along - imaginary * turn),
        _corrected(imaginary, real * turn + imaginary * along),
    )


def _sum_of_pairs(a: Scalar, b: Pair, c: Scalar, d: Pair) -> Pair:
    """ab + cd as a pair, where zero times anything is zero."""
    (first, first_low), (second, second_low) = (
        two_product(_unless_zero(x, y[0]), _unless_zero(y[0], x)) for x, y in ((a, b), (c, d))
    )
    total, low = two_sum(first, second)
    low = low + (first_low + second_low) + multiply_add(a, b[1], c * d[1])
    return total, select((absolute(total) < INFINITY) & (absolute(low) < INFINITY), low, 0.0)


def _unless_zero(x: Scalar, other: Scalar) -> Scalar:
    """x, but zero where the other factor is."""
    return select(other.eq(0.0), 0.0, x)


def _corrected(x: Scalar, error: Scalar) -> Scalar:
    """x and its error, unless that is unknown."""
    return select(absolute(error) < INFINITY, x + error, x)


def atan2_parts(a: Scalar, b: Scalar, c: Scalar, d: Scalar) -> Parts:
    """atan2(y, x) = -i·log((x + iy)/√(x² + y²)) with y = a + bi, x = c + di; NaN at the origin."""
    y_size, x_size = maximum(absolute(a), absolute(b)), maximum(absolute(c), absolute(d))
    factor = power_of_two(scale_exponent(y_size, x_size), F64)
    a, b, c, d = (part * factor for part in (a, b, c, d))
    # x² + y² is the product of these.
    (p, q), (r, s) = (c - b, d + a), (c + b, d - a)
    root = sqrt_parts(sum_of_products(p, r, -q, s), sum_of_products(p, s, q, r))
    real, imaginary = log_parts(*divide_parts(p, q, *root))
    return imaginary, -real


def sign_parts(a: Scalar, b: Scalar) -> Parts:
    """z/|z|, and zero for zero; NaN for the infinite part."""
    factor = power_of_two(scale_exponent(a, b), F64)
    p, q = a * factor, b * factor
    size = sqrt(multiply_add(p, p, q * q))
    size = select(is_infinite(a) | is_infinite(b), INFINITY, size)
    zero = size.eq(0.0)
    return select(zero, a, p / size), select(zero, b, q / size)


def _product(circular: Scalar, hyperbolic: Scalar, size: Scalar) -> Scalar:
    """circular · hyperbolic, the second being sinh(size) or cosh(size); zero if either is."""
    result = circular * hyperbolic
    far = absolute(circular) * (math.exp(_STEP) / 2)
    far = copy_sign(_times_exp(far, absolute(size) - _STEP), circular)
    result = select(absolute(size) > _STEP, far * copy_sign(constant(F64, ONE), hyperbolic), result)
    for zero, other in ((circular, hyperbolic), (hyperbolic, circular)):
        result = select(zero.eq(0.0), zero * copy_sign(constant(F64, ONE), other), result)
    return result


def sinh_parts(a: Scalar, b: Scalar) -> Parts:
    """The hyperbolic sine: sinh a·cos b + i·cosh a·sin b."""
    cosine = select(_is_wild(a, b), ONE, functions.cos(b))
    return (
        _product(cosine, functions.sinh(a), a),
        _product(functions.sin(b), functions.cosh(a), a),
    )


def cosh_parts(a: Scalar, b: Scalar) -> Parts:
    """The hyperbolic cosine: cosh a·cos b + i·sinh a·sin b."""
    cosine = select(_is_wild(a, b), ONE, functions.cos(b))
    return (
        _product(cosine, functions.cosh(a), a),
        _product(functions.sin(b), functions.sinh(a), a),
    )


def sin_parts(a: Scalar, b: Scalar) -> Parts:
    """The sine: i·sin(a + bi) = sinh(-b + ai)."""
    imaginary, real = sinh_parts(b, a)
    return real, imaginary


def cos_parts(a: Scalar, b: Scalar) -> Parts:
    """The cosine: cos(a + bi) = cosh(b - ai)."""
    return cosh_parts(b, -a)


def tanh_parts(a: Scalar, b: Scalar) -> Parts:
    """The hyperbolic tangent: (sinh a·cosh a + i·sin b·cos b) / (cos² b + sinh² a)."""
    sine, cosine = functions.sin(b), functions.cos(b)
    near = clamp(a, -20.0, 20.0)
    hyperbolic = functions.sinh(near)
    norm = multiply_add(cosine, cosine, hyperbolic * hyperbolic)
    product = select(_is_wild(a, b), copy_sign(constant(F64, 0.0), b), sine * cosine)
    real = hyperbolic * functions.cosh(near) / norm
    # Beyond, the real part is one and the norm e^2|a|/4.
    far = absolute(a) > 20.0
    decay = functions.exp(absolute(a) * -2.0)
    imaginary = select(far, product * 4.0 * decay, product / norm)
    real = select(far, multiply_add(product, 0.0, copy_sign(constant(F64, ONE), a)), real)
    return select(a.eq(0.0), a, real), select(b.eq(0.0), b, imaginary)


def tan_parts(a: Scalar, b: Scalar) -> Parts:
    """The tangent: i·tan(a + bi) = tanh(-b + ai)."""
    imaginary, real = tanh_parts(b, a)
    return real, imaginary


def logistic_parts(a: Scalar, b: Scalar) -> Parts:
    """1/(1 + e^-z) from E = e^-|a| and the half angle, so that few sums cancel."""
    decay = functions.exp(-absolute(a))
    rest = -functions.expm1(-absolute(a))
    wild = _is_wild(a, b)
    cosine = select(wild, ONE, functions.cos(b * 0.5))
    sine = select(wild, copy_sign(constant(F64, 0.0), b), functions.sin(b * 0.5))
    lift = cosine * cosine * 2.0  # 1 + cos b
    norm = multiply_add(rest, rest, decay * lift * 2.0)
    # cos b + E, the larger of whose terms must not be rounded.
    left = select(decay < 0.5, select(wild, ONE, functions.cos(b)) + decay, lift - rest)
    real = select(a < 0.0, decay * left, multiply_add(decay, lift, rest)) / norm
    imaginary = decay * (sine * cosine * 2.0) / norm
    return real, select(b.eq(0.0), b, imaginary)


COMPLEX_FUNCTIONS: dict[str, Callable[..., Scalar]] = COMPLEX_ARITHMETIC | {
    "atan2": in_f64(atan2_parts),
    "cosh": in_f64(cosh_parts),
    "cosine": in_f64(cos_parts),
    "exponential": in_f64(exp_parts),
    "exponential-minus-one": in_f64(expm1_parts),
    "log": in_f64(log_parts),
    "log-plus-one": in_f64(log1p_parts),
    "logistic": in_f64(logistic_parts),
    "power": in_f64(power_parts),
    "rsqrt": in_f64(rsqrt_parts),
    "sign": in_f64(sign_parts),
    "sine": in_f64(sin_parts),
    "sinh": in_f64(sinh_parts),
    "sqrt": in_f64(sqrt_parts),
    "tan": in_f64(tan_parts),
    "tanh": in_f64(tanh_parts),
}
