"""Conversions between element types."""

from typing import Any

import ml_dtypes
import numpy as np

import tfc.numpy as tnp
from tfc.errors import UnsupportedError
from tfc.importers.onnx.table import operator
from tfc.importers.onnx.tensors import dtype_of
from tfc.importers.values import Text

_SATURATING = tuple(
    np.dtype(t)
    for t in (
        ml_dtypes.float8_e4m3fn,
        ml_dtypes.float8_e4m3fnuz,
        ml_dtypes.float8_e5m2,
        ml_dtypes.float8_e5m2fnuz,
    )
)


def cast(x: Any, dtype: Any, saturate: int = 1) -> Any:
    """The values as another dtype; eight-bit floats take the largest for what is beyond them.

    Raises:
        UnsupportedError: to or from text.
    """
    if np.dtype(dtype) == object or x.dtype == object:
        raise UnsupportedError("text is not supported")
    if np.dtype(dtype) not in _SATURATING or np.dtype(x.dtype) == np.dtype(dtype):
        return tnp.astype(x, dtype)
    if not saturate:
        return tnp.astype(x, dtype)
    largest = float(ml_dtypes.finfo(dtype).max)
    wide = tnp.astype(x, np.float32)
    bounded = tnp.where(tnp.isnan(wide), wide, tnp.clip(wide, -largest, largest))
    return tnp.astype(bounded, dtype)


@operator("Cast", since=6)
def cast_to(x: Any, *, to: int, saturate: int = 1, round_mode: str = "up") -> Any:
    """The values as the dtype of a number; text is text already."""
    if isinstance(x, Text) and dtype_of(to).kind == "O":
        return x
    return cast(x, dtype_of(to), saturate)


@operator("CastLike", since=15)
def cast_like(x: Any, target: Any, *, saturate: int = 1, round_mode: str = "up") -> Any:
    """The values as another array's dtype."""
    return cast(x, target.dtype, saturate)


@operator("BitCast", since=26)
def bit_cast(x: Any, *, to: int) -> Any:
    """The bits as another dtype of the same width."""
    return tnp.asarray(x).view(dtype_of(to))
