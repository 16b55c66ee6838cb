"""Dots and convolutions inside kernels: where they are, and what becomes of their results."""

from collections.abc import Sequence

from tfc.hlo.index_maps import Index, delinearize, linearize
from tfc.hlo.ir import Computation, Instruction

PRODUCTS = frozenset({"dot", "convolution"})


def product_in(computation: Computation) -> Instruction | None:
    """The dot or convolution of a kernel's computation, if it has one."""
    return next((i for i in computation.instructions if i.opcode in PRODUCTS), None)


def epilogue_path(computation: Computation) -> list[Instruction]:
    """The instructions on a way from the product to the root, the product left out.

    They are elementwise, reshapes and transposes, and any way moves elements as all others do.
    """
    product = product_in(computation)
    dependent = {product}
    for instruction in computation.instructions:
        if any(o in dependent for o in instruction.operands):
            dependent.add(instruction)
    path, at = [], computation.root
    while at is not product:
        path.append(at)
        at = next(o for o in at.operands if o in dependent)
    return path[::-1]


def root_index(computation: Computation, index: Sequence[Index]) -> tuple[Index, ...]:
    """Where the root has the element that is made from the product's at an index."""
    result = tuple(index)
    for instruction in epilogue_path(computation):
        shape = instruction.array_shape
        if instruction.opcode == "reshape":
            before = instruction.operands[0].array_shape
            result = delinearize(linearize(result, before.dims), shape.dims)
        elif instruction.opcode == "transpose":
            result = tuple(result[d] for d in instruction["dimensions"])
    return result
