"""Learning rates that change with the steps: each is a scalar of the graph."""

import math
from collections.abc import Sequence
from typing import Any

from tfc.errors import ShapeError
from tfc.graph.building import result
from tfc.graph.constants import convert_to_tensor
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Tensor
from tfc.graph.training.optimizer import number_of


def exponential_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """learning_rate * decay_rate ^ (global_step / decay_steps); whole powers for a staircase."""
    with get_default_graph().name_scope(name or "ExponentialDecay"):
        rate, power = _rate_and_share(learning_rate, global_step, decay_steps, staircase)
        return result("Mul", rate, result("Pow", number_of(decay_rate, rate.dtype), power))


def natural_exp_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """learning_rate * exp(-decay_rate * global_step / decay_steps)."""
    with get_default_graph().name_scope(name or "NaturalExpDecay"):
        rate, power = _rate_and_share(learning_rate, global_step, decay_steps, staircase)
        exponent = result("Neg", result("Mul", number_of(decay_rate, rate.dtype), power))
        return result("Mul", rate, result("Exp", exponent))


def inverse_time_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """learning_rate / (1 + decay_rate * global_step / decay_steps)."""
    with get_default_graph().name_scope(name or "InverseTimeDecay"):
        rate, share = _rate_and_share(learning_rate, global_step, decay_steps, staircase)
        grown = result("Mul", number_of(decay_rate, rate.dtype), share)
        return result("RealDiv", rate, result("AddV2", number_of(1, rate.dtype), grown))


def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Tensor:
    """From one rate to another by a power of the steps left; `cycle` begins anew, longer, then."""
    with get_default_graph().name_scope(name or "PolynomialDecay"):
        rate = convert_to_tensor(learning_rate)
        step, steps = number_of(global_step, rate.dtype), number_of(decay_steps, rate.dtype)
        end = number_of(end_learning_rate, rate.dtype)
        if cycle:
            rounds = result("Ceil", result("RealDiv", step, steps))
            steps = result("Mul", steps, result("Maximum", rounds, number_of(1, rate.dtype)))
        else:
            step = result("Minimum", step, steps)
        left = result("Sub", number_of(1, rate.dtype), result("RealDiv", step, steps))
        share = result("Pow", left, number_of(power, rate.dtype))
        return result("AddV2", result("Mul", result("Sub", rate, end), share), end)


def cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    alpha: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Down half a cosine's wave, to `alpha` times the rate."""
    with get_default_graph().name_scope(name or "CosineDecay"):
        rate = convert_to_tensor(learning_rate)
        steps = number_of(decay_steps, rate.dtype)
        step = result("Minimum", number_of(global_step, rate.dtype), steps)
        angle = result("Mul", number_of(math.pi, rate.dtype), result("RealDiv", step, steps))
        wave = result("AddV2", number_of(1, rate.dtype), result("Cos", angle))
        decayed = result("Mul", number_of((1 - alpha) / 2, rate.dtype), wave)
        return result("Mul", rate, result("AddV2", decayed, number_of(alpha, rate.dtype)))


def piecewise_constant(
    x: Any, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None
) -> Tensor:
    """The first value up to the first boundary, which belongs to it, and so on.

    Raises:
        ValueError: there is not one value more than boundaries.
    """
    if len(values) != len(boundaries) + 1:
        raise ShapeError("The length of boundaries should be 1 less than the length of values")
    with get_default_graph().name_scope(name or "PiecewiseConstant"):
        step = convert_to_tensor(x)
        found = convert_to_tensor(values[-1])
        for boundary, value in zip(reversed(boundaries), reversed(values[:-1])):
            within = result("LessEqual", step, number_of(boundary, step.dtype))
            found = result("SelectV2", within, number_of(value, found.dtype), found)
        return found


def _rate_and_share(
    learning_rate: Any, global_step: Any, decay_steps: Any, staircase: bool
) -> tuple[Tensor, Tensor]:
    """The rate, and global_step / decay_steps.

    Raises:
        ValueError: there is no step.
    """
    if global_step is None:
        raise ShapeError("global_step is required for a rate that changes with it.")
    rate = convert_to_tensor(learning_rate)
    steps = number_of(decay_steps, rate.dtype)
    share = result("RealDiv", number_of(global_step, rate.dtype), steps)
    return rate, result("Floor", share) if staircase else share
