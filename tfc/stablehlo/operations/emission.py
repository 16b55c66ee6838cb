"""An instruction to be exported, as its row sees it.

The value of an instruction is an MLIR value; of one with a tuple shape, a tuple of such.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tfc.backends.mlir.provider import ir
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import S64, AnyShape, Shape, TupleShape
from tfc.stablehlo.constants import dense_attribute
from tfc.stablehlo.types import mlir_type


class Functions(Protocol):
    """What a row may ask of the module that is being made; module.py has it."""

    replicas: int

    def symbol(self, computation: Computation) -> str:
        """The name of the function that is this computation."""
        ...

    def fill(
        self, region: Any, computation: Computation, given: Sequence[Any] | None = None
    ) -> None:
        """Write a computation into a region of StableHLO."""
        ...


@dataclass(frozen=True)
class Emission:
    """One instruction, its operands' values, and the module that is being made."""

    instruction: Instruction
    operands: tuple[Any, ...]
    functions: Functions

    def __getitem__(self, attribute: str) -> Any:
        return self.instruction[attribute]

    def get(self, attribute: str, default: Any = None) -> Any:
        """An attribute of the instruction that may be absent."""
        return self.instruction.attributes.get(attribute, default)

    def create(
        self,
        name: str,
        operands: Sequence[Any] | None = None,
        shape: AnyShape | None = None,
        regions: Sequence[Computation | tuple[Computation, Any]] = (),
        **attributes: Any,
    ) -> Any:
        """The value of a new operation.

        Args:
            operands: values, tuples of which are flattened; the instruction's when left out.
            shape: the result's; the instruction's when left out.
            regions: a computation, or with it the value of its parameter from outside.
            attributes: None is left out; tuples of ints, ints, bools and strings are converted.
        """
        shape = self.instruction.shape if shape is None else shape
        operation = ir.Operation.create(
            name,
            results=[ir.Type.parse(mlir_type(s)) for s in parts(shape)],
            operands=flat(self.operands if operands is None else operands),
            attributes={k: attribute(v) for k, v in attributes.items() if v is not None},
            regions=len(regions),
        )
        for region, wanted in zip(operation.regions, regions):
            computation, given = wanted if isinstance(wanted, tuple) else (wanted, None)
            self.functions.fill(region, computation, given)
        return nested(shape, iter(operation.results))

    def constant(self, value: object, shape: Shape) -> Any:
        """The value of an array that has this element everywhere."""
        array = np.full(shape.dims, value, shape.element_type.dtype)
        return self.create("stablehlo.constant", [], shape, value=dense_attribute(array, shape))


def parts(shape: AnyShape) -> Iterator[AnyShape]:
    """The shapes of the arrays and tokens in a value, in order."""
    if isinstance(shape, TupleShape):
        for element in shape.elements:
            yield from parts(element)
    else:
        yield shape


def flat(value: Any) -> list[Any]:
    """The MLIR values in a nested value, in order."""
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in flat(part)]
    return [value]


def nested(shape: AnyShape, values: Any) -> Any:
    """The inverse of flat for a shape; `values` is an iterator."""
    if isinstance(shape, TupleShape):
        return tuple(nested(element, values) for element in shape.elements)
    return next(values)


def attribute(value: Any) -> Any:
    """The MLIR attribute of a Python value, or of MLIR's own."""
    match value:
        case bool():
            return ir.BoolAttr.get(value)
        case int():
            return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
        case str():
            return ir.StringAttr.get(value)
        case tuple() if value and all(isinstance(v, bool) for v in value):
            return ir.DenseBoolArrayAttr.get(list(value))
        case tuple():
            return ir.DenseI64ArrayAttr.get(list(value))
        case Mapping():
            return ir.DictAttr.get({k: attribute(v) for k, v in value.items()})
    return value


def enumeration(kind: str, value: str) -> Any:
    """StableHLO's attribute for one of several words, such as #stablehlo<fft_type RFFT>."""
    return ir.Attribute.parse(f"#stablehlo<{kind} {value}>")


def i32(value: int) -> Any:
    """A 32-bit integer attribute."""
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), value)


def matrix(rows: Sequence[Sequence[int]], width: int) -> Any:
    """A dense attribute of rows of numbers; `width` matters if there are none."""
    array = np.array(rows, np.int64).reshape(len(rows), width)
    return dense_attribute(array, Shape(S64, array.shape))
