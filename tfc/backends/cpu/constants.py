"""Where constants lie: in one place for several programs, in panels where tiles read them so."""

from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from types import MappingProxyType

from tfc.backends.cpu.products.panels import PanelForm, right_operand
from tfc.backends.mlir.kernels import Kernel, is_silent, kernel_of
from tfc.hlo.ir import Instruction
from tfc.hlo.literal import Literal
from tfc.passes.memory.buffers import BufferAssignment, Slice
from tfc.passes.memory.packing import aligned


@dataclass(frozen=True)
class ConstantPanels:
    """Which constants of a program lie in panels.

    forms: by where they begin in the pool of constants.
    readers: the form of the one that an instruction reads.
    """

    forms: Mapping[int, PanelForm] = field(default_factory=dict)
    readers: Mapping[Instruction, PanelForm] = field(default_factory=dict)


def with_shared_constants(plans: Sequence[BufferAssignment]) -> list[BufferAssignment]:
    """The same plans with one pool of constants, which each of them has all of.

    Constants of the same bytes lie in one place, whatever their shapes.
    """
    places: dict[bytes, int] = {}
    pool: list[tuple[int, Literal]] = []
    end, moves = 0, []
    for plan in plans:
        moved: dict[int, int] = {}
        for offset, literal in plan.constants:
            key = blake2b(literal.bytes.data, digest_size=32).digest()
            if key not in places:
                places[key] = end
                pool.append((end, literal))
                end += aligned(literal.bytes.size)
            moved[offset] = places[key]
        moves.append(moved)
    return [
        replace(
            plan,
            slices=MappingProxyType({
                x: tuple(_moved(piece, sorted(moved), moved) for piece in pieces)
                for x, pieces in plan.slices.items()
            }),
            constants=tuple(pool),
            constant_size=end,
        )
        for plan, moved in zip(plans, moves)
    ]  # fmt: skip


def _moved(piece: Slice, starts: Sequence[int], moved: dict[int, int]) -> Slice:
    """A piece of a constant, where that lies now."""
    if piece.space != "constant" or not piece.size:
        return piece
    start = starts[bisect(starts, piece.offset) - 1]
    return replace(piece, offset=moved[start] + piece.offset - start)


def constant_panels(
    assignment: BufferAssignment, form_of: Callable[[Instruction, Kernel], PanelForm | None]
) -> ConstantPanels:
    """What of a program's constants is better in panels.

    Args:
        form_of: the form in which a kernel wants its product's right operand, if it has one.
    """
    forms: dict[int, PanelForm] = {}
    readers: dict[Instruction, PanelForm] = {}
    for offset, reading in _readings(assignment).items():
        first, *others = {_wanted(*each, form_of) for each in reading}
        if first is not None and not others:
            forms[offset] = first
            readers.update((reader, first) for reader, _ in reading)
    return ConstantPanels(forms, readers)


def _readings(assignment: BufferAssignment) -> dict[int, Sequence[tuple[Instruction, Instruction]]]:
    """By where constants begin: what reads them by what name, unless they have other names too."""
    sizes = {offset: literal.bytes.size for offset, literal in assignment.constants}
    found: dict[int, list[tuple[Instruction, Instruction]]] = {offset: [] for offset in sizes}
    shared = set[int]()
    for instruction, pieces in assignment.slices.items():
        if instruction.opcode != "constant":
            shared.update(p.offset for p in pieces if p.space == "constant")
        for operand in instruction.operands:
            for piece in assignment.slices.get(operand, ()):
                if piece.space == "constant" and piece.offset in found:
                    found[piece.offset].append((instruction, operand))
    shared.update(s.offset for s in assignment.result_slices if s.space == "constant")
    return {offset: each for offset, each in found.items() if each and offset not in shared}


def _wanted(
    reader: Instruction,
    constant: Instruction,
    form_of: Callable[[Instruction, Kernel], PanelForm | None],
) -> PanelForm | None:
    """The form in which an instruction wants a constant."""
    if constant.opcode != "constant" or is_silent(reader) or reader.opcode in _NO_KERNEL:
        return None
    kernel = kernel_of(reader)
    number = right_operand(kernel)
    if number is None or kernel.operands[number] is not constant:
        return None
    return form_of(reader, kernel)


_NO_KERNEL = ("while", "conditional", "call")
