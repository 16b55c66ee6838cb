"""Constants, and what becomes a tensor where a function takes one."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError, TraceError
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Tensor
from tfc.graph.types.dtypes import DType, as_dtype
from tfc.graph.types.shapes import Dimension, TensorShape


def as_array(value: Any, dtype: Any = None) -> np.ndarray:
    """The array that a value is, of a dtype or of the one that TensorFlow gives such values.

    Python's integers are int32 where they fit, its floats float32; arrays keep their dtype.

    Raises:
        TypeError: the value is no array, or loses digits as one of this dtype.
    """
    wanted = None if dtype is None else as_dtype(dtype)
    if isinstance(value, TensorShape):
        value = np.array(value.known(), np.int32 if wanted is None else wanted.dtype)
    elif isinstance(value, Dimension):
        value = int(value)
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise TraceError(f"a constant must be a rectangular array, got {value!r}") from error
    if array.dtype.kind in "USO":
        raise TraceError(f"a constant holds numbers or booleans, got {_short(value)}")
    given = isinstance(value, (np.ndarray, np.generic))
    if wanted is not None:
        return _cast(array, wanted, value, given)
    if given or _holds_arrays(value):
        return array
    if array.dtype.kind in "iu":
        fits = array.size == 0 or (array.min() >= -(2**31) and array.max() < 2**31)
        return array.astype(np.int32 if fits else np.int64)
    return array.astype(np.float32) if array.dtype.kind == "f" else array


def _cast(array: np.ndarray, wanted: DType, value: Any, given: bool) -> np.ndarray:
    """Check that a constant may become one of the dtype wanted, and make it that.

    Raises:
        TypeError: it is a float that is to be an integer, a complex number that is to be real, …
    """
    kinds = {"b": "b", "u": "iu", "i": "iu", "f": "iuf", "c": "iufc", "V": "iufV"}
    if not given and array.size and array.dtype.kind not in kinds[wanted.dtype.kind]:
        raise TraceError(f"expected {wanted.name}, got {_short(value)} of type {array.dtype}")
    limits = (int(wanted.min), int(wanted.max)) if wanted.is_integer and not given else None
    if limits and array.size and not limits[0] <= array.min() <= array.max() <= limits[1]:
        raise TraceError(f"{_short(value)} does not fit in {wanted.name}")
    return array.astype(wanted.dtype)


def _holds_arrays(value: Any) -> bool:
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return isinstance(value, (np.ndarray, np.generic))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"


def constant(
    value: Any,
    dtype: Any = None,
    shape: Any = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """A tensor of a known value.

    Args:
        shape: dimensions to fill; the last number is repeated where the value has too few.

    Raises:
        ShapeError: the value has too many elements, or with `verify_shape` another shape.
    """
    array = as_array(value, dtype)
    if shape is not None:
        wanted = TensorShape(shape).known()
        if verify_shape and wanted != array.shape:
            raise TraceError(f"expected a value of shape {wanted}, got {array.shape}")
        count = int(np.prod(wanted))
        if array.size > count:
            raise ShapeError(f"a value of {array.size} elements does not fit in shape {wanted}")
        flat = array.ravel()
        padding = np.full(count - flat.size, flat[-1] if flat.size else 0, array.dtype)
        array = np.concatenate([flat, padding]).reshape(wanted)
    held = np.array(array)
    held.setflags(write=False)
    spec = (as_dtype(dtype) if dtype is not None else as_dtype(held.dtype), TensorShape(held.shape))
    attributes = {"value": held, "dtype": spec[0]}
    return get_default_graph().create_operation("Const", (), attributes, name, [spec]).outputs[0]


def convert_to_tensor(
    value: Any, dtype: Any = None, name: str | None = None, preferred_dtype: Any = None
) -> Tensor:
    """The tensor that a value is or becomes: variables are read, lists of tensors are stacked.

    Args:
        dtype: what it must have. preferred_dtype: what a Python number may have.

    Raises:
        ShapeError: a tensor has another dtype. TypeError: no tensor can be made of the value.
    """
    read = getattr(value, "_as_tensor", None)
    tensor = read() if read is not None else value
    if isinstance(tensor, Tensor):
        if dtype is not None and tensor.dtype != as_dtype(dtype):
            raise ShapeError(
                f"a tensor of {as_dtype(dtype).name} is asked for, but {tensor} is none: use cast"
            )
        return tensor
    if isinstance(value, (list, tuple)) and _holds_tensor(value):
        return _stacked(value, dtype)
    if dtype is None and preferred_dtype is not None:
        try:
            return constant(value, preferred_dtype, name=name or "Const")
        except TypeError:
            pass
    return constant(value, dtype, name=name or "Const")


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_holds_tensor(x) for x in value)
    return isinstance(value, Tensor) or hasattr(value, "_as_tensor")


def _stacked(value: Sequence[Any], dtype: Any) -> Tensor:
    first = next(x for x in _leaves(value) if isinstance(x, Tensor) or hasattr(x, "_as_tensor"))
    wanted = dtype if dtype is not None else first.dtype
    parts = [convert_to_tensor(x, wanted) for x in value]
    graph = get_default_graph()
    attributes = {"axis": 0, "N": len(parts), "T": as_dtype(wanted)}
    return graph.create_operation("Pack", parts, attributes, "packed").outputs[0]


def _leaves(value: Any) -> Iterable[Any]:
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _leaves(part)
    else:
        yield value
