"""What the elementwise operations mean on complex numbers, in NumPy.

Multiplication is the schoolbook formula, rounded at each step, as XLA's; with an infinite part it
may give NaN. The other functions of c64 are evaluated in c128 and rounded once. Division treats
infinities and zeros as C99's Annex G does.
"""

from collections.abc import Callable

import numpy as np

Array = np.ndarray


def join(real: Array, imaginary: Array) -> Array:
    """Complex numbers from their parts, bit by bit: arithmetic would spoil NaNs and signs."""
    real, imaginary = np.broadcast_arrays(real, imaginary)
    pairs = np.stack([real, imaginary], axis=-1)
    return pairs.view(np.complex64 if real.dtype == np.float32 else np.complex128)[..., 0]


def parts(x: Array) -> tuple[Array, Array]:
    """The real and the imaginary parts."""
    return np.real(x), np.imag(x)


def in_c128(function: Callable[..., Array]) -> Callable[..., Array]:
    """A function of complex arrays that computes in c128 and rounds once."""

    def rounded(*values: Array) -> Array:
        result = function(*(v.astype(np.complex128) for v in values))
        return result if values[0].dtype == np.complex128 else _narrowed(result)

    return rounded


def _narrowed(x: Array) -> Array:
    return x.astype(np.complex64 if x.dtype.kind == "c" else np.float32)


def bilinear(product: Callable[[Array, Array], Array], x: Array, y: Array) -> Array:
    """A product of arrays, such as a matrix product, from that of real ones: no order of its sums
    then makes NaN of infinities that another order would keep."""
    if x.dtype.kind != "c":
        return product(x, y)
    (a, b), (c, d) = parts(x), parts(y)
    return join(product(a, c) - product(b, d), product(a, d) + product(b, c))


def multiply(x: Array, y: Array) -> Array:
    """(a + bi)(c + di) = (ac - bd) + (ad + bc)i; NumPy's own may use fused multiply-add."""
    return bilinear(np.multiply, x, y)


@in_c128
def divide(x: Array, y: Array) -> Array:
    """The quotient, both parts accurate: operands are scaled and products taken exactly."""
    # Numbers far from the subnormal ones: small parts keep their bits, and so do the quotient's.
    x_scale, y_scale = _exponent(x) - 480, _exponent(y) - 100
    a, b = (np.ldexp(part, -x_scale) for part in parts(x))
    c, d = (np.ldexp(part, -y_scale) for part in parts(y))
    norm = c * c + d * d
    real, imaginary = _sum_of_products(a, c, b, d) / norm, _sum_of_products(b, c, -a, d) / norm
    scale = x_scale - y_scale
    real, imaginary = np.ldexp(real, scale), np.ldexp(imaginary, scale)
    return _with_special_quotients(x, y, join(real, imaginary))


def _with_special_quotients(x: Array, y: Array, quotient: Array) -> Array:
    """C99's results where the formula gives NaN in both parts: n/0, inf/finite and finite/inf."""
    (a, b), (c, d) = parts(x), parts(y)
    lost = np.isnan(np.real(quotient)) & np.isnan(np.imag(quotient))
    by_zero = lost & (c == 0) & (d == 0) & ~(np.isnan(a) & np.isnan(b))
    infinite_x, infinite_y = np.isinf(x), np.isinf(y)
    finite_x, finite_y = np.isfinite(x), np.isfinite(y)
    signed_inf = np.copysign(np.inf, c)
    result = np.where(by_zero, join(signed_inf * a, signed_inf * b), quotient)
    unit_a, unit_b = (np.copysign(np.isinf(v).astype(float), v) for v in (a, b))
    large = join(np.inf * (unit_a * c + unit_b * d), np.inf * (unit_b * c - unit_a * d))
    result = np.where(lost & ~by_zero & infinite_x & finite_y, large, result)
    unit_c, unit_d = (np.copysign(np.isinf(v).astype(float), v) for v in (c, d))
    small = join(0.0 * (a * unit_c + b * unit_d), 0.0 * (b * unit_c - a * unit_d))
    return np.where(lost & ~by_zero & finite_x & infinite_y, small, result)


def _exponent(x: Array) -> Array:
    """The exponent of the larger part; the largest one there is for infinities and NaN."""
    size = np.maximum(np.abs(np.real(x)), np.abs(np.imag(x)))
    return np.where(np.isfinite(size), np.frexp(size)[1], 1024)


def _sum_of_products(a: Array, b: Array, c: Array, d: Array) -> Array:
    """ab + cd with an error below 2 units in the last place, cancellation or not."""
    first, first_error = _product(a, b)
    second, second_error = _product(c, d)
    total, error = _sum(first, second)
    corrected = total + (error + (first_error + second_error))
    return np.where(np.isfinite(corrected), corrected, a * b + c * d)


def _sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b as an exact sum of two numbers (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _product(a: Array, b: Array) -> tuple[Array, Array]:
    """ab as an exact sum of two numbers (Dekker)."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _split(a), _split(b)
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def _split(a: Array) -> tuple[Array, Array]:
    """A number as a sum of two of 26 bits each (Veltkamp)."""
    scaled = a * (2.0**27 + 1)
    high = scaled - (scaled - a)
    return high, a - high


@in_c128
def expm1(x: Array) -> Array:
    """e^x - 1, the real part as expm1(a)·cos b - 2·sin²(b/2)."""
    a, b = parts(x)
    power, half = np.exp(x), np.sin(b / 2)
    real = _sum_of_products(np.expm1(a), np.cos(b), -2 * half, half)
    real = np.where(np.isneginf(a), -1.0, np.where(a > 600, np.real(power), real))
    real = np.where(b == 0, np.expm1(a), real)
    return join(real, np.imag(power))


@in_c128
def log1p(x: Array) -> Array:
    """log(1 + x), the real part from |1 + x|² - 1 = a·(a + 2) + b² where that is small."""
    a, b = parts(x)
    shifted, lost = _sum(a, np.full_like(a, 2.0))
    excess = _sum_of_products(a, shifted, b, b) + a * lost
    logarithm = np.log(join(a + 1, b))
    near = np.abs(excess) < 0.5
    real = np.where(near, np.log1p(np.where(near, excess, 0.0)) / 2, np.real(logarithm))
    return join(real, np.imag(logarithm))


@in_c128
def logistic(x: Array) -> Array:
    """1/(1 + e^-x) = (e^a + cos b + i·sin b) / (2·cosh a + 2·cos b)."""
    a, b = parts(x)
    sine, cosine = np.sin(b / 2), np.cos(b / 2)
    norm = 4 * (np.sinh(a / 2) ** 2 + cosine**2)
    real = np.where(a < -0.7, np.exp(a) + np.cos(b), np.expm1(a) + 2 * cosine**2)
    middle = join(real / norm, 2 * sine * cosine / norm)
    left, decayed = np.exp(x), -np.imag(np.exp(-x))
    right = join(1 + 0 * decayed, decayed)
    result = np.where(a > 80, right, np.where(a < -80, left, middle))
    return join(np.real(result), np.where(b == 0, b, np.imag(result)))


@in_c128
def power(x: Array, y: Array) -> Array:
    """exp(y·log x), where zero times infinity or NaN counts as zero."""
    (c, d), (size, angle) = parts(y), parts(np.log(x))

    def term(p: Array, q: Array) -> tuple[Array, Array]:
        zero = (p == 0) | (q == 0)
        return np.where(zero, 0.0, p), np.where(zero, 0.0, q)

    real = _sum_of_products(*term(c, size), *term(-d, angle))
    return np.exp(join(real, _sum_of_products(*term(c, angle), *term(d, size))))


@in_c128
def rsqrt(x: Array) -> Array:
    """1/√x; 0 at infinity."""
    inverse = np.where(np.isinf(x), 0, divide(np.ones_like(x), np.sqrt(x)))
    return join(np.real(inverse), np.copysign(np.imag(inverse), -np.imag(x)))


@in_c128
def atan2(y: Array, x: Array) -> Array:
    """-i·log((x + iy)/√(x² + y²)); NaN at the origin."""
    scale = -np.maximum(_exponent(x), _exponent(y))
    (a, b), (c, d) = (tuple(np.ldexp(part, scale) for part in parts(v)) for v in (y, x))
    turned, other = join(c - b, d + a), join(c + b, d - a)
    real, imaginary = parts(np.log(divide(turned, np.sqrt(multiply(turned, other)))))
    return join(imaginary, -real)


@in_c128
def sign(x: Array) -> Array:
    """x/|x|, and zero for zero; NaN for the infinite part."""
    scale = -_exponent(x)
    a, b = (np.ldexp(part, scale) for part in parts(x))
    size = np.hypot(a, b)
    return np.where(x == 0, x, join(a / size, b / size))


absolute, cos, cosh, exp, log, sin, sinh, sqrt, tan, tanh = map(
    in_c128,
    (np.abs, np.cos, np.cosh, np.exp, np.log, np.sin, np.sinh, np.sqrt, np.tan, np.tanh),
)
