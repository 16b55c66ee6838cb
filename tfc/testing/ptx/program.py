"""A kernel decoded: segments of closures, with the checks of registers that may be unwritten."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import TypeVar

from tfc.errors import UnsupportedError
from tfc.testing.ptx.flow import Segment, segments_of
from tfc.testing.ptx.instructions import (
    access,
    atomics,
    bulk,
    calls,
    clusters,
    control,
    conversions,
    copies,
    floats,
    integers,
    matrices,
    phases,
    warpgroups,
    warps,
)
from tfc.testing.ptx.instructions.decode import Decoder, Reader, Run
from tfc.testing.ptx.instructions.warpgroups import Together
from tfc.testing.ptx.text.syntax import Function, Instruction, Source, Variable
from tfc.testing.ptx.text.types import is_type

Decoded = TypeVar("Decoded")
_FAMILIES = (
    conversions, access, atomics, warps, matrices, copies, bulk, phases, clusters, warpgroups,
    control, calls,
)  # fmt: skip
ROWS: dict[str, Callable[[Decoder, Instruction], Run]] = {
    name: decode for family in _FAMILIES for name, decode in family.ROWS.items()
}


@dataclass
class Step:
    """One instruction: what it does, and the registers to check before and to mark after.

    `touches` are those that products under way may have.
    """

    instruction: Instruction
    run: Run
    predicate: Reader | None
    reads: set[int]
    writes: set[int]
    checks: tuple[int, ...] = ()
    marks: tuple[int, ...] = ()
    touches: tuple[int, ...] = ()


@dataclass
class Code:
    """A segment, decoded. `end` tells the scheduler where its threads go; None is straight on."""

    steps: list[Step]
    end: "control.End | None"
    end_step: Step | None
    targets: tuple[int, ...]
    following: int | None
    opcodes: Counter[str]

    @property
    def successors(self) -> tuple[int, ...]:
        """All segments that may come next."""
        return (*self.targets, *(() if self.following is None else (self.following,)))


@dataclass
class Program:
    """A kernel that can be launched.

    `offsets` are where its parameters lie; `doubtful` the registers whose writing is kept track of,
    `fragile` those that products of warpgroups have; `works_beside` says whether such products, or
    copies, run beside the threads; `cluster` has the blocks of a cluster, which are neighbours.
    """

    name: str
    code: list[Code]
    dtypes: list = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    parameter_bytes: int = 0
    local_bytes: int = 0
    static_shared_bytes: int = 0
    shared_granule: int = 4
    doubtful: set[int] = field(default_factory=set)
    fragile: set[int] = field(default_factory=set)
    works_beside: bool = False
    max_threads: int = 1024
    max_registers: int | None = None
    cluster: int = 1


class Layout:
    """Offsets of variables, one after the other as their alignments say."""

    def __init__(self) -> None:
        self.end = 0

    def add(self, variable: Variable) -> int:
        """The offset of one more."""
        offset = -(-self.end // variable.alignment) * variable.alignment
        self.end = offset + variable.size
        return offset


def decode_kernel(function: Function, source: Source, addresses: dict[str, int]) -> Program:
    """Decode a kernel; `addresses` has those of the module's variables in global memory.

    Raises:
        UnsupportedError: an instruction has no meaning here, or clusters are no rows of blocks.
    """
    cluster = function.directives.get("reqnctapercluster", (1,))
    if prod(cluster) != cluster[0]:
        raise UnsupportedError(
            f"clusters of {function.name} are {cluster} blocks: the PTX interpreter has those that "
            "lie in a row"
        )
    flat, segments = segments_of(function, source)
    program = Program(function.name, [], max_threads=function.max_threads, cluster=cluster[0])
    decoder = Decoder(flat.registers, _symbols(flat, source, addresses, program), flat.variables)
    program.code = [_decoded(decoder, segment) for segment in segments]
    program.dtypes, program.names = decoder.dtypes, decoder.names
    program.shared_granule = decoder.shared_granule
    program.fragile, program.works_beside = decoder.fragile, decoder.works_beside
    program.max_registers = function.max_registers
    _find_doubtful(program)
    _find_touches(program)
    return program


def _symbols(
    flat: Function, source: Source, addresses: dict[str, int], program: Program
) -> dict[str, tuple[str, int]]:
    symbols = {name: ("global", address) for name, address in addresses.items()}
    parameters, local, shared = Layout(), Layout(), Layout()
    for parameter in flat.parameters:
        symbols[parameter.name] = ("param", parameters.add(parameter))
        program.offsets.append(symbols[parameter.name][1])
    variables = [*source.variables.values(), *flat.variables.values()]
    dynamic = [v for v in variables if v.space == "shared" and v.unsized]
    for variable in variables:
        if variable.space in ("local", "param"):
            symbols[variable.name] = ("local", local.add(variable))
        elif variable.space == "shared" and not variable.unsized:
            symbols[variable.name] = ("shared", shared.add(variable))
    for variable in dynamic:  # all begin where those of known size end
        program.static_shared_bytes = max(program.static_shared_bytes, shared.end)
        symbols[variable.name] = ("shared", Layout.add(_copy(shared), variable))
    program.static_shared_bytes = shared.end
    program.parameter_bytes, program.local_bytes = parameters.end, local.end
    return symbols


def _copy(layout: Layout) -> Layout:
    result = Layout()
    result.end = layout.end
    return result


def _decoded(decoder: Decoder, segment: Segment) -> Code:
    steps = [_step(decoder, i) for i in segment.instructions]
    opcodes = Counter(i.opcode for i in segment.instructions)
    end, end_step = None, None
    if segment.end is not None:
        opcodes[segment.end.opcode] += 1
        decoder.reads, decoder.writes = set(), set()
        end = _guarded(decoder, segment.end, control.end_of)
        end_step = Step(segment.end, _nothing, None, decoder.reads, decoder.writes)
    return Code(steps, end, end_step, segment.targets, segment.following, opcodes)


def _nothing(t: object, lanes: object) -> None:
    """What an end does as an instruction."""


def _step(decoder: Decoder, instruction: Instruction) -> Step:
    decoder.reads, decoder.writes = set(), set()
    run = _guarded(decoder, instruction, _decode)
    predicate = None
    if instruction.predicate is not None:
        predicate = decoder.read(instruction.predicate, "pred")
    return Step(instruction, run, predicate, decoder.reads, decoder.writes)


def _guarded(
    decoder: Decoder, instruction: Instruction, decode: Callable[[Decoder, Instruction], Decoded]
) -> Decoded:
    """Decode; an operand that does not fit is an unknown instruction, which names the reason."""
    try:
        return decode(decoder, instruction)
    except KeyError as error:
        raise decoder.unknown(instruction, f"no name {error}") from None
    except (TypeError, ValueError, IndexError, StopIteration, AttributeError) as error:
        raise decoder.unknown(instruction, str(error)) from None


def _decode(decoder: Decoder, instruction: Instruction) -> Run:
    opcode = instruction.opcode
    types = [m for m in instruction.modifiers if is_type(m)]
    kind = floats if types and floats.is_float(types[0]) else integers
    row = ROWS.get(opcode) or kind.ROWS.get(opcode)
    if row is None:
        raise decoder.unknown(instruction)
    return row(decoder, instruction)


# --- Registers that may be unwritten --------------------------------------------------------------


def _find_doubtful(program: Program) -> None:
    """Mark the reads of registers that are not written on each path, and all writes of those."""
    count = len(program.dtypes)
    everything = set(range(count))
    before = [everything] * len(program.code)
    before[0] = set()
    work = [0]
    seen = {0}
    while work:
        number = work.pop()
        code = program.code[number]
        after = set(before[number])
        for step in code.steps:
            if step.predicate is None:
                after |= step.writes
        if code.end_step is not None:
            after |= code.end_step.writes
        for successor in code.successors:
            joined = before[successor] & after
            if joined != before[successor] or successor not in seen:
                before[successor] = joined
                seen.add(successor)
                work.append(successor)
    for number, code in enumerate(program.code):
        known = set(before[number])
        for step in [*code.steps, *([code.end_step] if code.end_step else [])]:
            step.checks = tuple(sorted(step.reads - known))
            program.doubtful |= set(step.checks)
            if step.predicate is None:
                known |= step.writes
    for code in program.code:
        for step in [*code.steps, *([code.end_step] if code.end_step else [])]:
            step.marks = tuple(sorted(step.writes & program.doubtful))


def _find_touches(program: Program) -> None:
    """Find the uses of registers that products have, but those by the products."""
    for code in program.code if program.fragile else ():
        ends = code.end_step if not isinstance(code.end, Together) else None
        for step in [*code.steps, *([ends] if ends else [])]:
            step.touches = tuple(sorted((step.reads | step.writes) & program.fragile))
