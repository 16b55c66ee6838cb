"""Python's operators on tensors and variables of a graph: each is an operation of the graph."""

from collections.abc import Callable
from typing import Any


class Operators:
    """Who makes an operation of Python's: `functions` says it, as the functions lie above.

    apply: (name of the operator as Python has it, operands) -> a tensor.
    """

    def __init__(self) -> None:
        self.apply: Callable[..., Any]


operators = Operators()


class Overloads:
    """Arithmetic, comparison and slicing as operations; == and != compare by identity."""

    def __add__(self, other: Any) -> Any:
        return operators.apply("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return operators.apply("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return operators.apply("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return operators.apply("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return operators.apply("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return operators.apply("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return operators.apply("truediv", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return operators.apply("truediv", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return operators.apply("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return operators.apply("floordiv", other, self)

    def __mod__(self, other: Any) -> Any:
        return operators.apply("mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return operators.apply("mod", other, self)

    def __pow__(self, other: Any) -> Any:
        return operators.apply("pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return operators.apply("pow", other, self)

    def __matmul__(self, other: Any) -> Any:
        return operators.apply("matmul", self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return operators.apply("matmul", other, self)

    def __lt__(self, other: Any) -> Any:
        return operators.apply("less", self, other)

    def __le__(self, other: Any) -> Any:
        return operators.apply("less_equal", self, other)

    def __gt__(self, other: Any) -> Any:
        return operators.apply("greater", self, other)

    def __ge__(self, other: Any) -> Any:
        return operators.apply("greater_equal", self, other)

    def __and__(self, other: Any) -> Any:
        return operators.apply("and", self, other)

    def __rand__(self, other: Any) -> Any:
        return operators.apply("and", other, self)

    def __or__(self, other: Any) -> Any:
        return operators.apply("or", self, other)

    def __ror__(self, other: Any) -> Any:
        return operators.apply("or", other, self)

    def __xor__(self, other: Any) -> Any:
        return operators.apply("xor", self, other)

    def __rxor__(self, other: Any) -> Any:
        return operators.apply("xor", other, self)

    def __invert__(self) -> Any:
        return operators.apply("invert", self)

    def __neg__(self) -> Any:
        return operators.apply("neg", self)

    def __abs__(self) -> Any:
        return operators.apply("abs", self)

    def __getitem__(self, key: Any) -> Any:
        return operators.apply("getitem", self, key)
