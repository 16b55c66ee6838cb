"""Operators on lists of tensors of one shape: the value of a list is one array of them all.

A list whose elements' shape is not known yet is `Unset`; the first element that is set decides it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tfc import numpy as tnp
from tfc.errors import OutOfBoundsError, ShapeError, UnsupportedError
from tfc.frontend.numpy.indexing.dynamic import (
    dynamic_index_in_dim,
    dynamic_update_index_in_dim,
)
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import evaluable
from tfc.graph.operators.registry import Attributes, Operator, Spec, operator
from tfc.graph.types.dtypes import as_dtype, int32, int64, variant
from tfc.graph.types.shapes import TensorShape


@dataclass(frozen=True)
class Unset:
    """A list of elements that have no shape yet."""

    length: int
    dtype: np.dtype

    def filled(self, shape: Sequence[int]) -> np.ndarray:
        """Its elements as zeros of a shape."""
        return np.zeros((self.length, *shape), self.dtype)


class KnownShape:
    """What is known of the shape of a list's elements, found as the graph is built.

    It is an attribute of the operation that makes the list, which is read when the graph is run.
    """

    def __init__(self, shape: TensorShape):
        self.shape = shape

    def merge(self, shape: TensorShape) -> None:
        """Learn more of the shape.

        Raises:
            ValueError: it contradicts what is known.
        """
        self.shape = self.shape.merge_with(shape)


def _list(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(variant, TensorShape(()))]


def _element(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(as_dtype(attributes["element_dtype"]), TensorShape(None))]


@operator("TensorListReserve", types="", known=(0, 1), infer=_list)
def reserve(
    element_shape: Any, num_elements: Any, *, element_dtype: Any, _known: KnownShape | None = None
) -> Any:
    """A list of elements that are zero until they are set."""
    shape = TensorShape(None) if _known is None else _known.shape
    stated = np.atleast_1d(element_shape)
    if np.ndim(element_shape):
        shape = shape.merge_with([None if n < 0 else int(n) for n in stated])
    made = Unset(int(num_elements), as_dtype(element_dtype).dtype)
    return made.filled(shape.known()) if shape.is_fully_defined() else made


@operator("EmptyTensorList", types="", known=(0,), infer=_list)
def empty(element_shape: Any, max_num_elements: Any, *, element_dtype: Any) -> Any:
    """A list of no elements."""
    return reserve(element_shape, 0, element_dtype=element_dtype)


@operator("TensorListPushBack", types="", infer=_list)
def push_back(handle: Any, tensor: Any) -> Any:
    """The list with a further element."""
    if isinstance(handle, Unset):
        handle = handle.filled(tensor.shape)
    return tnp.concatenate([handle, tnp.expand_dims(tensor, 0)])


def _list_and_element(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [*_list(inputs, attributes), *_element(inputs, attributes)]


@operator("TensorListPopBack", types="", infer=_list_and_element)
def pop_back(handle: Any, element_shape: Any, *, element_dtype: Any) -> list[Any]:
    """The list without its last element, and that."""
    handle = _set(handle)
    _check_place(int(handle.shape[0]) - 1, int(handle.shape[0]), "pop")
    return [handle[:-1], handle[-1]]


@operator("TensorListResize", types="", known=(1,), infer=_list)
def resize(handle: Any, size: Any) -> Any:
    """The list with its first elements, and zeros behind them if it becomes longer."""
    count = int(np.ravel(size)[0])
    if isinstance(handle, Unset):
        return replace(handle, length=count)
    more = np.zeros((max(0, count - int(handle.shape[0])), *handle.shape[1:]), handle.dtype)
    return tnp.concatenate([handle[:count], more])


@operator("TensorListConcatLists", types="", infer=_list)
def concatenated_lists(input_a: Any, input_b: Any) -> Any:
    """The elements of one list, then those of another."""
    if isinstance(input_a, Unset) and isinstance(input_b, Unset):
        return replace(input_a, length=input_a.length + input_b.length)
    known_shape = (input_b if isinstance(input_a, Unset) else input_a).shape[1:]
    parts = [x.filled(known_shape) if isinstance(x, Unset) else x for x in (input_a, input_b)]
    return tnp.concatenate(parts)


@operator("TensorListElementShape", types="", infer=lambda *_: [(int32, TensorShape([None]))])
def element_shape(handle: Any, *, shape_type: Any = int32) -> Any:
    """The sizes of an element; -1, a scalar, where no element has been set."""
    dims = -1 if isinstance(handle, Unset) else [int(n) for n in handle.shape[1:]]
    return np.asarray(dims, as_dtype(shape_type).dtype)


@operator("TensorListFromTensor", types="", infer=_list)
def from_tensor(tensor: Any, element_shape: Any) -> Any:
    """The list of a tensor's slices along its first dimension."""
    return tensor


@operator("TensorListStack", types="", infer=_element)
def stack(handle: Any, element_shape: Any, *, element_dtype: Any, num_elements: int = -1) -> Any:
    """The elements along a new first dimension."""
    return _set(handle)


def _set(handle: Any) -> Any:
    """A list's elements.

    Raises:
        ShapeError: none has been set, so that their shape is not known.
    """
    if isinstance(handle, Unset):
        raise ShapeError(
            "the elements of a TensorArray are read, but none was written and no element_shape "
            "is stated"
        )
    return handle


def _growing(row: Operator, attributes: Attributes) -> Operator:
    """A list that grows does so on the host."""
    return replace(row, on_host=bool(attributes.get("resize_if_index_out_of_bounds")))


@operator("TensorListSetItem", types="", infer=_list, decide=_growing)
def set_item(
    handle: Any, index: Any, item: Any, *, resize_if_index_out_of_bounds: bool = False
) -> Any:
    """The list with another element at a place."""
    if isinstance(handle, Unset):
        handle = handle.filled(item.shape)
    if tuple(handle.shape[1:]) != tuple(item.shape):
        raise ShapeError(
            f"the elements of this TensorArray have shape {tuple(handle.shape[1:])}, got one of "
            f"{tuple(item.shape)}"
        )
    if not isinstance(index, (np.ndarray, np.generic)):
        if resize_if_index_out_of_bounds:
            raise UnsupportedError(
                "a list that grows is written to at a place that must be known when a program is "
                "compiled, but depends on what it is run with"
            )
        return dynamic_update_index_in_dim(handle, item, index, 0)
    place, length = int(index), int(handle.shape[0])
    if resize_if_index_out_of_bounds and place >= length:
        more = np.zeros((place + 1 - length, *handle.shape[1:]), handle.dtype)
        handle, length = tnp.concatenate([handle, more]), place + 1
    _check_place(place, length, "write")
    return dynamic_update_index_in_dim(handle, item, place, 0)


def _check_place(place: int, length: int, what: str) -> None:
    if not 0 <= place < length:
        raise OutOfBoundsError(
            f"Tried to {what} index {place} but array size is: {length}, and it is not of "
            "dynamic_size"
        )


@operator("TensorListGetItem", types="", infer=_element)
def get_item(handle: Any, index: Any, element_shape: Any, *, element_dtype: Any) -> Any:
    """The element at a place."""
    handle = _set(handle)
    if isinstance(index, (np.ndarray, np.generic)):
        _check_place(int(index), int(handle.shape[0]), "read")
        index = int(index)
    return dynamic_index_in_dim(handle, index, 0, keepdims=False)


@operator("TensorListLength", types="", infer=lambda *_: [(int32, TensorShape(()))])
def length(handle: Any) -> Any:
    """How many elements there are."""
    return np.int32(handle.length if isinstance(handle, Unset) else handle.shape[0])


@operator("TensorListGather", types="", infer=_element)
def gather(handle: Any, indices: Any, element_shape: Any, *, element_dtype: Any) -> Any:
    """The elements at some places along a new first dimension."""
    return tnp.take(_set(handle), indices, axis=0)


@operator("TensorListScatterIntoExistingList", types="", infer=_list)
def scatter(handle: Any, tensor: Any, indices: Any) -> Any:
    """The list with a tensor's slices at some places."""
    if isinstance(handle, Unset):
        handle = handle.filled(tensor.shape[1:])
    if isinstance(indices, np.ndarray) and indices.size:
        _check_place(int(indices.max()), int(handle.shape[0]), "write")
    return evaluable(_scattered)(handle, indices, tensor)


def _scattered(handle: Any, indices: Any, tensor: Any) -> Any:
    return as_tensor(handle).at[indices].set(tensor)


@operator("TensorListScatterV2", types="", known=(1, 3), infer=_list)
def scattered_list(tensor: Any, indices: Any, element_shape: Any, num_elements: Any) -> Any:
    """A list that has a tensor's slices at some places, and zeros elsewhere."""
    return _scattered_list(tensor, indices, int(np.ravel(num_elements)[0]))


@operator("TensorListScatter", types="", known=(1,), infer=_list)
def scattered_list_of_any_length(tensor: Any, indices: Any, element_shape: Any) -> Any:
    """As the other, as long as the indices ask for."""
    return _scattered_list(tensor, indices, -1)


def _scattered_list(tensor: Any, indices: Any, stated: int) -> Any:
    count = int(np.max(indices, initial=-1)) + 1 if stated < 0 else stated
    return scatter(Unset(count, np.dtype(tensor.dtype)), tensor, np.asarray(indices))


def _joined(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [*_element(inputs, attributes), (int64, TensorShape([None]))]


@operator("TensorListConcatV2", types="", infer=_joined)
def concatenated(
    handle: Any, element_shape: Any, leading_dims: Any, *, element_dtype: Any
) -> list[Any]:
    """The elements along their first dimension, and how long each is."""
    return _concatenated(handle)


@operator("TensorListConcat", types="", infer=_joined)
def concatenated_first(handle: Any, *, element_dtype: Any, element_shape: Any = None) -> list[Any]:
    """As the later version, which takes shapes as inputs."""
    return _concatenated(handle)


def _concatenated(handle: Any) -> list[Any]:
    handle = _set(handle)
    if handle.ndim < 2:
        raise ShapeError("concat needs elements of one dimension at least, got scalars")
    count, each, *rest = handle.shape
    return [tnp.reshape(handle, (count * each, *rest)), np.full(count, each, np.int64)]


@operator("TensorListSplit", types="", known=(2,), infer=_list)
def split(tensor: Any, element_shape: Any, lengths: Any) -> Any:
    """The list of a tensor's parts along its first dimension, which are all of one length."""
    sizes = {int(n) for n in np.ravel(lengths)}
    if len(sizes) > 1:
        raise UnsupportedError(
            f"the elements of a TensorArray have one shape: split into equal parts, not {sizes}"
        )
    return tnp.reshape(tensor, (len(lengths), *(sizes or {0}), *tensor.shape[1:]))
