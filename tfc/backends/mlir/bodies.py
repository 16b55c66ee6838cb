"""The body of a kernel: which form of loops its root takes, the same on every backend."""

from collections.abc import Callable, Sequence

from tfc.backends.mlir.convolutions import emit_convolution
from tfc.backends.mlir.elements import Buffer
from tfc.backends.mlir.kernels import Kernel, Loops, emit_dot, emit_elementwise
from tfc.backends.mlir.reductions import emit_reduce
from tfc.backends.mlir.several_results import emit_several
from tfc.errors import UnsupportedError
from tfc.hlo.op import op_named

Emit = Callable[[Kernel, Sequence[Buffer], Loops], None]

# Roots with a form of loops of their own; elementwise ops and data movement share one.
BODIES: dict[str, Emit] = {
    "reduce": emit_reduce,
    "dot": emit_dot,
    "convolution": emit_convolution,
    "iota": emit_elementwise,
    "constant": emit_elementwise,
    "parameter": emit_elementwise,
    "tuple": emit_several,
}


def emit_body(kernel: Kernel, buffers: Sequence[Buffer], loops: Loops) -> None:
    """Emit the loops and elements of a kernel at the insertion point.

    Args:
        buffers: the operands' and then the results'.

    Raises:
        UnsupportedError: there is no code for the kernel's root.
    """
    op = op_named((kernel.product or kernel.root).opcode)
    body = BODIES.get(op.name)
    if body is None and not (op.elementwise or op.is_movement):
        raise UnsupportedError(f"this backend cannot make a kernel of '{op.name}'")
    (body or emit_elementwise)(kernel, buffers, loops)
