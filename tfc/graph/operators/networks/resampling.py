"""Operators that sample images [batch, height, width, channels] at places between pixels."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfc import numpy as tnp
from tfc.errors import UnsupportedError
from tfc.graph.operators.partial_values import partial_shape
from tfc.graph.operators.registry import Attributes, Spec, known, known_numbers, operator
from tfc.graph.types.dtypes import float32
from tfc.graph.types.shapes import TensorShape

_SINGLE = np.dtype(np.float32)
Kernel = Callable[[np.ndarray], np.ndarray]


def _lanczos(radius: float) -> Kernel:
    def weight(x: np.ndarray) -> np.ndarray:
        far = np.pi * np.where(x <= 1e-3, 1.0, x)
        made = radius * np.sin(far) * np.sin(far / radius) / (far * far)
        return np.where(x > radius, 0.0, np.where(x <= 1e-3, 1.0, made))

    return weight


def _in_pieces(near: Sequence[float], far: Sequence[float]) -> Kernel:
    """Polynomials, their highest powers first: up to 1, and from there to 2."""

    def weight(x: np.ndarray) -> np.ndarray:
        return np.where(x >= 2, 0.0, np.where(x >= 1, np.polyval(far, x), np.polyval(near, x)))

    return weight


# How far each kernel reaches, and its weights by the distance.
_KERNELS: dict[str, tuple[float, Kernel]] = {
    "lanczos1": (1.0, _lanczos(1.0)),
    "lanczos3": (3.0, _lanczos(3.0)),
    "lanczos5": (5.0, _lanczos(5.0)),
    "gaussian": (1.5, lambda x: np.where(x >= 1.5, 0.0, np.exp(-x * x / 0.5))),
    "box": (1.0, lambda x: np.where(x < 0.5, 1.0, np.where(x == 0.5, 0.5, 0.0))),
    "triangle": (1.0, lambda x: np.maximum(1.0 - x, 0.0)),
    "keyscubic": (2.0, _in_pieces((1.5, -2.5, 0.0, 1.0), (-0.5, 2.5, -4.0, 2.0))),
    "mitchellcubic": (
        2.0,
        _in_pieces((7 / 6, -2.0, 0.0, 8 / 9), (-7 / 18, 2.0, -10 / 3, 16 / 9)),
    ),
}


def _shares(size: int, wanted: int, scale: float, shift: float, kind: str, smooth: bool) -> Any:
    """The weights [wanted, size] of an image's rows in those of the result."""
    if kind not in _KERNELS:
        raise UnsupportedError(f"ScaleAndTranslate has no kernel {kind!r}")
    reach, kernel = _KERNELS[kind]
    inverse = np.float32(1) / np.float32(scale)
    wide = max(inverse, np.float32(1)) if smooth else np.float32(1)
    half = np.float32(0.5)
    at = (np.arange(wanted, dtype=_SINGLE)[:, None] + half) * inverse - inverse * np.float32(shift)
    rows = np.arange(size, dtype=_SINGLE)[None, :] + half
    taken = np.abs(rows - at) <= reach * wide
    weights = np.where(taken, kernel(np.abs(rows - at) / wide), 0.0)
    total = weights.sum(1, keepdims=True)
    weights = np.where(np.abs(total) > 1e-30, weights / np.where(total == 0, 1.0, total), weights)
    return np.where((at < 0) | (at > size), 0.0, weights).astype(_SINGLE)


def _resized(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    images, size = inputs[0].shape.with_rank(4), partial_shape(inputs[1]).with_rank(2)
    return [(float32, images[:1].concatenate(size).concatenate(images[3:]))]


@operator("ScaleAndTranslate", types="T - - -", known=(1, 2, 3), infer=_resized)
def scale_and_translate(
    images: Any,
    size: Any,
    scale: Any,
    translation: Any,
    kernel_type: str = "lanczos3",
    antialias: bool = True,
) -> Any:
    """Images of another size, scaled and moved; smaller ones of wider kernels if asked for."""
    made = tnp.astype(images, _SINGLE)
    wanted = known_numbers(size, "the size of a resized image")
    scales, shifts = (known(x, "the scale of an image").astype(float) for x in (scale, translation))
    down, across = (
        _shares(made.shape[n + 1], wanted[n], scales[n], shifts[n], kernel_type, antialias)
        for n in (0, 1)
    )
    return tnp.einsum("nh,mw,bhwc->bnmc", down, across, made)


def _crops(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    image, boxes = inputs[0].shape.with_rank(4), inputs[1].shape.with_rank(2)
    size: TensorShape = partial_shape(inputs[3]).with_rank(2)
    return [(float32, boxes[:1].concatenate(size).concatenate(image[3:]))]


@operator("CropAndResize", types="T", known=(3,), infer=_crops)
def crop_and_resize(
    image: Any,
    boxes: Any,
    box_ind: Any,
    crop_size: Any,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
) -> Any:
    """What boxes [top, left, bottom, right] hold, from 0 to 1, each of the image that is named."""
    wanted = known_numbers(crop_size, "the size of crops")
    whole = tnp.astype(image, _SINGLE)
    rows, columns = (_along(boxes, n, wanted[n], image.shape[n + 1]) for n in (0, 1))
    number = tnp.reshape(box_ind, (-1, 1, 1))

    def pixel(row: Any, column: Any) -> Any:
        places = (tnp.astype(x, np.dtype(np.int32)) for x in (row[:, :, None], column[:, None, :]))
        return tnp.asarray(whole)[(number, *places)]

    is_in = _inside(rows, image.shape[1])[:, :, None] & _inside(columns, image.shape[2])[:, None, :]
    y, x = (
        tnp.minimum(tnp.maximum(v, np.float32(0)), np.float32(n - 1))
        for v, n in zip((rows, columns), image.shape[1:3])
    )
    if method == "nearest":
        made = pixel(tnp.floor(y + np.float32(0.5)), tnp.floor(x + np.float32(0.5)))
    else:
        top, left, bottom, right = tnp.floor(y), tnp.floor(x), tnp.ceil(y), tnp.ceil(x)
        down, across = (y - top)[:, :, None, None], (x - left)[:, None, :, None]
        above = pixel(top, left) + (pixel(top, right) - pixel(top, left)) * across
        below = pixel(bottom, left) + (pixel(bottom, right) - pixel(bottom, left)) * across
        made = above + (below - above) * down
    return tnp.where(is_in[..., None], made, np.float32(extrapolation_value))


def _along(boxes: Any, axis: int, count: int, size: int) -> Any:
    """Where the pixels of crops lie along an axis [boxes, count]."""
    begin, end = boxes[:, axis : axis + 1], boxes[:, axis + 2 : axis + 3]
    last = np.float32(size - 1)
    if count == 1:
        return np.float32(0.5) * (begin + end) * last
    step = (end - begin) * last / np.float32(count - 1)
    return begin * last + np.arange(count, dtype=_SINGLE) * step


def _inside(places: Any, size: int) -> Any:
    return (places >= np.float32(0)) & (places <= np.float32(size - 1))
