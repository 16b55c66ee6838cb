"""Rows in pieces of up to 16 bytes: neighbours that a thread reads, and stores, by one access."""

from dataclasses import dataclass

from tfc.backends.gpu.movement.neighbours import Read, has_pairs, is_together, undecided
from tfc.backends.mlir.elements import Buffer
from tfc.backends.mlir.kernels import Kernel
from tfc.backends.mlir.row_values import reduced_operands
from tfc.backends.mlir.spaces import lies_evenly
from tfc.hlo.index_maps import Index, variable
from tfc.passes.analysis.loop_spaces import visits
from tfc.passes.analysis.row_plan import RowPlan

_ACCESS = 16  # bytes of the largest access


@dataclass(frozen=True)
class Pieces:
    """How a row is taken apart.

    count: neighbours in a piece.
    column: the variable along the row.
    reads: what is read of each piece, and where.
    """

    count: int
    column: Index
    reads: tuple[Read, ...] = ()


def pieces_of(kernel: Kernel, plan: RowPlan, threads: int) -> Pieces:
    """The largest pieces of a kernel's rows of which each of a row's threads gets as many; of one
    element where some do not lie together."""
    region, length = plan.region, plan.region.space.length
    column, place = variable("column", length), region.space.place
    alone = Pieces(1, column)
    parameters = kernel.computation.parameters
    of_rows = [i for i, role in region.roles.items() if role != "full"]
    wanted = [o for loop in plan.loops for r in loop.reduces for o in reduced_operands(r)]
    wanted += [v for loop in plan.loops for v in loop.stored]
    seen = [
        visit
        for v in wanted
        for visit in visits(
            parameters, v, place.index("full", v.array_shape.dims), known=of_rows
        )
    ]  # fmt: skip
    if undecided(seen) is not None or has_pairs(kernel):
        return alone
    reads = tuple(dict.fromkeys((v, i) for v, i, _ in seen if v in parameters))
    written = [(o, place.index("full", o.array_shape.dims))
               for o in region.outputs if region.roles[o] == "full"]  # fmt: skip
    positions = [Buffer(None, o.array_shape).position(i) for o, i in written]
    widest = max((v.array_shape.element_type.bytes for v, _ in (*reads, *written)), default=_ACCESS)
    found = [
        count
        for count in (16, 8, 4, 2)
        if count * widest <= _ACCESS
        and count * threads <= length
        and length % count == 0
        and all(lies_evenly(p, column, count) for p in positions)
        and all(is_together(read, column, count) for read in reads)
    ]
    # Rather smaller ones than threads without one in the last turn.
    whole = [count for count in found if length % (count * threads) == 0]
    return Pieces((whole or found)[0], column, reads) if found else alone
