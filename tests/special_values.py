"""Values of every element type where mistakes lie, and how far apart two numbers are."""

import ml_dtypes
import numpy as np

from tfc.hlo.evaluation.complex_values import join
from tfc.hlo.shape import PRED, ElementType


def special_values(element_type: ElementType) -> np.ndarray:
    """Zeros, ones, extremes, and for floats infinities, NaN and denormals, as `element_type`."""
    if element_type == PRED:
        return np.array([False, True])
    if element_type.is_complex:
        parts = special_values(element_type.component)[::3]
        return join(*(a.reshape(-1) for a in np.meshgrid(parts, parts, indexing="ij")))
    if element_type.is_integer:
        bits, limits = element_type.bits, ml_dtypes.iinfo(element_type.dtype)
        low, high = int(limits.min), int(limits.max)
        values = [0, 1, 2, 3, 5, 7, bits - 1, bits, bits + 1, high, high - 1, low, low + 1]
        values += [-v for v in values if low <= -v <= high]
        return np.array([v % 2**64 for v in values], np.uint64).astype(element_type.dtype)
    limits = ml_dtypes.finfo(element_type.dtype)
    values = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.75, 10.0, 1e-3, 0.3, 100.5]
    values += [float(v) for v in (limits.max, limits.tiny, limits.smallest_subnormal)]
    values += [float(limits.tiny) / 4, np.inf]
    with np.errstate(over="ignore"):
        return np.array([*values, *(-v for v in values), np.nan]).astype(element_type.dtype)


def ulps(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The distance of finite values in units of the last place; 0 where both are the same or NaN.

    Infinity where one of two different values is not finite.
    """
    with np.errstate(invalid="ignore"):
        wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    same = (wide_a == wide_b) | (np.isnan(wide_a) & np.isnan(wide_b))
    bits = [v.view(f"i{v.dtype.itemsize}").astype(np.int64) for v in (a, b)]
    ordered = [
        np.where(v < 0, np.iinfo(np.int64).min - v, v)
        if a.dtype.itemsize == 8
        else np.where(v < 0, -(1 << (a.dtype.itemsize * 8 - 1)) - v, v)
        for v in bits
    ]
    with np.errstate(over="ignore"):
        distance = np.abs(ordered[0] - ordered[1]).astype(np.float64)
    special = ~np.isfinite(wide_a) | ~np.isfinite(wide_b)
    return np.where(same, 0.0, np.where(special, np.inf, distance))


def same_sign_of_zero(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """False where both are zeros of different sign."""
    with np.errstate(invalid="ignore"):
        wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    return (np.signbit(wide_a) == np.signbit(wide_b)) | (wide_a != 0) | (wide_b != 0)
