"""Operators on variables: each names its variable by a handle, the value of a resource tensor."""

from collections.abc import Sequence
from typing import Any

from tfc import numpy as tnp
from tfc.graph.operators.registry import Attributes, Spec, operator
from tfc.graph.types.dtypes import as_dtype, bool_
from tfc.graph.types.shapes import TensorShape


def _element(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    """What the variable holds: the handle knows it."""
    if inputs[0].element is not None:
        return [inputs[0].element]
    return [(as_dtype(attributes["dtype"]), TensorShape(None))]


@operator("ReadVariableOp", infer=_element, effect="read")
def read_variable(handle: Any, *, context: Any) -> Any:
    """The variable's value."""
    return context.read(handle)


@operator("VarIsInitializedOp", infer=lambda *_: [(bool_, TensorShape(()))], effect="read")
def is_initialized(handle: Any, *, context: Any) -> Any:
    """Whether the variable has a value."""
    return context.is_initialized(handle)


@operator("AssignVariableOp", infer=lambda *_: [], effect="write")
def assign(handle: Any, value: Any, *, context: Any) -> None:
    """Give the variable a value."""
    context.write(handle, value)


@operator("AssignAddVariableOp", infer=lambda *_: [], effect="write")
def assign_add(handle: Any, value: Any, *, context: Any) -> None:
    """Add to the variable."""
    context.write(handle, tnp.add(context.read(handle), value))


@operator("AssignSubVariableOp", infer=lambda *_: [], effect="write")
def assign_sub(handle: Any, value: Any, *, context: Any) -> None:
    """Subtract from the variable."""
    context.write(handle, tnp.subtract(context.read(handle), value))
