"""The body of a kernel: which form of loops its root takes, the same on every backend."""

from collections.abc import Sequence

from tfc.backends.mlir.convolutions import emit_convolution
from tfc.backends.mlir.elements import Buffer
from tfc.backends.mlir.kernels import Kernel, Loops, emit_dot, emit_elementwise
from tfc.backends.mlir.reductions import emit_reduce
from tfc.errors import UnsupportedError
from tfc.hlo.op import op_named

# Roots besides elementwise ops and data movement that are made one element at a time.
_LOOPED = frozenset({"iota", "constant", "parameter"})


def emit_body(kernel: Kernel, buffers: Sequence[Buffer], loops: Loops, *, flat: bool) -> None:
    """Emit the loops and elements of a kernel at the insertion point.

    Args:
        buffers: the operands' and then the results'.
        flat: whether `loops` runs a space of one dimension best, as a grid does.

    Raises:
        UnsupportedError: there is no code for the kernel's root.
    """
    op = op_named(kernel.root.opcode)
    match kernel.root.opcode:
        case "reduce":
            emit_reduce(kernel, buffers, loops, flat)
        case "dot":
            emit_dot(kernel, buffers, loops, flat)
        case "convolution":
            emit_convolution(kernel, buffers, loops, flat)
        case opcode if op.elementwise or op.is_movement or opcode in _LOOPED:
            emit_elementwise(kernel, buffers, loops, flat)
        case opcode:
            raise UnsupportedError(f"this backend cannot make a kernel of '{opcode}'")
