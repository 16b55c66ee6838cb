"""Interpolation of images as TensorFlow does it, with half-pixel centers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.errors import UnsupportedError


def _kernel(name: str, x: np.ndarray) -> np.ndarray:
    """An interpolation's weight at a distance."""
    x = np.abs(x)
    if name in ("bilinear", "linear"):
        return np.maximum(1 - x, 0)
    if name in ("bicubic", "cubic"):
        near = (1.5 * x - 2.5) * x * x + 1
        far = ((-0.5 * x + 2.5) * x - 4) * x + 2
        return np.where(x >= 2, 0, np.where(x >= 1, far, near))
    radius = {"lanczos3": 3, "lanczos5": 5}.get(name)
    if radius is None:
        raise UnsupportedError(f"the interpolation '{name}' is not supported")
    return np.where(x < radius, np.sinc(x) * np.sinc(x / radius), 0)


def weights(size: int, wanted: int, name: str) -> np.ndarray:
    """The matrix [wanted, size] of what each place takes of each element.

    Raises:
        UnsupportedError: the interpolation is not known.
    """
    centers = (np.arange(wanted) + 0.5) * size / wanted - 0.5
    if name == "nearest":
        places = np.minimum(np.floor((np.arange(wanted) + 0.5) * size / wanted), size - 1)
        return (places[:, None] == np.arange(size)).astype(np.float32)
    if name in ("bicubic", "cubic"):  # TensorFlow has a table of weights
        whole = np.floor(centers)
        centers = whole + np.rint((centers - whole) * 1024) / 1024
    if name in ("bilinear", "linear"):
        centers = np.clip(centers, 0, size - 1)
    made = _kernel(name, centers[:, None] - np.arange(size))
    total = made.sum(1, keepdims=True)
    return (made / np.where(total == 0, 1, total)).astype(np.float32)


def resized(x: Any, sizes: Sequence[int], name: str, crop: bool = False) -> Any:
    """An array [batch, *spatial, channels] with other spatial sizes.

    Args:
        crop: take the middle of the new proportions first.
    """
    if crop:
        height, width = x.shape[1:3]
        high = min(height, int(width * sizes[0] / sizes[1]))
        broad = min(width, int(height * sizes[1] / sizes[0]))
        top, left = (height - high) // 2, (width - broad) // 2
        x = x[:, top : top + high, left : left + broad]
    dtype = x.dtype
    for axis, wanted in enumerate(sizes, 1):
        if x.shape[axis] == wanted:
            continue
        matrix = weights(x.shape[axis], int(wanted), name)
        if name == "nearest":
            x = tnp.take(x, np.argmax(matrix, 1), axis=axis)
        else:
            moved = tnp.moveaxis(x.astype(np.float32), axis, -1)
            x = tnp.moveaxis(tnp.matmul(moved, matrix.T), -1, axis)
    return x.astype(dtype)
