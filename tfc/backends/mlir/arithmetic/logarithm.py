"""log and log1p for f32 and f64, in straight-line code without a library.

x = m·2^e with m in [√½, √2); f = m - 1 is exact. With s = f/(2 + f), log m = 2·atanh(s), and
log m = f - (f²/2 - s·(f²/2 + R)), where R = s²·L(s²) and L is a polynomial: the large terms are
exact or nearly so, and what is rounded is small. e·ln2 is added as two floats.

Coefficients were computed for tfc as those of `exponential`.
"""

import math
from collections.abc import Sequence

from tfc.backends.mlir.arithmetic.floating import (
    SHORT_LN2,
    absolute,
    bits_of,
    fast_two_sum,
    format_of,
    polynomial,
    ratio,
    split_exponent,
    two_sum,
)
from tfc.backends.mlir.arithmetic.value import Scalar, bitcast, constant, multiply_add, select
from tfc.hlo.shape import F32, F64

# L(z) = (2·atanh(s) - 2s)/s³ in z = s², for z ≤ 0.02973.
# fmt: off
_SERIES: dict[object, Sequence[float]] = {
    F32: (  # error of log 2^-33.9
        0.6666666865348816, 0.3999955952167511, 0.2858847379684448, 0.22610169649124146,
    ),
    F64: (  # error of log 2^-57.5
        0.666666666666667, 0.3999999999989553, 0.28571428628255974, 0.2222221073229453,
        0.18182919526329128, 0.1533069179130593, 0.14629311405941048,
    ),
}
# fmt: on


def _log_reduced(e: Scalar, f: Scalar, low: Scalar | None = None) -> Scalar:
    """log(2^e·(1 + f)) + low, where low is at most a rounding error of the result."""
    high_ln2, low_ln2 = SHORT_LN2[e.element_type]
    s = ratio(f, f + 2.0)
    square = s * s
    half_square = f * f * 0.5
    tail = square * polynomial(square, _SERIES[e.element_type]) + half_square
    correction = e * low_ln2 if low is None else multiply_add(e, low_ln2, low)
    return multiply_add(e, high_ln2, f - (half_square - multiply_add(s, tail, correction)))


def _outside_domain(result: Scalar, argument: Scalar) -> Scalar:
    """`result`, but -inf for argument 0, NaN below 0, and the argument itself for NaN and inf."""
    result = select(argument < math.inf, result, argument)
    pole = select(argument.eq(0.0), constant(argument.element_type, -math.inf), math.nan)
    return select(argument <= 0.0, pole, result)


def log(x: Scalar) -> Scalar:
    """The natural logarithm, f32 or f64; -inf at ±0, NaN for negative numbers."""
    e, m = split_exponent(x)
    return _outside_domain(_log_reduced(e, m - 1.0), x)


def log_of_pair(total: Scalar, low: Scalar, exponent: Scalar | float = 0.0) -> Scalar:
    """log(2^exponent · (total + low)), as accurate as the pair also where the sum is near one.

    Arbitrary unless 0 < total < inf; |low| must not exceed |total - 1| unless total is one.
    """
    form = format_of(total)
    e, m = split_exponent(total, may_be_subnormal=False)
    # The low part, scaled as m was. The bits of 2^-e are nonsense where e exceeds the range of
    # normal exponents, but beyond 2^60 a low part of rounding errors does not matter.
    scale = bitcast(bits_of(m) - bits_of(total) + form.one_bits, total.element_type)
    low = select(e < 60.0, low * scale, 0.0)
    f, rest = fast_two_sum(m - 1.0, low)
    # log(1 + f + rest) = log(1 + f) + rest/(1 + f); 1/(1 + f) is 1 - f as precisely as it matters.
    return _log_reduced(e + exponent, f, multiply_add(-rest, f, rest))


def log1p(x: Scalar) -> Scalar:
    """log(1 + x) without cancellation near zero, f32 or f64; HLO's log-plus-one."""
    total, low = two_sum(constant(x.element_type, 1.0), x)
    result = _outside_domain(log_of_pair(total, low), total)
    tiny = absolute(x) < 2.0 ** -(format_of(x).mantissa_bits + 2)
    return select(tiny, x, result)
