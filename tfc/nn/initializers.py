"""Where parameters begin: functions that make `init(key, shape, dtype)`, by the names of jax.nn.

    kernel = tfc.nn.initializers.he_normal()(key, (784, 128))

They draw what JAX's draw from the same key; `dtype` is float32 unless it is stated.
"""

from collections.abc import Callable, Sequence
from math import prod, sqrt
from typing import Any

import numpy as np

from tfc import random
from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy import creation
from tfc.frontend.numpy.manipulation import moveaxis
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable

Initializer = Callable[..., Any]
Axis = int | Sequence[int]

_WITHIN_TWO = 0.8796256610342398  # the deviation of normal numbers cut off at -2 and 2


def zeros(key: ArrayLike, shape: Sequence[int], dtype: Any = np.float32) -> Tensor:
    """Zeros, whatever the key."""
    return creation.zeros(shape, dtype)


def ones(key: ArrayLike, shape: Sequence[int], dtype: Any = np.float32) -> Tensor:
    """Ones, whatever the key."""
    return creation.ones(shape, dtype)


def constant(value: ArrayLike, dtype: Any = np.float32) -> Initializer:
    """The same value everywhere."""
    given = dtype
    return lambda key, shape, dtype=given: creation.full(shape, value, dtype)


def _scaled(draw: Callable[..., Tensor], scale: float, dtype: Any) -> Initializer:
    """Numbers times a scale in their own dtype."""

    def made(key: ArrayLike, shape: Sequence[int], dtype: Any = dtype) -> Tensor:
        numbers = draw(key, shape, dtype)
        return numbers * ops.full_like(scale, numbers)

    return evaluable(made)


def uniform(scale: float = 0.01, dtype: Any = np.float32) -> Initializer:
    """Numbers evenly in [0, scale)."""
    return _scaled(random.uniform, scale, dtype)


def normal(stddev: float = 0.01, dtype: Any = np.float32) -> Initializer:
    """Normal numbers of a deviation."""
    return _scaled(random.normal, stddev, dtype)


def truncated_normal(
    stddev: float = 0.01, dtype: Any = np.float32, lower: float = -2.0, upper: float = 2.0
) -> Initializer:
    """Normal numbers cut off at `lower` and `upper`, times a factor."""
    return _scaled(_truncated(lower, upper), stddev, dtype)


def _truncated(lower: float, upper: float) -> Callable[..., Tensor]:
    return lambda key, shape, dtype: random.truncated_normal(key, lower, upper, shape, dtype)


def _size(shape: Sequence[int], axis: Axis) -> int:
    return shape[axis] if isinstance(axis, int) else prod(shape[d] for d in axis)


def _fans(shape: Sequence[int], in_axis: Axis, out_axis: Axis, batch_axis: Axis) -> list[float]:
    """How many inputs an output has, and outputs an input.

    Raises:
        ShapeError: a vector has no axis of inputs.
    """
    if len(shape) < 2 and in_axis == -2:
        raise ShapeError(
            f"this initializer requires a shape of 2 dimensions or more, got {list(shape)}; for "
            "others state in_axis and out_axis"
        )
    sizes = [_size(shape, axis) for axis in (in_axis, out_axis)]
    window = prod(shape) / prod(sizes) / _size(shape, batch_axis)
    return [n * window for n in sizes]


def orthogonal(scale: float = 1.0, column_axis: int = -1, dtype: Any = np.float32) -> Initializer:
    """Orthonormal columns, or rows if there are fewer, times a factor.

    Args:
        column_axis: the axis of columns; all others together are that of rows.

    Raises:
        ShapeError (when called): the shape has fewer than 2 dimensions.
    """

    def made(key: ArrayLike, shape: Sequence[int], dtype: Any = dtype) -> Tensor:
        if len(shape) < 2:
            raise ShapeError(f"orthogonal requires 2 dimensions or more, got {list(shape)}")
        place = column_axis % len(shape)
        rest = [n for d, n in enumerate(shape) if d != place]
        matrix = random.orthogonal(key, prod(rest), (), dtype, shape[place])
        moved = moveaxis(ops.reshape(matrix, (*rest, shape[place])), -1, place)
        return moved * ops.full_like(scale, moved)

    return evaluable(made)


_MODES: dict[str, Callable[[float, float], float]] = {
    "fan_in": lambda inputs, outputs: inputs,
    "fan_out": lambda inputs, outputs: outputs,
    "fan_avg": lambda inputs, outputs: (inputs + outputs) / 2,
    "fan_geo_avg": lambda inputs, outputs: sqrt(inputs * outputs),
}


def variance_scaling(
    scale: float,
    mode: str,
    distribution: str,
    in_axis: Axis = -2,
    out_axis: Axis = -1,
    batch_axis: Axis = (),
    dtype: Any = np.float32,
) -> Initializer:
    """Numbers of the variance scale / fan, so that it stays from layer to layer.

    Args:
        mode: which fan: "fan_in", "fan_out", or of both "fan_avg" or "fan_geo_avg".
        distribution: "normal", "truncated_normal" or "uniform".
        in_axis, out_axis, batch_axis: the axes of inputs, of outputs, and of layers; others are
            those of a window.

    Raises:
        ShapeError: the mode or the distribution is another; when called, the shape has not these
            axes.
    """
    draws: dict[str, tuple[Callable[..., Tensor], float]] = {
        "normal": (random.normal, 1.0),
        "truncated_normal": (_truncated(-2, 2), 1 / _WITHIN_TWO),
        "uniform": (lambda key, dims, dtype: random.uniform(key, dims, dtype, -1.0), sqrt(3)),
    }
    for value, known in ((mode, _MODES), (distribution, draws)):
        if value not in known:
            raise ShapeError(f"variance_scaling requires one of {', '.join(known)}, got {value!r}")
    draw, factor = draws[distribution]

    def made(key: ArrayLike, shape: Sequence[int], dtype: Any = dtype) -> Tensor:
        fan = _MODES[mode](*_fans(shape, in_axis, out_axis, batch_axis))
        numbers = draw(key, shape, dtype)
        return numbers * ops.full_like(sqrt(scale / fan) * factor, numbers)

    return evaluable(made)


def _named(
    name: str, scale: float, mode: str, distribution: str, doc: str
) -> Callable[..., Initializer]:
    def function(
        in_axis: Axis = -2, out_axis: Axis = -1, batch_axis: Axis = (), dtype: Any = np.float32
    ) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}; the axes are those of `variance_scaling`."
    return function


# fmt: off
glorot_uniform = _named("glorot_uniform", 1.0, "fan_avg", "uniform",
                        "Even numbers of the variance 2 / (inputs + outputs)")
glorot_normal = _named("glorot_normal", 1.0, "fan_avg", "truncated_normal",
                       "Cut-off normal numbers of the variance 2 / (inputs + outputs)")
lecun_uniform = _named("lecun_uniform", 1.0, "fan_in", "uniform",
                       "Even numbers of the variance 1 / inputs")
lecun_normal = _named("lecun_normal", 1.0, "fan_in", "truncated_normal",
                      "Cut-off normal numbers of the variance 1 / inputs")
he_uniform = _named("he_uniform", 2.0, "fan_in", "uniform",
                    "Even numbers of the variance 2 / inputs")
he_normal = _named("he_normal", 2.0, "fan_in", "truncated_normal",
                   "Cut-off normal numbers of the variance 2 / inputs")
# fmt: on
xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal
