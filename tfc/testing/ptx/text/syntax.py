"""PTX as objects: modules, functions, variables, instructions and their operands.

instruction  ::=  [@[!]predicate] opcode{.modifier} operand, operand, … ;
operand      ::=  register | number | symbol | [address] | {vector} | (arguments) | a|b | _
"""

from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True)
class Register:
    """A register, or a special one such as `%tid.x`; `negated` in `!%p1` and `-`."""

    name: str
    negated: bool = False


@dataclass(frozen=True)
class Integer:
    """A whole number as it is written, of any sign."""

    value: int


@dataclass(frozen=True)
class Float:
    """A number with its bits: `0f3F800000` (bits = 32), `0d…` or decimals (bits = 64)."""

    pattern: int
    bits: int


@dataclass(frozen=True)
class Symbol:
    """The name of a variable, a function or a label, and what is added to it."""

    name: str
    offset: int = 0


@dataclass(frozen=True)
class Address:
    """`[base+offset]`, or `[base, {coordinates}]` of tensors; base None is an absolute address."""

    base: "Register | Symbol | None"
    offset: int = 0
    coordinates: "tuple[Operand, ...]" = ()


@dataclass(frozen=True)
class Vector:
    """`{a, b, …}` or, of a call, `(a, b, …)`."""

    elements: "tuple[Operand, ...]"


@dataclass(frozen=True)
class Pair:
    """`a|b`: two results."""

    first: "Operand"
    second: "Operand"


@dataclass(frozen=True)
class Sink:
    """`_`: a result that nobody wants."""


Operand: TypeAlias = Register | Integer | Float | Symbol | Address | Vector | Pair | Sink


@dataclass(frozen=True)
class Instruction:
    """One instruction; modifiers are without their dots."""

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    predicate: Register | None
    line: int
    text: str

    @property
    def name(self) -> str:
        """Opcode and modifiers, as written."""
        return ".".join((self.opcode, *self.modifiers))


@dataclass(frozen=True)
class Label:
    """A place that branches name."""

    name: str


@dataclass
class Variable:
    """A variable of an address space: `size` bytes, of which `initial` are given if any are.

    `references` are (offset, symbol) of addresses within the initial bytes. An unsized one
    (`extern .shared .b8 s[]`) has size 0 and `unsized`.
    """

    name: str
    space: str
    size: int
    alignment: int
    initial: bytes | None = None
    references: list[tuple[int, Symbol, int]] = field(default_factory=list)
    unsized: bool = False


@dataclass
class Function:
    """A kernel (`is_entry`) or a device function.

    `registers` has the type of each; `parameters` and `results` are variables of the space param.
    """

    name: str
    is_entry: bool
    parameters: list[Variable] = field(default_factory=list)
    results: list[Variable] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    body: list[Instruction | Label] = field(default_factory=list)
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)
    is_defined: bool = True

    @property
    def parameter_sizes(self) -> list[int]:
        """Bytes of each parameter."""
        return [p.size for p in self.parameters]

    @property
    def max_threads(self) -> int:
        """What `.maxntid` or `.reqntid` allow in a block; 1024 without them."""
        sizes = self.directives.get("maxntid") or self.directives.get("reqntid")
        count = 1
        for size in sizes or (1024,):
            count *= size
        return count

    @property
    def max_registers(self) -> int | None:
        """What `.maxnreg` allows a thread, if it is stated."""
        return next(iter(self.directives.get("maxnreg", ())), None)


@dataclass
class Source:
    """A parsed text: variables of modules and functions by name, version and target."""

    version: str
    target: str
    variables: dict[str, Variable]
    functions: dict[str, Function]
