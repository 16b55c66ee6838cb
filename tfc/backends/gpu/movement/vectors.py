"""Element by element, 16 bytes at once: a thread has neighbouring elements.

    y[4i … 4i+3] = f(x[4i … 4i+3], …)        ld.global.v4, four times f, st.global.v4

LLVM makes one access of several where it sees that they are neighbours and how they are aligned: so
these are kernels along whose innermost loop every operand lies in a row, or is the same throughout.
"""

from math import prod

from tfc.backends.gpu.grid import point_of, thread_number
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.kernels import Kernel, sources
from tfc.backends.mlir.loops import when
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.spaces import Space, bind, lies_evenly, loop_space, step_of
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.index_maps import Index
from tfc.hlo.op import op_named
from tfc.passes.analysis.loop_spaces import visits

_ACCESS = 16  # bytes of the largest access
_LEAST = 1024  # elements for which it pays
_MOST_CODE = 48  # instructions of an element that are emitted several times


def vector_parts(kernel: Kernel) -> list[Part] | None:
    """The function of a kernel whose threads make several neighbours; None if they cannot."""
    op = op_named(kernel.root.opcode)
    if kernel.product is not None or len(kernel.results) != 1:
        return None
    (result,) = kernel.results
    if not (op.elementwise or op.is_movement) or result.size < _LEAST:
        return None
    space = loop_space(kernel.computation, kernel.root, Buffer(None, result))
    count = _neighbours(kernel, space)
    if count < 2:
        return None
    threads = prod(space.sizes) // count
    buffers = range(len(kernel.arguments) + 1)
    return [Part(lambda work: _emit(space, count, work), threads, wide=buffers)]


def _neighbours(kernel: Kernel, space: Space) -> int:
    """How many elements a thread has; 1 if some operand does not lie so."""
    last, parameters = space.variables[-1], kernel.computation.parameters
    if last.kind != "variable":
        return 1
    read = list(visits(parameters, kernel.root, space.index))
    arrays = [kernel.results[0], *(v.array_shape for v, _, _ in read if v in parameters)]
    positions = [Buffer(None, kernel.results[0]).position(space.index)]
    for value, index, pieces in read:
        if any(not c.always for p in pieces for c in p.conditions):
            return 1
        if value in parameters:
            positions.append(Buffer(None, value.array_shape).position(index))
    count = _ACCESS // max(a.element_type.bytes for a in arrays)
    while count > 1 and (
        space.sizes[-1] % count or not all(_is_even(p, last, count) for p in positions)
    ):
        count //= 2
    return count if len(read) <= _MOST_CODE else min(count, 2)


def _is_even(position: Index, last: Index, count: int) -> bool:
    """Whether neighbours along the last loop are read at once: in a row that begins evenly."""
    return step_of(position, last) == 0 or lies_evenly(position, last, count)


def _emit(space: Space, count: int, work: Work) -> None:
    number, inputs = thread_number(), sources(work.kernel, work.buffers)
    sizes = [*space.sizes[:-1], space.sizes[-1] // count]

    def each() -> None:
        *around, last = point_of(number, sizes)
        first = arith.muli(last, index_value(count))
        scope = Elements(inputs, bind(space.variables[:-1], around))
        points = [arith.addi(first, index_value(k)) for k in range(count)]
        scopes = [scope.with_variables(**bind(space.variables[-1:], [p])) for p in points]
        found = [s.element(work.root, space.index) for s in scopes]
        for element, own in zip(found, scopes):
            own.store(element, work.buffers[-1], space.index)

    inside = arith.cmpi(arith.CmpIPredicate.ult, number, index_value(prod(sizes)))
    when(inside, each)
