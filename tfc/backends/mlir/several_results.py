"""Kernels with several results: a tuple root, each element of which is stored.

What runs over one space (tfc.passes.analysis.loop_spaces) shares its loops: loops store an element
of each array at a time, and reductions of arrays of one shape over the same dimensions are one
pass, which stores arrays of that shape on the way. Different spaces are loops in sequence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from tfc.backends.mlir.elements import Buffer
from tfc.backends.mlir.kernels import Kernel, Loops, store_together
from tfc.backends.mlir.reductions import Reductions, emit_reductions
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import leaves
from tfc.passes.analysis.loop_spaces import nests


@dataclass(frozen=True)
class Nest:
    """What the same loops compute of a kernel.

    reduces: reductions of one pass, with their result buffers.
    stored: arrays, with theirs.
    """

    kernel: Kernel
    buffers: Sequence[Buffer]
    reduces: Sequence[tuple[Instruction, Sequence[Buffer]]]
    stored: Sequence[tuple[Instruction, Buffer]]

    @property
    def reductions(self) -> Reductions:
        """The pass, if the nest is one."""
        return Reductions(self.kernel, self.buffers, self.reduces, self.stored)

    @property
    def points(self) -> int:
        """How many points its loops have on a grid: the size of the largest result."""
        results = [r for _, some in self.reduces for r in some] or [b for _, b in self.stored]
        return max(r.shape.size for r in results)

    def emit(self, loops: Loops) -> None:
        """Emit the loops."""
        if self.reduces:
            emit_reductions(self.reductions, loops)
        elif self.stored[0][1].shape.size:
            together, into = zip(*self.stored)
            store_together(self.kernel, self.buffers, together, into, loops)


def nests_of(kernel: Kernel, buffers: Sequence[Buffer]) -> list[Nest]:
    """The nests of a kernel whose root is a reduction, or a tuple of loops and reductions."""
    values = kernel.values
    counts = [sum(1 for _ in leaves(v.shape)) for v in values]
    ends = list(accumulate(counts, initial=len(buffers) - sum(counts)))
    results = {v: buffers[end : end + n] for v, end, n in zip(values, ends, counts)}
    return [
        Nest(
            kernel,
            buffers,
            [(v, results[v]) for v in nest if v.opcode == "reduce"],
            [(v, results[v][0]) for v in nest if v.opcode != "reduce"],
        )
        for nest in nests(values)
    ]


def emit_several(kernel: Kernel, buffers: Sequence[Buffer], loops: Loops) -> None:
    """A kernel whose root is a tuple of loops and reductions."""
    for nest in nests_of(kernel, buffers):
        nest.emit(loops)
