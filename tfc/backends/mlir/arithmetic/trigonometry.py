"""sin, cos and tan for f32 and f64 and every finite argument, in straight-line code.

The argument is reduced by Payne and Hanek's method, for all exponents alike: |x| = M·2^E, M an
integer, and of the binary expansion of 2/π only those three words matter whose product with M has
weights from 2 down to far below the result's precision. What lies above is a multiple of four
quadrants. The words are picked by a tree of selects rather than loaded from a table: loops then
vectorise without gathers, and GPUs need no constant memory.

Coefficients were computed for tfc as those of `exponential`.
"""

import math
from dataclasses import dataclass

from tfc.backends.mlir.arithmetic.floating import (
    Format,
    Pair,
    absolute,
    bits_of,
    fast_two_sum,
    format_of,
    polynomial,
    small_integer_to_float,
    two_product,
)
from tfc.backends.mlir.arithmetic.value import (
    Scalar,
    bitcast,
    constant,
    convert,
    fma,
    multiply_add,
    select,
)
from tfc.hlo.shape import F32, F64, S32, S64, U32, U64

# 2/π·2^1216, rounded down: as many bits as the largest f64 needs.
_TWO_OVER_PI = int(
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561"
    "b7246e3a424dd2e006492eea09d1921cfe1deb1cb129a73ee88235f52ebb4484"
    "e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980f"
    "ef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d7527bac7ebe5f17b"
    "3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b6bab",
    16,
)
_TWO_OVER_PI_BITS = 1216


@dataclass(frozen=True)
class _Trigonometry:
    """Constants of one format; arguments of the polynomials are at most π/4 (and a little)."""

    half_pi: tuple[float, float]
    """π/2 as high + low."""
    leading_zeros: int
    """Zero bits before the expansion of 2/π, for the smallest exponent that is reduced."""
    sine: tuple[float, ...]
    """(sin(r)/r - 1)/r² in r²."""
    cosine: tuple[float, ...]
    """(cos(r) - 1 + r²/2)/r⁴ in r²."""


# fmt: off
_CONSTANTS = {
    F32: _Trigonometry(
        half_pi=(1.5707963705062866, -4.371138828673793e-08),
        leading_zeros=26,
        sine=(  # error 2^-26.3
            -0.166666641831398, 0.008332716301083565, -0.00019583586254157126,
        ),
        cosine=(  # error 2^-30.3
            0.0416666641831398, -0.0013888271059840918, 2.4543625841033645e-05,
        ),
    ),
    F64: _Trigonometry(
        half_pi=(1.5707963267948966, 6.123233995736766e-17),
        leading_zeros=55,
        sine=(  # error 2^-56.1
            -0.16666666666666666, 0.008333333333331295, -0.00019841269837058366,
            2.75573162081602e-06, -2.5051148075076313e-08, 1.5919033520406883e-10,
        ),
        cosine=(  # error 2^-60.9
            0.041666666666666664, -0.0013888888888887053, 2.48015872984448e-05,
            -2.755731714977435e-07, 2.087612600141201e-09, -1.1381408373355395e-11,
        ),
    ),
}
# fmt: on


@dataclass(frozen=True)
class _Reduced:
    """|x| = quadrant·π/2 + angle, where |angle| ≤ π/4 (and a little)."""

    quadrant: Scalar
    """An unsigned integer of x's width; only its last two bits are meant."""
    angle: Pair


def _window(form: Format, shift: Scalar) -> list[Scalar]:
    """Three words of the expansion of 2/π, most significant first, from bit `shift` on.

    Bit 0 is the first of the format's leading zeros; the shift is at most 4·2^5 + 31 for f32 and
    16·2^6 + 63 for f64, that is, four or sixteen words.
    """
    width = form.element_type.bits
    words_needed = (16 if width == 64 else 4) + 4
    zeros = _CONSTANTS[form.element_type].leading_zeros
    # Word i holds the bits [i·width, (i + 1)·width) after the leading zeros were put in front.
    drop = _TWO_OVER_PI_BITS + zeros - width * words_needed
    stream = _TWO_OVER_PI >> drop if drop >= 0 else _TWO_OVER_PI << -drop
    mask = (1 << width) - 1
    words = [
        constant(form.unsigned, stream >> (width * (words_needed - 1 - i)) & mask)
        for i in range(words_needed)
    ]
    step = words_needed - 4
    while step:
        chosen = _bit(shift, (step * width).bit_length() - 1)
        # Later steps move by step - 1 at most; four words remain in the end.
        kept = min(step + 3, len(words))
        words = [
            select(chosen, words[i + step], words[i]) if i + step < len(words) else words[i]
            for i in range(kept)
        ]
        step //= 2
    offset = shift & (width - 1)
    # Two shifts for the right one, as a shift by the whole width is undefined.
    rest = (width - 1) - offset
    return [(words[i] << offset) | ((words[i + 1] >> 1) >> rest) for i in range(3)]


def _wide_product(a: Scalar, b: Scalar) -> Pair:
    """(high, low) words of a·b for unsigned words; a is below 2^53 if they have 64 bits."""
    if a.element_type == U32:
        product = convert(a, U64) * convert(b, U64)
        return convert(product >> 32, U32), convert(product, U32)
    # By halves, since vector units multiply 32 by 32 bits.
    mask = 0xFFFFFFFF
    a_high, a_low, b_high, b_low = a >> 32, a & mask, b >> 32, b & mask
    low, cross = a_low * b_low, a_low * b_high
    middle = (low >> 32) + (cross & mask) + a_high * b_low
    return a_high * b_high + (cross >> 32) + (middle >> 32), (middle << 32) | (low & mask)


def _bit(x: Scalar, position: int) -> Scalar:
    """pred: one bit of an unsigned word, moved to the sign, where vector selects look for it."""
    width = x.element_type.bits
    return bitcast(x << (width - 1 - position), S64 if width == 64 else S32) < 0


def _turns_to_angle(form: Format, high: Scalar, low: Scalar) -> Pair:
    """(high·2^w + low)·2^(2 - 2w)·π/2 as a pair; w a word's width, high signed, below 2^(w-3)."""
    width, digits = form.element_type.bits, form.mantissa_bits - 1
    # Three pieces that fit a float: a sign and w-3-spare bits, then `digits` bits, then the rest.
    spare = width - 3 - digits
    taken = width - (digits - spare)
    middle = (bitcast(high, form.unsigned) & ((1 << spare) - 1)) << (digits - spare)
    pieces = [high >> spare, middle | (low >> taken), low & ((1 << taken) - 1)]
    first, second, third = (
        small_integer_to_float(bitcast(piece, form.signed), form.element_type) for piece in pieces
    )
    # In units of the second piece; the first is larger or zero, or both cancel exactly.
    total, rest = fast_two_sum(first * 2.0**digits, second)
    rest = multiply_add(third, 2.0**-taken, rest)
    half_pi, half_pi_low = _CONSTANTS[form.element_type].half_pi
    unit = 2.0 ** (2 - 2 * width + taken)
    angle, angle_low = two_product(total, constant(form.element_type, half_pi * unit))
    angle_low = multiply_add(rest, half_pi * unit, angle_low)
    return angle, multiply_add(total, half_pi_low * unit, angle_low)


def _reduce(x: Scalar) -> _Reduced:
    """The quadrant and the angle of a finite x; arbitrary, but defined, otherwise."""
    form = format_of(x)
    width, digits = form.element_type.bits, form.mantissa_bits
    magnitude = absolute(x)
    # Below 1/2 the angle is |x| itself, and 1/2 is in quadrant 0, too.
    small = magnitude < 0.5
    bits = bits_of(select(small, 0.5, magnitude))
    mantissa = (bits & form.mantissa_mask) | (1 << digits)
    top, middle, bottom = _window(form, (bits >> digits) - (form.bias - 1))
    middle_high, middle_low = _wide_product(mantissa, middle)
    low = middle_low + _wide_product(mantissa, bottom)[0]
    carry = convert(low < middle_low, form.unsigned)
    high = mantissa * top + middle_high + carry
    # The two first bits of `high` count quadrants; rounding leaves a fraction of either sign.
    quadrant = (high + (1 << (width - 3))) >> (width - 2)
    fraction = bitcast(high - (quadrant << (width - 2)), form.signed)
    angle, angle_low = _turns_to_angle(form, fraction, low)
    angle = select(small, magnitude, angle)
    return _Reduced(quadrant, (angle, select(small, 0.0, angle_low)))


def _sine_terms(angle: Pair) -> Pair:
    """Two floats whose sum is sin(angle), the first much larger."""
    r, low = angle
    square = r * r
    return r, multiply_add(r * square, polynomial(square, _CONSTANTS[r.element_type].sine), low)


def _cosine_terms(angle: Pair) -> Pair:
    """Two floats whose sum is cos(angle), the first much larger."""
    r, low = angle
    square = r * r
    half = square * 0.5
    main = 1.0 - half
    lost = (1.0 - main) - half
    series = polynomial(square, _CONSTANTS[r.element_type].cosine)
    tail = multiply_add(square * square, series, lost)
    return main, multiply_add(-r, low, tail)


def _finish(x: Scalar, result: Scalar, sign: Scalar) -> Scalar:
    """The result, negated if the first bit of `sign` is set, or NaN if x is infinite or NaN."""
    form = format_of(x)
    flip = sign & (1 << (form.element_type.bits - 1))
    result = bitcast(bits_of(result) ^ flip, x.element_type)
    return select(absolute(x) < math.inf, result, math.nan)


def _sine_of_turned(reduced: _Reduced, quadrants: int) -> tuple[Scalar, Scalar]:
    """The sine of the reduced |x| plus quarter turns, but for its sign: a word's first bit."""
    quadrant = reduced.quadrant + quadrants
    odd = _bit(quadrant, 0)
    sine, sine_low = _sine_terms(reduced.angle)
    cosine, cosine_low = _cosine_terms(reduced.angle)
    result = select(odd, cosine, sine) + select(odd, cosine_low, sine_low)
    return result, quadrant << (quadrant.element_type.bits - 2)


def sin(x: Scalar) -> Scalar:
    """The sine, f32 or f64; NaN for infinite x."""
    result, sign = _sine_of_turned(_reduce(x), 0)
    return _finish(x, result, sign ^ bits_of(x))


def cos(x: Scalar) -> Scalar:
    """The cosine, f32 or f64; NaN for infinite x."""
    result, sign = _sine_of_turned(_reduce(x), 1)
    return _finish(x, result, sign)


def tan(x: Scalar) -> Scalar:
    """The tangent, f32 or f64; NaN for infinite x."""
    reduced = _reduce(x)
    odd = _bit(reduced.quadrant, 0)
    sine, sine_low = fast_two_sum(*_sine_terms(reduced.angle))
    cosine, cosine_low = fast_two_sum(*_cosine_terms(reduced.angle))
    numerator, denominator = select(odd, cosine, sine), select(odd, sine, cosine)
    numerator_low = select(odd, cosine_low, sine_low)
    denominator_low = select(odd, sine_low, cosine_low)
    inverse = constant(x.element_type, 1.0) / denominator
    quotient = numerator * inverse
    remainder = fma(-quotient, denominator, numerator) + numerator_low
    remainder = multiply_add(-quotient, denominator_low, remainder)
    # An odd number of quarter turns: minus the cotangent.
    sign = (reduced.quadrant << (x.element_type.bits - 1)) ^ bits_of(x)
    return _finish(x, multiply_add(remainder, inverse, quotient), sign)
