"""Optimizers as pure functions over nested structures, in the style of Optax.

    optimizer = tfc.optim.chain(tfc.optim.clip_by_global_norm(1.0), tfc.optim.adam(1e-3))
    state = optimizer.init(parameters)
    updates, state = optimizer.update(gradients, state, parameters)
    parameters = tfc.optim.apply_updates(parameters, updates)

An optimizer is a pair of functions; what it remembers is a nested structure of arrays, which goes
through `tfc.jit` and loops as parameters do. May import `tfc.frontend`.
"""

from tfc.optim.clipping import clip, clip_by_global_norm, global_norm, zero_nans
from tfc.optim.optimizers import (
    adadelta,
    adagrad,
    adam,
    adamax,
    adamw,
    ftrl,
    lamb,
    lion,
    nadam,
    rmsprop,
    sgd,
)
from tfc.optim.scaling import (
    add_decayed_weights,
    scale,
    scale_by_adadelta,
    scale_by_adam,
    scale_by_adamax,
    scale_by_learning_rate,
    scale_by_lion,
    scale_by_rms,
    scale_by_rss,
    scale_by_schedule,
    scale_by_stddev,
    scale_by_trust_ratio,
    trace,
)
from tfc.optim.schedules import (
    constant_schedule,
    cosine_decay_schedule,
    exponential_decay,
    join_schedules,
    linear_schedule,
    piecewise_constant_schedule,
    polynomial_schedule,
    warmup_cosine_decay_schedule,
)
from tfc.optim.transformation import (
    EmptyState,
    GradientTransformation,
    Schedule,
    apply_updates,
    chain,
    identity,
    masked,
    set_to_zero,
)

__all__ = [
    "EmptyState",
    "GradientTransformation",
    "Schedule",
    "adadelta",
    "adagrad",
    "adam",
    "adamax",
    "adamw",
    "add_decayed_weights",
    "apply_updates",
    "chain",
    "clip",
    "clip_by_global_norm",
    "constant_schedule",
    "cosine_decay_schedule",
    "exponential_decay",
    "ftrl",
    "global_norm",
    "identity",
    "join_schedules",
    "lamb",
    "linear_schedule",
    "lion",
    "masked",
    "nadam",
    "piecewise_constant_schedule",
    "polynomial_schedule",
    "rmsprop",
    "scale",
    "scale_by_adadelta",
    "scale_by_adam",
    "scale_by_adamax",
    "scale_by_learning_rate",
    "scale_by_lion",
    "scale_by_rms",
    "scale_by_rss",
    "scale_by_schedule",
    "scale_by_stddev",
    "scale_by_trust_ratio",
    "set_to_zero",
    "sgd",
    "trace",
    "warmup_cosine_decay_schedule",
    "zero_nans",
]
