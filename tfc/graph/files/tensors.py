"""Arrays as TensorProto messages, shapes as TensorShapeProto, in both directions."""

from math import prod
from typing import Any

import numpy as np

from tfc.errors import TraceError
from tfc.graph import errors
from tfc.graph.files.messages import message
from tfc.graph.types.dtypes import DType, as_dtype
from tfc.graph.types.shapes import TensorShape

# The field that holds the values of a dtype, where they are not `tensor_content`.
_FIELDS = {
    "float32": "float_val", "float64": "double_val", "int32": "int_val", "uint8": "int_val",
    "int16": "int_val", "int8": "int_val", "uint16": "int_val", "int4": "int_val",
    "uint4": "int_val", "qint8": "int_val", "quint8": "int_val", "qint32": "int_val",
    "qint16": "int_val", "quint16": "int_val", "complex64": "scomplex_val", "int64": "int64_val",
    "bool": "bool_val", "complex128": "dcomplex_val", "float16": "half_val",
    "bfloat16": "half_val", "uint32": "uint32_val", "uint64": "uint64_val",
    "float8_e5m2": "float8_val", "float8_e4m3fn": "float8_val",
}  # fmt: skip
_LARGEST_RANK = 64
_MOST_REPEATED = 1 << 20  # bytes that a value repeated to fill its shape may always have


def shape_to_proto(shape: TensorShape) -> Any:
    """A shape; -1 for an unknown dimension."""
    if shape.dims is None:
        return message("TensorShapeProto", unknown_rank=True)
    dims = [{"size": -1 if n is None else n} for n in shape.dims]
    return message("TensorShapeProto", dim=dims)


def shape_from_proto(made: Any) -> TensorShape:
    """The shape that a message means.

    Raises:
        InvalidArgumentError: a dimension is below -1, or there are too many.
    """
    if made.unknown_rank:
        return TensorShape(None)
    sizes = [dim.size for dim in made.dim]
    if len(sizes) > _LARGEST_RANK or any(n < -1 for n in sizes) or prod(sizes) >= 1 << 62:
        raise errors.InvalidArgumentError(None, None, f"no tensor has the shape {sizes[:70]}")
    return TensorShape(None if n == -1 else n for n in sizes)


def tensor_to_proto(array: np.ndarray, dtype: DType | None = None) -> Any:
    """An array: one value if all are alike, else its bytes."""
    kind = as_dtype(array.dtype) if dtype is None else dtype
    made = message("TensorProto", dtype=kind.number)
    made.tensor_shape.CopyFrom(shape_to_proto(TensorShape(array.shape)))
    field = _FIELDS[kind.name]
    flat = np.ascontiguousarray(array).reshape(-1)
    alike = flat.size > 0 and flat.tobytes() == flat[:1].tobytes() * flat.size
    if not alike or field == "float8_val":
        made.tensor_content = flat.astype(flat.dtype.newbyteorder("<")).tobytes()
    elif field == "half_val":
        made.half_val.append(int(flat[:1].view(np.uint16)[0]))
    elif "complex" in field:
        getattr(made, field).extend([float(flat[0].real), float(flat[0].imag)])
    else:
        getattr(made, field).append(flat[0].item() if flat.dtype.kind != "V" else int(flat[0]))
    return made


def tensor_from_proto(made: Any, what: str = "a tensor") -> np.ndarray:
    """The array that a message means; it is not to be written to.

    A value that is repeated to fill the shape takes no memory of its own.

    Raises:
        InvalidArgumentError: it has values of another number or kind than it says.
    """
    dims = shape_from_proto(made.tensor_shape)
    if not dims.is_fully_defined():
        raise _invalid(what, f"its shape {dims} is not known")
    shape = dims.known()
    try:
        kind = as_dtype(made.dtype)
        field = _FIELDS[kind.name]
    except (TypeError, KeyError, TraceError):
        raise _invalid(what, f"there are no arrays of type number {made.dtype}") from None
    if prod(shape) * kind.dtype.itemsize >= 1 << 62:
        raise _invalid(what, f"no array has the shape {shape}")
    if made.tensor_content:
        return _of_bytes(made.tensor_content, kind, shape, what)
    values = _of_values(getattr(made, field), field, kind, what)
    if values.size > prod(shape):
        raise _invalid(what, f"{values.size} values do not fit in shape {shape}")
    if values.size <= 1:
        value = values[0] if values.size else np.zeros((), kind.dtype)
        return np.broadcast_to(value, shape)
    return _filled(values, shape, what)


def _of_bytes(content: bytes, kind: DType, shape: tuple[int, ...], what: str) -> np.ndarray:
    stored = kind.dtype.newbyteorder("<")
    if len(content) != prod(shape) * stored.itemsize:
        raise _invalid(what, f"{len(content)} bytes are not those of shape {shape}, {kind.name}")
    return np.frombuffer(content, stored).astype(kind.dtype, copy=False).reshape(shape)


def _of_values(held: Any, field: str, kind: DType, what: str) -> np.ndarray:
    if field == "float8_val":
        return np.frombuffer(held, kind.dtype)
    if "complex" in field:
        if len(held) % 2:
            raise _invalid(what, "a complex number lacks its imaginary part")
        return np.array(held, np.float64).view(np.complex128).astype(kind.dtype)
    try:
        if field == "half_val":
            return np.array(held, np.uint16).view(kind.dtype)
        return np.array(held, kind.dtype)
    except OverflowError:
        raise _invalid(what, f"it holds values that are not {kind.name}") from None


def _filled(values: np.ndarray, shape: tuple[int, ...], what: str) -> np.ndarray:
    """The values, and the last one again until the shape is full."""
    missing = prod(shape) - values.size
    if missing * values.itemsize > max(_MOST_REPEATED, 4 * values.nbytes):
        raise _invalid(what, f"{values.size} values are to fill the shape {shape}")
    filled = np.concatenate([values, np.broadcast_to(values[-1], (missing,))])
    return filled.reshape(shape)


def _invalid(what: str, why: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, f"{what} is not valid: {why}")
