"""Operators on variables: each names its variable by a handle, the value of a resource tensor."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc import numpy as tnp
from tfc.errors import OutOfBoundsError
from tfc.frontend.abstract import ShapeDtypeStruct, eval_shape
from tfc.graph.operators.elementwise import is_integer, truncated_quotient
from tfc.graph.operators.registry import Attributes, Spec, operator
from tfc.graph.operators.slicing import gather, gather_nd, strided_key
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


@operator("ResourceScatterDiv", **_NO_RESULT)
def scatter_div(handle: Any, indices: Any, updates: Any, *, context: Any) -> None:
    """Divide rows of the variable; integers lose what follows the point."""
    if not is_integer(updates):
        context.write(handle, _rows(handle, indices, context).divide(updates))
        return
    before = tnp.take(context.read(handle), indices, axis=0, mode="clip")
    context.write(handle, _rows(handle, indices, context).set(truncated_quotient(before, updates)))


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


def _gathered(name: str) -> Any:
    def infer(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
        dtype, shape = _element(inputs, attributes)[0]
        if not shape.is_fully_defined() or not inputs[1].shape.is_fully_defined():
            return [(dtype, TensorShape(None))]
        values = ShapeDtypeStruct(tuple(n or 0 for n in shape.as_list()), dtype.dtype)
        places = ShapeDtypeStruct(
            tuple(n or 0 for n in inputs[1].shape.as_list()), inputs[1].dtype.dtype
        )
        made = eval_shape(lambda x, n: _GATHERS[name](x, n, attributes), values, places)
        return [(dtype, TensorShape(made.shape))]

    return infer


_GATHERS = {
    "ResourceGather": lambda x, n, more: gather(
        x, n, np.asarray(more.get("batch_dims", 0)), batch_dims=more.get("batch_dims", 0)
    ),
    "ResourceGatherNd": lambda x, n, more: gather_nd(x, n),
}


@operator("ResourceGather", types="- Tindices", infer=_gathered("ResourceGather"), effect="read")
def gather_of_variable(handle: Any, indices: Any, *, batch_dims: int = 0, context: Any) -> Any:
    """Rows of the variable; with batch dimensions those of each row's own part."""
    return _GATHERS["ResourceGather"](context.read(handle), indices, {"batch_dims": batch_dims})


@operator(
    "ResourceGatherNd", types="- Tindices", infer=_gathered("ResourceGatherNd"), effect="read"
)
def gather_nd_of_variable(handle: Any, indices: Any, *, context: Any) -> Any:
    """Parts of the variable; the last dimension of the indices names each."""
    return gather_nd(context.read(handle), indices)


@operator(
    "ResourceStridedSliceAssign",
    types="- Index Index Index T",
    hints=(1, 2, 3),
    infer=lambda *_: [],
    effect="write",
)
def assign_strided_slice(
    ref: Any,
    begin: Any,
    end: Any,
    strides: Any,
    value: Any,
    *,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    context: Any,
) -> None:
    """Replace the elements of the variable that StridedSlice would take."""
    masks = begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
    key = strided_key(begin, end, strides, masks)
    context.write(ref, at(context.read(ref))[key].set(value))


def _rank_of_variable(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    _, shape = _element(inputs, {"dtype": np.float32, **attributes})[0]
    return [(as_dtype(attributes.get("out_type", np.int32)), TensorShape([shape.ndims]))]


@operator("VariableShape", types="", infer=_rank_of_variable, effect="read")
def variable_shape(input: Any, *, out_type: Any = np.int32, context: Any) -> Any:
    """The dimensions of the variable."""
    return np.asarray(context.read(input).shape, as_dtype(out_type).dtype)


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
