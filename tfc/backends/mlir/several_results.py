"""Kernels with several results: a tuple root, each element of which is stored.

What runs over one space (tfc.passes.analysis.loop_spaces) shares its loops: loops store an element
of each array at a time, and reductions of arrays of one shape over the same dimensions are one
pass, which stores arrays of that shape on the way. Different spaces are loops in sequence.
"""

from collections.abc import Sequence
from itertools import accumulate

from tfc.backends.mlir.elements import Buffer
from tfc.backends.mlir.kernels import Kernel, Loops, store_together
from tfc.backends.mlir.reductions import Reductions, emit_reductions
from tfc.hlo.shape import leaves
from tfc.passes.analysis.loop_spaces import nests


def emit_several(kernel: Kernel, buffers: Sequence[Buffer], loops: Loops) -> None:
    """A kernel whose root is a tuple of loops and reductions."""
    values = kernel.root.operands
    counts = [sum(1 for _ in leaves(v.shape)) for v in values]
    ends = list(accumulate(counts, initial=len(buffers) - sum(counts)))
    results = {v: buffers[end : end + n] for v, end, n in zip(values, ends, counts)}
    for nest in nests(values):
        reduces = [(v, results[v]) for v in nest if v.opcode == "reduce"]
        stored = [(v, results[v][0]) for v in nest if v.opcode != "reduce"]
        if reduces:
            emit_reductions(Reductions(kernel, buffers, reduces, stored), loops)
        elif stored[0][1].shape.size:
            together, into = zip(*stored)
            store_together(kernel, buffers, together, into, loops)
