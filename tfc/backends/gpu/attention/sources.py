"""What brings tiles of queries, keys and values: copies of what lies in order, else elements."""

from math import gcd
from typing import Any

from tfc.backends.gpu.assembly import global_address
from tfc.backends.gpu.assembly import number as narrow
from tfc.backends.gpu.matrices import PIECE
from tfc.backends.gpu.parts import Work
from tfc.backends.gpu.products.pieces import Computed, Copied
from tfc.backends.mlir.arithmetic.value import Scalar, constant, convert, mlir_type, select
from tfc.backends.mlir.elements import Elements
from tfc.backends.mlir.kernels import sources
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.index_maps import Index, variable
from tfc.hlo.shape import PRED, U32, U64, ElementType
from tfc.passes.attention.forward import Factor, read_from


def source_of(
    work: Work,
    factor: Factor,
    batch: Any,
    lines: tuple[str, int],
    along: tuple[str, int],
    element_type: ElementType,
) -> Copied | Computed:
    """What brings tiles of a matrix.

    Args:
        batch: the number of the pair of matrices, of type index.
        lines, along: the variables that go down and along the lines, and their sizes.
        element_type: that the tiles have.
    """
    found = _copied(work, factor, batch, lines, along, element_type)
    return found or _computed(work, factor, batch, lines, along, element_type)


def _copied(
    work: Work,
    factor: Factor,
    batch: Any,
    lines: tuple[str, int],
    along: tuple[str, int],
    element_type: ElementType,
) -> Copied | None:
    """Copies, if the elements of a line lie one after the other, and lines begin where they may."""
    parameters = work.kernel.computation.parameters
    array, index = read_from(factor)
    number = next((n for n, p in enumerate(parameters) if p is array), None)
    if number is None or array.array_shape.element_type != element_type:
        return None
    buffer, size = work.buffers[number], element_type.bits // 8
    position = buffer.position(index)
    width = copy_width(position, along, size)
    if not width:
        return None
    start = Scalar(global_address(buffer.memref), U64)

    def at(line: Any, place: Any) -> tuple[Any, Scalar]:
        where = Elements({}, {"b": batch, lines[0]: line, along[0]: place}).index_value(position)
        wide = arith.index_castui(mlir_type(U64), arith.muli(where, index_value(size)))
        left = arith.subi(index_value(along[1]), place)
        count = narrow(arith.minui(arith.muli(left, index_value(size)), index_value(PIECE)))
        inside = [(line, lines[1]), (place, along[1])]
        for x, end in inside:
            below = arith.cmpi(arith.CmpIPredicate.ult, x, index_value(end))
            count = select(Scalar(below, PRED), count, constant(U32, 0))
        return (start + Scalar(wide, U64)).value, count

    return Copied(at, size, width)


def copy_width(position: Index, along: tuple[str, int], element_bytes: int) -> int:
    """How many bytes can be copied at once of lines at a position; 0 if no four can."""
    counted = variable(*along)
    rest = position - counted if along[1] > 1 else position
    if along[0] in str(rest) or along[1] == 1:
        return 0
    step = PIECE // element_bytes
    for term in rest.terms if rest.kind == "add" else (rest,):
        factor = term.value if term.kind in ("mul", "constant") else 1
        step = gcd(step, factor)
    return next((w for w in (16, 8, 4) if step * element_bytes % w == 0), 0)


def _computed(
    work: Work,
    factor: Factor,
    batch: Any,
    lines: tuple[str, int],
    along: tuple[str, int],
    element_type: ElementType,
) -> Computed:
    """Elements one by one; those that are not there are zero."""

    def at(line: Any, place: Any) -> Scalar:
        tests, values = [], {"b": batch}
        for x, (name, size) in ((line, lines), (place, along)):
            tests.append(arith.cmpi(arith.CmpIPredicate.ult, x, index_value(size)))
            values[name] = arith.minui(x, index_value(size - 1))
        value = Elements(sources(work.kernel, work.buffers), values).element(*_element(factor))
        return select(Scalar(arith.andi(*tests), PRED), convert(value, element_type), 0)

    return Computed(at, element_type)


def _element(factor: Factor) -> tuple[Any, tuple[Index, ...]]:
    return factor.value, factor.index
