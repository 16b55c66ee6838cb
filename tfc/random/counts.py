"""Counts of events: Poisson and binomial numbers, by waiting times where they are few, else by
Hörmann's transformed rejection."""

from math import log as log_of
from math import pi
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.control.loops import while_loop
from tfc.frontend.control.scan import scan
from tfc.frontend.numpy.arithmetic import where
from tfc.frontend.numpy.comparisons import clip
from tfc.frontend.numpy.functions import ceil, floor, isinf, isnan, log, log1p, sqrt
from tfc.frontend.numpy.manipulation import flip, moveaxis
from tfc.frontend.numpy.reductions import any
from tfc.frontend.numpy.windows import cumsum
from tfc.frontend.promotion import as_tensor, cast, expand
from tfc.frontend.python_numbers import Dims
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable
from tfc.hlo.shape import F32
from tfc.random.arguments import float_type, float_type_of, integer_type, shape_for
from tfc.random.keys import split
from tfc.random.uniforms import uniform

_LANCZOS = (
    676.520368121885098567009190444019, -1259.13921672240287047156078755283,
    771.3234287776530788486528258894, -176.61502916214059906584551354,
    12.507343278686904814458936853, -0.13857109526572011689554707,
    9.984369578019570859563e-6, 1.50563273514931155834e-7,
)  # fmt: skip


def _log_factorial(k: Tensor) -> Tensor:
    """log(k!) for k of 0 and more, by Lanczos' approximation."""
    total = ops.full_like(0.99999999999980993227684700473478, k)
    for number, coefficient in enumerate(_LANCZOS, 1):
        total = total + coefficient / (k + number)
    log_t = log_of(7.5) + log1p(k / 7.5)
    return (k + 0.5 - (k + 7.5) / log_t) * log_t + (log_of(2 * pi) / 2 + log(total))


def _poisson_by_times(key: ArrayLike, rate: Tensor) -> Tensor:
    """Knuth's: how many waiting times fit into one unit of time."""

    def step(state: Any) -> Any:
        count, keys, total = state
        following, drawn_by = _split(keys)
        count = where(total > -rate, count + 1, count)
        return count, following, total + log(uniform(drawn_by, rate.shape, np.float32))

    zero = ops.full_like(0, rate)
    start = (zero, as_tensor(key), zero)
    return while_loop(lambda state: any(state[2] > -rate), step, start)[0] - 1


def _split(key: Tensor, num: int = 2) -> list[Tensor]:
    keys = split(key, num)
    return [keys[k] for k in range(num)]


def _poisson_by_rejection(key: ArrayLike, rate: Tensor) -> Tensor:
    b = 0.931 + 2.53 * sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse, bound, log_rate = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2), log(rate)

    def step(state: Any) -> Any:
        found, is_found, keys = state
        following, for_u, for_v = _split(keys, 3)
        u, v = uniform(for_u, rate.shape) - 0.5, uniform(for_v, rate.shape)
        shifted = 0.5 - abs(u)
        k = floor((2 * a / shifted + b) * u + rate + 0.43)
        s = log(v * inverse / (a / (shifted * shifted) + b))
        is_refused = (k < 0) | ((shifted < 0.013) & (v > shifted))
        within = s <= -rate + k * log_rate - _log_factorial(k)
        accepted = ((shifted >= 0.07) & (v <= bound)) | (~is_refused & within)
        return where(accepted, k, found), is_found | accepted, following

    start = (ops.full_like(-1, rate), rate != rate, as_tensor(key))
    return while_loop(lambda state: any(~state[1]), step, start)[0]


@evaluable
def poisson(
    key: ArrayLike, lam: ArrayLike, shape: Dims | None = None, dtype: Any = np.int32
) -> Tensor:
    """How many events there are in one unit of time, at a rate of lam; int32 unless said.

    The rate is taken as float32.

    Raises:
        ShapeError: the key, the type or the shape does not fit.
    """
    made, given = integer_type(dtype), as_tensor(lam)
    rate = expand(ops.convert(given, F32), shape_for("poisson", shape, given.shape))
    is_small = isnan(rate) | (rate < 10)
    few = _poisson_by_times(key, where(is_small, rate, ops.full_like(0, rate)))
    many = _poisson_by_rejection(key, where(is_small, ops.full_like(1e5, rate), rate))
    found = where(is_small, few, many)
    return ops.convert(where(rate == 0, ops.full_like(0, rate), found), made)


def _binomial_by_times(key: ArrayLike, count: Tensor, chance: Tensor) -> Tensor:
    """How many waiting times for a success fit into `count` trials."""
    log_failure = log1p(-chance)

    def step(state: Any) -> Any:
        found, total, keys = state
        drawn_by, following = _split(keys)
        found = where(total <= count, found + 1, found)
        waited = ceil(log(uniform(drawn_by, count.shape, count.dtype)) / log_failure)
        return found, total + waited, following

    zero = ops.full_like(0, count)
    start = (zero, zero, as_tensor(key))
    return while_loop(lambda state: any(state[1] <= count), step, start)[0] - 1


def _stirling_tail(k: Tensor) -> Tensor:
    """log(k!) less Stirling's formula."""
    small = (
        0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
        0.0166446911898211, 0.0138761288230707, 0.0118967099458917, 0.010411265261972,
        0.00925546218271273, 0.00833056343336287,
    )  # fmt: skip
    squared = (k + 1) * (k + 1)
    tail = (1 / 12 - (1 / 360 - 1 / 1260 / squared) / squared) / (k + 1)
    for number, value in reversed(list(enumerate(small))):
        tail = where(k <= number, ops.full_like(value, k), tail)
    return tail


def _binomial_by_rejection(key: ArrayLike, count: Tensor, chance: Tensor) -> Tensor:
    deviation = sqrt(count * chance * (1 - chance))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * chance
    odds, bound = chance / (1 - chance), 0.92 - 4.2 / b
    alpha, mode = (2.83 + 5.1 / b) * deviation, floor((count + 1) * chance)
    from_mode = (mode + 0.5) * log((mode + 1) / (odds * (count - mode + 1)))
    from_mode = from_mode + _stirling_tail(mode) + _stirling_tail(count - mode)

    def step(state: Any) -> Any:
        found, is_found, keys = state
        following, for_u, for_v = _split(keys, 3)
        u = uniform(for_u, count.shape, count.dtype) - 0.5
        v = uniform(for_v, count.shape, count.dtype)
        shifted = 0.5 - abs(u)
        k = floor((2 * a / shifted + b) * u + (count * chance + 0.5))
        left = count - k + 1
        limit = from_mode + (count + 1) * log((count - mode + 1) / left)
        limit = limit + (k + 0.5) * log(odds * left / (k + 1))
        limit = limit - _stirling_tail(k) - _stirling_tail(count - k)
        inside = ~((k < 0) | (k > count))
        within = log(v * alpha / (a / (shifted * shifted) + b)) <= limit
        accepted = ((shifted >= 0.07) & (v <= bound)) | (inside & within)
        return where(accepted, k, found), is_found | accepted, following

    start = (ops.full_like(-1, count), count != count, as_tensor(key))
    return while_loop(lambda state: any(~state[1]), step, start)[0]


@evaluable
def binomial(
    key: ArrayLike, n: ArrayLike, p: ArrayLike, shape: Dims | None = None, dtype: Any = np.float32
) -> Tensor:
    """How many of n trials of probability p succeed, as floats; NaN for what is no probability.

    Raises:
        ShapeError: the key, the type or the shape does not fit.
    """
    made, chance, trials = float_type(dtype), as_tensor(p), as_tensor(n)
    dims, drawn = shape_for("binomial", shape, trials.shape, chance.shape), float_type_of(chance)
    chance, count = (expand(cast(v, drawn), dims) for v in (chance, trials))
    is_wrong = isnan(chance) | (chance < 0) | (chance > 1) | isnan(count) | (count < 0)
    is_rare = chance < 0.5  # of the rarer outcome there are fewer
    rarer = where(is_wrong, ops.full_like(0.01, chance), where(is_rare, chance, 1 - chance))
    # What cannot be drawn, and what the other method draws, must not hold up the loops.
    trials = where(is_wrong | isinf(count), ops.full_like(0, count), floor(count))
    by_times = trials * rarer <= 10
    few = _binomial_by_times(key, where(by_times, trials, ops.full_like(0, trials)), rarer)
    many = _binomial_by_rejection(
        key,
        where(by_times, ops.full_like(1e4, trials), trials),
        where(by_times, ops.full_like(0.5, rarer), rarer),
    )
    found = clip(where(by_times, few, many), 0, None)
    found = where(is_rare, found, trials - found)
    found = where(isinf(count), where(chance == 0, ops.full_like(0, count), count), found)
    return ops.convert(where(is_wrong, ops.full_like(np.nan, count), found), made)


@evaluable
def multinomial(
    key: ArrayLike,
    n: ArrayLike,
    p: ArrayLike,
    *,
    shape: Dims | None = None,
    dtype: Any = np.float32,
    unroll: int | bool = 1,
) -> Tensor:
    """How often each outcome comes up in n trials, as floats that add up to n.

    Args:
        n: of the shape of p less its last dimension, or of one that broadcasts to it.
        p: the outcomes' probabilities along the last dimension.
        shape: the result's, to which p broadcasts; that of p when left out.
        unroll: how many outcomes to draw in an iteration of the loop over them.

    Raises:
        ShapeError: the key, the type or the shape does not fit.
    """
    made, chances, trials = float_type(dtype), as_tensor(p), as_tensor(n)
    if not chances.ndim:
        raise ShapeError("multinomial requires probabilities along a dimension, got a scalar")
    drawn = float_type_of(chances)
    dims = shape_for("multinomial", shape, chances.shape)
    outcomes = moveaxis(expand(cast(chances, drawn), dims), -1, 0)
    outer = shape_for("multinomial", dims[:-1], trials.shape)
    # Each outcome is one of two: it, and those after it.
    remaining = flip(cumsum(flip(outcomes, 0), 0), 0)
    ratios = outcomes / where(remaining == 0, ops.full_like(1, remaining), remaining)

    def draw(left: Tensor, following: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        ratio, drawn_by = following
        count = binomial(drawn_by, left, clip(ratio, 0, 1), dtype=drawn)
        return left - count, count

    start = expand(cast(trials, drawn), outer)
    counts = scan(draw, start, (ratios, split(key, dims[-1])), unroll=unroll)[1]
    return ops.convert(moveaxis(counts, 0, -1), made)
