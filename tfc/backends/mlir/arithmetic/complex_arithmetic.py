"""Complex arithmetic: quotient and absolute value, made from the parts.

Functions of c64 compute in f64, whose range and precision leave nothing to go wrong; those of c128
scale their operands and take products exactly, so that neither overflow nor cancellation shows.
"""

from collections.abc import Callable

from tfc.backends.mlir.arithmetic.floating import (
    absolute,
    bits_of,
    copy_sign,
    power_of_two,
    sqrt,
    two_product,
    two_sum,
)
from tfc.backends.mlir.arithmetic.value import (
    Scalar,
    constant,
    convert,
    imaginary_part,
    make_complex,
    maximum,
    minimum,
    multiply_add,
    real_part,
    select,
)
from tfc.hlo.shape import F64, S64

Parts = tuple[Scalar, Scalar]

INFINITY = float("inf")


def parts(x: Scalar) -> Parts:
    """The real and the imaginary part."""
    return real_part(x), imaginary_part(x)


def in_f64(function: Callable[..., Scalar | Parts]) -> Callable[..., Scalar]:
    """A function of f64 parts as one of complex Scalars; those of c64 are rounded once.

    `function` takes the parts of each operand, and gives a real number or two parts.
    """

    def of_complex(*operands: Scalar) -> Scalar:
        component = operands[0].element_type.component
        result = function(*(convert(part, F64) for x in operands for part in parts(x)))
        if isinstance(result, Scalar):
            return convert(result, component)
        return make_complex(*(convert(part, component) for part in result))

    return of_complex


def is_nan(x: Scalar) -> Scalar:
    """pred: x is NaN."""
    return x.ne(x)


def is_infinite(x: Scalar) -> Scalar:
    """pred: x is inf or -inf."""
    return absolute(x).eq(INFINITY)


def both_finite(x: Scalar, y: Scalar) -> Scalar:
    """pred: neither is infinite or NaN."""
    return (absolute(x) < INFINITY) & (absolute(y) < INFINITY)


def scale_exponent(x: Scalar, y: Scalar, wanted: int = 0) -> Scalar:
    """The biased exponent of a power of two that brings the larger of two f64 near 2^wanted."""
    # As integers, the patterns of magnitudes are ordered as the magnitudes are, NaN above all.
    exponent = maximum(bits_of(absolute(x)), bits_of(absolute(y))) >> 52
    return clamped(2 * 1023 + wanted - convert(exponent, S64))


def clamped(biased_exponent: Scalar) -> Scalar:
    """A biased exponent limited to those of normal f64 numbers."""
    return maximum(minimum(biased_exponent, 2046), 1)


def scale_by(x: Scalar, exponent: Scalar) -> Scalar:
    """The f64 x times a power of two between 2^-2044 and 2^2044; rounded once."""
    half = exponent >> 1
    return x * power_of_two(half + 1023, F64) * power_of_two(exponent - half + 1023, F64)


def sum_of_products(a: Scalar, b: Scalar, c: Scalar, d: Scalar) -> Scalar:
    """ab + cd with an error below 2 units in the last place, cancellation or not."""
    (first, first_error), (second, second_error) = two_product(a, b), two_product(c, d)
    total, error = two_sum(first, second)
    corrected = total + (error + (first_error + second_error))
    return select(absolute(total) < INFINITY, corrected, total)


def divide_parts(a: Scalar, b: Scalar, c: Scalar, d: Scalar) -> Parts:
    """(a + bi) / (c + di); infinities and zeros as in C99's Annex G."""
    # Numbers far from the subnormal ones: small parts keep their bits, and so do the quotient's.
    x_scale, y_scale = scale_exponent(a, b, 480), scale_exponent(c, d, 100)
    x_factor, y_factor = (power_of_two(e, F64) for e in (x_scale, y_scale))
    p, q, r, s = a * x_factor, b * x_factor, c * y_factor, d * y_factor
    norm, shift = multiply_add(r, r, s * s), y_scale - x_scale
    real = scale_by(sum_of_products(p, r, q, s) / norm, shift)
    imaginary = scale_by(sum_of_products(q, r, -p, s) / norm, shift)
    lost = is_nan(real) & is_nan(imaginary)
    by_zero = c.eq(0.0) & d.eq(0.0) & ~(is_nan(a) & is_nan(b))
    signed_infinity = copy_sign(constant(c.element_type, INFINITY), c)
    i, j, u, v = (copy_sign(convert(is_infinite(x), x.element_type), x) for x in (a, b, c, d))
    cases = (  # the condition, and the quotient where it holds; the first one that holds counts
        (by_zero, signed_infinity * a, signed_infinity * b),
        ((is_infinite(a) | is_infinite(b)) & both_finite(c, d),
         (i * c + j * d) * INFINITY, (j * c - i * d) * INFINITY),
        ((is_infinite(c) | is_infinite(d)) & both_finite(a, b),
         (a * u + b * v) * 0.0, (b * u - a * v) * 0.0),
    )  # fmt: skip
    for condition, special_real, special_imaginary in reversed(cases):
        real = select(lost & condition, special_real, real)
        imaginary = select(lost & condition, special_imaginary, imaginary)
    return real, imaginary


def absolute_value(a: Scalar, b: Scalar) -> Scalar:
    """|a + bi|; infinite if either part is, even beside NaN."""
    scale = scale_exponent(a, b)
    factor = power_of_two(scale, F64)
    large, small = maximum(absolute(a), absolute(b)) * factor, minimum(absolute(a), absolute(b))
    small = small * factor
    size = sqrt(multiply_add(large, large, small * small))
    size = scale_by(size, 1023 - scale)
    return select(is_infinite(a) | is_infinite(b), INFINITY, size)


COMPLEX_ARITHMETIC: dict[str, Callable[..., Scalar]] = {
    "abs": in_f64(absolute_value),
    "divide": in_f64(divide_parts),
    "imag": imaginary_part,
    "negate": lambda x: -x,
    "real": real_part,
}
