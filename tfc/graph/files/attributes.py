"""Attributes of operations as AttrValue messages, in both directions."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tfc.errors import TraceError
from tfc.graph import errors
from tfc.graph.files.messages import message
from tfc.graph.files.tensors import (
    shape_from_proto,
    shape_to_proto,
    tensor_from_proto,
    tensor_to_proto,
)
from tfc.graph.operation import Operation
from tfc.graph.operators.registry import find
from tfc.graph.subgraph import Subgraph
from tfc.graph.types.dtypes import DType, as_dtype
from tfc.graph.types.shapes import TensorShape


def attributes_to_proto(op: Operation) -> dict[str, Any]:
    """The attributes of an operation, with those that name the dtypes of its inputs.

    Raises:
        UnimplementedError: one holds what files have no place for.
    """
    found: dict[str, Any] = {}
    found |= find(op.type, op.attributes).type_attributes([x.dtype for x in op.inputs])
    if op.type in ("If", "StatelessIf", "Case", "StatelessCase"):
        found["Tin"] = [x.dtype for x in op.inputs[1:]]
        found["Tout"] = [x.dtype for x in op.outputs]
    elif op.type in ("PartitionedCall", "StatefulPartitionedCall"):
        found["Tin"], found["Tout"] = [x.dtype for x in op.inputs], [x.dtype for x in op.outputs]
    elif op.type in ("While", "StatelessWhile"):
        found["T"] = [x.dtype for x in op.inputs]
    found |= op.attributes
    if op.type == "Cast":
        found["DstT"] = op.outputs[0].dtype
    try:
        return {name: to_proto(value) for name, value in found.items() if value is not None}
    except TypeError as error:
        raise errors.UnimplementedError(
            op, op, f"operation {op.name!r} of type {op.type} cannot be written: {error}"
        ) from None


def to_proto(value: Any) -> Any:
    """An attribute.

    Raises:
        TypeError: files have no place for such a value.
    """
    if isinstance(value, (list, tuple)):
        return _list_to_proto(value)
    if isinstance(value, (bool, np.bool_)):
        return message("AttrValue", b=bool(value))
    if isinstance(value, (int, np.integer)):
        return message("AttrValue", i=int(value))
    if isinstance(value, (float, np.floating)):
        return message("AttrValue", f=float(value))
    if isinstance(value, (str, bytes)):
        return message("AttrValue", s=value.encode() if isinstance(value, str) else value)
    if isinstance(value, DType):
        return message("AttrValue", type=value.number)
    if isinstance(value, np.dtype):
        return message("AttrValue", type=as_dtype(value).number)
    if isinstance(value, TensorShape):
        return message("AttrValue", shape=shape_to_proto(value))
    if isinstance(value, np.ndarray):
        return message("AttrValue", tensor=tensor_to_proto(value))
    if isinstance(value, Mapping):  # the attributes of another operation
        held = {name: to_proto(x) for name, x in value.items() if x is not None}
        return message("AttrValue", func=message("NameAttrList", attr=held))
    if isinstance(value, Subgraph):
        return message("AttrValue", func=message("NameAttrList", name=value.name))
    raise TraceError(f"files have no place for {value!r}")


_LISTS = ("s", "i", "f", "b", "type", "shape", "tensor", "func")


def _list_to_proto(values: Any) -> Any:
    made = message("AttrValue")
    made.list.SetInParent()
    for value in values:
        one = to_proto(value)
        kind = one.WhichOneof("value")
        held = getattr(one, kind)
        getattr(made.list, kind).append(held)
    return made


def attributes_from_proto(
    held: Mapping[str, Any], functions: Mapping[str, Subgraph], what: str
) -> dict[str, Any]:
    """The attributes that a node states.

    Args:
        functions: the library's, by name.
    """
    return {name: from_proto(value, functions, f"{what}, {name}") for name, value in held.items()}


def from_proto(made: Any, functions: Mapping[str, Subgraph], what: str) -> Any:
    """What an AttrValue means.

    Raises:
        InvalidArgumentError: a tensor, shape or function is not valid.
    """
    kind = made.WhichOneof("value")
    if kind is None or kind == "placeholder":
        return None
    if kind == "list":
        filled = [name for name in _LISTS if len(getattr(made.list, name))]
        if not filled:
            return []
        return [_single(filled[0], x, functions, what) for x in getattr(made.list, filled[0])]
    return _single(kind, getattr(made, kind), functions, what)


def _single(kind: str, held: Any, functions: Mapping[str, Subgraph], what: str) -> Any:
    match kind:
        case "s":
            try:
                return held.decode()
            except UnicodeDecodeError:
                return held
        case "type":
            try:
                return as_dtype(held)
            except TypeError:
                raise errors.InvalidArgumentError(
                    None, None, f"{what} names the type {held}, which there is not"
                ) from None
        case "shape":
            return shape_from_proto(held)
        case "tensor":
            return tensor_from_proto(held, what)
        case "func" if not held.name:
            return attributes_from_proto(held.attr, functions, what)
        case "func":
            if held.name not in functions:
                raise errors.InvalidArgumentError(
                    None, None, f"{what} names the function {held.name!r}, which there is not"
                )
            return functions[held.name]
        case _:
            return held
