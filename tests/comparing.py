"""Comparing values bit for bit, any NaN being as good as another."""

import numpy as np


def same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Where two arrays have the same bits, or both NaN."""
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    if a.dtype.kind == "c":
        return same(a.real, b.real) & same(a.imag, b.imag)
    raw = f"u{a.dtype.itemsize}"
    equal = np.ascontiguousarray(a).view(raw) == np.ascontiguousarray(b).view(raw)
    equal = equal.reshape(a.shape)
    if a.dtype.kind in "fV":
        with np.errstate(invalid="ignore"):
            equal |= np.isnan(a.astype(np.float64)) & np.isnan(b.astype(np.float64))
    return equal
