"""Tensors in an ONNX file as NumPy arrays, checked before any memory is asked for."""

import math
import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from tfc.errors import ModelFileError, UnsupportedError
from tfc.importers.onnx.weights import Weights, opened

_EXTERNAL = 1
_STRING = 8
# By the number of the data type in the file.
DTYPES: dict[int, np.dtype] = {
    1: np.dtype(np.float32), 2: np.dtype(np.uint8), 3: np.dtype(np.int8), 4: np.dtype(np.uint16),
    5: np.dtype(np.int16), 6: np.dtype(np.int32), 7: np.dtype(np.int64), _STRING: np.dtype(object),
    9: np.dtype(np.bool_), 10: np.dtype(np.float16), 11: np.dtype(np.float64),
    12: np.dtype(np.uint32), 13: np.dtype(np.uint64), 14: np.dtype(np.complex64),
    15: np.dtype(np.complex128), 16: np.dtype(ml_dtypes.bfloat16),
    17: np.dtype(ml_dtypes.float8_e4m3fn), 18: np.dtype(ml_dtypes.float8_e4m3fnuz),
    19: np.dtype(ml_dtypes.float8_e5m2), 20: np.dtype(ml_dtypes.float8_e5m2fnuz),
    21: np.dtype(ml_dtypes.uint4), 22: np.dtype(ml_dtypes.int4),
    23: np.dtype(ml_dtypes.float4_e2m1fn), 24: np.dtype(ml_dtypes.float8_e8m0fnu),
    25: np.dtype(ml_dtypes.uint2), 26: np.dtype(ml_dtypes.int2),
}  # fmt: skip
_BITS = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2}  # of types that are packed into bytes
# The field that holds a type's elements where they are not raw bytes, and the dtype of the field.
_FIELDS: dict[int, tuple[str, Any]] = {
    1: ("float_data", np.float32), 14: ("float_data", np.float32),
    11: ("double_data", np.float64), 15: ("double_data", np.float64),
    7: ("int64_data", np.int64), 12: ("uint64_data", np.uint64), 13: ("uint64_data", np.uint64),
}  # fmt: skip


def dtype_of(number: int) -> np.dtype:
    """The dtype for the number of a data type.

    Raises:
        ModelFileError: there is no such type.
    """
    if number not in DTYPES:
        raise ModelFileError(f"there is no element type of number {number}, or it is unknown")
    return DTYPES[number]


class Tensors:
    """Reads the tensors of one file.

    folder: where files with external data lie; None for a model that is no file.
    size: how many bytes it has.
    weights: what is beside the messages.
    """

    def __init__(self, file: str, folder: Path | None, size: int, weights: Weights):
        self.file, self.folder, self.size = file, folder, size
        self._weights = weights

    def read(self, tensor: Any) -> np.ndarray:
        """The array of a Tensor message.

        Raises:
            ModelFileError: its data is not as long as its sizes say, or lies outside of the folder.
        """
        dims = tuple(tensor.dims)
        dtype = dtype_of(tensor.data_type)
        if any(n < 0 for n in dims) or len(dims) > 64:
            raise ModelFileError(f"{self._named(tensor)} has the sizes {list(dims)[:70]}")
        if tensor.data_type == _STRING:
            texts = [text.decode("utf-8", "replace") for text in tensor.string_data]
            self._require(tensor, len(texts), math.prod(dims))
            return np.array(texts, object).reshape(dims)
        bits = _BITS.get(tensor.data_type)
        count = math.prod(dims)
        if bits is not None:
            packed = self._packed(tensor, (count * bits + 7) // 8)
            return _unpacked(packed, bits, count, dtype).reshape(dims)
        if tensor.data_location == _EXTERNAL:
            return self._external(tensor, count * dtype.itemsize).view(dtype).reshape(dims)
        if tensor.HasField("raw_data"):
            raw = self._weights.resolved(tensor.raw_data)
            self._require(tensor, len(raw), count * dtype.itemsize)
            stored = np.frombuffer(raw, dtype.newbyteorder("<"))
            return stored.astype(dtype, copy=False).reshape(dims)
        return self._listed(tensor, dtype, count).reshape(dims)

    def sparse(self, tensor: Any) -> np.ndarray:
        """The array of a SparseTensor message, with zeros where it has no element.

        Raises:
            ModelFileError: it is inconsistent, or far larger than the file.
        """
        values, indices = self.read(tensor.values), self.read(tensor.indices)
        dims = tuple(tensor.dims)
        if any(n < 0 for n in dims) or math.prod(dims) * values.itemsize > max(self.size, 1 << 20):
            raise ModelFileError(f"{self.file} has a sparse tensor of the sizes {list(dims)}")
        dense = np.zeros(math.prod(dims), values.dtype)
        if indices.ndim == 2:
            indices = np.ravel_multi_index(tuple(indices.T), dims)
        if indices.size and not 0 <= indices.min() <= indices.max() < dense.size:
            raise ModelFileError(f"{self.file} has a sparse tensor with elements outside of it")
        dense[indices] = values
        return dense.reshape(dims)

    def _named(self, tensor: Any) -> str:
        return f"{self.file}: the tensor '{tensor.name[:100]}'"

    def _require(self, tensor: Any, got: int, expected: int) -> None:
        if got != expected:
            raise ModelFileError(
                f"{self._named(tensor)} {list(tensor.dims)} needs {expected} bytes or elements, "
                f"the file has {got}"
            )

    def _listed(self, tensor: Any, dtype: np.dtype, count: int) -> np.ndarray:
        """The elements in the field for their type."""
        name, held = _FIELDS.get(tensor.data_type, ("int32_data", np.int32))
        field = getattr(tensor, name)
        parts = 2 if dtype.kind == "c" else 1
        self._require(tensor, len(field), count * parts)
        found = np.fromiter(field, held, len(field))
        if dtype.kind == "c":
            return found.view(dtype)
        if name != "int32_data" or dtype.kind in "iub":
            return found.astype(dtype)
        # Narrow floats are stored as their bits.
        return found.astype(f"uint{8 * dtype.itemsize}").view(dtype)

    def _packed(self, tensor: Any, length: int) -> np.ndarray:
        if tensor.data_location == _EXTERNAL:
            return self._external(tensor, length)
        if tensor.HasField("raw_data"):
            raw = self._weights.resolved(tensor.raw_data)
            self._require(tensor, len(raw), length)
            return np.frombuffer(raw, np.uint8)
        self._require(tensor, len(tensor.int32_data), length)
        return np.fromiter(tensor.int32_data, np.int32, length).astype(np.uint8)

    def _external(self, tensor: Any, length: int) -> np.ndarray:
        """The bytes of a tensor in another file."""
        entries = {entry.key: entry.value for entry in tensor.external_data}
        if self.folder is None:
            raise UnsupportedError(
                f"{self._named(tensor)} lies in another file: give the path of the model instead"
            )
        folder = os.path.realpath(self.folder)
        path = os.path.realpath(os.path.join(folder, entries.get("location", "")))
        if os.path.commonpath([folder, path]) != folder or not os.path.isfile(path):
            raise ModelFileError(
                f"{self._named(tensor)} lies in {entries.get('location')!r}, which is no file in "
                "the model's folder"
            )
        try:
            offset, stated = int(entries.get("offset", "0")), entries.get("length")
            self._require(tensor, length if stated is None else int(stated), length)
        except ValueError as error:
            raise ModelFileError(f"{self._named(tensor)}: {error}") from None
        if offset < 0 or offset + length > os.path.getsize(path):
            raise ModelFileError(f"{self._named(tensor)} lies beyond the end of {path}")
        with opened(path) as source:
            return np.frombuffer(source.read(offset, length), np.uint8)


def _unpacked(packed: np.ndarray, bits: int, count: int, dtype: np.dtype) -> np.ndarray:
    """Elements of a few bits each, the first in the lowest bits of a byte."""
    shifts = np.arange(0, 8, bits).astype(np.uint8)
    parts = (packed[:, None] >> shifts) & np.uint8((1 << bits) - 1)
    parts = parts.reshape(-1)[:count]
    if dtype in (np.dtype(ml_dtypes.int4), np.dtype(ml_dtypes.int2)):
        sign = 1 << (bits - 1)
        return ((parts.astype(np.int8) ^ sign) - sign).astype(dtype)
    return (
        parts.view(dtype)
        if dtype.kind not in "iu" and "uint" not in str(dtype)
        else (parts.astype(dtype))
    )
