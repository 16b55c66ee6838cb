"""sinh, cosh, asinh, acosh and atanh for f32 and f64, in straight-line code without a library.

The inverses are logarithms of an argument that is held as a `Pair`: near one, the logarithm
magnifies the argument's rounding.

Coefficients were computed for tfc as those of `exponential`.
"""

import math

from tfc.backends.mlir.arithmetic.exponential import exp_pair
from tfc.backends.mlir.arithmetic.floating import (
    Pair,
    absolute,
    copy_sign,
    format_of,
    polynomial,
    sqrt,
    two_product,
    two_sum,
)
from tfc.backends.mlir.arithmetic.logarithm import log_of_pair
from tfc.backends.mlir.arithmetic.value import Scalar, constant, fma, multiply_add, select
from tfc.hlo.shape import F32, F64

# ln 2 as high + low, each rounded to the format.
_LN2 = {
    F32: (0.6931471824645996, -1.9046542121259336e-09),
    F64: (0.6931471805599453, 2.3190468138462996e-17),
}

# (sinh(x)/x - 1)/x² in x²  for |x| ≤ 1; errors 2^-30.2 and 2^-59.9.
# fmt: off
_SINH_SERIES = {
    F32: (
        0.1666666716337204, 0.0083332983776927, 0.00019846358918584883, 2.7591074740485055e-06,
    ),
    F64: (
        0.16666666666666666, 0.008333333333333567, 0.00019841269841110005, 2.75573192647714e-06,
        2.5052105469443237e-08, 1.6058657453834518e-10, 7.716098049884679e-13,
    ),
}
# fmt: on


def _half_exp(x: Scalar) -> Scalar:
    """e^x/2, finite wherever the result is."""
    ln2, ln2_low = _LN2[x.element_type]
    high, low = two_sum(x, constant(x.element_type, -ln2))
    # Beyond the range the sum's error may be NaN.
    return exp_pair(high, select(x < math.inf, low - ln2_low, 0.0))


def sinh(x: Scalar) -> Scalar:
    """The hyperbolic sine, f32 or f64."""
    magnitude = absolute(x)
    square = x * x
    small = multiply_add(x * square, polynomial(square, _SINH_SERIES[format_of(x).element_type]), x)
    half = _half_exp(magnitude)
    large = half - constant(x.element_type, 0.25) / half
    return select(magnitude < 1.0, small, copy_sign(large, x))


def cosh(x: Scalar) -> Scalar:
    """The hyperbolic cosine, f32 or f64."""
    half = _half_exp(absolute(x))
    return half + constant(x.element_type, 0.25) / half


def _sqrt_of_square_plus(x: Scalar, addend: float) -> Pair:
    """√(x² + addend) as a pair."""
    square, square_low = two_product(x, x)
    high, low = two_sum(square, constant(x.element_type, addend))
    low = low + square_low
    root = sqrt(high)
    root_low = (fma(-root, root, high) + low) / (root + root)
    return root, select(root > 0.0, root_low, 0.0)


def _log_of_sum(x: Scalar, addend: float) -> Scalar:
    """log(x + √(x² + addend)) for x > 0."""
    root, root_low = _sqrt_of_square_plus(x, addend)
    total, low = two_sum(x, root)
    # From 2^30 on the root is x itself, and its square may be infinite: log(2x).
    large = x > 2.0**30
    exponent = select(large, constant(x.element_type, 1.0), 0.0)
    return log_of_pair(select(large, x, total), select(large, 0.0, low + root_low), exponent)


def asinh(x: Scalar) -> Scalar:
    """The inverse hyperbolic sine, f32 or f64."""
    magnitude = absolute(x)
    result = copy_sign(_log_of_sum(magnitude, 1.0), x)
    # Infinity and NaN are their own result; so is a number whose cube is far below its precision.
    tiny = magnitude < 2.0 ** -(format_of(x).mantissa_bits // 2 + 2)
    return select((magnitude < math.inf) & ~tiny, result, x)


def acosh(x: Scalar) -> Scalar:
    """The inverse hyperbolic cosine, f32 or f64; NaN below one."""
    result = select(x < math.inf, _log_of_sum(x, -1.0), x)
    return select(x < 1.0, math.nan, result)


def atanh(x: Scalar) -> Scalar:
    """The inverse hyperbolic tangent, f32 or f64; ±inf at ±1, NaN beyond."""
    one = constant(x.element_type, 1.0)
    magnitude = absolute(x)
    # ½·log(1 + q), q = 2|x|/(1 - |x|) as a pair.
    denominator, denominator_low = two_sum(one, -magnitude)
    twice = magnitude + magnitude
    inverse = one / denominator
    quotient = twice * inverse
    remainder = multiply_add(-quotient, denominator_low, fma(-quotient, denominator, twice))
    total, low = two_sum(one, quotient)
    result = log_of_pair(total, multiply_add(remainder, inverse, low)) * 0.5
    result = select(magnitude < 1.0, result, math.nan)
    result = select(magnitude.eq(1.0), math.inf, result)
    tiny = magnitude < 2.0 ** -(format_of(x).mantissa_bits // 2 + 2)
    return select(tiny, x, copy_sign(result, x))
