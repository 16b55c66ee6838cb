"""Operators that files have beyond graph mode's, or that mean less when a model is compiled."""

from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.errors import UnsupportedError
from tfc.graph.types.handles import Handle
from tfc.importers.tensorflow.context import context_at
from tfc.importers.tensorflow.meanings import FunctionReference
from tfc.importers.tensorflow.table import operator
from tfc.importers.walk import Call


@operator("CheckNumerics")
@operator("CheckNumericsV2")
def unchecked(tensor: Any) -> Any:
    """The tensor: what only checks values is left out of models."""
    return tensor


@operator("Print")
def unprinted(input: Any, *data: Any) -> Any:
    """The first input: what only shows values is left out of models."""
    return input


@operator("Const", is_pure=False)
def repeated(*, value: np.ndarray) -> Any:
    """A constant that is large and of one value throughout; others are constants of the graph."""
    return tnp.broadcast_to(tnp.asarray(value.reshape(-1)[:1][0]), value.shape)


@operator("PartitionedCall", is_pure=False)
@operator("StatefulPartitionedCall", is_pure=False)
def call(*arguments: Any, f: FunctionReference, node: Call) -> Any:
    """What a function of the library gives; what is known of its arguments is known in it."""
    context = context_at(node)
    return tuple(context.called(context.body(f, node.walk), node.inputs)) or (None,)


@operator("VarHandleOp", is_pure=False)
def variable_handle(
    *, dtype: Any, shape: Any = None, shared_name: str = "", container: str = "", node: Call
) -> Any:
    """What names a variable: its shared name, or else the node's."""
    return Handle(shared_name or node.name, dtype, shape)


@operator("ReadVariableOp", is_pure=False)
def read_variable(resource: Handle, *, node: Call) -> Any:
    """The value of a variable, as it is known."""
    return context_at(node).held(resource)


@operator("VarIsInitializedOp", is_pure=False)
def is_initialized(resource: Handle, *, node: Call) -> Any:
    """Whether a variable has a value."""
    return context_at(node).is_initialized(resource)


@operator("SymbolicGradient", is_pure=False)
def gradient(*inputs: Any) -> Any:
    """Refused: differentiate the imported function instead."""
    raise UnsupportedError("SymbolicGradient is not supported: differentiate the model by tfc.grad")


@operator("VariableV2", is_pure=False)
@operator("Variable", is_pure=False)
def variable(
    *, dtype: Any, shape: Any = None, shared_name: str = "", container: str = "", node: Call
) -> Any:
    """The value of a variable of TensorFlow 1, which nothing in the model assigns."""
    return context_at(node).held(Handle(shared_name or node.name, dtype, shape))
