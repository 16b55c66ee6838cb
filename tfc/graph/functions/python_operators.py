"""What Python's operators on tensors mean: each an operation, named as TensorFlow 1 names it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tfc.errors import TraceError
from tfc.graph.building import alike, elementwise, result
from tfc.graph.constants import convert_to_tensor
from tfc.graph.functions import arithmetic
from tfc.graph.functions.creation import shape_tensor
from tfc.graph.functions.products import matmul
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Tensor
from tfc.graph.overloads import operators
from tfc.graph.types.dtypes import bool_


def _named(type: str, name: str) -> Callable[..., Tensor]:
    return lambda x, y: elementwise(type, x, y, name=name)


def _logical(type: str, bitwise: str, name: str) -> Callable[..., Tensor]:
    """Of booleans, or of the bits of integers."""

    def function(x: Any, y: Any) -> Tensor:
        with get_default_graph().name_scope(name) as scope:
            x, y = alike(x, y, names=("x", "y"))
            return result(type if x.dtype == bool_ else bitwise, x, y, name=scope)

    return function


def _xor(x: Any, y: Any) -> Tensor:
    x, y = alike(x, y)
    if x.dtype == bool_:
        return arithmetic.logical_xor(x, y, name="xor")
    return result("BitwiseXor", x, y, name="xor")


def _invert(x: Tensor) -> Tensor:
    return result("LogicalNot" if x.dtype == bool_ else "Invert", x)


_INDEXED = "indices are integers, slices, ..., None or scalar integer tensors"


class _Spec:
    """The key of a slice as numbers and masks."""

    def __init__(self) -> None:
        self.begin: list[Any] = []
        self.end: list[Any] = []
        self.strides: list[Any] = []
        self.masks: dict[str, int] = dict.fromkeys(
            ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0
        )

    def add(self, begin: Any, end: Any, stride: Any, *masks: str) -> None:
        """What stands at the next place."""
        for mask in masks:
            self.masks[f"{mask}_mask"] |= 1 << len(self.begin)
        self.begin.append(begin)
        self.end.append(end)
        self.strides.append(stride)

    def add_index(self, index: Any) -> None:
        """One place of the key.

        Raises:
            TypeError: it cannot be one.
        """
        if isinstance(index, slice):
            masks = [n for n, v in (("begin", index.start), ("end", index.stop)) if v is None]
            first = 0 if index.start is None else _number(index.start)
            last = 0 if index.stop is None else _number(index.stop)
            self.add(first, last, 1 if index.step is None else _number(index.step), *masks)
        elif index is Ellipsis:
            self.add(0, 0, 1, "ellipsis")
        elif index is None:
            self.add(0, 0, 1, "new_axis")
        else:
            first = _number(index)
            self.add(first, _after(first), 1, "shrink_axis")


def _after(index: Any) -> Any:
    """The index behind one; 0 behind the last, where it says nothing."""
    return arithmetic.add(index, 1) if isinstance(index, Tensor) else index + 1


def _number(value: Any) -> Any:
    value = convert_to_tensor(value) if hasattr(value, "_as_tensor") else value
    if isinstance(value, Tensor):
        if not value.dtype.is_integer or value.shape.ndims not in (0, None):
            raise TraceError(f"{_INDEXED}, got {value}; boolean_mask and gather take others")
        return value
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        raise TraceError(f"{_INDEXED}, got {value!r}; boolean_mask and gather take others")
    return value.__index__()


def _getitem(x: Tensor, key: Any) -> Tensor:
    spec = _Spec()
    with get_default_graph().name_scope("strided_slice") as scope:
        for index in key if isinstance(key, (list, tuple)) else (key,):
            spec.add_index(index)
        dynamic = [v for v in (*spec.begin, *spec.end, *spec.strides) if isinstance(v, Tensor)]
        dtype = dynamic[0].dtype if dynamic else None
        bounds = [_bound(part, dtype) for part in (spec.begin, spec.end, spec.strides)]
        return result("StridedSlice", x, *bounds, name=scope, **spec.masks)


def _bound(values: list[Any], dtype: Any) -> Tensor:
    if any(isinstance(v, Tensor) for v in values):
        return result("Pack", *alike(*values, dtype=dtype), name="stack", axis=0, N=len(values))
    numbers = np.asarray(values, np.int32 if dtype is None else dtype.dtype)
    return convert_to_tensor(numbers, name="stack") if values else shape_tensor([], "stack")


_FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "add": _named("Add", "add"),
    "sub": _named("Sub", "sub"),
    "mul": _named("Mul", "mul"),
    "truediv": arithmetic.truediv,
    "floordiv": arithmetic.floordiv,
    "mod": _named("FloorMod", "mod"),
    "pow": _named("Pow", "pow"),
    "matmul": lambda x, y: matmul(x, y, name="matmul"),
    "less": arithmetic.less,
    "less_equal": arithmetic.less_equal,
    "greater": arithmetic.greater,
    "greater_equal": arithmetic.greater_equal,
    "and": _logical("LogicalAnd", "BitwiseAnd", "and"),
    "or": _logical("LogicalOr", "BitwiseOr", "or"),
    "xor": _xor,
    "invert": lambda x: _invert(convert_to_tensor(x)),
    "neg": arithmetic.negative,
    "abs": arithmetic.abs,
    "getitem": lambda x, key: _getitem(convert_to_tensor(x), key),
}


def _apply(name: str, *operands: Any) -> Tensor:
    return _FUNCTIONS[name](*operands)


operators.apply = _apply
