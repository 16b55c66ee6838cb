"""Normalization: by the moments of a batch, of a layer, of groups of channels.

Halves are computed in float32, and the result has the dtype of the array.
"""

from functools import partial
from typing import Any

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.differentiation.custom.jvp import custom_jvp
from tfc.frontend.numpy.arithmetic import square
from tfc.frontend.numpy.functions import as_float, sqrt
from tfc.frontend.numpy.manipulation import Axes, normalize_axes
from tfc.frontend.numpy.parts import require_real
from tfc.frontend.numpy.reductions import mean
from tfc.frontend.numpy.window_arguments import data_format_of
from tfc.frontend.promotion import as_tensor, cast, widen
from tfc.frontend.python_numbers import real_number, whole
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable


@evaluable
def batch_norm_training(
    x: ArrayLike,
    scale: ArrayLike,
    offset: ArrayLike,
    epsilon: float = 1e-5,
    data_format: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """(normalized, mean, variance): x less its mean over its deviation, scaled and shifted.

    Each channel has moments, a scale and an offset of its own; the variance is that of the batch,
    divided by its size.

    Args:
        data_format: which dimension has the channels: NC, NWC, NHWC …, the last one; NCHW … the
            second.

    Raises:
        ShapeError: scale or offset is not a vector with an element for each channel.
    """
    operands = [as_float(v) for v in (x, scale, offset)]
    feature = _feature("batch_norm_training", data_format, *operands)
    made = ops.operation(
        "batch-norm-training",
        *operands,
        epsilon=real_number(epsilon, "epsilon"),
        feature_index=feature,
    )
    normalized, mean, variance = ops.elements(made)
    return normalized, mean, variance


@evaluable
def batch_norm_inference(
    x: ArrayLike,
    scale: ArrayLike,
    offset: ArrayLike,
    mean: ArrayLike,
    variance: ArrayLike,
    epsilon: float = 1e-5,
    data_format: str | None = None,
) -> Tensor:
    """scale * (x - mean) / sqrt(variance + epsilon) + offset for the moments given.

    Args:
        data_format: as in `batch_norm_training`.

    Raises:
        ShapeError: one of the vectors has not an element for each channel.
    """
    operands = [as_float(v) for v in (x, scale, offset, mean, variance)]
    feature = _feature("batch_norm_inference", data_format, *operands)
    return ops.operation(
        "batch-norm-inference",
        *operands,
        epsilon=real_number(epsilon, "epsilon"),
        feature_index=feature,
    )


def _feature(function: str, data_format: str | None, x: Tensor, *vectors: Tensor) -> int:
    """The dimension of the channels, for each of which every vector must have an element."""
    named, (_, feature, *_) = data_format_of(function, data_format, x)
    for vector in vectors:
        if vector.shape != (x.shape[feature],):
            got = vector.array_shape.without_layout()
            raise ShapeError(
                f"{function} requires vectors of {x.shape[feature]} elements for the channels of "
                f"{x.array_shape.without_layout()} ({named}), got {got}"
            )
    return feature


def _scaled(x: Tensor, scale: ArrayLike | None, offset: ArrayLike | None) -> Tensor:
    """x * scale + offset; of None, what changes nothing."""
    x = x if scale is None else x * cast(as_tensor(scale), x.dtype)
    return x if offset is None else x + cast(as_tensor(offset), x.dtype)


def _wide(name: str, x: ArrayLike) -> tuple[Tensor, Any]:
    """The array in the type that it is normalized in, and its own dtype."""
    tensor = as_float(x)
    require_real(name, tensor)
    return widen(tensor), tensor.dtype


@partial(custom_jvp, nondiff_argnums=(1, 2))
def _standardized(x: Tensor, dimensions: tuple[int, ...], epsilon: float) -> Tensor:
    """x less its mean over its deviation.

    Its derivative is stated, since a derivative of the two moments one after the other does not
    know that what is less its mean has no mean: that of an array that waits for its own sum.
    """
    normal, _ = _with_deviation(x, dimensions, epsilon)
    return normal


@_standardized.defjvp
def _tangent(
    dimensions: tuple[int, ...], epsilon: float, primals: tuple[Tensor], tangents: tuple[Tensor]
) -> tuple[Tensor, Tensor]:
    normal, deviation = _with_deviation(primals[0], dimensions, epsilon)
    (t,) = tangents
    along = mean(normal * t, dimensions, keepdims=True)
    return normal, (t - mean(t, dimensions, keepdims=True) - normal * along) / deviation


def _with_deviation(
    x: Tensor, dimensions: tuple[int, ...], epsilon: float
) -> tuple[Tensor, Tensor]:
    centred = x - mean(x, dimensions, keepdims=True)
    deviation = sqrt(mean(square(centred), dimensions, keepdims=True) + epsilon)
    return centred / deviation, deviation


@evaluable
def layer_norm(
    x: ArrayLike,
    scale: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    axis: Axes = -1,
    epsilon: float = 1e-5,
) -> Tensor:
    """x less its mean along the axes over its deviation there, scaled and shifted.

    Args:
        scale, offset: arrays that broadcast with x; left out, they change nothing.
    """
    tensor, dtype = _wide("layer_norm", x)
    along = normalize_axes(axis, tensor.ndim)
    normal = _standardized(tensor, along, real_number(epsilon, "epsilon"))
    return cast(_scaled(normal, scale, offset), dtype)


@evaluable
def rms_norm(
    x: ArrayLike, scale: ArrayLike | None = None, axis: Axes = -1, epsilon: float = 1e-6
) -> Tensor:
    """x over the root of the mean of its squares along the axes, scaled."""
    tensor, dtype = _wide("rms_norm", x)
    power = mean(square(tensor), normalize_axes(axis, tensor.ndim), keepdims=True)
    return cast(_scaled(tensor / sqrt(power + real_number(epsilon, "epsilon")), scale, None), dtype)


@evaluable
def group_norm(
    x: ArrayLike,
    groups: int,
    scale: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    epsilon: float = 1e-5,
    data_format: str | None = None,
) -> Tensor:
    """x normalized, for each element of the batch, over all places and one group of channels.

    Args:
        groups: how many groups the channels are cut into.
        scale, offset: vectors with an element for each channel.
        data_format: as in `batch_norm_training`.

    Raises:
        ShapeError: the channels are no multiple of the groups, or a vector does not fit.
    """
    tensor, dtype = _wide("group_norm", x)
    vectors = [as_tensor(v) for v in (scale, offset) if v is not None]
    feature = _feature("group_norm", data_format, tensor, *vectors)
    count, channels = whole(groups, "a number of groups"), tensor.shape[feature]
    if count < 1 or channels % count:
        raise ShapeError(f"group_norm requires channels in equal groups, got {channels} in {count}")
    kind = tensor.array_shape.element_type
    sides = (ops.full(default, (channels,), kind) if v is None else cast(as_tensor(v), tensor.dtype)
             for v, default in ((scale, 1), (offset, 0)))  # fmt: skip
    added = real_number(epsilon, "epsilon")
    return cast(_scaled_groups(tensor, *sides, count, feature, added), dtype)


@partial(custom_jvp, nondiff_argnums=(3, 4, 5))
def _scaled_groups(
    x: Tensor, scale: Tensor, offset: Tensor, count: int, feature: int, epsilon: float
) -> Tensor:
    """x normalized over places and groups of channels, by vectors scaled and shifted.

    Its derivative is stated, so that what a gradient sums over places is two numbers of each
    channel, of which all else is made: those of the groups, of the scale and of the offset.
    """
    return _Groups(x, count, feature).normalized(x, epsilon, scale, offset)[0]


@_scaled_groups.defjvp
def _tangent_of_groups(
    count: int, feature: int, epsilon: float,
    primals: tuple[Tensor, ...], tangents: tuple[Tensor, ...],
) -> tuple[Tensor, Tensor]:  # fmt: skip
    (x, scale, offset), (t, of_scale, of_offset) = primals, tangents
    groups = _Groups(x, count, feature)
    result, normal, deviation = groups.normalized(x, epsilon, scale, offset)
    slope = groups.of_images(scale) / deviation
    by_normal = groups.of_images(of_scale) - slope * groups.mean_of_channels(normal * t)
    constant = groups.of_images(of_offset) - slope * groups.mean_of_channels(t)
    return result, groups.whole(slope) * t + normal * groups.whole(by_normal) + groups.whole(
        constant
    )


class _Groups:
    """Numbers of each image and channel, the same ones in a group of channels."""

    def __init__(self, x: Tensor, count: int, feature: int):
        self.dims, self.count, self.feature = x.shape, count, feature
        self.each = (x.shape[0], x.shape[feature])
        self.split = (x.shape[0], count, x.shape[feature] // count)

    def whole(self, numbers: Tensor) -> Tensor:
        """Repeated for each place."""
        return ops.broadcast(numbers, self.dims, [0, self.feature])

    def of_images(self, vector: Tensor) -> Tensor:
        """A number of each channel, repeated for each image."""
        return ops.broadcast(vector, self.each, [1])

    def mean(self, x: Tensor) -> Tensor:
        """The means over places and each group."""
        split = (*self.dims[: self.feature], *self.split[1:], *self.dims[self.feature + 1 :])
        others = tuple(d for d in range(1, len(split)) if d != self.feature)
        return self._of_channels(mean(ops.reshape(x, split), others))

    def mean_of_channels(self, x: Tensor) -> Tensor:
        """The same by way of those of channels: what this transposes to begins with their sums."""
        places = tuple(d for d in range(1, len(self.dims)) if d != self.feature)
        found = mean(x, places) if places else x
        return self._of_channels(mean(ops.reshape(found, self.split), 2))

    def _of_channels(self, numbers: Tensor) -> Tensor:
        return ops.reshape(ops.broadcast(numbers, self.split, [0, 1]), self.each)

    def normalized(
        self, x: Tensor, epsilon: float, scale: Tensor, offset: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """(what is scaled and shifted, what is only normalized, the deviations)."""
        centred = x - self.whole(self.mean(x))
        deviation = sqrt(self.mean(square(centred)) + epsilon)
        normal = centred / self.whole(deviation)
        sides = (ops.broadcast(v, self.dims, [self.feature]) for v in (scale, offset))
        return normal * next(sides) + next(sides), normal, deviation


@evaluable
def instance_norm(
    x: ArrayLike,
    scale: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    epsilon: float = 1e-5,
    data_format: str | None = None,
) -> Tensor:
    """x normalized over all places, for each element of the batch and each channel by itself.

    The arguments are those of `group_norm`.
    """
    tensor = as_tensor(x)
    _, (_, feature, *_) = data_format_of("instance_norm", data_format, tensor)
    return group_norm(tensor, tensor.shape[feature], scale, offset, epsilon, data_format)
