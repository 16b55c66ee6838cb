"""A row of the table: one operation as HLO and StableHLO have it, which is read and written.

Most operations are an opcode, a name, and fields (fields.py) for what their attributes say. A row
whose two sides differ in more than attributes has functions of its own for making either.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.hlo.ir import Instruction
from tfc.stablehlo.operations.emission import Emission
from tfc.stablehlo.operations.operation import Operation

Values = dict[str, Any]
Make = Callable[[Operation, str, Values], Instruction | Sequence[Instruction]]
Create = Callable[[Emission, str, Values], Any]


@dataclass(frozen=True)
class Field:
    """One thing that an operation says.

    read: an operation -> the attributes of HLO that say it.
    write: an instruction -> the arguments of Emission.create that say it.
    """

    read: Callable[[Operation], Values]
    write: Callable[[Emission], Values]


@dataclass(frozen=True)
class Row:
    """One operation in both languages.

    opcode: HLO's.
    name: StableHLO's.
    fields: what its attributes and regions say.
    make: (operation, opcode, HLO attributes) -> one instruction, of tuple shape if the operation
        has several results; or a list with an instruction for each result.
    create: (emission, name, arguments of Emission.create) -> the value of the instruction.
    also: further names that are read alike.
    """

    opcode: str
    name: str
    fields: tuple[Field, ...]
    make: Make
    create: Create
    also: tuple[str, ...] = ()

    def attributes(self, operation: Operation) -> Values:
        """What the fields say of an operation, as attributes of HLO."""
        return {k: v for field in self.fields for k, v in field.read(operation).items()}

    def read(self, operation: Operation) -> Instruction | Sequence[Instruction]:
        """The instruction of an operation, or one for each result."""
        return self.make(operation, self.opcode, self.attributes(operation))

    def write(self, emission: Emission) -> Any:
        """The value of an instruction."""
        said = {k: v for field in self.fields for k, v in field.write(emission).items()}
        return self.create(emission, self.name, said)


def _make(operation: Operation, opcode: str, attributes: Values) -> Instruction:
    return operation.make(opcode, **attributes)


def _create(emission: Emission, name: str, said: Values) -> Any:
    return emission.create(name, **said)


def row(
    opcode: str,
    *fields: Field,
    name: str = "",
    make: Make = _make,
    create: Create = _create,
    also: tuple[str, ...] = (),
) -> Row:
    """A row; StableHLO's name is the opcode in its spelling unless there is another."""
    name = name or f"stablehlo.{opcode.replace('-', '_')}"
    return Row(opcode, name, fields, make, create, also)
