"""TensorArray: tensors of one shape under numbers, which loops write to and read."""

from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.graph.building import result
from tfc.graph.constants import constant, convert_to_tensor
from tfc.graph.control.list_rows import KnownShape
from tfc.graph.functions.creation import no_op
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Operation, Tensor
from tfc.graph.types.dtypes import DType, as_dtype, int32
from tfc.graph.types.shapes import TensorShape


class TensorArray:
    """Tensors under numbers. What writes gives a new array; the old one is as it was.

    dtype: of the elements. flow: the tensor that holds them, a list to operations.
    """

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool = False,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ):
        """Make an array of elements not yet written, which are zeros where they are read.

        Args:
            size: how many elements; needed unless `flow` is given.
            dynamic_size: writing behind the end makes it longer: loops that do run on the host.
            clear_after_read: says nothing here: elements may be read again.
            infer_shape: all elements have one shape, which the first write tells.
            element_shape: that shape, or what is known of it.

        Raises:
            ValueError: neither a size nor a flow is given, or both.
        """
        if (size is None) == (flow is None):
            raise ShapeError("a TensorArray is made of either a size or a flow")
        self.dtype: DType = as_dtype(dtype)
        self._known = KnownShape(TensorShape(element_shape))
        self._infers, self._grows = infer_shape, dynamic_size
        self._count: int | None = None
        if flow is not None:
            self.flow: Tensor = flow
            return
        with get_default_graph().name_scope(name or "TensorArray") as scope:
            inputs = [_shape_tensor(self._known.shape), convert_to_tensor(size, int32)]
            attributes = {"element_dtype": self.dtype, "shape_type": int32, "_known": self._known}
            self.flow = self._list("TensorListReserve", *inputs, name=scope, **attributes)
            count = inputs[1].known_value()
            self._count = None if count is None or dynamic_size else int(count)

    # --- what it is

    @property
    def handle(self) -> Tensor:
        """The tensor that holds the elements."""
        return self.flow

    @property
    def element_shape(self) -> TensorShape:
        """What is known of the elements' shape."""
        return self._known.shape

    @property
    def dynamic_size(self) -> bool:
        """Whether writing behind the end makes it longer."""
        return self._grows

    def with_flow(self, flow: Tensor) -> "TensorArray":
        """The array whose elements another tensor holds."""
        made = TensorArray(self.dtype, flow=flow, infer_shape=self._infers)
        made._known, made._grows, made._count = self._known, self._grows, self._count
        return made

    def identity(self) -> "TensorArray":
        """The array itself, which waits for what `control_dependencies` says."""
        return self.with_flow(self._list("Identity", self.flow))

    def size(self, name: str | None = None) -> Tensor:
        """How many elements there are."""
        return result("TensorListLength", self.flow, name=name)

    def close(self, name: str | None = None) -> Operation:
        """Nothing: what holds the elements goes with the run."""
        return no_op(name)

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> Any:
        """An array of zeros for the gradients of this one's elements."""
        return self.with_flow(self._list("ZerosLike", flow if flow is not None else self.flow))

    # --- elements

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """The element of a number."""
        number = convert_to_tensor(index, _index_dtype(index))
        made = self._tensor("TensorListGetItem", number, self._shape(), name=name)
        made.set_shape(self._known.shape)
        return made

    def write(self, index: Any, value: Any, name: str | None = None) -> "TensorArray":
        """The array with another element under a number.

        Raises:
            ValueError: the element has another dtype, or a shape unlike that of the others.
        """
        item = self._item(value)
        self._learn(item.shape)
        number = convert_to_tensor(index, _index_dtype(index))
        attributes = {"element_dtype": self.dtype, "resize_if_index_out_of_bounds": self._grows}
        return self._changed("TensorListSetItem", self.flow, number, item, name=name, **attributes)

    def stack(self, name: str | None = None) -> Tensor:
        """All elements along a new first dimension."""
        made = self._tensor("TensorListStack", self._shape(), name=name, num_elements=-1)
        made.set_shape(TensorShape([self._count]).concatenate(self._known.shape))
        return made

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """The elements of some numbers along a new first dimension."""
        numbers = convert_to_tensor(indices, _index_dtype(indices))
        made = self._tensor("TensorListGather", numbers, self._shape(), name=name)
        made.set_shape(TensorShape(numbers.shape[:1]).concatenate(self._known.shape))
        return made

    def concat(self, name: str | None = None) -> Tensor:
        """All elements, one behind the other along their first dimension."""
        none = constant(np.zeros(0, np.int64))
        made = self._tensor("TensorListConcatV2", self._shape(), none, name=name)
        if self._known.shape.dims:
            made.set_shape(TensorShape([None]).concatenate(self._known.shape[1:]))
        return made

    def unstack(self, value: Any, name: str | None = None) -> "TensorArray":
        """The array of a tensor's slices along its first dimension."""
        tensor = self._item(value)
        self._learn(tensor.shape[1:])
        made = self._changed("TensorListFromTensor", tensor, self._shape(), name=name)
        made._count = tensor.shape.dims[0] if tensor.shape.dims else None
        return made

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> "TensorArray":
        """The array with a tensor's slices under some numbers."""
        tensor = self._item(value)
        self._learn(tensor.shape[1:])
        numbers = convert_to_tensor(indices, _index_dtype(indices))
        type = "TensorListScatterIntoExistingList"
        return self._changed(type, self.flow, tensor, numbers, name=name)

    def split(self, value: Any, lengths: Any, name: str | None = None) -> "TensorArray":
        """The array of a tensor's parts along its first dimension, which are of equal lengths."""
        sizes = convert_to_tensor(lengths, _index_dtype(lengths))
        tensor = self._item(value)
        return self._changed("TensorListSplit", tensor, self._shape(), sizes, name=name)

    # --- how

    def _item(self, value: Any) -> Tensor:
        return convert_to_tensor(value, self.dtype)

    def _learn(self, shape: TensorShape) -> None:
        if self._infers:
            self._known.merge(shape)

    def _shape(self) -> Tensor:
        return _shape_tensor(self._known.shape)

    def _tensor(self, type: str, *inputs: Any, name: str | None, **attributes: Any) -> Tensor:
        attributes |= {"element_dtype": self.dtype}
        return result(type, self.flow, *inputs, name=name, **attributes)

    def _list(self, type: str, *inputs: Any, name: str | None = None, **attributes: Any) -> Tensor:
        made = result(type, *inputs, name=name, **attributes)
        made.element = (self.dtype, self._known.shape)
        return made

    def _changed(self, type: str, *inputs: Any, name: str | None, **attributes: Any) -> Any:
        attributes.setdefault("element_dtype", self.dtype)
        return self.with_flow(self._list(type, *inputs, name=name, **attributes))


def _shape_tensor(shape: TensorShape) -> Tensor:
    """A shape as a constant: -1 for what is not known."""
    if shape.dims is None:
        return constant(-1, int32)
    return constant(np.array([-1 if n is None else n for n in shape.dims], np.int32))


def _index_dtype(index: Any) -> DType | None:
    return None if hasattr(index, "dtype") or hasattr(index, "_as_tensor") else int32
