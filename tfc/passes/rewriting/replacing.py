"""What functions that replace instructions share: building in place of one, repeated scalars."""

from collections.abc import Sequence
from math import prod

from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.op import OPS
from tfc.hlo.shape import AnyShape, Shape

MOST_PARTS = 32  # operands of a concatenate, beyond which it is made in steps


def made(
    old: Instruction,
    opcode: str,
    operands: Sequence[Instruction],
    shape: AnyShape | None = None,
    **attributes,
) -> Instruction:
    """An instruction in the place of `old`.

    Args:
        shape: the result's, for ops that do not infer it; that of `old` when left out.
    """
    stated = (shape or old.shape) if OPS[opcode].needs_shape else None
    return builder.instruction(opcode, operands, shape=stated, metadata=old.metadata, **attributes)


def splat(x: Instruction) -> Instruction | None:
    """The scalar that an array repeats, or None."""
    if x.opcode == "broadcast" and x.operands[0].array_shape.rank == 0:
        return x.operands[0]
    return None


def repeated(scalar: Instruction, shape: Shape) -> Instruction:
    """A scalar repeated over an array's shape."""
    return builder.broadcast(scalar, shape.dims, ()) if shape.rank else scalar


def reducer(computation: Computation) -> str | None:
    """The op that a computation (x, y) -> op(x, y) applies, if the order is all the same to it."""
    root = computation.root
    if not OPS[root.opcode].folds or len(computation.parameters) != 2:
        return None
    return root.opcode if set(root.operands) == set(computation.parameters) else None


def count(shape: Shape, dimensions: Sequence[int]) -> int:
    """How many elements an array has along some of its dimensions."""
    return prod(shape.dims[d] for d in dimensions)
