"""Operators on variables: each names its variable by a handle, the value of a resource tensor."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc import numpy as tnp
from tfc.errors import OutOfBoundsError
from tfc.graph.operators.registry import Attributes, Spec, operator
from tfc.graph.types.dtypes import DType, as_dtype, bool_, resource, string
from tfc.graph.types.handles import Handle
from tfc.graph.types.shapes import TensorShape
from tfc.numpy import at


def _element(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    """What the variable holds: the handle knows it."""
    if inputs[0].element is not None:
        return [inputs[0].element]
    return [(as_dtype(attributes["dtype"]), TensorShape(None))]


@operator("VarHandleOp", types="", infer=lambda *_: [(resource, TensorShape(()))])
def variable_handle(*, shared_name: str = "", dtype: DType, shape: Any = None) -> Handle:
    """What names a variable."""
    return Handle(shared_name, as_dtype(dtype), TensorShape(shape))


@operator("ReadVariableOp", types="", infer=_element, effect="read")
def read_variable(handle: Any, *, context: Any) -> Any:
    """The variable's value."""
    return context.read(handle)


@operator(
    "VarIsInitializedOp", types="", infer=lambda *_: [(bool_, TensorShape(()))], effect="read"
)
def is_initialized(handle: Any, *, context: Any) -> Any:
    """Whether the variable has a value."""
    return context.is_initialized(handle)


@operator("AssignVariableOp", types="", infer=lambda *_: [], effect="write")
def assign(handle: Any, value: Any, *, context: Any) -> None:
    """Give the variable a value."""
    context.write(handle, value)


@operator("AssignAddVariableOp", types="", infer=lambda *_: [], effect="write")
def assign_add(handle: Any, value: Any, *, context: Any) -> None:
    """Add to the variable."""
    context.write(handle, tnp.add(context.read(handle), value))


@operator("AssignSubVariableOp", types="", infer=lambda *_: [], effect="write")
def assign_sub(handle: Any, value: Any, *, context: Any) -> None:
    """Subtract from the variable."""
    context.write(handle, tnp.subtract(context.read(handle), value))


_NO_RESULT = {"types": "- Tindices -", "infer": lambda *_: [], "effect": "write"}


@operator("ResourceScatterUpdate", **_NO_RESULT)
def scatter_update(handle: Any, indices: Any, updates: Any, *, context: Any) -> None:
    """Replace rows of the variable; of several for one index the last counts."""
    context.write(handle, _rows(handle, indices, context).set(updates))


@operator("ResourceScatterAdd", **_NO_RESULT)
def scatter_add(handle: Any, indices: Any, updates: Any, *, context: Any) -> None:
    """Add to rows of the variable, each time that an index names one."""
    context.write(handle, _rows(handle, indices, context).add(updates))


@operator("ResourceScatterSub", **_NO_RESULT)
def scatter_sub(handle: Any, indices: Any, updates: Any, *, context: Any) -> None:
    """Subtract from rows of the variable."""
    context.write(handle, _rows(handle, indices, context).add(tnp.negative(updates)))


@operator("ResourceScatterMul", **_NO_RESULT)
def scatter_mul(handle: Any, indices: Any, updates: Any, *, context: Any) -> None:
    """Multiply rows of the variable."""
    context.write(handle, _rows(handle, indices, context).multiply(updates))


@operator("ResourceScatterMin", **_NO_RESULT)
def scatter_min(handle: Any, indices: Any, updates: Any, *, context: Any) -> None:
    """Let rows of the variable be no more than the updates."""
    context.write(handle, _rows(handle, indices, context).min(updates))


@operator("ResourceScatterMax", **_NO_RESULT)
def scatter_max(handle: Any, indices: Any, updates: Any, *, context: Any) -> None:
    """Let rows of the variable be no less than the updates."""
    context.write(handle, _rows(handle, indices, context).max(updates))


def _rows(handle: Handle, indices: Any, context: Any) -> Any:
    """The rows of a variable that indices name, to be changed."""
    return at(context.read(handle))[indices]


@operator("ResourceScatterNdUpdate", **_NO_RESULT)
def scatter_nd_update(handle: Any, indices: Any, updates: Any, *, context: Any) -> None:
    """Replace parts of the variable; the last dimension of the indices names each."""
    context.write(handle, _parts(handle, indices, context).set(updates))


@operator("ResourceScatterNdAdd", **_NO_RESULT)
def scatter_nd_add(handle: Any, indices: Any, updates: Any, *, context: Any) -> None:
    """Add to parts of the variable."""
    context.write(handle, _parts(handle, indices, context).add(updates))


@operator("ResourceScatterNdSub", **_NO_RESULT)
def scatter_nd_sub(handle: Any, indices: Any, updates: Any, *, context: Any) -> None:
    """Subtract from parts of the variable."""
    context.write(handle, _parts(handle, indices, context).add(tnp.negative(updates)))


def _parts(handle: Handle, indices: Any, context: Any) -> Any:
    coordinates = tuple(indices[..., n] for n in range(indices.shape[-1]))
    return at(context.read(handle))[coordinates]


@operator("ResourceCountUpTo", types="", infer=_element, effect="write", on_host=True)
def count_up_to(handle: Any, *, limit: int, context: Any) -> Any:
    """Add one to the variable, and give what it was.

    Raises:
        OutOfBoundsError: it was the limit.
    """
    before = np.asarray(context.read(handle))
    if before >= limit:
        raise OutOfBoundsError(f"Reached limit of {limit}")
    context.write(handle, before + before.dtype.type(1))
    return before


@operator(
    "UninitializedNames", types="", infer=lambda *_: [(string, TensorShape([None]))], on_host=True
)
def uninitialized_names(*initialized: Any, names: Sequence[str]) -> np.ndarray:
    """Of names, as bytes, those whose input is false."""
    missing = [name.encode() for name, there in zip(names, initialized) if not there]
    return np.array(missing, object)
