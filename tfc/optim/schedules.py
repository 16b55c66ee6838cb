"""Numbers that depend on the number of steps done, such as learning rates.

schedule = tfc.optim.exponential_decay(1e-2, transition_steps=1000, decay_rate=0.5)
tfc.optim.sgd(schedule)
"""

from collections.abc import Mapping, Sequence
from math import pi
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend.numpy.arithmetic import power, where
from tfc.frontend.numpy.comparisons import clip, maximum, minimum
from tfc.frontend.numpy.functions import floor
from tfc.frontend.tensor import FUNCTIONS, evaluable
from tfc.optim.transformation import Schedule


def _positive(steps: int, what: str) -> None:
    if steps <= 0:
        raise ShapeError(f"{what} must be above 0, got {steps}")


def constant_schedule(value: float) -> Schedule:
    """The same number at all steps."""
    return lambda count: value


def polynomial_schedule(
    init_value: float,
    end_value: float,
    power: float,
    transition_steps: int,
    transition_begin: int = 0,
) -> Schedule:
    """From init_value to end_value as (1 - done)^power falls, in the steps after the begin.

    Raises:
        ShapeError: there is no step for the transition.
    """
    _positive(transition_steps, "transition_steps")

    @evaluable
    def schedule(count: Any) -> Any:
        done = clip(count - transition_begin, 0, transition_steps) / transition_steps
        return (init_value - end_value) * _power(1 - done, power) + end_value

    return schedule


def _power(base: Any, exponent: float) -> Any:
    return base if exponent == 1 else power(base, exponent)


def linear_schedule(
    init_value: float, end_value: float, transition_steps: int, transition_begin: int = 0
) -> Schedule:
    """From init_value to end_value in even steps.

    Raises:
        ShapeError: there is no step for the transition.
    """
    return polynomial_schedule(init_value, end_value, 1, transition_steps, transition_begin)


def piecewise_constant_schedule(
    init_value: float, boundaries_and_scales: Mapping[int, float] | None = None
) -> Schedule:
    """init_value times the scales of all boundaries that lie below the step."""
    scales = dict(boundaries_and_scales or {})

    @evaluable
    def schedule(count: Any) -> Any:
        value: Any = init_value
        for boundary, scale in sorted(scales.items()):
            value = value * where(count > boundary, scale, 1.0)
        return value

    return schedule


def exponential_decay(
    init_value: float,
    transition_steps: int,
    decay_rate: float,
    transition_begin: int = 0,
    staircase: bool = False,
    end_value: float | None = None,
) -> Schedule:
    """init_value * decay_rate^(steps after the begin / transition_steps), down to end_value.

    Args:
        staircase: lower the number once every transition_steps, not at each step.
        end_value: the last number; a rate above 1 goes up to it.

    Raises:
        ShapeError: transition_steps or the rate is not above 0.
    """
    _positive(transition_steps, "transition_steps")
    if decay_rate <= 0:
        raise ShapeError(f"decay_rate must be above 0, got {decay_rate}")
    bound = maximum if decay_rate < 1 else minimum

    @evaluable
    def schedule(count: Any) -> Any:
        after = maximum(count - transition_begin, 0)
        done = after / transition_steps
        value = init_value * power(decay_rate, floor(done) if staircase else done)
        return value if end_value is None else bound(value, end_value)

    return schedule


def cosine_decay_schedule(
    init_value: float, decay_steps: int, alpha: float = 0.0, exponent: float = 1.0
) -> Schedule:
    """From init_value to alpha * init_value as half a cosine falls, to the power of `exponent`.

    Raises:
        ShapeError: decay_steps is not above 0.
    """
    _positive(decay_steps, "decay_steps")

    @evaluable
    def schedule(count: Any) -> Any:
        done = minimum(count, decay_steps) / decay_steps
        wave = _power(0.5 * (1 + FUNCTIONS["cos"](pi * done)), exponent)
        return init_value * ((1 - alpha) * wave + alpha)

    return schedule


def join_schedules(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """One schedule up to each boundary, the last one after it; each counts from its own begin.

    Raises:
        ShapeError: there is not one schedule more than there are boundaries.
    """
    if len(schedules) != len(boundaries) + 1:
        raise ShapeError(
            f"{len(schedules)} schedules have {len(schedules) - 1} boundaries between them, "
            f"got {len(boundaries)}"
        )

    @evaluable
    def schedule(count: Any) -> Any:
        value = schedules[0](count)
        for boundary, following in zip(boundaries, schedules[1:]):
            value = where(count < boundary, value, following(count - boundary))
        return value

    return schedule


def warmup_cosine_decay_schedule(
    init_value: float,
    peak_value: float,
    warmup_steps: int,
    decay_steps: int,
    end_value: float = 0.0,
    exponent: float = 1.0,
) -> Schedule:
    """Even steps up to peak_value, then down to end_value as half a cosine.

    Args:
        decay_steps: how many steps there are in all, those of the warm-up among them.

    Raises:
        ShapeError: a number of steps is not above 0, or the warm-up is longer than the whole.
    """
    alpha = end_value / peak_value if peak_value else 0.0
    return join_schedules(
        [
            linear_schedule(init_value, peak_value, warmup_steps),
            cosine_decay_schedule(peak_value, decay_steps - warmup_steps, alpha, exponent),
        ],
        [warmup_steps],
    )


def value_at(rate: float | Schedule, count: Any) -> Any:
    """The number that a schedule gives at a step; a number itself."""
    return rate(count) if callable(rate) else np.asarray(rate)
