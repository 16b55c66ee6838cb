"""An operation to be imported, as its row sees it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from tfc.backends.mlir.provider import ir
from tfc.errors import InternalError, UnsupportedError
from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction, Metadata
from tfc.hlo.shape import AnyShape, Shape
from tfc.stablehlo.types import result_shape, shape_from


class Scope(Protocol):
    """What a row may ask of the computation that is being made; module.py has it."""

    def value(self, value: Any) -> Instruction:
        """The instruction of an MLIR value."""
        ...

    def region(self, region: Any, name: str) -> Computation:
        """The computation of a region that uses nothing from outside but constants."""
        ...

    def closure(
        self, region: Any, name: str, captures: Sequence[Any], carried: bool
    ) -> Computation:
        """The computation, of one parameter, of a region that uses `captures` from outside."""
        ...

    def inline(self, region: Any, operands: Sequence[Instruction]) -> list[Instruction]:
        """The results of a region on these operands, in this computation."""
        ...

    def function(self, name: str) -> Computation:
        """The computation of a function of the module."""
        ...


@dataclass(frozen=True)
class Operation:
    """An MLIR operation whose operands are imported already.

    mlir: the operation.
    operands: one instruction each.
    scope: where the result belongs; it imports regions and functions.
    metadata: where the operation comes from.
    """

    mlir: Any
    operands: tuple[Instruction, ...]
    scope: Scope
    metadata: Metadata | None

    @property
    def name(self) -> str:
        """The full name, such as stablehlo.add."""
        return self.mlir.name

    @cached_property
    def shapes(self) -> tuple[AnyShape, ...]:
        """The shape of each result."""
        return tuple(shape_from(r.type) for r in self.mlir.results)

    @property
    def shape(self) -> Shape:
        """The shape of the result, an array."""
        shape = self.shapes[0]
        assert isinstance(shape, Shape)
        return shape

    def has(self, name: str) -> bool:
        """Whether the operation has the attribute."""
        return name in self.mlir.attributes

    def attribute(self, name: str) -> Any:
        """The MLIR attribute of that name.

        Raises:
            UnsupportedError: the operation lacks it, as composites and custom calls may.
        """
        if not self.has(name):
            raise UnsupportedError(f"{self.name} lacks the attribute {name}")
        return self.mlir.attributes[name]

    def ints(self, name: str, default: Sequence[int] = ()) -> tuple[int, ...]:
        """The integers of an array or a dense attribute, row-major."""
        return tuple(int(i) for i in self.attribute(name)) if self.has(name) else tuple(default)

    def integer(self, name: str, default: int = 0) -> int:
        """The value of an integer attribute."""
        return integer_of(self.attribute(name), name) if self.has(name) else default

    def flag(self, name: str, default: bool = False) -> bool:
        """The value of a boolean attribute."""
        return flag_of(self.attribute(name), name) if self.has(name) else default

    def text(self, name: str, default: str = "") -> str:
        """The value of a string or an enumeration; of a symbol reference, the name."""
        return text_of(self.attribute(name)) if self.has(name) else default

    def region(self, number: int, name: str = "region") -> Computation:
        """The computation of a region, whose blocks arguments are its parameters.

        Raises:
            UnsupportedError: it uses a value from outside that is no constant.
        """
        return self.scope.region(self.mlir.regions[number], name)

    def constant(self, number: int) -> np.ndarray:
        """The value of an operand that must be known when compiling.

        Raises:
            UnsupportedError: it is computed when the program runs.
        """
        operand = self.operands[number]
        if operand.opcode != "constant":
            raise UnsupportedError(
                f"{self.name} is supported only where operand {number} is a constant"
            )
        return operand["literal"].array

    def make(
        self,
        opcode: str,
        operands: Sequence[Instruction] | None = None,
        shape: AnyShape | None = None,
        **attributes: Any,
    ) -> Instruction:
        """The instruction that computes the operation's results, or a part of them.

        Args:
            operands: the operation's own when left out.
            shape: that of the operation's results when left out.
        """
        stated = shape or result_shape(self.shapes)
        made = builder.instruction(
            opcode,
            self.operands if operands is None else operands,
            shape=stated,
            metadata=self.metadata,
            **attributes,
        )
        if not made.shape.is_compatible(stated):
            # Composites and custom calls may state any result; those of other operations fit.
            is_free = self.name in ("stablehlo.composite", "stablehlo.custom_call")
            raise (UnsupportedError if is_free else InternalError)(
                f"{self.name} of {stated.without_layout()} became {opcode} of "
                f"{made.shape.without_layout()}"
            )
        return made


# How operations of one name are imported: one instruction, of tuple shape if there are several
# results; or a list with an instruction for each result.
Reader = Callable[[Operation], Instruction | Sequence[Instruction]]


def integer_of(attribute: Any, name: str) -> int:
    """The value of an integer attribute.

    Raises:
        UnsupportedError: it is another one.
    """
    if not isinstance(attribute, ir.IntegerAttr):
        raise UnsupportedError(f"{name} must be an integer, got {attribute}")
    return int(attribute.value)


def flag_of(attribute: Any, name: str) -> bool:
    """The value of a boolean attribute.

    Raises:
        UnsupportedError: it is another one.
    """
    if not isinstance(attribute, ir.BoolAttr):
        raise UnsupportedError(f"{name} must be true or false, got {attribute}")
    return bool(attribute.value)


def integer_in(dictionary: Any, name: str) -> int:
    """The value of an integer in a dictionary attribute.

    Raises:
        UnsupportedError: there is none of that name, or it is no integer.
    """
    if not isinstance(dictionary, ir.DictAttr) or name not in dictionary:
        raise UnsupportedError(f"the attribute {name} is missing in {dictionary}")
    return integer_of(dictionary[name], name)


def text_of(attribute: Any) -> str:
    """What a string, a symbol or an enumeration such as #stablehlo<fft_type RFFT> says."""
    if hasattr(attribute, "value"):
        return str(attribute.value)
    return str(attribute).partition(" ")[2].rstrip(">")
