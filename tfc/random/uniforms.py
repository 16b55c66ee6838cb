"""Numbers of continuous distributions that are functions of one uniform number each."""

from collections.abc import Callable
from math import pi
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.differentiation.gradient import stop_gradient
from tfc.frontend.numpy.arithmetic import sign, where
from tfc.frontend.numpy.comparisons import maximum, minimum
from tfc.frontend.numpy.functions import exp, log, log1p, sqrt
from tfc.frontend.operations import operation
from tfc.frontend.promotion import as_tensor, cast, expand
from tfc.frontend.python_numbers import Dims, sizes
from tfc.frontend.tensor import FUNCTIONS, ArrayLike, Tensor, evaluable
from tfc.hlo.shape import ELEMENT_TYPES, ElementType, Shape
from tfc.random import threefry
from tfc.random.arguments import float_type, parameters, shape_for
from tfc.random.inverse_error import erf_inv


def unit_of_bits(bits: Tensor, element_type: ElementType) -> Tensor:
    """Numbers in [0, 1) whose fraction is the high bits, all multiples of one small number."""
    width, digits = element_type.bits, element_type.float_limits.nmant
    drawn = bits.array_shape.element_type.bits
    fraction = operation("shift-right-logical", bits, ops.full_like(drawn - digits, bits))
    fraction = ops.convert(fraction, ELEMENT_TYPES[f"u{width}"])
    one = np.ones((), element_type.dtype).view(f"u{width // 8}").item()
    between = operation("or", fraction, ops.full_like(one, fraction))
    shape = Shape(element_type, bits.shape)
    return operation("bitcast-convert", between, shape=shape) - ops.full(
        1, shape.dims, element_type
    )


def bit_width(element_type: ElementType) -> int:
    """How many bits are drawn for a number: 8 of them hold all the digits of bfloat16."""
    return 8 if element_type.float_limits.nmant < 8 else element_type.bits


def drawn(key: ArrayLike, dims: Any, element_type: ElementType, low: Any, high: Any) -> Tensor:
    """Numbers in [low, high), which are Tensors or numbers that broadcast to the dimensions."""
    bits = threefry.bits(threefry.words_of(key), dims, bit_width(element_type))
    unit = unit_of_bits(bits, element_type)
    start, end = (expand(cast(as_tensor(v), element_type.dtype), unit.shape) for v in (low, high))
    return maximum(start, unit * (end - start) + start)


@evaluable
def uniform(
    key: ArrayLike,
    shape: Dims = (),
    dtype: Any = np.float32,
    minval: ArrayLike = 0.0,
    maxval: ArrayLike = 1.0,
) -> Tensor:
    """Numbers evenly in [minval, maxval), which broadcast to `shape`; float32 unless said.

    Rounding may give maxval itself where the interval is far from 0; minval if none is between.

    Raises:
        ShapeError: the key is not uint32[2], the type is not one of floats, or a bound does not
            broadcast to the shape.
    """
    element_type = float_type(dtype)
    dims = sizes(shape)
    bounds = [as_tensor(minval), as_tensor(maxval)]
    shape_for("uniform", dims, *(b.shape for b in bounds))
    return drawn(key, dims, element_type, *bounds)


def _normal(key: ArrayLike, dims: Any, element_type: ElementType) -> Tensor:
    dtype = element_type.dtype
    low = np.nextafter(np.array(-1, dtype), np.array(0, dtype), dtype=dtype)
    between = drawn(key, dims, element_type, low, 1.0)
    return erf_inv(between) * ops.full_like(np.sqrt(2), between)


@evaluable
def normal(key: ArrayLike, shape: Dims = (), dtype: Any = np.float32) -> Tensor:
    """Numbers of the normal distribution of mean 0 and deviation 1; float32 unless said.

    Complex ones have two parts of deviation 1/√2.

    Raises:
        ShapeError: the key is not uint32[2], or the type is not one of floats.
    """
    dims = sizes(shape)
    if np.dtype(dtype).kind != "c":
        return _normal(key, dims, float_type(dtype))
    component = float_type(np.dtype(dtype).type().real.dtype)
    keys = threefry.split_one(threefry.words_of(key), 2)
    real, imaginary = (_normal(keys[k], dims, component) for k in range(2))
    made = operation("complex", real, imaginary)
    return made / ops.full_like(np.sqrt(2), made)


@evaluable
def truncated_normal(
    key: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    shape: Dims | None = None,
    dtype: Any = np.float32,
) -> Tensor:
    """Normal numbers between two bounds, which they do not reach.

    Args:
        shape: to which the bounds broadcast; their own shape if it is left out.

    Raises:
        ShapeError: the key is not uint32[2], the type is not one of floats, or the bounds do not
            broadcast to the shape.
    """
    element_type = float_type(dtype)
    low, high = parameters("truncated_normal", shape, element_type, lower, upper)
    root = ops.full_like(np.sqrt(2), low)
    start, end = (FUNCTIONS["erf"](bound / root) for bound in (low, high))
    made = root * erf_inv(drawn(key, low.shape, element_type, start, end))
    # Rounding, or a number at an end, must not reach the bounds.
    return minimum(
        maximum(made, _next(stop_gradient(low), upward=True)),
        _next(stop_gradient(high), upward=False),
    )


def _next(x: Tensor, upward: bool) -> Tensor:
    """The neighbour of each number: numbers of one sign are ordered as their bits are."""
    element_type = x.array_shape.element_type
    shape = x.array_shape.with_element_type(ELEMENT_TYPES[f"s{element_type.bits}"])
    bits = operation("bitcast-convert", x, shape=shape)
    away = x > 0 if upward else x < 0
    moved = operation("add", bits, where(away, ops.full_like(1, bits), ops.full_like(-1, bits)))
    smallest = element_type.float_limits.smallest_subnormal
    near_zero = ops.full_like(smallest if upward else -smallest, x)
    beyond = operation("bitcast-convert", moved, shape=x.array_shape)
    stays = (x != x) | (x == (np.inf if upward else -np.inf))
    return where(stays, x, where(x == 0, near_zero, beyond))


def _from_unit(
    name: str,
    doc: str,
    function: Callable[[Tensor], Tensor],
    low: Callable[[Any], float] = lambda limits: 0.0,
) -> Callable[..., Tensor]:
    """A distribution without parameters: a function of uniform numbers between `low` and 1."""

    def draw(key: ArrayLike, shape: Dims = (), dtype: Any = np.float32) -> Tensor:
        element_type = float_type(dtype)
        return function(drawn(key, sizes(shape), element_type, low(element_type.float_limits), 1.0))

    draw.__name__ = draw.__qualname__ = name
    draw.__doc__ = f"""{doc}; float32 unless said.

    Raises:
        ShapeError: the key is not uint32[2], or the type is not one of floats.
    """
    return evaluable(draw)


exponential = _from_unit(
    "exponential", "Numbers of the density exp(-x), for x of 0 and more", lambda u: -log1p(-u)
)
laplace = _from_unit(
    "laplace",
    "Numbers of the density exp(-|x|) / 2",
    lambda u: sign(u) * log1p(-abs(u)),
    lambda limits: -1.0 + limits.epsneg,
)
cauchy = _from_unit(
    "cauchy",
    "Numbers of the density 1 / (π (x² + 1))",
    lambda u: FUNCTIONS["tan"](ops.full_like(pi, u) * (u - 0.5)),
    lambda limits: limits.eps,
)
logistic = _from_unit(
    "logistic",
    "Numbers of the density exp(-x) / (1 + exp(-x))²",
    lambda u: log(u) - log1p(-u),
    lambda limits: limits.tiny,
)


@evaluable
def gumbel(
    key: ArrayLike, shape: Dims = (), dtype: Any = np.float32, mode: str | None = None
) -> Tensor:
    """Numbers of the density exp(-(x + exp(-x))); float32 unless said.

    Args:
        mode: "high" draws twice the bits, so that large numbers are as rare as they should be;
            "low", or None, one number's bits, of which none is above 16 in float32.

    Raises:
        ShapeError: the key is not uint32[2], the type is not one of floats, or the mode another.
    """
    if mode not in (None, "low", "high"):
        raise ShapeError(f"gumbel requires the mode 'low' or 'high', got {mode!r}")
    element_type, dims = float_type(dtype), sizes(shape)
    limits = element_type.float_limits
    if mode != "high":
        return -log(-log(drawn(key, dims, element_type, limits.tiny, 1.0)))
    both = drawn(key, (2, *dims), element_type, 0.0, 1.0)
    high, low = both[0], both[1]
    fine = high + ops.full_like(2.0**-limits.nmant, low) * low + ops.full_like(limits.tiny, low)
    return -log(-log1p(-where(high >= 0.5, high, fine)))


@evaluable
def pareto(
    key: ArrayLike, b: ArrayLike, shape: Dims | None = None, dtype: Any = np.float32
) -> Tensor:
    """Numbers of the density b / x^(b + 1), for x of 1 and more.

    Raises:
        ShapeError: the key, the type or the shape does not fit.
    """
    (scale,) = parameters("pareto", shape, float_type(dtype), b)
    return exp(exponential(key, scale.shape, dtype) / scale)


@evaluable
def rayleigh(
    key: ArrayLike, scale: ArrayLike, shape: Dims | None = None, dtype: Any = np.float32
) -> Tensor:
    """Numbers of the density x / scale² exp(-x² / (2 scale²)), for x of 0 and more.

    Raises:
        ShapeError: the key, the type or the shape does not fit.
    """
    (size,) = parameters("rayleigh", shape, float_type(dtype), scale)
    return size * sqrt(log(uniform(key, size.shape, dtype)) * ops.full_like(-2, size))


@evaluable
def weibull_min(
    key: ArrayLike,
    scale: ArrayLike,
    concentration: ArrayLike,
    shape: Dims = (),
    dtype: Any = np.float32,
) -> Tensor:
    """Numbers x of the density proportional to x^(c - 1) exp(-(x / scale)^c), for x above 0.

    Raises:
        ShapeError: the key, the type or the shape does not fit.
    """
    size, power = parameters("weibull_min", shape, float_type(dtype), scale, concentration)
    made = -log1p(-uniform(key, size.shape, dtype))
    return operation("power", made, ops.full_like(1, power) / power) * size


@evaluable
def triangular(
    key: ArrayLike,
    left: ArrayLike,
    mode: ArrayLike,
    right: ArrayLike,
    shape: Dims | None = None,
    dtype: Any = np.float32,
) -> Tensor:
    """Numbers between left and right whose density rises evenly to the mode and falls evenly.

    Raises:
        ShapeError: the key, the type or the shape does not fit.
    """
    low, top, high = parameters("triangular", shape, float_type(dtype), left, mode, right)
    unit, width = uniform(key, low.shape, dtype), high - low
    rising = low + sqrt(unit * width * (top - low))
    falling = high - sqrt((ops.full_like(1, unit) - unit) * width * (high - top))
    return where(unit < (top - low) / width, rising, falling)


@evaluable
def lognormal(
    key: ArrayLike,
    sigma: ArrayLike = 1.0,
    shape: Dims | None = None,
    dtype: Any = np.float32,
) -> Tensor:
    """Numbers whose logarithms are normal, of deviation sigma.

    Raises:
        ShapeError: the key, the type or the shape does not fit.
    """
    (deviation,) = parameters("lognormal", shape, float_type(dtype), sigma)
    return exp(normal(key, deviation.shape, dtype) * deviation)


@evaluable
def wald(
    key: ArrayLike, mean: ArrayLike, shape: Dims | None = None, dtype: Any = np.float32
) -> Tensor:
    """Numbers of the inverse Gaussian distribution of a mean, and of shape 1.

    Raises:
        ShapeError: the key, the type or the shape does not fit.
    """
    (m,) = parameters("wald", shape, float_type(dtype), mean)
    keys = threefry.split_one(threefry.words_of(key), 2)
    deviate, unit = normal(keys[0], m.shape, dtype), uniform(keys[1], m.shape, dtype)
    y, squared = deviate * deviate, m * m
    root = sqrt(4 * m * y + squared * (y * y))
    smaller = m + squared * y / 2 - m / 2 * root
    return where(unit <= m / (m + smaller), smaller, squared / smaller)


@evaluable
def maxwell(key: ArrayLike, shape: Dims = (), dtype: Any = np.float32) -> Tensor:
    """Lengths of vectors of three normal numbers.

    Raises:
        ShapeError: the key is not uint32[2], or the type is not one of floats.
    """
    parts = normal(key, (*sizes(shape), 3), dtype)
    return sqrt(ops.reduce_sum(parts * parts, [parts.ndim - 1]))
