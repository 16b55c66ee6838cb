"""Which operands a kernel may overwrite with its result.

    a = f32[8] add(x, y)                                    x or y
    f = f32[9] fusion(x, u, i): dynamic-update-slice(x, …)  x: only the updated part is written
    s = f32[4,8] sort(x)                                    x: a row is read before it is written

A loop that makes one array writes each element once. An operand may be overwritten if every element
of it that the loop reads is read where that same place is written, whatever index maps lie between:
the maps give both places symbolically, and their difference must be zero. A kernel ending in
dynamic-update-slices first puts the array in place and then writes one update after the other (see
emit_update), so what the first reads of that array must be the very places it writes, and those
that follow must read nothing of it; else they would read what is written already.
"""

from collections.abc import Iterator, Sequence

from tfc.hlo.dynamic import update_index, updates_of
from tfc.hlo.indexing import Index, constant, variable
from tfc.hlo.ir import Instruction
from tfc.hlo.op import op_named
from tfc.hlo.shape import Shape
from tfc.passes.fusible import is_elementwise, is_loop

Indices = tuple[Index, ...]
Read = tuple[Instruction, Indices]


def overwritable(instruction: Instruction) -> list[tuple[int, int]]:
    """(operand, result) for each operand whose memory may become that of a result, by number.

    An array that is several operands may be overwritten if all of them may.
    """
    match instruction.opcode:
        case "scatter":
            # The operands are updated one element after the other; the rest is read meanwhile.
            return [(n, n) for n in range(len(instruction.operands) // 2)]
        case "sort":
            return [(n, n) for n in range(len(instruction.operands))]
        case "fusion":
            called = instruction["calls"]
            inside = (i for i in called.instructions if i.opcode not in ("parameter", "constant"))
            return _of_loop(called.root, called.parameters) if all(map(is_loop, inside)) else []
        case _:
            return _of_loop(instruction, instruction.operands)


def _of_loop(root: Instruction, operands: Sequence[Instruction]) -> list[tuple[int, int]]:
    if not isinstance(root.shape, Shape) or not is_loop(root):
        return []
    wanted = {o for o in operands if o.shape == root.shape}
    if not wanted:
        return []
    if is_elementwise(root) and set(operands) == set(root.operands):
        return [(n, 0) for n, o in enumerate(operands) if o in wanted]
    found = _untouched(root, set(operands), wanted)
    return [(n, 0) for n, o in enumerate(operands) if o in found]


def _untouched(
    root: Instruction, operands: set[Instruction], wanted: set[Instruction]
) -> set[Instruction]:
    """Those of the wanted operands of which nothing is read after it is written."""
    shape = root.array_shape
    index = _variables("d", shape)
    array, updates = updates_of(root, operands)
    found = _keep(wanted, reads(array, index, operands), _position(shape, index))
    for update in updates:
        inside = _variables("u", update.operands[1].array_shape)
        later = list(reads(update.operands[1], inside, operands))
        for start in update.operands[2:]:
            later += reads(start, _variables("s", start.array_shape), operands)
        read = {operand for operand, _ in later}
        if array in read & found and update is updates[0]:
            read -= _keep({array}, later, _position(shape, update_index(update, inside)))
        found -= read
    return found


def _keep(
    wanted: set[Instruction], accesses: Iterator[Read] | list[Read], place: Index
) -> set[Instruction]:
    """The operands read at no other position than `place`."""
    found = set(wanted)
    for operand, index in accesses:
        if operand in found and _position(operand.array_shape, index) - place != constant(0):
            found.discard(operand)
    return found


def _variables(name: str, shape: Shape) -> Indices:
    return tuple(variable(f"{name}{d}", n) for d, n in enumerate(shape.dims))


def _position(shape: Shape, index: Sequence[Index]) -> Index:
    """Where an element lies in memory."""
    position = constant(0)
    for i, stride in zip(index, shape.strides):
        position = position + i * stride
    return position


def reads(root: Instruction, index: Indices, operands: set[Instruction]) -> Iterator[Read]:
    """The elements of operands that the value of `root` at an index is made of.

    Args:
        operands: where to stop: their values are in memory.
    """
    seen: set[Read] = set()
    stack: list[Read] = [(root, index)]
    while stack:
        instruction, at = stack.pop()
        if not instruction.array_shape.rank:
            at = ()
        if (instruction, at) in seen:
            continue
        seen.add((instruction, at))
        if instruction in operands:
            yield instruction, at
            continue
        op = op_named(instruction.opcode)
        if op.index_map is not None:
            for piece in op.index_map(instruction, at):
                if not any(c.never for c in piece.conditions):
                    stack.append((instruction.operands[piece.operand], piece.index))
                stack.extend(piece.sources())
        else:
            stack.extend((o, at) for o in instruction.operands)
