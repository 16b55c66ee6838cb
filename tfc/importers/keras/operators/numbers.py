"""Dtypes of results as Keras has them: integers beside floats become those floats."""

from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import Tensor
from tfc.importers.keras.table import is_float


def promoted(*values: Any) -> list[Any]:
    """Arrays in the dtype of all of them; Python's numbers take that of the arrays."""
    arrays = [as_tensor(v) for v in values if isinstance(v, (Tensor, np.ndarray, np.generic))]
    floats = [a for a in arrays if is_float(a)]
    if floats:
        names = {a.dtype.name for a in floats}
        mixed = names == {"float16", "bfloat16"}
        dtype = np.dtype(np.float32) if mixed else max(
            (a.dtype for a in floats), key=lambda d: d.itemsize
        )  # fmt: skip
    elif any(isinstance(v, float) for v in values):
        dtype = np.dtype(np.float32)
    elif arrays:
        dtype = np.result_type(*(a.dtype for a in arrays))
        if dtype.kind == "f":  # what NumPy makes of uint64 beside int64
            dtype = np.dtype(np.float32)
        if dtype.kind == "b" and any(type(v) is int for v in values):
            dtype = np.dtype(np.int32)
    else:
        dtype = np.dtype(np.int32)
    return [as_tensor(v).astype(dtype) if not isinstance(v, (bool, int, float, list, tuple))
            else tnp.asarray(np.asarray(v, dtype)) for v in values]  # fmt: skip


def as_real(x: Any) -> Any:
    """An array of floats; others become f32."""
    return x if is_float(x) or x.dtype.kind == "c" else x.astype(np.float32)
