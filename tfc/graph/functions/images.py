"""`tf.image`: images of other sizes, cut, turned, of other colours; floats from 0 to 1."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.graph.building import int32s, result
from tfc.graph.constants import convert_to_tensor
from tfc.graph.functions.arithmetic import add, cast, maximum, multiply, realdiv, subtract
from tfc.graph.functions.creation import shape_tensor
from tfc.graph.functions.random import random_uniform
from tfc.graph.functions.reductions import reduce_mean, reduce_sum
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Tensor
from tfc.graph.types.dtypes import as_dtype, float32

BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA = range(4)
_METHODS = ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea")


def _size(x: Tensor) -> tuple[int, int]:
    """The height and width of an image, or of images.

    Raises:
        ShapeError: they are not known.
    """
    height, width = x.shape[-3:-1].known()
    return height, width


class ResizeMethod:
    """How pixels of other sizes are computed."""

    BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA = BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA


def _resize(type: str, images: Any, size: Any, align_corners: bool, name: str | None) -> Tensor:
    more = {"align_corners": align_corners}
    return result(type, images, shape_tensor(size, "size"), name=name, **more)


def _resizing(type: str) -> Callable[..., Tensor]:
    def function(
        images: Any, size: Any, align_corners: bool = False, name: str | None = None
    ) -> Tensor:
        return _resize(type, images, size, align_corners, name)

    function.__name__ = type.lower()
    function.__doc__ = f"Images [batch, height, width, channels] of another size: {type}."
    return function


resize_bilinear, resize_nearest_neighbor = _resizing(_METHODS[0]), _resizing(_METHODS[1])
resize_bicubic, resize_area = _resizing(_METHODS[2]), _resizing(_METHODS[3])


def resize_images(
    images: Any, size: Any, method: int = BILINEAR, align_corners: bool = False
) -> Tensor:
    """Images, or one image, of another size.

    Raises:
        ValueError: they are neither of rank 4 nor 3, or the method is none.
    """
    with get_default_graph().name_scope("resize_images"):
        x = convert_to_tensor(images, name="images")
        if x.shape.ndims not in (3, 4):
            raise ShapeError(f"resize_images takes images of rank 3 or 4, got shape {x.shape}")
        if method not in range(4):
            raise ShapeError(f"a method of resizing is 0 to 3, got {method!r}")
        batch = x if x.shape.ndims == 4 else result("ExpandDims", x, 0)
        made = _resize(_METHODS[method], batch, size, align_corners, None)
        return made if x.shape.ndims == 4 else result("Squeeze", made, squeeze_dims=[0])


def _flip(axis: int, called: str) -> Callable[..., Tensor]:
    def function(image: Any) -> Tensor:
        x = convert_to_tensor(image, name="image")
        return result("ReverseV2", x, int32s([(x.shape.ndims or 3) + axis]), name=called)

    function.__name__ = called
    function.__doc__ = "The image, or images, mirrored."
    return function


flip_left_right, flip_up_down = _flip(-2, "flip_left_right"), _flip(-3, "flip_up_down")


def _random_flip(axis: int) -> Callable[..., Tensor]:
    def function(image: Any, seed: int | None = None) -> Tensor:
        x = convert_to_tensor(image, name="image")
        turned = result("ReverseV2", x, int32s([(x.shape.ndims or 3) + axis]))
        stays = result("Less", random_uniform([], 0, 1, seed=seed), np.float32(0.5))
        return result("SelectV2", stays, turned, x)

    function.__doc__ = "The image, or images, mirrored in half of the runs."
    return function


random_flip_left_right, random_flip_up_down = _random_flip(-2), _random_flip(-3)


def transpose_image(image: Any) -> Tensor:
    """The image with rows and columns exchanged."""
    return result("Transpose", image, int32s([1, 0, 2]))


def rot90(image: Any, k: int = 1, name: str | None = None) -> Tensor:
    """The image turned to the left k times."""
    x = convert_to_tensor(image)
    with get_default_graph().name_scope(name or "rot90"):
        for _ in range(k % 4):
            x = flip_up_down(transpose_image(x))
        return x


def crop_to_bounding_box(
    image: Any, offset_height: int, offset_width: int, target_height: int, target_width: int
) -> Tensor:
    """A part of an image, or of images."""
    x = convert_to_tensor(image)
    begin, size = [offset_height, offset_width, 0], [target_height, target_width, -1]
    if x.shape.ndims == 4:
        begin, size = [0, *begin], [-1, *size]
    return result("Slice", x, int32s(begin), int32s(size))


def pad_to_bounding_box(
    image: Any, offset_height: int, offset_width: int, target_height: int, target_width: int
) -> Tensor:
    """An image, or images, within zeros."""
    x = convert_to_tensor(image)
    height, width = _size(x)
    widths = [
        [offset_height, target_height - offset_height - height],
        [offset_width, target_width - offset_width - width],
        [0, 0],
    ]
    if min(min(pair) for pair in widths) < 0:
        raise ShapeError(f"an image of {height} x {width} does not lie within the target")
    if x.shape.ndims == 4:
        widths = [[0, 0], *widths]
    return result("Pad", x, int32s(widths))


def resize_image_with_crop_or_pad(image: Any, target_height: int, target_width: int) -> Tensor:
    """The middle of an image, or an image in the middle of zeros."""
    x = convert_to_tensor(image)
    height, width = _size(x)
    tall, wide = min(height, target_height), min(width, target_width)
    cut = crop_to_bounding_box(
        x, max(height - target_height, 0) // 2, max(width - target_width, 0) // 2, tall, wide
    )
    top, left = max(target_height - height, 0) // 2, max(target_width - width, 0) // 2
    return pad_to_bounding_box(cut, top, left, target_height, target_width)


def central_crop(image: Any, central_fraction: float) -> Tensor:
    """The middle of an image, so large a share of its height and width."""
    x = convert_to_tensor(image)
    if not 0 < central_fraction <= 1:
        raise ShapeError(f"central_fraction must be in (0, 1], got {central_fraction}")
    height, width = _size(x)
    top = int((height - height * central_fraction) / 2)
    left = int((width - width * central_fraction) / 2)
    return crop_to_bounding_box(x, top, left, height - 2 * top, width - 2 * left)


def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """The brightness of colours."""
    with get_default_graph().name_scope(name or "rgb_to_grayscale"):
        given = convert_to_tensor(images, name="images")
        x = convert_image_dtype(given, float32)
        weights = np.array([0.2989, 0.5870, 0.1140], np.float32)
        return convert_image_dtype(reduce_sum(multiply(x, weights), -1, keepdims=True), given.dtype)


def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Colours of one brightness."""
    x = convert_to_tensor(images)
    counts = [*[1] * ((x.shape.ndims or 3) - 1), 3]
    return result("Tile", x, int32s(counts), name=name or "grayscale_to_rgb")


def rgb_to_hsv(images: Any, name: str | None = None) -> Tensor:
    """Hue, saturation and value of red, green and blue."""
    return result("RGBToHSV", images, name=name)


def hsv_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Red, green and blue of hue, saturation and value."""
    return result("HSVToRGB", images, name=name)


def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """The image with a number added to each element."""
    x = convert_to_tensor(image)
    wide = convert_image_dtype(x, float32)
    return convert_image_dtype(add(wide, cast(delta, float32)), x.dtype, saturate=True)


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """The distances of elements from the mean of their channel, times a factor."""
    x = convert_to_tensor(images)
    wide = convert_image_dtype(x, float32)
    made = result("AdjustContrastv2", wide, cast(contrast_factor, float32))
    return convert_image_dtype(made, x.dtype, saturate=True)


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """The colours with other hues."""
    return result("AdjustHue", image, cast(delta, float32), name=name)


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """The colours with their saturation times a factor."""
    return result("AdjustSaturation", image, cast(saturation_factor, float32), name=name)


def adjust_gamma(image: Any, gamma: float = 1, gain: float = 1) -> Tensor:
    """The image to the power gamma, times a gain."""
    x = convert_to_tensor(image)
    return multiply(result("Pow", x, convert_to_tensor(gamma, x.dtype)), gain)


def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """The image with a random number added to each element."""
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """The image with a random contrast."""
    return adjust_contrast(image, random_uniform([], lower, upper, seed=seed))


def per_image_standardization(image: Any) -> Tensor:
    """The image with mean 0 and standard deviation 1, one of few pixels with a larger one."""
    with get_default_graph().name_scope("per_image_standardization"):
        x = cast(image, float32)
        axes = [-1, -2, -3]
        count = float(np.prod(x.shape[-3:].known()))
        mean = reduce_mean(x, axes, keepdims=True)
        squares = reduce_mean(result("Square", x), axes, keepdims=True)
        variance = result("Relu", subtract(squares, result("Square", mean)))
        return realdiv(subtract(x, mean), maximum(result("Sqrt", variance), 1 / np.sqrt(count)))


def convert_image_dtype(
    image: Any, dtype: Any, saturate: bool = False, name: str | None = None
) -> Tensor:
    """The image as one of another dtype: floats from 0 to 1 are integers from 0 to the largest."""
    x, wanted = convert_to_tensor(image), as_dtype(dtype)
    if x.dtype == wanted:
        return x
    with get_default_graph().name_scope(name or "convert_image"):
        if x.dtype.is_integer and wanted.is_integer:
            low, high = int(x.dtype.max) + 1, int(wanted.max) + 1
            if low > high:
                return cast(result("FloorDiv", x, convert_to_tensor(low // high, x.dtype)), wanted)
            return multiply(cast(x, wanted), high // low)
        if x.dtype.is_integer:
            return multiply(cast(x, wanted), 1.0 / int(x.dtype.max))
        if wanted.is_integer:
            scaled = multiply(x, int(wanted.max) + 0.5)
            if saturate:
                scaled = maximum(0.0, result("Minimum", scaled, np.float32(int(wanted.max))))
            return cast(scaled, wanted)
        return cast(x, wanted)


def decode_png(*_: Any, **__: Any) -> Tensor:
    """Not offered: there are no tensors of text.

    Raises:
        ValueError: always.
    """
    raise ShapeError("pictures are read outside of graphs, as arrays that are fed")


decode_jpeg = decode_image = decode_gif = decode_bmp = decode_png
