"""Optimizers by name: chains of the parts in `scaling`.

A learning rate is a number, or a schedule: a function of the number of steps done.
"""

from tfc.optim.scaling import (
    Mask,
    add_decayed_weights,
    follow_the_leader,
    scale_by_adadelta,
    scale_by_adam,
    scale_by_adamax,
    scale_by_learning_rate,
    scale_by_lion,
    scale_by_rms,
    scale_by_rss,
    scale_by_stddev,
    scale_by_trust_ratio,
    trace,
)
from tfc.optim.transformation import GradientTransformation, Schedule, chain

Rate = float | Schedule


def sgd(
    learning_rate: Rate, momentum: float | None = None, nesterov: bool = False
) -> GradientTransformation:
    """Gradient descent; with momentum, along the decaying sum of gradients."""
    downhill = scale_by_learning_rate(learning_rate)
    return downhill if momentum is None else chain(trace(momentum, nesterov), downhill)


def adam(
    learning_rate: Rate,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    eps_root: float = 0.0,
    *,
    nesterov: bool = False,
) -> GradientTransformation:
    """Adam; the arguments are those of `scale_by_adam`."""
    scaled = scale_by_adam(b1, b2, eps, eps_root, nesterov=nesterov)
    return chain(scaled, scale_by_learning_rate(learning_rate))


def nadam(
    learning_rate: Rate, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8
) -> GradientTransformation:
    """Adam that looks one step ahead."""
    return adam(learning_rate, b1, b2, eps, nesterov=True)


def adamax(
    learning_rate: Rate, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8
) -> GradientTransformation:
    """Adam with the largest gradient in place of the mean of squares."""
    return chain(scale_by_adamax(b1, b2, eps), scale_by_learning_rate(learning_rate))


def adamw(
    learning_rate: Rate,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    eps_root: float = 0.0,
    weight_decay: float = 1e-4,
    mask: Mask | None = None,
    *,
    nesterov: bool = False,
) -> GradientTransformation:
    """Adam with a decay of the weights that does not go through its scaling.

    Args:
        mask: which parameters decay, as in `masked`; all if it is left out.
    """
    return chain(
        scale_by_adam(b1, b2, eps, eps_root, nesterov=nesterov),
        add_decayed_weights(weight_decay, mask),
        scale_by_learning_rate(learning_rate),
    )


def adagrad(
    learning_rate: Rate, initial_accumulator_value: float = 0.1, eps: float = 1e-7
) -> GradientTransformation:
    """Gradients over the root of the sum of their squares."""
    scaled = scale_by_rss(initial_accumulator_value, eps)
    return chain(scaled, scale_by_learning_rate(learning_rate))


def adadelta(
    learning_rate: Rate = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0.0
) -> GradientTransformation:
    """Gradients scaled by the ratio of the lengths of updates and of gradients."""
    return chain(
        add_decayed_weights(weight_decay),
        scale_by_adadelta(rho, eps),
        scale_by_learning_rate(learning_rate),
    )


def rmsprop(
    learning_rate: Rate,
    decay: float = 0.9,
    eps: float = 1e-8,
    initial_scale: float = 0.0,
    eps_in_sqrt: bool = True,
    centered: bool = False,
    momentum: float | None = None,
    nesterov: bool = False,
) -> GradientTransformation:
    """Gradients over the root of the running mean of their squares.

    Args:
        centered: take the squares of the distance from the running mean.
        momentum: that of the scaled gradients, after the learning rate.
    """
    by = scale_by_stddev if centered else scale_by_rms
    parts = [by(decay, eps, initial_scale, eps_in_sqrt), scale_by_learning_rate(learning_rate)]
    return chain(*parts, *([] if momentum is None else [trace(momentum, nesterov)]))


def ftrl(
    learning_rate: Rate,
    learning_rate_power: float = -0.5,
    initial_accumulator_value: float = 0.1,
    l1_regularization_strength: float = 0.0,
    l2_regularization_strength: float = 0.0,
) -> GradientTransformation:
    """Follow the regularized leader, whose first penalty makes parameters exactly 0.

    `update` requires the parameters. The steps are TensorFlow's Ftrl's.
    """
    return follow_the_leader(
        learning_rate, learning_rate_power, initial_accumulator_value,
        l1_regularization_strength, l2_regularization_strength,
    )  # fmt: skip


def lion(
    learning_rate: Rate,
    b1: float = 0.9,
    b2: float = 0.99,
    weight_decay: float = 1e-3,
    mask: Mask | None = None,
) -> GradientTransformation:
    """Steps of one length in each element, by the sign of a mean of gradients."""
    return chain(
        scale_by_lion(b1, b2),
        add_decayed_weights(weight_decay, mask),
        scale_by_learning_rate(learning_rate),
    )


def lamb(
    learning_rate: Rate,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-6,
    eps_root: float = 0.0,
    weight_decay: float = 0.0,
    mask: Mask | None = None,
) -> GradientTransformation:
    """AdamW whose update of each leaf is as long as the leaf."""
    return chain(
        scale_by_adam(b1, b2, eps, eps_root),
        add_decayed_weights(weight_decay, mask),
        scale_by_trust_ratio(),
        scale_by_learning_rate(learning_rate),
    )
