"""Numbers as 8-bit integers: x = scale · (q - zero_point)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tfc.errors import TfcError
from tfc.hlo.shape import S8, U8, ElementType

MOST = 127  # of symmetric integers, which are -127 … 127, so that negation is exact
_STEPS = 255


@dataclass(frozen=True)
class Affine:
    """How the elements of a whole array are integers; `zero_point` stands for 0 exactly."""

    scale: np.float32
    zero_point: int
    element_type: ElementType

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the greatest integer."""
        return (0, _STEPS) if self.element_type == U8 else (-MOST, MOST)

    @property
    def inverse(self) -> np.float32:
        """What numbers are multiplied by before they are rounded."""
        return np.float32(1) / self.scale

    def quantized(self, x: np.ndarray) -> np.ndarray:
        """The integers: to nearest, ties to even, and those out of range to the limits."""
        steps = np.rint(np.asarray(x, np.float32) * self.inverse) + self.zero_point
        return np.clip(steps, *self.limits).astype(self.element_type.dtype)

    def dequantized(self, q: np.ndarray) -> np.ndarray:
        """The numbers that integers stand for, as f32."""
        return (q.astype(np.int32) - self.zero_point).astype(np.float32) * self.scale


def affine_of(low: float, high: float, *, symmetric: bool) -> Affine:
    """The integers for numbers between limits, between which 0 is put if it is not there.

    Symmetric ones are s8 with scale max|x| / 127. Others are u8 with scale (high - low) / 255 and
    zero_point round(-low / scale). A range of nothing but 0 has scale 1.

    Raises:
        TfcError: a limit is NaN or infinite.
    """
    if not np.isfinite([low, high]).all():
        raise TfcError(f"a range of integers must have finite limits, got {low} … {high}")
    low, high = min(float(low), 0.0), max(float(high), 0.0)
    if symmetric:
        return Affine(_scale(max(-low, high) / MOST), 0, S8)
    scale = _scale((high - low) / _STEPS)
    return Affine(scale, round(-low / float(scale)), U8)


def _scale(step: float) -> np.float32:
    """A step as a scale whose inverse is finite; 1 for none."""
    least = float(np.finfo(np.float32).tiny)
    return np.float32(max(step, least) if step else 1)


def symmetric_weights(
    weight: np.ndarray, summed: Sequence[int], *, per_channel: bool
) -> tuple[np.ndarray, np.ndarray]:
    """A weight as s8 and its scales: one for each channel, or a scalar for all.

    Args:
        summed: the dimensions that sums of products go along; all others tell channels apart.

    Returns:
        The integers, and f32 scales of the dimensions that are left.

    Raises:
        TfcError: an element is NaN or infinite.
    """
    wide = np.asarray(weight, np.float32)
    if not np.isfinite(wide).all():
        raise TfcError("its weight has an element that is NaN or infinite")
    along = tuple(summed) if per_channel else None
    largest = np.max(np.abs(wide), axis=along, keepdims=True, initial=0)
    least = np.finfo(np.float32).tiny
    scales = np.where(largest > 0, np.maximum(largest / np.float32(MOST), least), 1)
    scales = scales.astype(np.float32)
    integers = np.clip(np.rint(wide / scales), -MOST, MOST).astype(np.int8)
    kept = [n for d, n in enumerate(scales.shape) if d not in summed]
    return integers, scales.reshape(kept if per_channel else ())


def signal_to_noise(signal: float, noise: float) -> float:
    """The ratio of two sums of squares in decibels; infinite where there is no noise."""
    if noise == 0:
        return float("inf")
    return float(10 * np.log10(signal / noise)) if signal else float("-inf")
