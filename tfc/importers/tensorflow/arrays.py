"""TensorArrays of TensorFlow 1: a handle that says what they hold, and a flow that holds it.

The flow is a list as graph mode has it (graph/control/list_rows.py), so that loops carry it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.errors import ShapeError, UnsupportedError
from tfc.graph.control import list_rows
from tfc.graph.types.dtypes import DType
from tfc.graph.types.shapes import TensorShape
from tfc.importers.tensorflow.table import operator

_MOST = 1 << 24  # elements of one that is made


@dataclass(frozen=True)
class ArrayHandle:
    """What a TensorArray holds, and whether it grows."""

    dtype: DType
    grows: bool


@operator("TensorArrayV3", needs=("size",), is_pure=False)
def make(
    size: Any, *, dtype: DType, element_shape: Any = None, dynamic_size: bool = False
) -> tuple[Any, Any]:
    """An array of elements that are zero until they are written."""
    shape = TensorShape(None) if element_shape is None else TensorShape(element_shape)
    flow: Any = list_rows.Unset(int(np.ravel(size)[0]), dtype.dtype)
    if shape.is_fully_defined():
        if flow.length * max(1, int(np.prod(shape.known()))) > _MOST:
            raise UnsupportedError(f"a TensorArray of {flow.length} elements is too large")
        flow = flow.filled(shape.known())
    return ArrayHandle(dtype, dynamic_size), flow


@operator("TensorArrayWriteV3", is_pure=False)
def write(handle: ArrayHandle, index: Any, value: Any, flow_in: Any) -> Any:
    """The array with another element at a place."""
    return list_rows.set_item(
        flow_in, index, value, resize_if_index_out_of_bounds=handle.grows
    )  # fmt: skip


@operator("TensorArrayReadV3", is_pure=False)
def read(handle: ArrayHandle, index: Any, flow_in: Any, *, dtype: Any = None) -> Any:
    """The element at a place."""
    return list_rows.get_item(flow_in, index, None, element_dtype=handle.dtype)


@operator("TensorArrayGatherV3", is_pure=False)
def gather(
    handle: ArrayHandle, indices: Any, flow_in: Any, *, dtype: Any = None, element_shape: Any = None
) -> Any:
    """The elements at some places along a new first dimension."""
    return list_rows.gather(flow_in, indices, None, element_dtype=handle.dtype)


@operator("TensorArrayScatterV3", is_pure=False)
def scatter(handle: ArrayHandle, indices: Any, value: Any, flow_in: Any) -> Any:
    """The array with a tensor's slices at some places."""
    length = _length(flow_in)
    if handle.grows and value.shape[0] > length:
        if not isinstance(indices, np.ndarray):
            raise UnsupportedError(
                "a TensorArray of dynamic size is written to at places that are computed"
            )
        flow_in = list_rows.Unset(int(indices.max()) + 1, handle.dtype.dtype)
    return list_rows.scatter(flow_in, value, indices)


@operator("TensorArraySizeV3", is_pure=False)
def size(handle: ArrayHandle, flow_in: Any) -> Any:
    """How many elements there are."""
    return np.asarray(_length(flow_in), np.int32)


def _length(flow: Any) -> int:
    return flow.length if isinstance(flow, list_rows.Unset) else int(flow.shape[0])


@operator("TensorArrayConcatV3", is_pure=False)
def concatenated(
    handle: ArrayHandle, flow_in: Any, *, dtype: Any = None, element_shape_except0: Any = None
) -> tuple[Any, Any]:
    """The elements along their first dimension, and how long each is."""
    joined, lengths = list_rows.concatenated(flow_in, None, None, element_dtype=handle.dtype)
    return joined, lengths


@operator("TensorArraySplitV3", needs=("lengths",), is_pure=False)
def split(handle: ArrayHandle, value: Any, lengths: Any, flow_in: Any) -> Any:
    """The array of a tensor's parts along its first dimension, which are all of one length."""
    sizes = {int(n) for n in np.ravel(lengths)}
    if len(sizes) != 1:
        raise ShapeError(f"the elements of a TensorArray have one length, got {sorted(sizes)}")
    return tnp.reshape(value, (len(lengths), *sizes, *value.shape[1:]))


@operator("TensorArrayCloseV3", is_pure=False)
def close(handle: ArrayHandle) -> None:
    """Nothing: what holds the elements goes with the call."""
