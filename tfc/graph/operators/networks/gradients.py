"""Operators that compute the gradients of layers, for training programs that state them."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from tfc import numpy as tnp
from tfc.errors import ShapeError
from tfc.graph.operators.differentiation import pulled_back
from tfc.graph.operators.inference import same
from tfc.graph.operators.networks.convolutions import padding_of, spatial
from tfc.graph.operators.networks.images import resize_bilinear, resize_nearest
from tfc.graph.operators.networks.layers import attribute_number, beside_channels, sum_around
from tfc.graph.operators.networks.pooling import max_gradient, max_pool, padded_for
from tfc.graph.operators.partial_values import partial_shape
from tfc.graph.operators.registry import Attributes, Spec, known_numbers, operator
from tfc.graph.types.shapes import TensorShape


@operator("FusedBatchNormGrad", types="T")
@operator("FusedBatchNormGradV2", types="T T - U")
def batch_norm_gradient(
    y_backprop: Any,
    x: Any,
    scale: Any,
    reserve_space_1: Any,
    reserve_space_2: Any,
    epsilon: float = 1e-4,
    data_format: str = "NHWC",
    is_training: bool = True,
) -> Any:
    """(the gradients by x, scale and offset, and two empty arrays).

    The reserve spaces are the mean and the variance that the normalization was by.
    """
    shape = beside_channels(data_format, x.ndim)
    axes = tuple(n for n, size in enumerate(shape) if size == 1)
    wide, arrived = (tnp.astype(v, scale.dtype) for v in (x, y_backprop))
    apart = wide - tnp.reshape(reserve_space_1, shape)
    inverse = tnp.rsqrt(reserve_space_2 + attribute_number(epsilon, scale))
    by_offset = tnp.sum(arrived, axis=axes)
    by_scale = tnp.sum(arrived * apart, axis=axes) * inverse
    made = arrived
    if is_training:
        count = np.asarray(np.prod([x.shape[n] for n in axes]), scale.dtype)
        made = made - tnp.reshape(by_offset / count, shape)
        made = made - apart * tnp.reshape(inverse * by_scale / count, shape)
    made = made * tnp.reshape(scale * inverse, shape)
    empty = np.zeros(0, scale.dtype)
    return tnp.astype(made, x.dtype), by_scale, by_offset, empty, empty


@operator("FusedBatchNormGradV3", types="T T - U")
def batch_norm_gradient_of_three(
    y_backprop: Any,
    x: Any,
    scale: Any,
    reserve_space_1: Any,
    reserve_space_2: Any,
    reserve_space_3: Any,
    epsilon: float = 1e-4,
    data_format: str = "NHWC",
    is_training: bool = True,
) -> Any:
    """The same; the third reserve space is for other devices."""
    given = y_backprop, x, scale, reserve_space_1, reserve_space_2
    return batch_norm_gradient(*given, epsilon, data_format, is_training)


@operator("LRNGrad", infer=same)
def local_response_gradient(
    input_grads: Any,
    input_image: Any,
    output_image: Any,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
) -> Any:
    """The gradients by what local response normalization was given, of what it gave."""
    bias_, alpha_, beta_ = (attribute_number(n, input_image) for n in (bias, alpha, beta))
    scale = bias_ + alpha_ * sum_around(input_image * input_image, depth_radius)
    own = input_grads * tnp.power(scale, -beta_)
    shared = sum_around(input_grads * output_image / scale, depth_radius)
    return own - 2 * alpha_ * beta_ * input_image * shared


def _with_windows_as_inputs(gradient: Callable[..., Any]) -> Callable[..., Any]:
    """A gradient of MaxPool that takes windows and strides as inputs."""

    def row(
        orig_input: Any,
        orig_output: Any,
        grad: Any,
        ksize: Any,
        strides: Any,
        *,
        padding: str,
        data_format: str = "NHWC",
    ) -> Any:
        sizes, steps = (known_numbers(x, "the windows of a pooling") for x in (ksize, strides))
        more = {"ksize": sizes, "strides": steps, "padding": padding, "data_format": data_format}
        return gradient(orig_input, orig_output, grad, **more)

    return row


operator("MaxPoolGradV2", types="T T T - -", known=(3, 4), infer=same)(
    _with_windows_as_inputs(max_gradient(max_pool))
)


def _like_output(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(inputs[1].dtype, inputs[1].shape)]


def _seen(x: Any, window: Sequence[int], steps: Sequence[int], padding: str, filling: Any) -> Any:
    """What windows see of an array [batch, …, channels], their places along a new first axis."""
    plans = [padded_for(n, k, s, padding) for n, k, s in zip(x.shape[1:-1], window, steps)]
    widths = [(0, 0), *((low, high) for _, low, high in plans), (0, 0)]
    padded = tnp.pad(x, widths, constant_values=filling)
    parts = []
    for place in product(*map(range, window)):
        taken = [
            slice(begin, begin + (count - 1) * step + 1, step)
            for begin, (count, _, _), step in zip(place, plans, steps)
        ]
        parts.append(padded[(slice(None), *taken)])
    return tnp.stack(parts)


def _second_gradient(rank: int, default: str) -> Callable[..., Any]:
    def row(
        orig_input: Any,
        orig_output: Any,
        grad: Any,
        *,
        ksize: Sequence[int],
        strides: Sequence[int],
        padding: str,
        data_format: str = default,
    ) -> Any:
        if padding_of(padding, (), data_format, rank) != padding:
            raise ShapeError("the second gradient of a pooling takes padding SAME or VALID")
        window, steps = (spatial(n, data_format, rank) for n in (ksize, strides))
        first = data_format.startswith("NC")
        x, g = (tnp.moveaxis(v, 1, -1) if first else v for v in (orig_input, grad))
        seen = _seen(x, window, steps, padding, np.asarray(-np.inf, x.dtype))
        place = tnp.argmax(seen, axis=0)
        gradients = _seen(g, window, steps, padding, np.zeros((), g.dtype))
        made = tnp.take_along_axis(gradients, tnp.expand_dims(place, 0), axis=0)[0]
        return tnp.moveaxis(made, -1, 1) if first else made

    return row


operator("MaxPoolGradGrad", infer=_like_output)(_second_gradient(2, "NHWC"))
operator("MaxPool3DGradGrad", infer=_like_output)(_second_gradient(3, "NDHWC"))


operator("MaxPoolGradGradV2", types="T T T - -", known=(3, 4), infer=_like_output)(
    _with_windows_as_inputs(_second_gradient(2, "NHWC"))
)


def _like_image(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(inputs[1].dtype, inputs[1].shape)]


@operator("ResizeBilinearGrad", types="- T", infer=_like_image)
def resize_bilinear_gradient(
    grads: Any,
    original_image: Any,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
) -> Any:
    """The gradients by the image that was resized."""
    size = np.asarray(grads.shape[1:3])
    zeros = tnp.zeros(original_image.shape, grads.dtype)

    def resized(image: Any) -> Any:
        return resize_bilinear(image, size, align_corners, half_pixel_centers)

    return tnp.astype(pulled_back(resized, zeros, grads), original_image.dtype)


def _of_size(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    grads = inputs[0].shape.with_rank(4)
    size = partial_shape(inputs[1]).with_rank(2)
    shape: TensorShape = grads[:1].concatenate(size).concatenate(grads[3:])
    return [(inputs[0].dtype, shape)]


@operator("ResizeNearestNeighborGrad", types="T -", known=(1,), infer=_of_size)
def resize_nearest_gradient(
    grads: Any, size: Any, align_corners: bool = False, half_pixel_centers: bool = False
) -> Any:
    """The gradients by the image that was resized, which was of this size."""
    height, width = known_numbers(size, "the size of an image")
    zeros = tnp.zeros((grads.shape[0], height, width, grads.shape[3]), grads.dtype)
    wanted = np.asarray(grads.shape[1:3])

    def resized(image: Any) -> Any:
        return resize_nearest(image, wanted, align_corners, half_pixel_centers)

    return pulled_back(resized, zeros, grads)
