"""Layers that move elements: shapes, crops, borders, repetitions."""

import math
from typing import Any

import tfc.numpy as tnp
from tfc.errors import UnsupportedError
from tfc.importers.keras.operators.convolutions import (
    channels_back,
    channels_last,
    numbers,
)
from tfc.importers.keras.operators.resizing import resized
from tfc.importers.keras.table import Use, layer


@layer("Reshape")
def reshape(use: Use, x: Any, *, target_shape: Any) -> Any:
    """Another shape for each example; -1 is what is left."""
    return tnp.reshape(x, (x.shape[0], *(int(n) for n in target_shape)))


@layer("Flatten")
def flatten(use: Use, x: Any, *, data_format: Any = None) -> Any:
    """One row for each example, channels last."""
    last = channels_last(x, data_format) if x.ndim > 1 else x
    return tnp.reshape(last, (x.shape[0], math.prod(x.shape[1:])))


@layer("Permute")
def permute(use: Use, x: Any, *, dims: Any) -> Any:
    """Other orders of the dimensions, counted from 1."""
    return tnp.transpose(x, (0, *(int(d) for d in dims)))


@layer("RepeatVector")
def repeat_vector(use: Use, x: Any, *, n: int) -> Any:
    """Each example so many times along a new dimension."""
    return tnp.repeat(x[:, None], n, axis=1)


def _pairs(value: Any, rank: int) -> list[tuple[int, int]]:
    """(before, after) for each spatial dimension, of a number, numbers or pairs."""
    if not isinstance(value, (list, tuple)):
        return [(int(value), int(value))] * rank
    if rank == 1 and len(value) == 2 and not isinstance(value[0], (list, tuple)):
        return [(int(value[0]), int(value[1]))]
    made = [tuple(v) if isinstance(v, (list, tuple)) else (v, v) for v in value]
    if len(made) != rank or any(len(pair) != 2 for pair in made):
        raise UnsupportedError(f"borders of {value} are not supported")
    return [(int(a), int(b)) for a, b in made]


@layer("Cropping1D", "Cropping2D", "Cropping3D")
def cropping(use: Use, x: Any, *, cropping: Any, data_format: Any = None) -> Any:
    """Without elements at the borders."""
    array = channels_last(x, data_format)
    pairs = _pairs(cropping, array.ndim - 2)
    inner = [slice(a, n - b) for (a, b), n in zip(pairs, array.shape[1:-1])]
    return channels_back(array[(slice(None), *inner)], data_format)


@layer("ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D")
def zero_padding(use: Use, x: Any, *, padding: Any, data_format: Any = None) -> Any:
    """With zeros around."""
    array = channels_last(x, data_format)
    pairs = _pairs(padding, array.ndim - 2)
    return channels_back(tnp.pad(array, [(0, 0), *pairs, (0, 0)]), data_format)


@layer("UpSampling1D", "UpSampling2D", "UpSampling3D")
def up_sampling(
    use: Use, x: Any, *, size: Any = 2, data_format: Any = None, interpolation: str = "nearest"
) -> Any:
    """Each element so many times, or interpolated between them."""
    array = channels_last(x, data_format)
    factors = numbers(size, array.ndim - 2)
    if interpolation == "nearest":
        for axis, factor in enumerate(factors, 1):
            array = tnp.repeat(array, factor, axis=axis)
        return channels_back(array, data_format)
    sizes = [n * f for n, f in zip(array.shape[1:-1], factors)]
    return channels_back(resized(array, sizes, interpolation), data_format)


@layer("CenterCrop")
def center_crop(use: Use, x: Any, *, height: int, width: int, data_format: Any = None) -> Any:
    """The middle of an image; a smaller image is resized first."""
    array = x.astype(use.dtype)
    batch = array if array.ndim == 4 else array[None]
    last = channels_last(batch, data_format)
    if last.shape[1] < height or last.shape[2] < width:
        last = resized(last, (height, width), "bilinear", crop=True)
    top, left = (last.shape[1] - height) // 2, (last.shape[2] - width) // 2
    made = last[:, top : top + height, left : left + width]
    made = channels_back(made, data_format)
    return made if array.ndim == 4 else made[0]


@layer("Resizing")
def resizing(
    use: Use, x: Any, *, height: int, width: int, interpolation: str = "bilinear",
    crop_to_aspect_ratio: bool = False, pad_to_aspect_ratio: bool = False,
    fill_mode: str = "constant", fill_value: float = 0.0, antialias: bool = False,
    data_format: Any = None,
) -> Any:  # fmt: skip
    """An image of another size.

    Raises:
        UnsupportedError: it smooths, or pads.
    """
    if antialias or pad_to_aspect_ratio:
        raise UnsupportedError("Resizing with antialias or pad_to_aspect_ratio is not supported")
    array = x.astype(use.dtype)
    batch = array if array.ndim == 4 else array[None]
    last = channels_last(batch, data_format)
    made = resized(last, (height, width), interpolation, crop=bool(crop_to_aspect_ratio))
    made = channels_back(made, data_format)
    return made if array.ndim == 4 else made[0]
