"""Rows in pieces of up to 16 bytes: neighbours that a thread reads, and stores, by one access."""

from dataclasses import dataclass

from tfc.backends.gpu.movement.neighbours import Read, counts_together
from tfc.backends.mlir.kernels import Kernel
from tfc.backends.mlir.row_values import reduced_operands
from tfc.hlo.index_maps import Index, variable
from tfc.passes.analysis.loop_spaces import visits
from tfc.passes.analysis.row_plan import RowPlan


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
    written = [(o.array_shape, place.index("full", o.array_shape.dims))
               for o in region.outputs if region.roles[o] == "full"]  # fmt: skip
    counts, reads = counts_together(kernel, seen, written, column)
    found = [count for count in counts if count * threads <= length]
    # Rather smaller ones than threads without one in the last turn.
    whole = [count for count in found if length % (count * threads) == 0]
    return Pieces((whole or found)[0], column, tuple(reads)) if found else Pieces(1, column)
