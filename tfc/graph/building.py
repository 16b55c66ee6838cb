"""How functions make operations: inputs become tensors of one dtype where they must have one."""

from collections.abc import Sequence
from typing import Any

from tfc.graph.constants import convert_to_tensor
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Operation, Tensor
from tfc.graph.types.dtypes import DType, as_dtype


def operation(
    type: str, inputs: Sequence[Any], name: str | None = None, **attributes: Any
) -> Operation:
    """An operation of the default graph; what is no tensor among its inputs becomes a constant."""
    graph = get_default_graph()
    tensors = [convert_to_tensor(x) for x in inputs]
    return graph.create_operation(type, tensors, attributes, name)


def result(type: str, *inputs: Any, name: str | None = None, **attributes: Any) -> Tensor:
    """The only result of an operation."""
    return operation(type, inputs, name, **attributes).outputs[0]


def alike(*values: Any, dtype: Any = None) -> list[Tensor]:
    """The values as tensors of one dtype: of `dtype`, or else of the first that is a tensor.

    Raises:
        ShapeError: tensors have other dtypes. TypeError: a number is none of this dtype.
    """
    wanted = None if dtype is None else as_dtype(dtype)
    if wanted is None:
        wanted = next((found for x in values if (found := dtype_of(x)) is not None), None)
    if wanted is None:
        first = convert_to_tensor(values[0])
        return [first, *(convert_to_tensor(x, first.dtype) for x in values[1:])]
    return [convert_to_tensor(x, wanted) for x in values]


def dtype_of(value: Any) -> DType | None:
    """The dtype of a tensor, variable or array; None for what Python's numbers are made of."""
    found = getattr(value, "dtype", None)
    return None if found is None else as_dtype(found)
