"""Gamma numbers by rejection, and the distributions that are made of them.

Each element is drawn from a key of its own, by Marsaglia and Tsang's method: candidates until one
is accepted. The loop goes on until all elements have theirs, and leaves alone those that have.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.control.loops import while_loop
from tfc.frontend.differentiation.custom.jvp import custom_jvp
from tfc.frontend.differentiation.gradient import stop_gradient
from tfc.frontend.numpy.arithmetic import power, where
from tfc.frontend.numpy.comparisons import maximum
from tfc.frontend.numpy.functions import exp, log, log1p, sqrt
from tfc.frontend.numpy.reductions import any, max, sum
from tfc.frontend.promotion import as_tensor
from tfc.frontend.python_numbers import Dims, sizes, whole
from tfc.frontend.special.incomplete_gamma import log_gamma_slope
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable
from tfc.hlo.shape import F64, ElementType
from tfc.random import threefry
from tfc.random.arguments import float_type, parameters, shape_for
from tfc.random.integers import rademacher
from tfc.random.inverse_error import erf_inv
from tfc.random.uniforms import bit_width, exponential, normal, unit_of_bits

State = tuple[Tensor, ...]


def repeat_each(
    unfinished: Callable[..., Tensor], step: Callable[..., State], state: State
) -> State:
    """The state of each element after as many steps as it needs itself.

    Args:
        unfinished: state -> for each element, whether it needs another step.
        step: state -> state.
    """

    def advance(now: State) -> State:
        goes_on = unfinished(*now)
        return tuple(where(goes_on, new, old) for new, old in zip(step(*now), now))

    return while_loop(lambda now: any(unfinished(*now)), advance, state)


def _unit(keys: threefry.Words, element_type: ElementType) -> Tensor:
    return unit_of_bits(threefry.bits_of_each(keys, bit_width(element_type)), element_type)


def _normal(keys: threefry.Words, element_type: ElementType) -> Tensor:
    unit = _unit(keys, element_type)
    one = np.ones((), element_type.dtype)
    low = np.nextafter(-one, one, dtype=one.dtype)
    start = ops.full_like(low, unit)
    between = maximum(start, unit * (ops.full_like(1, unit) - start) + start)
    return erf_inv(between) * ops.full_like(np.sqrt(2), between)


def _accepted(keys: threefry.Words, d: Tensor, c: Tensor) -> Tensor:
    """v³ for candidates v = 1 + c x of normal numbers x, until one is accepted for each element."""
    element_type = d.array_shape.element_type

    def unfinished(_: Tensor, __: Tensor, x2: Tensor, v3: Tensor, u: Tensor) -> Tensor:
        outside = u >= 1 - 0.0331 * (x2 * x2)
        return outside & (log(u) >= x2 * 0.5 + d * ((1 - v3) + log(v3)))

    def positive(first: Tensor, second: Tensor) -> State:
        """(x, v) with v above 0."""

        def draw(a: Tensor, b: Tensor, *_: Tensor) -> State:
            following, drawn_by = threefry.split_words((a, b), 2)
            x = _normal(drawn_by, element_type)
            return (*following, x, 1 + x * c)

        start = (first, second, ops.full_like(0, c), ops.full_like(-1, c))
        return repeat_each(lambda a, b, x, v: v <= 0, draw, start)[2:]

    def step(first: Tensor, second: Tensor, *_: Tensor) -> State:
        following, for_x, for_u = threefry.split_words((first, second), 3)
        x, v = positive(*for_x)
        return (*following, x * x, v * v * v, _unit(for_u, element_type))

    start = (*keys, *(ops.full_like(n, d) for n in (0, 1, 2)))
    return repeat_each(unfinished, step, start)[3]


@custom_jvp
def _numbers(drawn: Tensor, a: Tensor) -> Tensor:
    """Gamma numbers that were drawn, which follow their parameter."""
    return drawn


@custom_jvp
def _logarithms(drawn: Tensor, a: Tensor) -> Tensor:
    """Logarithms of gamma numbers that were drawn, which follow their parameter."""
    return drawn


_numbers.defjvps(None, lambda t, _, drawn, a: t * _slope_of_number(drawn, a))
_logarithms.defjvps(None, lambda t, _, drawn, a: t * _slope_of_logarithm(drawn, a))


def _slope_of_logarithm(drawn: Tensor, a: Tensor) -> Tensor:
    slope = log_gamma_slope(ops.convert(a, F64), ops.convert(drawn, F64))
    return ops.convert(slope, drawn.array_shape.element_type)


def _slope_of_number(drawn: Tensor, a: Tensor) -> Tensor:
    """The same for the number itself; 0 if it was too small for the type."""
    is_none = drawn == 0
    logarithm = log(ops.convert(where(is_none, 1, drawn), F64))
    slope = log_gamma_slope(ops.convert(a, F64), logarithm) * drawn
    return where(is_none, 0, ops.convert(slope, drawn.array_shape.element_type))


def _gammas(key: ArrayLike, a: Tensor, as_logarithm: bool) -> Tensor:
    """Gamma numbers, or their logarithms, for parameters in the shape of the result.

    Their derivative is not that of the candidates, which would leave out that others would have
    been accepted: a number keeps its rank among all that may be drawn (implicit differentiation).
    """
    drawn = _drawn(key, stop_gradient(a), as_logarithm)
    return (_logarithms if as_logarithm else _numbers)(drawn, a)


def _drawn(key: ArrayLike, a: Tensor, as_logarithm: bool) -> Tensor:
    alpha = ops.reshape(a, (a.size,))
    keys = threefry.hashed(threefry.words_of(key), threefry.counters(alpha.size))
    one = ops.full_like(1, alpha)
    # Below 1, the number for alpha + 1 is multiplied by a power of a uniform one.
    is_large = alpha >= 1
    d = where(is_large, alpha, alpha + 1) - ops.full_like(1 / 3, alpha)
    c = ops.full_like(1 / 3, alpha) / sqrt(d)
    for_loop, for_boost = threefry.split_words(keys, 2)
    v = _accepted(for_loop, d, c)
    unit = _unit(for_boost, alpha.array_shape.element_type)
    if not as_logarithm:
        return ops.reshape(d * v * where(is_large, one, power(1 - unit, one / alpha)), a.shape)
    logarithm = log1p(-unit)
    boost = where(is_large | (logarithm == 0), ops.full_like(0, alpha), logarithm * (one / alpha))
    return ops.reshape(log(d) + log(v) + boost, a.shape)


@evaluable
def gamma(
    key: ArrayLike, a: ArrayLike, shape: Dims | None = None, dtype: Any = np.float32
) -> Tensor:
    """Numbers of the density proportional to x^(a - 1) exp(-x), for x and a above 0.

    The derivative by `a` leaves a number's rank among all that may be drawn as it is; so do those
    of `loggamma`, `beta`, `dirichlet`, `chisquare`, `f` and `t`.

    Raises:
        ShapeError: the key, the type or the shape does not fit.
    """
    (alpha,) = parameters("gamma", shape, float_type(dtype), a)
    return _gammas(key, alpha, as_logarithm=False)


@evaluable
def loggamma(
    key: ArrayLike, a: ArrayLike, shape: Dims | None = None, dtype: Any = np.float32
) -> Tensor:
    """Logarithms of gamma numbers, exact also where those are too small for the type.

    Raises:
        ShapeError: the key, the type or the shape does not fit.
    """
    (alpha,) = parameters("loggamma", shape, float_type(dtype), a)
    return _gammas(key, alpha, as_logarithm=True)


def _pair(key: ArrayLike) -> tuple[Tensor, Tensor]:
    keys = threefry.split_one(threefry.words_of(key), 2)
    return keys[0], keys[1]


@evaluable
def beta(
    key: ArrayLike, a: ArrayLike, b: ArrayLike, shape: Dims | None = None, dtype: Any = np.float32
) -> Tensor:
    """Numbers of the density proportional to x^(a - 1) (1 - x)^(b - 1), in 0 … 1.

    Raises:
        ShapeError: the key, the type or the shape does not fit.
    """
    both = parameters("beta", shape, float_type(dtype), a, b)
    first, second = (_gammas(k, p, as_logarithm=True) for k, p in zip(_pair(key), both))
    largest = maximum(first, second)
    x, y = exp(first - largest), exp(second - largest)
    return x / (x + y)


@evaluable
def dirichlet(
    key: ArrayLike, alpha: ArrayLike, shape: Dims | None = None, dtype: Any = np.float32
) -> Tensor:
    """Vectors of positive numbers that add up to 1, of the density proportional to Π x^(alpha - 1).

    Args:
        alpha: vectors along the last dimension, as those of the result.
        shape: that of the result less the last dimension.

    Raises:
        ShapeError: the key, the type or the shape does not fit.
    """
    vectors = as_tensor(alpha)
    if not vectors.ndim:
        raise ShapeError("dirichlet requires an alpha of one dimension or more, got a scalar")
    dims = shape_for("dirichlet", shape, vectors.shape[:-1])
    made = loggamma(key, vectors, (*dims, vectors.shape[-1]), dtype)
    scaled = exp(made - max(made, -1, keepdims=True))
    return scaled / sum(scaled, -1, keepdims=True)


@evaluable
def chisquare(
    key: ArrayLike, df: ArrayLike, shape: Dims | None = None, dtype: Any = np.float32
) -> Tensor:
    """Sums of the squares of `df` normal numbers.

    Raises:
        ShapeError: the key, the type or the shape does not fit.
    """
    (freedom,) = parameters("chisquare", shape, float_type(dtype), df)
    return exp(_gammas(key, freedom / 2, as_logarithm=True)) * ops.full_like(2, freedom)


@evaluable
def f(
    key: ArrayLike,
    dfnum: ArrayLike,
    dfden: ArrayLike,
    shape: Dims | None = None,
    dtype: Any = np.float32,
) -> Tensor:
    """Quotients of two chi-square numbers, each over its degrees of freedom.

    Raises:
        ShapeError: the key, the type or the shape does not fit.
    """
    above, below = parameters("f", shape, float_type(dtype), dfnum, dfden)
    for_below, for_above = _pair(key)
    numerator = chisquare(for_above, above, above.shape, dtype) / above
    return numerator / (chisquare(for_below, below, below.shape, dtype) / below)


@evaluable
def t(key: ArrayLike, df: ArrayLike, shape: Dims | None = None, dtype: Any = np.float32) -> Tensor:
    """Numbers of Student's distribution of `df` degrees of freedom.

    Raises:
        ShapeError: the key, the type or the shape does not fit.
    """
    (freedom,) = parameters("t", shape, float_type(dtype), df)
    for_normal, for_gamma = _pair(key)
    half = freedom / ops.full_like(2, freedom)
    return normal(for_normal, freedom.shape, dtype) * sqrt(half / _gammas(for_gamma, half, False))


@evaluable
def generalized_normal(
    key: ArrayLike, p: float, shape: Dims = (), dtype: Any = np.float32
) -> Tensor:
    """Numbers of the density proportional to exp(-|x|^p).

    Raises:
        ShapeError: the key, the type or the shape does not fit.
    """
    dims, (first, second) = sizes(shape), _pair(key)
    signs = rademacher(second, dims, dtype)
    return signs * power(gamma(first, 1 / p, dims, dtype), ops.full_like(1 / p, signs))


@evaluable
def ball(key: ArrayLike, d: int, p: float = 2, shape: Dims = (), dtype: Any = np.float32) -> Tensor:
    """Points evenly in the unit ball of d dimensions, of the norm (Σ |x|^p)^(1/p).

    Args:
        shape: how many; the points are along the last dimension, which comes after these.

    Raises:
        ShapeError: the key, the type or the shape does not fit.
    """
    dims, (first, second) = sizes(shape), _pair(key)
    point = generalized_normal(first, p, (*dims, whole(d, "a number of dimensions")), dtype)
    total = sum(power(abs(point), p), -1) + exponential(second, dims, dtype)
    return point / ops.reshape(power(total, 1 / p), (*dims, 1))
