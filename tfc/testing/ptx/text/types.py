"""PTX's types: how many bits, and the NumPy types that compute with them."""

import ml_dtypes
import numpy as np

UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
SIGNED = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
FLOATS = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}
DTYPES: dict[str, np.dtype] = {
    **{f"u{bits}": np.dtype(t) for bits, t in UNSIGNED.items()},
    **{f"b{bits}": np.dtype(t) for bits, t in UNSIGNED.items()},
    **{f"s{bits}": np.dtype(t) for bits, t in SIGNED.items()},
    **{name: np.dtype(t) for name, t in FLOATS.items()},
    # Two to a register: each operation takes them apart.
    **{name: np.dtype(np.uint32) for name in ("f16x2", "bf16x2", "u16x2", "s16x2", "tf32")},
    **{name: np.dtype(np.uint16) for name in ("e4m3x2", "e5m2x2")},
    "f32x2": np.dtype(np.uint64),
    "pred": np.dtype(np.bool_),
}
WIDE = {"b128": 16}


def size_of(name: str) -> int:
    """Bytes of a type."""
    return WIDE.get(name) or DTYPES[name].itemsize


def is_type(modifier: str) -> bool:
    """Whether a modifier of an instruction names a type."""
    return modifier in DTYPES or modifier in WIDE


def bits_of(dtype: np.dtype) -> np.dtype:
    """The unsigned type of the same width."""
    return np.dtype(UNSIGNED[dtype.itemsize * 8])
