"""Layers that prepare data, and those that change it at random while training."""

from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc import nn
from tfc.errors import UnsupportedError
from tfc.importers.keras.table import Use, layer
from tfc.importers.lookups import Lookup


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


@layer("IntegerLookup", casts=False, remark="of integers to integers, with a vocabulary")
def integer_lookup(
    use: Use, x: Any, *, vocabulary: Any = None, num_oov_indices: int = 1,
    mask_token: Any = None, oov_token: int = -1, output_mode: str = "int", invert: bool = False,
    max_tokens: Any = None, pad_to_max_tokens: bool = False, vocabulary_dtype: Any = None,
    vocabulary_size: Any = None, oov_method: str = "floormod", salt: Any = None,
    idf_weights: Any = None,
) -> Any:  # fmt: skip
    """The number of each key in the vocabulary; what is not in it has the numbers before.

    Raises:
        UnsupportedError: it is stated in another way.
    """
    if not isinstance(vocabulary, (list, tuple)):
        raise UnsupportedError("a lookup whose vocabulary is not in its config is not supported")
    if invert or pad_to_max_tokens or num_oov_indices < 1 or oov_method != "floormod":
        raise UnsupportedError(
            "a lookup is supported that gives numbers of keys, and one at least to unknown keys"
        )
    first = [] if mask_token is None else [mask_token]
    special = [*first, *[oov_token] * num_oov_indices]
    keys = [*vocabulary]
    keys = keys[len(special) :] if keys[: len(special)] == special else keys
    known = np.asarray([*first, *keys], np.int64)
    numbers = np.arange(len(known)) + num_oov_indices
    numbers[: len(first)] = 0
    wide = x.astype(np.int64)
    unknown = len(first) + tnp.mod(wide, np.int64(num_oov_indices))
    found = Lookup.of(known, numbers.astype(np.int64)).find(wide, unknown)
    if output_mode == "int":
        return found
    if first:
        raise UnsupportedError("a lookup with a mask_token has the output_mode 'int'")
    dtype = np.dtype(vocabulary_dtype or np.int64)
    return encoded(found, output_mode, len(keys) + num_oov_indices, dtype)


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
