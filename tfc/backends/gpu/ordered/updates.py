"""Updates that follow each other, and the state of random numbers."""

from collections.abc import Sequence

from tfc.backends.gpu.grid import Grid
from tfc.backends.gpu.movement.placing import put_in_place
from tfc.backends.gpu.movement.vectors import stored_together
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.mlir.kernels import Kernel
from tfc.backends.mlir.ordered.program_state import emit_state_update
from tfc.backends.mlir.ordered.updates import emit_one_update
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.dynamic import update_index, updates_of


def update_parts(kernel: Kernel) -> list[Part]:
    """The array, then one update after the other, as each may write over the one before; at once
    those that go to other places for all that is known."""
    array, updates = updates_of(kernel.root, kernel.computation.parameters)
    groups: list[list[Instruction]] = []
    for update in updates:
        if groups and all(are_apart(update, other) for other in groups[-1]):
            groups[-1].append(update)
        else:
            groups.append([update])
    return [*put_in_place(kernel, array, 0), *(_updated(kernel, group) for group in groups)]


def are_apart(one: Instruction, other: Instruction) -> bool:
    """Whether constants say that two updates of an array have no place in common."""
    for dimension, size in enumerate(one.array_shape.dims):
        ranges = []
        for update in (one, other):
            start, count = update.operands[2 + dimension], update.operands[1].array_shape.dims
            if start.opcode == "constant":
                first = min(max(int(start["literal"].array), 0), size - count[dimension])
                ranges.append((first, first + count[dimension]))
        if len(ranges) == 2:
            (begin, end), (first, last) = ranges
            if end <= first or last <= begin:
                return True
    return False


def _updated(kernel: Kernel, updates: Sequence[Instruction]) -> Part:
    """The function of updates none of which writes where another does."""
    parts = [_one_updated(kernel, update) for update in updates]
    if len(parts) == 1:
        return parts[0]

    def emit(work: Work) -> None:
        for part in parts:
            part.emit(work)

    wide = {number for part in parts for number in part.wide}
    return Part(emit, max(part.count for part in parts), wide=wide)


def _one_updated(kernel: Kernel, update: Instruction) -> Part:
    # Neighbours of the update may go to places that are together.
    together = stored_together(
        kernel, [update.operands[1]], [0], lambda index: update_index(update, index)
    )
    if together is not None:
        return together

    def emit(work: Work) -> None:
        emit_one_update(work.kernel, work.buffers, update, Grid())

    return Part(emit, update.operands[1].array_shape.size)


def state_parts(_: Kernel) -> list[Part]:
    """The state that the program keeps, which one thread moves on."""

    def emit(work: Work) -> None:
        Grid().each([1], lambda _: emit_state_update(work.kernel, work.buffers))

    return [Part(emit, 1)]
