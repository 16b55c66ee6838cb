"""Which operands a kernel may overwrite with its result.

    a = f32[8] add(x, y)                                    x or y
    f = f32[9] fusion(x, u, i): dynamic-update-slice(x, …)  x: only the updated part is written
    s = f32[4,8] sort(x)                                    x: a row is read before it is written
    f = (f32[9]) fusion(x): while(x, …)                     x: what the loop begins with

A loop writes each element of the arrays that it makes once, those of one place together. An operand
may be overwritten if every element of it is read where that same place is written, whatever index
maps lie between: the maps give both places symbolically, and their difference must be zero. Of a
kernel with several loops one after the other, only one may read the operand, unless it goes row by
row: then its plan says what is read when (row_plan.py). A kernel ending in
dynamic-update-slices first puts the array in place and then writes one update after the other (see
emit_update), so what the first reads of that array must be the very places it writes, and those
that follow must read nothing of it; else they would read what is written already.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from tfc.hlo.index_maps import Index, constant, variable
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.op import op_named
from tfc.hlo.ops.dynamic import update_index, updates_of
from tfc.hlo.shape import AnyShape, Shape, leaves
from tfc.passes.analysis.called import kernel_loop
from tfc.passes.analysis.fusible import is_elementwise, is_loop
from tfc.passes.analysis.loop_spaces import nests
from tfc.passes.analysis.row_plan import row_plan

Indices = tuple[Index, ...]
Read = tuple[Instruction, Indices]


def overwritable(instruction: Instruction) -> list[tuple[int, int]]:
    """(operand, result) for each operand whose memory may become that of a result, by number.

    An array that is several operands may be overwritten if all of them may.
    """
    match instruction.opcode:
        case "scatter":
            # The operands are updated one element after the other; the rest is read meanwhile.
            return _lying_alike(instruction, len(instruction.operands) // 2)
        case "sort":
            return _lying_alike(instruction, len(instruction.operands))
        case "fusion":
            return overwritable_in(instruction["calls"])
        case _:
            return _of_loop(instruction, instruction.operands)


def _lying_alike(x: Instruction, count: int) -> list[tuple[int, int]]:
    """Each of the first operands with the result of its number, if they have the same layout."""
    results = list(leaves(x.shape))
    return [(n, n) for n in range(count) if x.operands[n].shape == results[n]]


def overwritable_in(called: Computation) -> list[tuple[int, int]]:
    """The same for the kernel of a fusion."""
    loop = kernel_loop(called)
    if loop is not None:
        return _of_kernel_loop(called, loop)
    root, plan = called.root, row_plan(called.root)
    results = root.operands if root.opcode == "tuple" else (root,)
    if plan is not None:
        pairs: Iterable[tuple[Instruction, Instruction]] = plan.overwritable
    elif root.opcode == "tuple":
        pairs = _of_several(called)
    else:
        return _of_loop(root, called.parameters) if _are_loops(called.instructions) else []
    ends = list(accumulate((sum(1 for _ in leaves(r.shape)) for r in results), initial=0))
    number = {p: n for n, p in enumerate(called.parameters)}
    return sorted((number[p], ends[results.index(r)]) for p, r in pairs)


def _of_kernel_loop(called: Computation, loop: Instruction) -> list[tuple[int, int]]:
    """The state that a loop begins with may become what it ends with, unless it is wanted twice."""
    inits = loop.operands[0].operands or loop.operands
    number = {p: n for n, p in enumerate(called.parameters) if inits.count(p) == 1}
    ended = [e.attributes.get("index", 0) for e in called.root.operands]
    return [
        (number[inits[k]], result)
        for result, k in enumerate(ended)
        if inits[k] in number
        and inits[k].shape == called.root.operands[result].shape
        and ended.count(k) == 1
    ]


def _are_loops(instructions: Iterable[Instruction]) -> bool:
    return all(is_loop(i) or i.opcode in ("parameter", "constant") for i in instructions)


def _of_several(called: Computation) -> Iterator[tuple[Instruction, Instruction]]:
    """The pairs of a kernel of loops and reductions, each of which stores what it makes."""
    root, operands = called.root, set(called.parameters)
    sums = {v for v in root.operands if v.opcode == "reduce"}
    inside = (i for i in called.instructions if i not in sums and i is not root)
    if not _are_loops(inside) or any(u is not root for v in sums for u in called.users[v]):
        return
    accesses: list[tuple[list[Instruction], Indices, list[Read]]] = []
    for nest in nests(root.operands):
        walked = nest[0].operands[0] if nest[0] in sums else nest[0]
        index = _variables("d", walked.array_shape)
        found: list[Read] = []
        for value in nest:
            count = len(value.operands) // 2 if value in sums else 0
            for array in value.operands[:count] if value in sums else (value,):
                found += reads(array, index, operands)
            for init in value.operands[count:] if value in sums else ():
                found += reads(init, (), operands)
        accesses.append(([v for v in nest if v not in sums], index, found))
    readers = Counter(o for *_, found in accesses for o in {operand for operand, _ in found})
    for stored, index, found in accesses:
        alone = {o for o, _ in found if readers[o] <= 1}
        kept: dict[AnyShape, set[Instruction]] = {}
        for value in stored:
            if value.shape not in kept:
                wanted = {o for o in alone if o.shape == value.shape}
                place = position(value.array_shape, index)
                kept[value.shape] = _keep(wanted, found, place)
            for operand in kept[value.shape]:
                yield operand, value


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
    found = _keep(wanted, reads(array, index, operands), position(shape, index))
    for update in updates:
        inside = _variables("u", update.operands[1].array_shape)
        later = list(reads(update.operands[1], inside, operands))
        for start in update.operands[2:]:
            later += reads(start, _variables("s", start.array_shape), operands)
        read = {operand for operand, _ in later}
        if array in read & found and update is updates[0]:
            read -= _keep({array}, later, position(shape, update_index(update, inside)))
        found -= read
    return found


def _keep(
    wanted: set[Instruction], accesses: Iterator[Read] | list[Read], place: Index
) -> set[Instruction]:
    """The operands read at no other position than `place`."""
    found = set(wanted)
    for operand, index in accesses:
        if operand in found and position(operand.array_shape, index) - place != constant(0):
            found.discard(operand)
    return found


def _variables(name: str, shape: Shape) -> Indices:
    return tuple(variable(f"{name}{d}", n) for d, n in enumerate(shape.dims))


def position(shape: Shape, index: Sequence[Index]) -> Index:
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
