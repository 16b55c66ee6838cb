"""Arrays of torch as NumPy's and back, in the same memory."""

from importlib import import_module
from typing import Any

import ml_dtypes
import numpy as np

from tfc.errors import UnsupportedError

torch: Any = import_module("torch")

_DTYPES = {
    "bool": np.bool_, "uint8": np.uint8, "int8": np.int8, "int16": np.int16, "int32": np.int32,
    "int64": np.int64, "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64,
    "float16": np.float16, "float32": np.float32, "float64": np.float64,
    "complex64": np.complex64, "complex128": np.complex128, "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn, "float8_e5m2": ml_dtypes.float8_e5m2,
}  # fmt: skip
_TO_NUMPY = {getattr(torch, name): np.dtype(dtype) for name, dtype in _DTYPES.items()}
_TO_TORCH = {dtype: found for found, dtype in _TO_NUMPY.items()}
# Types that NumPy itself does not have cross as integers of their size.
_CARRIERS = {1: (torch.uint8, np.uint8), 2: (torch.int16, np.int16)}


def numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """NumPy's name for a dtype of torch.

    Raises:
        UnsupportedError: there is none.
    """
    if dtype not in _TO_NUMPY:
        raise UnsupportedError(f"arrays of {dtype} have no counterpart: convert them before")
    return _TO_NUMPY[dtype]


def array_of(tensor: Any) -> np.ndarray:
    """A torch tensor as an array of the same memory, where it is plain memory of the CPU.

    Raises:
        UnsupportedError: it is sparse, or of a dtype without a counterpart.
    """
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise UnsupportedError(f"a tensor of the layout {tensor.layout} has no counterpart")
    dtype = numpy_dtype(tensor.dtype)
    if dtype.kind != "V":
        return tensor.numpy(force=True)
    carrier, _ = _CARRIERS[dtype.itemsize]
    return tensor.detach().cpu().view(carrier).numpy().view(dtype)


def tensor_of(array: Any) -> Any:
    """A NumPy array as a torch tensor of the same memory, where that may be written to."""
    array = np.asarray(array)
    if not array.flags.writeable:
        array = array.copy()
    dtype = array.dtype
    if dtype.kind == "V":
        _, carrier = _CARRIERS[dtype.itemsize]
        return torch.from_numpy(array.view(carrier)).view(_TO_TORCH[dtype])
    return torch.from_numpy(array)
