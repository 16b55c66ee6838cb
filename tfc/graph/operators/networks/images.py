"""Operators on images [batch, height, width, channels]: other sizes, colours."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfc import numpy as tnp
from tfc.graph.operators.partial_values import partial_shape
from tfc.graph.operators.registry import Attributes, Spec, known_numbers, operator
from tfc.graph.types.dtypes import float32
from tfc.graph.types.shapes import TensorShape


def _scale(size: int, wanted: int, align_corners: bool) -> float:
    if align_corners and wanted > 1:
        return (size - 1) / (wanted - 1)
    return size / wanted


def _sources(size: int, wanted: int, align_corners: bool, half_pixel: bool) -> np.ndarray:
    """Where in the image each place of the result lies."""
    at = np.arange(wanted, dtype=np.float64)
    scale = _scale(size, wanted, align_corners)
    return (at + 0.5) * scale - 0.5 if half_pixel else at * scale


def _linear(size: int, wanted: int, align: bool, half: bool) -> np.ndarray:
    """The weights [wanted, size] of rows in linear interpolation."""
    at = _sources(size, wanted, align, half)
    low = np.floor(at)
    share = at - low
    return _weights(size, wanted, [(low, 1 - share), (low + 1, share)])


def _weights(size: int, wanted: int, taps: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    matrix = np.zeros((wanted, size))
    for place, weight in taps:
        inside = np.clip(place, 0, size - 1).astype(int)
        np.add.at(matrix, (np.arange(wanted), inside), weight)
    return matrix


def _cubic(size: int, wanted: int, align: bool, half: bool) -> np.ndarray:
    """The weights of rows in cubic interpolation; with half pixels Keys' of -0.5.

    TensorFlow takes them from a table, of places rounded to 1024ths of a row.
    """
    scale = np.float32(_scale(size, wanted, align))
    at = np.arange(wanted, dtype=np.float32)
    at = (at + np.float32(0.5)) * scale - np.float32(0.5) if half else at * scale
    low = np.floor(at)
    share = np.rint((at - low) * 1024) / 1024.0
    a = -0.5 if half else -0.75
    taps = []
    for offset in (-1, 0, 1, 2):
        x = np.abs(share - offset)
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        weight = np.where(x <= 1, near, far)
        place = low + offset
        if half:  # rows outside of the image count for nothing
            weight = np.where((place >= 0) & (place < size), weight, 0.0)
        taps.append((place, weight))
    matrix = _weights(size, wanted, taps)
    return matrix / matrix.sum(1, keepdims=True) if half else matrix


def _area(size: int, wanted: int, align: bool, half: bool) -> np.ndarray:
    """The share of each row in the stretch of the image that a row of the result covers."""
    scale = _scale(size, wanted, align)
    begin = np.arange(wanted)[:, None] * scale
    row = np.arange(size)[None, :]
    covered = np.minimum(begin + scale, row + 1) - np.maximum(begin, row)
    covered = np.maximum(covered, 0)
    return covered / covered.sum(1, keepdims=True)


def _resized(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(float32, _dims(inputs))]


def _dims(inputs: Sequence[Any]) -> TensorShape:
    images = inputs[0].shape.with_rank(4)
    size = partial_shape(inputs[1]).with_rank(2)
    return images[:1].concatenate(size).concatenate(images[3:])


def _enter(name: str, rows_of: Callable[..., np.ndarray]) -> Callable[..., Any]:
    @operator(name, known=(1,), infer=_resized)
    def row(
        images: Any, size: Any, align_corners: bool = False, half_pixel_centers: bool = False
    ) -> Any:
        height, width = known_numbers(size, "the size of a resized image")
        made = tnp.astype(images, np.dtype(np.float32))
        if height != images.shape[1] or rows_of is _cubic:
            down = rows_of(images.shape[1], height, align_corners, half_pixel_centers)
            made = tnp.einsum("nh,bhwc->bnwc", down.astype(np.float32), made)
        if width != images.shape[2] or rows_of is _cubic:
            across = rows_of(images.shape[2], width, align_corners, half_pixel_centers)
            made = tnp.einsum("mw,bhwc->bhmc", across.astype(np.float32), made)
        return made

    return row


resize_bilinear = _enter("ResizeBilinear", _linear)
_enter("ResizeBicubic", _cubic)
_enter("ResizeArea", _area)


def _same_dtype(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(inputs[0].dtype, _dims(inputs))]


@operator("ResizeNearestNeighbor", known=(1,), infer=_same_dtype)
def resize_nearest(
    images: Any, size: Any, align_corners: bool = False, half_pixel_centers: bool = False
) -> Any:
    """Images of another size, of the nearest pixels."""
    wanted = known_numbers(size, "the size of a resized image")
    made = images
    for axis, (count, old) in enumerate(zip(wanted, images.shape[1:3]), 1):
        scale = np.float32(_scale(old, count, align_corners))
        at = np.arange(count, dtype=np.float32)
        at = (at + np.float32(0.5)) * scale if half_pixel_centers else at * scale
        place = np.floor(at + 0.5) if align_corners else np.floor(at)
        made = tnp.take(made, np.clip(place, 0, old - 1).astype(np.int64), axis=axis)
    return made


@operator("RGBToHSV")
def rgb_to_hsv(images: Any) -> Any:
    """Hue, saturation and value of red, green and blue, all from 0 to 1."""
    red, green, blue = (images[..., n] for n in range(3))
    value = tnp.max(images, axis=-1)
    spread = value - tnp.min(images, axis=-1)
    zero, one = np.zeros((), images.dtype), np.ones((), images.dtype)
    saturation = tnp.where(value > 0, spread / tnp.where(value > 0, value, one), zero)
    unit = one / (6 * tnp.where(spread > 0, spread, one))
    of_red = unit * (green - blue)
    of_green = unit * (blue - red) + np.asarray(2 / 6, images.dtype)
    of_blue = unit * (red - green) + np.asarray(4 / 6, images.dtype)
    hue = tnp.where(red == value, of_red, tnp.where(green == value, of_green, of_blue))
    hue = tnp.where(spread > 0, tnp.where(hue < 0, hue + 1, hue), zero)
    return tnp.stack([hue, saturation, value], axis=-1)


@operator("HSVToRGB")
def hsv_to_rgb(images: Any) -> Any:
    """Red, green and blue of hue, saturation and value."""
    hue, saturation, value = (images[..., n] for n in range(3))
    chroma = saturation * value
    least = value - chroma

    def colour(shift: int) -> Any:
        sector = tnp.mod(hue * 6 + np.asarray(shift, images.dtype), np.asarray(6, images.dtype))
        part = tnp.minimum(sector, 4 - sector)
        zero, one = np.zeros((), images.dtype), np.ones((), images.dtype)
        return value - chroma * tnp.maximum(zero, tnp.minimum(part, one))

    del least
    return tnp.stack([colour(5), colour(3), colour(1)], axis=-1)


@operator("AdjustContrastv2")
def adjust_contrast(images: Any, contrast_factor: Any) -> Any:
    """The distances of elements from the mean of their channel and image, times a factor."""
    wide = tnp.astype(images, np.dtype(np.float32))
    mean = tnp.mean(wide, axis=(-3, -2), keepdims=True, dtype=wide.dtype)
    return tnp.astype((wide - mean) * contrast_factor + mean, images.dtype)


@operator("AdjustHue")
def adjust_hue(images: Any, delta: Any) -> Any:
    """The colours with other hues."""
    parts = rgb_to_hsv(tnp.astype(images, np.dtype(np.float32)))
    hue = tnp.mod(parts[..., :1] + delta, np.ones((), parts.dtype))
    made = hsv_to_rgb(tnp.concatenate([hue, parts[..., 1:]], axis=-1))
    return tnp.astype(made, images.dtype)


@operator("AdjustSaturation")
def adjust_saturation(images: Any, scale: Any) -> Any:
    """The colours with their saturation times a factor, 1 at most."""
    parts = rgb_to_hsv(tnp.astype(images, np.dtype(np.float32)))
    zero, one = np.zeros((), parts.dtype), np.ones((), parts.dtype)
    more = tnp.minimum(tnp.maximum(parts[..., 1:2] * scale, zero), one)
    made = hsv_to_rgb(tnp.concatenate([parts[..., :1], more, parts[..., 2:]], axis=-1))
    return tnp.astype(made, images.dtype)
