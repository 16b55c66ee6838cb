"""How functions make operations: inputs become tensors of one dtype where they must have one."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.graph.constants import convert_to_tensor
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Operation, Tensor
from tfc.graph.operators.registry import find
from tfc.graph.types.dtypes import DType, as_dtype


def operation(
    type: str, inputs: Sequence[Any], /, name: str | None = None, **attributes: Any
) -> Operation:
    """An operation of the default graph; what is no tensor among its inputs becomes a constant.

    Constants are called as the operator calls the input: `add/y`.
    """
    graph, row = get_default_graph(), find(type)
    if all(isinstance(x, Tensor) for x in inputs):
        stated = row.type_attributes([x.dtype for x in inputs])
        return graph.create_operation(type, inputs, {**stated, **attributes}, name)
    with graph.name_scope(name or type) as scope:
        tensors = [convert_to_tensor(x, name=row.called(n)) for n, x in enumerate(inputs)]
        stated = row.type_attributes([x.dtype for x in tensors])
        return graph.create_operation(type, tensors, {**stated, **attributes}, scope)


def result(type: str, /, *inputs: Any, name: str | None = None, **attributes: Any) -> Tensor:
    """The only result of an operation."""
    return operation(type, inputs, name, **attributes).outputs[0]


def elementwise(type: str, *values: Any, name: str | None = None, **attributes: Any) -> Tensor:
    """The only result of an operation whose inputs all have one dtype."""
    with get_default_graph().name_scope(name or type) as scope:
        row = find(type)
        tensors = alike(*values, names=[row.called(n) for n in range(len(values))])
        return result(type, *tensors, name=scope, **attributes)


def alike(*values: Any, dtype: Any = None, names: Sequence[str] = ()) -> list[Tensor]:
    """The values as tensors of one dtype: of `dtype`, or else of the first that is a tensor.

    Args:
        names: what constants that are made are called.

    Raises:
        ShapeError: tensors have other dtypes. TypeError: a number is none of this dtype.
    """
    wanted = None if dtype is None else as_dtype(dtype)
    for kind in (_tensor_dtype, dtype_of):
        if wanted is None:
            wanted = next((found for x in values if (found := kind(x)) is not None), None)
    called = [*names, *["Const"] * (len(values) - len(names))]
    if wanted is None:
        first = convert_to_tensor(values[0], name=called[0])
        rest = zip(values[1:], called[1:])
        return [first, *(convert_to_tensor(x, first.dtype, name=n) for x, n in rest)]
    return [convert_to_tensor(x, wanted, name=n) for x, n in zip(values, called)]


def _tensor_dtype(value: Any) -> DType | None:
    """The dtype of a tensor or variable; None for what becomes a constant."""
    if isinstance(value, (list, tuple)):
        return next((found for x in value if (found := _tensor_dtype(x)) is not None), None)
    is_one = isinstance(value, Tensor) or hasattr(value, "_as_tensor")
    return as_dtype(value.dtype) if is_one else None


def dtype_of(value: Any) -> DType | None:
    """The dtype of a tensor, variable or array; None for what Python's numbers are made of."""
    found = getattr(value, "dtype", None)
    return None if found is None else as_dtype(found)


def int32s(values: Any) -> np.ndarray:
    """Integers as an int32 array: axes, shapes."""
    return np.asarray(values, np.int32)
