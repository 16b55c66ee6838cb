"""Operators that draw some of many classes, for losses that leave the others out."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfc import numpy as tnp
from tfc import random
from tfc.errors import ShapeError
from tfc.frontend.control.loops import while_loop
from tfc.graph.operators.registry import Attributes, Spec, operator
from tfc.graph.types.dtypes import float32, int64
from tfc.graph.types.shapes import TensorShape


def _drawn(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    count, classes = int(attributes["num_sampled"]), int(attributes["range_max"])
    if count < 1 or classes < 1:
        raise ShapeError(f"cannot draw {count} of {classes} classes")
    if attributes["unique"] and count > classes:
        raise ShapeError(f"Sampler's range is too small: {count} unique classes of {classes}")
    many = TensorShape([count])
    return [(int64, many), (float32, inputs[0].shape), (float32, many)]


@operator("LogUniformCandidateSampler", infer=_drawn, effect="read")
def log_uniform(
    true_classes: Any,
    *,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int = 0,
    seed2: int = 0,
    context: Any,
) -> list[Any]:
    """(classes, how often to expect the true ones, and these): P(k) is log(1 + 1 / (k + 1))."""
    width = np.log1p(np.float64(range_max))

    def draw(key: Any, shape: tuple[int, ...]) -> Any:
        places = random.uniform(key, shape, np.float64) * width
        # The largest double below 1 may round to one class too many.
        return tnp.minimum(tnp.astype(tnp.exp(places), np.int64) - 1, np.int64(range_max - 1))

    def chance(classes: Any) -> Any:
        return tnp.log1p(1.0 / (tnp.astype(classes, np.float64) + 1.0)) / width

    found, tries = _sampled(context.key(seed, seed2), draw, num_sampled, unique)
    counts = [_expected(chance(x), tries, unique) for x in (true_classes, found)]
    return [found, *(tnp.astype(x, np.float32) for x in counts)]


def _sampled(
    key: Any, draw: Callable[[Any, tuple[int, ...]], Any], count: int, unique: bool
) -> tuple[Any, Any]:
    """Classes, and how many were drawn for them: unique ones are drawn until there are enough."""
    if not unique:
        return draw(key, (count,)), np.int64(count)

    def step(state: Any) -> Any:
        found, filled, tries = state
        new = draw(random.fold_in(key, tries), ())
        is_new = tnp.logical_not(tnp.any(found == new))
        here = tnp.logical_and(is_new, np.arange(count, dtype=np.int32) == filled)
        return tnp.where(here, new, found), filled + tnp.astype(is_new, np.int32), tries + 1

    begun = np.full(count, -1, np.int64), np.int32(0), np.uint32(0)
    found, _, tries = while_loop(lambda state: state[1] < np.int32(count), step, begun)
    return found, tries


def _expected(chance: Any, tries: Any, unique: bool) -> Any:
    """How often a class of a chance is among what was drawn."""
    many = tnp.astype(tries, np.float64)
    return -tnp.expm1(many * tnp.log1p(-chance)) if unique else chance * many
