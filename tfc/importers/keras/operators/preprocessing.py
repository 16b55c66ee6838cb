"""Layers that prepare data, and those that change it at random while training."""

from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc import nn
from tfc.errors import UnsupportedError
from tfc.importers.keras.table import Use, layer


@layer("Rescaling", mask="passes")
def rescaling(use: Use, x: Any, *, scale: Any = 1.0, offset: Any = 0.0) -> Any:
    """x · scale + offset."""
    factor, shift = (np.asarray(v, np.float32).astype(use.dtype) for v in (scale, offset))
    return x.astype(use.dtype) * factor + shift


def encoded(x: Any, mode: str, depth: int, dtype: Any, weights: Any = None) -> Any:
    """Categories as numbers, as one 1 each, as a 1 for each that is there, or counted."""
    if mode == "int":
        return x
    if mode == "one_hot":
        rows = x[..., 0] if x.ndim > 1 and x.shape[-1] == 1 else x
        return nn.one_hot(rows, depth, dtype)
    if mode not in ("multi_hot", "count"):
        raise UnsupportedError(f"the output_mode '{mode}' is not supported")
    rows = nn.one_hot(x, depth, dtype)
    if weights is not None:
        rows = rows * weights.astype(dtype)[..., None]
    axis = rows.ndim - 2 if x.ndim else 0
    return tnp.max(rows, axis=axis) if mode == "multi_hot" else tnp.sum(rows, axis=axis)


@layer("CategoryEncoding", casts=False)
def category_encoding(
    use: Use, x: Any, count_weights: Any = None, *, num_tokens: int, output_mode: str = "multi_hot"
) -> Any:
    """Categories as ones and zeros."""
    return encoded(x.astype(np.int32), output_mode, num_tokens, use.dtype, count_weights)


@layer("Discretization", casts=False)
def discretization(
    use: Use, x: Any, *, bin_boundaries: Any, num_bins: Any = None, epsilon: Any = None,
    output_mode: str = "int",
) -> Any:  # fmt: skip
    """The number of the bin that each element is in."""
    edges = np.asarray(bin_boundaries, np.float32)
    places = tnp.sum((x.astype(np.float32)[..., None] >= edges).astype(np.int32), axis=-1)
    return encoded(places.astype(np.int32), output_mode, len(edges) + 1, use.dtype)


@layer(
    "RandomFlip", "RandomRotation", "RandomZoom", "RandomContrast", "RandomBrightness",
    "RandomTranslation", "RandomHeight", "RandomWidth", "RandomSaturation", "RandomHue",
    "RandomShear", "RandomGrayscale", "RandomInvert", "RandomPosterization", "RandomSharpness",
    "RandomErasing", "RandomPerspective", "RandomGaussianBlur", "RandomColorJitter",
    "RandomColorDegeneration", "RandomElasticTransform", "RandAugment", "AugMix", "CutMix",
    "MixUp", remark="the identity; calls with training=True are refused in Keras 2's files",
)  # fmt: skip
def random_change(use: Use, x: Any, training: bool = False, *, mode: Any = None,
                  factor: Any = None, **options: Any) -> Any:  # fmt: skip
    """The array itself.

    Raises:
        UnsupportedError: the call states that it is training.
    """
    if training:
        raise UnsupportedError(f"'{use.layer.name}' is called with training=True: not supported")
    return x
