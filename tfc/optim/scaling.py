"""Parts of optimizers: transformations that scale gradients, mostly by what they remember of them.

Moments have the parameters' dtypes; bias corrections and learning rates are computed in float64,
and rounded to the dtype of what they scale.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tfc.frontend.numpy.arithmetic import absolute, power, sign, square, where
from tfc.frontend.numpy.comparisons import maximum
from tfc.frontend.numpy.creation import full_like
from tfc.frontend.numpy.functions import sqrt
from tfc.frontend.numpy.reductions import sum
from tfc.frontend.tensor import ArrayLike
from tfc.optim.schedules import value_at
from tfc.optim.transformation import (
    GradientTransformation,
    Schedule,
    Tree,
    masked,
    needs_parameters,
    number_like,
    stateful,
    stateless,
    tree_map,
)

Mask = Tree | Callable[[Tree], Tree]


def zeros_of(params: Tree, value: float = 0.0) -> Tree:
    """A number in place of each element, in the parameters' dtypes."""
    return tree_map(lambda p: full_like(p, value), params)


def no_steps() -> np.ndarray:
    """The count of steps at the beginning: int32."""
    return np.zeros((), np.int32)


def next_count(count: Any) -> Any:
    """One step more."""
    return count + np.int32(1)


def moment(gradients: Tree, old: Tree, decay: float, order: int = 1) -> Tree:
    """The running mean of the gradients, or of their squares."""

    def mixed(g: Any, m: Any) -> Any:
        part = g if order == 1 else square(g)
        return number_like(1 - decay, m) * part + number_like(decay, m) * m

    return tree_map(mixed, gradients, old)


def unbiased(moments: Tree, decay: float, count: Any) -> Tree:
    """Moments that began with 0 after `count` steps, divided by the weight of what was seen."""
    weight = 1 - power(decay, count)
    return tree_map(lambda m: m / number_like(weight, m), moments)


def scale(step_size: ArrayLike) -> GradientTransformation:
    """Updates times a number."""
    return stateless(lambda updates, _: tree_map(lambda u: u * number_like(step_size, u), updates))


class ScaleByScheduleState(NamedTuple):
    """count: int32, the number of steps done."""

    count: Any


def scale_by_schedule(step_size_fn: Schedule) -> GradientTransformation:
    """Updates times the number of a schedule at the steps done."""

    def update(updates: Tree, state: ScaleByScheduleState, _: Tree) -> tuple[Tree, Tree]:
        size = step_size_fn(state.count)
        scaled = tree_map(lambda u: u * number_like(size, u), updates)
        return scaled, ScaleByScheduleState(next_count(state.count))

    return stateful(lambda params: ScaleByScheduleState(no_steps()), update)


def scale_by_learning_rate(
    learning_rate: float | Schedule, *, flip_sign: bool = True
) -> GradientTransformation:
    """Updates times a learning rate, or its negative, so that parameters go downhill."""
    factor = -1 if flip_sign else 1
    if callable(learning_rate):
        return scale_by_schedule(lambda count: factor * learning_rate(count))
    return scale(factor * np.asarray(learning_rate))


class TraceState(NamedTuple):
    """trace: the decaying sum of the updates."""

    trace: Tree


def trace(decay: float, nesterov: bool = False) -> GradientTransformation:
    """Momentum: the sum of the updates, of which older ones decay.

    Args:
        nesterov: add the update to the decayed sum once more.
    """

    def update(updates: Tree, state: TraceState, _: Tree) -> tuple[Tree, Tree]:
        def summed(g: Any, t: Any) -> Any:
            return g + number_like(decay, t) * t

        new = tree_map(summed, updates, state.trace)
        return (tree_map(summed, updates, new) if nesterov else new), TraceState(new)

    return stateful(lambda params: TraceState(zeros_of(params)), update)


class ScaleByAdamState(NamedTuple):
    """count: int32, the steps done. mu, nu: the running means of gradients and of squares."""

    count: Any
    mu: Tree
    nu: Tree


def scale_by_adam(
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    eps_root: float = 0.0,
    *,
    nesterov: bool = False,
) -> GradientTransformation:
    """The mean of the gradients over the root of the mean of their squares, both unbiased.

    Args:
        eps: is added to the root.
        eps_root: is added below the root.
        nesterov: look one step ahead in the mean, as Nadam does.
    """

    def update(updates: Tree, state: ScaleByAdamState, _: Tree) -> tuple[Tree, Tree]:
        mu, nu = moment(updates, state.mu, b1), moment(updates, state.nu, b2, 2)
        count = next_count(state.count)
        if nesterov:
            ahead = unbiased(mu, b1, next_count(count))
            mean = moment(unbiased(updates, b1, count), ahead, b1)
        else:
            mean = unbiased(mu, b1, count)
        scaled = tree_map(
            lambda m, v: m / (sqrt(v + number_like(eps_root, v)) + number_like(eps, v)),
            mean,
            unbiased(nu, b2, count),
        )
        return scaled, ScaleByAdamState(count, mu, nu)

    return stateful(
        lambda params: ScaleByAdamState(no_steps(), zeros_of(params), zeros_of(params)), update
    )


def scale_by_adamax(
    b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8
) -> GradientTransformation:
    """The unbiased mean of the gradients over the largest of them, of which older ones decay."""

    def update(updates: Tree, state: ScaleByAdamState, _: Tree) -> tuple[Tree, Tree]:
        mu = moment(updates, state.mu, b1)
        nu = tree_map(
            lambda g, v: maximum(absolute(g) + number_like(eps, v), number_like(b2, v) * v),
            updates,
            state.nu,
        )
        count = next_count(state.count)
        scaled = tree_map(lambda m, v: m / v, unbiased(mu, b1, count), nu)
        return scaled, ScaleByAdamState(count, mu, nu)

    return stateful(
        lambda params: ScaleByAdamState(no_steps(), zeros_of(params), zeros_of(params)), update
    )


class ScaleByRssState(NamedTuple):
    """sum_of_squares: of the updates so far, and of where it began."""

    sum_of_squares: Tree


def scale_by_rss(
    initial_accumulator_value: float = 0.1, eps: float = 1e-7
) -> GradientTransformation:
    """Updates over the root of the sum of all squares so far; 0 while that is 0."""

    def update(updates: Tree, state: ScaleByRssState, _: Tree) -> tuple[Tree, Tree]:
        total = tree_map(lambda g, t: square(g) + t, updates, state.sum_of_squares)

        def scaled(g: Any, t: Any) -> Any:
            seen = t > number_like(0, t)
            root = sqrt(where(seen, t, number_like(1, t)) + number_like(eps, t))
            return where(seen, g / root, number_like(0, g))

        return tree_map(scaled, updates, total), ScaleByRssState(total)

    return stateful(
        lambda params: ScaleByRssState(zeros_of(params, initial_accumulator_value)), update
    )


class ScaleByRmsState(NamedTuple):
    """nu: the running mean of squares. mu: that of gradients, None if it does not matter."""

    mu: Tree
    nu: Tree


def _scale_by_rms(
    decay: float, eps: float, initial_scale: float, eps_in_sqrt: bool, is_centred: bool
) -> GradientTransformation:
    def update(updates: Tree, state: ScaleByRmsState, _: Tree) -> tuple[Tree, Tree]:
        nu, mu = moment(updates, state.nu, decay, 2), None
        spread = nu
        if is_centred:
            mu = moment(updates, state.mu, decay)
            spread = tree_map(lambda v, m: v - square(m), nu, mu)

        def scaled(g: Any, v: Any) -> Any:
            small = number_like(eps, v)
            return g / (sqrt(v + small) if eps_in_sqrt else sqrt(v) + small)

        return tree_map(scaled, updates, spread), ScaleByRmsState(mu, nu)

    def init(params: Tree) -> ScaleByRmsState:
        mean = zeros_of(params) if is_centred else None
        return ScaleByRmsState(mean, zeros_of(params, initial_scale))

    return stateful(init, update)


def scale_by_rms(
    decay: float = 0.9, eps: float = 1e-8, initial_scale: float = 0.0, eps_in_sqrt: bool = True
) -> GradientTransformation:
    """Updates over the root of the running mean of their squares.

    Args:
        eps_in_sqrt: whether eps is added below the root, or to it.
    """
    return _scale_by_rms(decay, eps, initial_scale, eps_in_sqrt, False)


def scale_by_stddev(
    decay: float = 0.9, eps: float = 1e-8, initial_scale: float = 0.0, eps_in_sqrt: bool = True
) -> GradientTransformation:
    """Updates over their running deviation: the mean of the squares less the mean squared."""
    return _scale_by_rms(decay, eps, initial_scale, eps_in_sqrt, True)


class ScaleByAdaDeltaState(NamedTuple):
    """e_g, e_x: the running means of the squares of gradients and of updates."""

    e_g: Tree
    e_x: Tree


def scale_by_adadelta(rho: float = 0.9, eps: float = 1e-6) -> GradientTransformation:
    """Updates times the root of the ratio of earlier updates' squares to gradients' squares."""

    def update(updates: Tree, state: ScaleByAdaDeltaState, _: Tree) -> tuple[Tree, Tree]:
        e_g = moment(updates, state.e_g, rho, 2)

        def scaled(g: Any, of_updates: Any, of_gradients: Any) -> Any:
            small = number_like(eps, g)
            return sqrt(of_updates + small) / sqrt(of_gradients + small) * g

        made = tree_map(scaled, updates, state.e_x, e_g)
        return made, ScaleByAdaDeltaState(e_g, moment(made, state.e_x, rho, 2))

    return stateful(lambda params: ScaleByAdaDeltaState(zeros_of(params), zeros_of(params)), update)


class ScaleByLionState(NamedTuple):
    """count: int32, the steps done. mu: the running mean of the gradients."""

    count: Any
    mu: Tree


def scale_by_lion(b1: float = 0.9, b2: float = 0.99) -> GradientTransformation:
    """The sign of a mean of gradients, for which the newest one counts 1 - b1."""

    def update(updates: Tree, state: ScaleByLionState, _: Tree) -> tuple[Tree, Tree]:
        made = tree_map(sign, moment(updates, state.mu, b1))
        return made, ScaleByLionState(next_count(state.count), moment(updates, state.mu, b2))

    return stateful(lambda params: ScaleByLionState(no_steps(), zeros_of(params)), update)


def scale_by_trust_ratio(
    min_norm: float = 0.0, trust_coefficient: float = 1.0, eps: float = 0.0
) -> GradientTransformation:
    """Each leaf's update made as long as the leaf itself, but where one of them is 0.

    Args:
        min_norm: the least length that a leaf and an update count as.
        trust_coefficient: a factor.
        eps: is added to the length of the update.
    """

    def update(updates: Tree, params: Tree) -> Tree:
        needs_parameters("scale_by_trust_ratio", params)

        def scaled(u: Any, p: Any) -> Any:
            of_leaf, of_update = (
                maximum(sqrt(sum(square(v))), number_like(min_norm, v)) for v in (p, u)
            )
            ratio = number_like(trust_coefficient, p) * of_leaf / (of_update + number_like(eps, u))
            is_zero = (of_leaf == 0) | (of_update == 0)
            return u * number_like(where(is_zero, number_like(1, p), ratio), u)

        return tree_map(scaled, updates, params)

    return stateless(update)


def add_decayed_weights(
    weight_decay: float = 0.0, mask: Mask | None = None
) -> GradientTransformation:
    """A fraction of the parameters added to the updates; of those alone whose mask is True."""

    def update(updates: Tree, params: Tree) -> Tree:
        needs_parameters("add_decayed_weights", params)
        return tree_map(lambda u, p: u + number_like(weight_decay, u) * p, updates, params)

    made = stateless(update)
    return made if mask is None else masked(made, mask)


class FtrlState(NamedTuple):
    """count: int32, the steps done. accumulator: the sum of squares. linear: of the gradients."""

    count: Any
    accumulator: Tree
    linear: Tree


def follow_the_leader(
    learning_rate: float | Schedule,
    learning_rate_power: float,
    initial_accumulator_value: float,
    l1: float,
    l2: float,
) -> GradientTransformation:
    """The step to where the sum of all losses so far, as lines, and a penalty would be least."""

    def step(g: Any, n: Any, z: Any, p: Any, rate: Any) -> tuple[Any, Any, Any]:
        total = n + square(g)
        power_of = number_like(-learning_rate_power, n)
        new, old = power(total, power_of), power(n, power_of)
        line = z + g - (new - old) / rate * p
        curve = new / rate + number_like(2 * l2, p)
        bound = number_like(l1, p)
        target = (sign(line) * bound - line) / curve
        target = where(absolute(line) > bound, target, number_like(0, p))
        return target - p, total, line

    def update(updates: Tree, state: FtrlState, params: Tree) -> tuple[Tree, Tree]:
        needs_parameters("ftrl", params)
        rate = value_at(learning_rate, state.count)
        # One walk for each part, as leaves are arrays; what is equal is computed once.
        parts = [
            tree_map(
                lambda g, n, z, p, k=k: step(g, n, z, p, number_like(rate, p))[k],
                updates, state.accumulator, state.linear, params,
            )
            for k in range(3)
        ]  # fmt: skip
        return parts[0], FtrlState(next_count(state.count), parts[1], parts[2])

    return stateful(
        lambda params: FtrlState(
            no_steps(), zeros_of(params, initial_accumulator_value), zeros_of(params)
        ),
        update,
    )
