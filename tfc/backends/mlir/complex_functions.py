"""The mathematical functions of complex numbers, made from those of their parts.

Each takes the parts of its operands as f64 Scalars and gives the parts of its result; c64 is
rounded once at the end. Formulas are those that lose nothing to overflow or cancellation; values at
infinities, zeros and NaN are those of C99's Annex G.
"""

import math
from collections.abc import Callable

from tfc.backends.mlir import math_functions as functions
from tfc.backends.mlir.complex_arithmetic import (
    COMPLEX_ARITHMETIC,
    INFINITY,
    Parts,
    absolute_value,
    both_finite,
    divide_parts,
    in_f64,
    is_infinite,
    is_nan,
    scale_by,
    scale_exponent,
)
from tfc.backends.mlir.floating import (
    absolute,
    copy_sign,
    fast_two_sum,
    power_of_two,
    sqrt,
    two_product,
    two_sum,
)
from tfc.backends.mlir.logarithm import log_of_pair
from tfc.backends.mlir.value import Scalar, constant, convert, fma, maximum, minimum, select
from tfc.hlo.shape import F64

# Above it, e^x is computed as e^(x - LARGE) · e^LARGE: the product with a sine may be in range.
LARGE = 700.0


def number(value: float) -> Scalar:
    """An f64 constant."""
    return constant(F64, value)


def is_finite(x: Scalar) -> Scalar:
    """pred: neither infinite nor NaN."""
    return absolute(x) < INFINITY


def _shifted(x: Scalar) -> tuple[Scalar, Scalar]:
    """(x or x - LARGE, 1 or e^LARGE)."""
    large = x > LARGE
    return select(large, x - LARGE, x), select(large, math.exp(LARGE), number(1.0))


def exp(a: Scalar, b: Scalar) -> Parts:
    """e^a·(cos b + i·sin b)."""
    below, factor = _shifted(a)
    size = functions.exp(below)
    real, imaginary = size * functions.cos(b) * factor, size * functions.sin(b) * factor
    # e^-inf is zero in every direction, e^inf infinite; on the real axis nothing turns.
    vanishes, grows = a.eq(-INFINITY) & ~is_finite(b), a.eq(INFINITY) & ~is_finite(b)
    real = select(vanishes, 0.0, select(grows, INFINITY, real))
    imaginary = select(vanishes, copy_sign(number(0.0), b), imaginary)
    return real, select(b.eq(0.0), b, imaginary)


def expm1(a: Scalar, b: Scalar) -> Parts:
    """e^z - 1: e^a·cos b - 1 is (e^a - 1)·cos b - 2·sin²(b/2)."""
    half = functions.sin(b * 0.5)
    real, imaginary = exp(a, b)
    near = functions.expm1(a) * functions.cos(b) - half * half * 2.0
    return select(both_finite(a, b) & (a < LARGE), near, real - 1.0), imaginary


def _log_of_square_sum(a: Scalar, b: Scalar) -> Scalar:
    """log(sqrt(a² + b²)), accurate where the modulus is near one."""
    extreme = (maximum(absolute(a), absolute(b)) > 2.0**500) | (
        maximum(absolute(a), absolute(b)) < 2.0**-480
    )
    scale = select(extreme, scale_exponent(a, b), 1023)
    factor = power_of_two(scale, F64)
    (p, p_low), (q, q_low) = (two_product(x, x) for x in (a * factor, b * factor))
    total, low = two_sum(maximum(p, q), minimum(p, q))
    total, low = fast_two_sum(total, low + (p_low + q_low))
    exponent = convert(2046 - 2 * scale, F64)
    return log_of_pair(total, low, exponent) * 0.5


def _log_modulus(a: Scalar, b: Scalar) -> Scalar:
    """log|a + bi|; -inf at zero, inf if a part is infinite."""
    result = select(both_finite(a, b), _log_of_square_sum(a, b), a + b)
    result = select(a.eq(0.0) & b.eq(0.0), -INFINITY, result)
    return select(is_infinite(a) | is_infinite(b), INFINITY, result)


def log(a: Scalar, b: Scalar) -> Parts:
    """(log|z|, arg z), the argument in -π … π: the cut lies along the negative real axis."""
    return _log_modulus(a, b), functions.atan2(b, a)


def log1p(a: Scalar, b: Scalar) -> Parts:
    """log(1 + z), accurate where |1 + z| is near one: from 2a + a² + b² in twice the precision."""
    shifted = a + 1.0
    limit = number(2.0**500)
    (p, p_low), (q, q_low) = (two_product(x, x) for x in (a, b))
    squares, squares_low = two_sum(maximum(p, q), minimum(p, q))
    excess, excess_low = two_sum(a * 2.0, squares)
    excess, excess_low = fast_two_sum(excess, excess_low + (squares_low + (p_low + q_low)))
    total, low = two_sum(number(1.0), excess)
    near = log_of_pair(total, low + excess_low) * 0.5
    tiny = absolute(excess) < 2.0**-60
    near = select(tiny, excess * 0.5, near)
    usable = (maximum(absolute(a), absolute(b)) < limit) & (total > 0.0)
    return select(usable, near, _log_modulus(shifted, b)), functions.atan2(b, shifted)


def sqrt_parts(a: Scalar, b: Scalar) -> Parts:
    """The root with a real part that is not negative."""
    scale = scale_exponent(a, b, 400)  # so that small parts keep their bits
    scale = scale - ((scale - 1023) & 1)  # an even power of two has a root
    factor = power_of_two(scale, F64)
    x, y = absolute(a) * factor, b * factor
    size = sqrt(fma(x, x, y * y))
    half_back = (1023 - scale) >> 1
    root = sqrt((x + size) * 0.5)
    larger, smaller = scale_by(root, half_back), scale_by(absolute(y) / (root * 2.0), half_back)
    real, imaginary = select(a < 0.0, smaller, larger), select(a < 0.0, larger, smaller)
    imaginary = copy_sign(imaginary, b)
    zero = a.eq(0.0) & b.eq(0.0)
    real, imaginary = select(zero, 0.0, real), select(zero, b, imaginary)
    # inf + bi has the root inf ± 0i, -inf + bi has 0 ± inf i, and a ± inf i has inf ± inf i.
    unsigned_zero = select(is_nan(b), b, number(0.0))
    positive, negative = a.eq(INFINITY), a.eq(-INFINITY)
    real = select(positive, a, select(negative, unsigned_zero, real))
    imaginary = select(positive, copy_sign(unsigned_zero, b), imaginary)
    imaginary = select(negative, copy_sign(number(INFINITY), b), imaginary)
    endless = is_infinite(b)
    return select(endless, INFINITY, real), select(endless, b, imaginary)


def rsqrt(a: Scalar, b: Scalar) -> Parts:
    """One over the root."""
    return divide_parts(number(1.0), number(0.0), *sqrt_parts(a, b))


def _cosh_sinh(x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """(cosh x, sinh x), both divided by a factor that keeps them in range, and the factor."""
    below, factor = _shifted(absolute(x))
    half = functions.exp(below) * 0.5
    large = absolute(x) > LARGE
    cosh, sinh = functions.cosh(x), functions.sinh(x)
    return select(large, half, cosh), select(large, copy_sign(half, x), sinh), factor


def sinh(a: Scalar, b: Scalar) -> Parts:
    """sinh a·cos b + i·cosh a·sin b."""
    high, odd, factor = _cosh_sinh(a)
    real, imaginary = odd * functions.cos(b) * factor, high * functions.sin(b) * factor
    real = select(a.eq(0.0) & ~is_finite(b), a, real)
    real = select(is_infinite(a) & ~is_finite(b), INFINITY, real)
    return real, select(b.eq(0.0), b, imaginary)


def cosh(a: Scalar, b: Scalar) -> Parts:
    """cosh a·cos b + i·sinh a·sin b."""
    high, odd, factor = _cosh_sinh(a)
    real, imaginary = high * functions.cos(b) * factor, odd * functions.sin(b) * factor
    real = select(is_infinite(a) & ~is_finite(b), INFINITY, real)
    on_axis = select(is_nan(a), b, copy_sign(number(1.0), a) * b)
    imaginary = select(b.eq(0.0), on_axis, imaginary)
    return real, select(a.eq(0.0) & ~is_finite(b), 0.0, imaginary)


def tanh(a: Scalar, b: Scalar) -> Parts:
    """(sinh a·cosh a + i·sin b·cos b) / (sinh² a + cos² b)."""
    size = minimum(absolute(a), 30.0)
    sinh_a, cosh_a = functions.sinh(size), functions.cosh(size)
    sin_b, cos_b = functions.sin(b), functions.cos(b)
    norm = fma(sinh_a, sinh_a, cos_b * cos_b)
    # From 30 on the real part is one, and the imaginary one falls as e^-2|a| does.
    far = absolute(a) > 30.0
    fall = functions.exp((absolute(a) - 30.0) * -2.0)
    imaginary = select(far, sin_b * cos_b / norm * fall, sin_b * cos_b / norm)
    real = select(far, sin_b * 0.0 + 1.0, sinh_a * cosh_a / norm)  # NaN for infinite b
    endless = is_infinite(a)
    direction = select(is_finite(b), sin_b * cos_b, b)
    real = select(endless, 1.0, real)
    imaginary = select(endless, copy_sign(number(0.0), direction), imaginary)
    real = copy_sign(real, a)
    return select(a.eq(0.0), a, real), select(b.eq(0.0), b, imaginary)


def sin(a: Scalar, b: Scalar) -> Parts:
    """-i·sinh(iz)."""
    real, imaginary = sinh(b, a)
    return imaginary, real


def cos(a: Scalar, b: Scalar) -> Parts:
    """cosh(iz)."""
    return cosh(-b, a)


def tan(a: Scalar, b: Scalar) -> Parts:
    """-i·tanh(iz)."""
    real, imaginary = tanh(b, a)
    return imaginary, real


def logistic(a: Scalar, b: Scalar) -> Parts:
    """1 / (1 + e^-z). With E = e^-|a| and t = 2 cos²(b/2), |1 + e^-|a|-bi|² is (1 - E)² + 2Et."""
    small, below_one = functions.exp(-absolute(a)), functions.expm1(-absolute(a))
    half = functions.cos(b * 0.5)
    t = half * half * 2.0
    norm = fma(below_one, below_one, small * t * 2.0)
    # E + cos b, which has zeros: near the poles it is t - (1 - E), elsewhere better as it is.
    odd = select(t < 0.5, t + below_one, small + functions.cos(b))
    top = select(a < 0.0, small * odd, small * t - below_one)
    far = is_infinite(a)
    turned = select(is_finite(b), functions.sin(b), b)
    edge = select(a < 0.0, number(0.0), 1.0)
    real, imaginary = top / norm, small * turned / norm
    imaginary = select(far, copy_sign(number(0.0), turned), imaginary)
    return select(far, edge, real), select(b.eq(0.0), b, imaginary)


def sign(a: Scalar, b: Scalar) -> Parts:
    """z / |z|, and zeros as they are."""
    factor = power_of_two(scale_exponent(a, b, 400), F64)
    x, y = a * factor, b * factor
    size, zero = absolute_value(x, y), a.eq(0.0) & b.eq(0.0)
    return select(zero, a, x / size), select(zero, b, y / size)


def power(a: Scalar, b: Scalar, c: Scalar, d: Scalar) -> Parts:
    """|x|^c·e^(-d·arg x) turned by c·arg x + d·log|x|; 1 for the power zero, 0 of the base zero."""
    size, angle = absolute_value(a, b), functions.atan2(b, a)
    length = functions.pow(size, c) * functions.exp(-(d * angle))
    turn = c * angle + select(d.eq(0.0), 0.0, d * _log_modulus(a, b))
    real, imaginary = length * functions.cos(turn), length * functions.sin(turn)
    imaginary = select(turn.eq(0.0), turn, imaginary)
    zero = a.eq(0.0) & b.eq(0.0) & (c > 0.0)
    one = c.eq(0.0) & d.eq(0.0)
    real = select(one, 1.0, select(zero, 0.0, real))
    return real, select(one | zero, 0.0, imaginary)


def atan2(a: Scalar, b: Scalar, c: Scalar, d: Scalar) -> Parts:
    """-i·log((x + iy) / sqrt(x² + y²)) of y = a + bi and x = c + di."""
    square_real = (c * c - d * d) + (a * a - b * b)
    square_imaginary = (c * d + a * b) * 2.0
    root = sqrt_parts(square_real, square_imaginary)
    real, imaginary = log(*divide_parts(c - b, d + a, *root))
    return imaginary, -real


COMPLEX_FUNCTIONS: dict[str, Callable[..., Scalar]] = {
    **COMPLEX_ARITHMETIC,
    "atan2": in_f64(atan2),
    "cosh": in_f64(cosh),
    "cosine": in_f64(cos),
    "exponential": in_f64(exp),
    "exponential-minus-one": in_f64(expm1),
    "log": in_f64(log),
    "log-plus-one": in_f64(log1p),
    "logistic": in_f64(logistic),
    "power": in_f64(power),
    "rsqrt": in_f64(rsqrt),
    "sign": in_f64(sign),
    "sine": in_f64(sin),
    "sinh": in_f64(sinh),
    "sqrt": in_f64(sqrt_parts),
    "tan": in_f64(tan),
    "tanh": in_f64(tanh),
}
