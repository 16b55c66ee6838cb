"""From an instruction to a Python closure that does it for many threads at once.

A family of instructions is a table from opcodes to decoders. A decoder asks the `Decoder` for
readers and writers of operands, of the types that the instruction names, and gives a closure.
"""

import struct
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np

from tfc.testing.ptx.state.faults import UnknownInstructionError
from tfc.testing.ptx.state.threads import Lanes, Threads
from tfc.testing.ptx.text.syntax import (
    Address,
    Float,
    Instruction,
    Integer,
    Operand,
    Pair,
    Register,
    Sink,
    Symbol,
    Variable,
    Vector,
)
from tfc.testing.ptx.text.types import DTYPES, bits_of, is_type

Run: TypeAlias = Callable[[Threads, Lanes], None]
Reader: TypeAlias = Callable[[Threads, Lanes], Any]
CARRY = Register("%carry of .cc")
Writer: TypeAlias = Callable[[Threads, Lanes, Any], None]
# Prefixes of special registers; all other names that begin with % are of the program.
# fmt: off
_SPECIAL = {
    "tid", "ntid", "ctaid", "nctaid", "laneid", "warpid", "nwarpid", "smid", "nsmid", "gridid",
    "lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt", "lanemask_ge", "clock", "clock_hi",
    "clock64", "globaltimer", "dynamic_smem_size", "total_smem_size", "clusterid", "nclusterid",
    "cluster_ctaid", "cluster_nctaid", "cluster_ctarank", "cluster_nctarank",
}
# fmt: on


class Decoder:
    """What decoding the instructions of one kernel needs, and what it finds out.

    Args:
        registers: the type of each register, as declared.
        symbols: (space, address) of each variable; for parameters the offset among them.

    Attributes:
        reads, writes: the registers of the instruction that is being decoded.
        fragile: the registers that products of warpgroups use while they are under way.
        works_beside: whether something runs beside the threads.
    """

    def __init__(
        self,
        registers: dict[str, str],
        symbols: dict[str, tuple[str, int]],
        variables: dict[str, Variable],
    ):
        self.symbols, self.variables = symbols, variables
        registers = {**registers, CARRY.name: "pred"}
        self.dtypes = [bits_of(DTYPES[t]) if t != "pred" else DTYPES[t]
                       for t in registers.values()]  # fmt: skip
        self.numbers = {name: n for n, name in enumerate(registers)}
        self.names = list(registers)
        self.reads: set[int] = set()
        self.writes: set[int] = set()
        self.fragile: set[int] = set()
        self.works_beside = False
        self.shared_granule = 16

    # --- Types and modifiers ----------------------------------------------------------------------

    def types(self, instruction: Instruction, count: int = 1) -> list[str]:
        """The types that an instruction names.

        Raises:
            UnknownInstructionError: there are not as many.
        """
        found = [m for m in instruction.modifiers if is_type(m)]
        if len(found) != count:
            raise self.unknown(instruction, f"it should name {count} types")
        return found

    def flags(self, instruction: Instruction, known: Iterable[str]) -> set[str]:
        """The modifiers of an instruction that are no types.

        Raises:
            UnknownInstructionError: there is one that is not known.
        """
        found = {m for m in instruction.modifiers if not is_type(m)}
        if strange := sorted(found - set(known)):
            raise self.unknown(instruction, f"what is .{strange[0]}?")
        return found

    def unknown(self, instruction: Instruction, reason: str = "") -> UnknownInstructionError:
        """The error for an instruction that has no meaning here."""
        return UnknownInstructionError(instruction.text, instruction.line, reason)

    # --- Operands ---------------------------------------------------------------------------------

    def number(self, operand: Operand) -> int | None:
        """The number of a register; None for other operands."""
        if isinstance(operand, Register | Symbol):
            return self.numbers.get(operand.name)
        return None

    def read(self, operand: Operand, type_name: str) -> Reader:
        """A reader of an operand, as an array (or a scalar of NumPy for all threads) of a type."""
        dtype = DTYPES[type_name]
        number = self.number(operand)
        if number is not None:
            return self._register_reader(operand, number, dtype)
        match operand:
            case Register(name):
                return _special_reader(name, dtype)
            case Integer(value):
                return _constant(_integer(value, dtype))
            case Float(pattern, bits):
                return _constant(_float(pattern, bits, dtype))
            case Symbol(name, offset):
                if name not in self.symbols:
                    raise KeyError(name)
                return _constant(_integer(self.symbols[name][1] + offset, dtype))
        raise TypeError(f"{operand} is no value")

    def _register_reader(self, operand: Operand, number: int, dtype: np.dtype) -> Reader:
        self.reads.add(number)
        own = self.dtypes[number]
        if dtype == np.bool_ or own == np.bool_:
            if dtype != own:
                raise TypeError("a predicate where there should be none, or none where it should")
            if isinstance(operand, Register) and operand.negated:
                return lambda t, lanes: ~t.registers[number][lanes]
            return lambda t, lanes: t.registers[number][lanes]
        if own.itemsize == dtype.itemsize:
            if own == dtype:
                return lambda t, lanes: t.registers[number][lanes]
            return lambda t, lanes: t.registers[number].view(dtype)[lanes]
        if own.itemsize < dtype.itemsize:
            raise TypeError(f"a register of {8 * own.itemsize} bits, read as {dtype}")
        bits = bits_of(dtype)
        return lambda t, lanes: t.registers[number][lanes].astype(bits).view(dtype)

    def write(self, operand: Operand, type_name: str) -> Writer:
        """A writer of a register; wider ones are extended by the type's sign."""
        if isinstance(operand, Sink):
            return lambda t, lanes, value: None
        number = self.number(operand)
        if number is None:
            raise TypeError(f"{operand} is no register")
        self.writes.add(number)
        dtype, own = DTYPES[type_name], self.dtypes[number]
        if own == dtype:

            def plain(t: Threads, lanes: Lanes, value: Any) -> None:
                t.registers[number][lanes] = value

            return plain
        if own.itemsize == dtype.itemsize and np.bool_ not in (own, dtype):

            def viewed(t: Threads, lanes: Lanes, value: Any) -> None:
                t.registers[number].view(dtype)[lanes] = value

            return viewed
        if own.itemsize < dtype.itemsize or np.bool_ in (own, dtype):
            raise TypeError(f"a result of type {type_name} in a register of {own}")
        wide = own if dtype.kind != "i" else np.dtype(f"i{own.itemsize}")
        narrow = dtype if dtype.kind in "iu" else bits_of(dtype)

        def extended(t: Threads, lanes: Lanes, value: Any) -> None:
            bits = np.asarray(value, dtype).view(narrow).astype(wide)
            t.registers[number].view(wide)[lanes] = bits

        return extended

    def elements(self, operand: Operand) -> tuple[Operand, ...]:
        """The elements of a vector; an operand that is none is its only element."""
        return operand.elements if isinstance(operand, Vector) else (operand,)

    def results(self, operand: Operand) -> tuple[Operand, Operand]:
        """Both results of `a|b`; the second is a sink where only one is wanted."""
        return (operand.first, operand.second) if isinstance(operand, Pair) else (operand, Sink())

    def address(self, operand: Operand) -> tuple[str | None, Reader]:
        """(space of its variable, reader) of an address, as 64-bit integers."""
        if not isinstance(operand, Address):
            raise TypeError(f"{operand} is no address")
        base, offset = operand.base, operand.offset
        if base is None:
            return None, _constant(np.uint64(offset % (1 << 64)))
        number = self.number(base)
        if number is None and isinstance(base, Symbol):
            space, address = self.symbols[base.name]
            return space, _constant(np.uint64((address + offset) % (1 << 64)))
        if number is None:
            raise TypeError(f"{base} is no register")
        self.reads.add(number)
        distance = np.uint64(offset % (1 << 64))
        if self.dtypes[number].itemsize == 4:  # within a space of 32-bit addresses
            short = np.uint32(offset % (1 << 32))
            return None, lambda t, lanes: (t.registers[number][lanes] + short).astype(np.uint64)
        if not offset:
            return None, lambda t, lanes: t.registers[number][lanes]
        return None, lambda t, lanes: t.registers[number][lanes] + distance


def _special_reader(name: str, dtype: np.dtype) -> Reader:
    stem = name.removeprefix("%").split(".")[0]
    if stem not in _SPECIAL:
        raise KeyError(name)
    bits = bits_of(dtype)
    own = name.removeprefix("%")
    return lambda t, lanes: np.asarray(t.special(own, lanes)).astype(bits).view(dtype)


def _constant(value: Any) -> Reader:
    return lambda t, lanes: value


def _integer(value: int, dtype: np.dtype) -> Any:
    if dtype == np.bool_:
        return np.bool_(value != 0)
    bits = bits_of(dtype)
    return bits.type(value % (1 << 8 * bits.itemsize)).view(dtype)


def _float(pattern: int, bits: int, dtype: np.dtype) -> Any:
    own = struct.unpack("<f" if bits == 32 else "<d", pattern.to_bytes(bits // 8, "little"))[0]
    if dtype.itemsize * 8 == bits:
        return bits_of(dtype).type(pattern).view(dtype)
    if dtype.kind in "iu":
        raise TypeError(f"a number of {bits} bits where one of {8 * dtype.itemsize} is wanted")
    return dtype.type(own)


# --- Closures of common shapes --------------------------------------------------------------------


def compute(function: Callable[..., Any], write: Writer, *reads: Reader) -> Run:
    """The closure that writes `function` of what the readers give."""
    match reads:
        case (a,):
            return lambda t, lanes: write(t, lanes, function(a(t, lanes)))
        case (a, b):
            return lambda t, lanes: write(t, lanes, function(a(t, lanes), b(t, lanes)))
        case (a, b, c):
            return lambda t, lanes: write(t, lanes, function(a(t, lanes), b(t, lanes), c(t, lanes)))
    return lambda t, lanes: write(t, lanes, function(*(read(t, lanes) for read in reads)))


def elementwise(
    decoder: Decoder,
    instruction: Instruction,
    function: Callable[..., Any],
    result: str,
    *operands: str,
) -> Run:
    """`function` of the operands after the first, each of its type, to the first."""
    if len(instruction.operands) != 1 + len(operands):
        raise decoder.unknown(instruction, f"it should have {1 + len(operands)} operands")
    reads = [decoder.read(o, t) for o, t in zip(instruction.operands[1:], operands)]
    return compute(function, decoder.write(instruction.operands[0], result), *reads)


def arrays(*values: Any) -> list[np.ndarray]:
    """The values as arrays of one shape, of at least one dimension."""
    return [np.asarray(v) for v in np.broadcast_arrays(*(np.atleast_1d(v) for v in values))]
