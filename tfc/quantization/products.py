"""The products and convolutions of a computation: their names, weights, and what cannot be."""

from collections.abc import Container
from dataclasses import dataclass
from math import prod

import numpy as np

from tfc.hlo.ir import Computation, Instruction, callees_first
from tfc.hlo.ops.convolution import group_counts
from tfc.passes.analysis.known_values import known_instructions, known_value
from tfc.passes.analysis.products import PRODUCTS, summed_dimensions
from tfc.quantization.affine import MOST

_LARGEST_SUM = (1 << 31) // (255 * MOST)  # products of two bytes that s32 holds


@dataclass(frozen=True)
class Product:
    """A dot or convolution of a computation.

    name: the node's in an imported model, else `dot_0`, `convolution_1` … in the order of the text.
    weights: for each operand, its value if that depends on constants alone.
    in_entry: whether it is in the entry, and not in a loop or a branch.
    refusal: why it stays in float whatever is known of its operands; None if it need not.
    """

    name: str
    instruction: Instruction
    weights: tuple[np.ndarray | None, np.ndarray | None]
    in_entry: bool
    refusal: str | None

    @property
    def activations(self) -> list[int]:
        """Which operands are computed from the inputs."""
        return [n for n, weight in enumerate(self.weights) if weight is None]

    def refusal_of(self, activations: bool) -> str | None:
        """Why it stays in float.

        Args:
            activations: whether its activations are to be integers, too.
        """
        if self.refusal is None and activations and not self.in_entry:
            return "it runs in a loop or a branch, whose values calibration does not see"
        if self.refusal is None and not activations and len(self.activations) == 2:
            return "it has no weight"
        return self.refusal

    @property
    def source(self) -> str:
        """The user's line that it comes from, if it is known."""
        made = self.instruction.metadata
        return f"{made.source_file}:{made.source_line}" if made and made.source_file else ""


def find_products(entry: Computation, keep: Container[str] = ()) -> list[Product]:
    """The products of a computation in the order of the text, then those of what it calls.

    Args:
        keep: the names of those that are to stay in float.
    """
    taken: set[str] = set()
    found: list[Product] = []
    for computation in (entry, *callees_first(entry)[:-1]):
        constants = known_instructions(computation)
        for instruction in computation.instructions:
            if instruction.opcode in PRODUCTS:
                name = _name(instruction, len(found), taken)
                lhs, rhs = (known_value(o, constants) for o in instruction.operands)
                refusal = "it is to stay in float" if name in keep else None
                refusal = refusal or _refusal(instruction, (lhs, rhs))
                found.append(Product(name, instruction, (lhs, rhs), computation is entry, refusal))
    return found


def _name(instruction: Instruction, number: int, taken: set[str]) -> str:
    made = instruction.metadata
    name = made.op_name if made and made.op_type else f"{instruction.opcode}_{number}"
    while name in taken:
        name = f"{name}_{number}"
    taken.add(name)
    return name


def _refusal(x: Instruction, weights: tuple[np.ndarray | None, np.ndarray | None]) -> str | None:
    """Why a product cannot be one of integers."""
    types = [o.array_shape.element_type for o in (x, *x.operands)]
    if not all(t.is_float and t.bits >= 16 for t in types):
        return f"its operands are {types[1]} and {types[2]}, which 8-bit integers do not stand for"
    if weights[0] is not None and weights[1] is not None:
        return "both of its operands are constants"
    if x.opcode == "convolution":
        if weights[0] is not None:
            return "what its kernel slides over is a constant"
        if group_counts(x.attributes)[1] > 1:
            return "it has groups of batches"
    if not x.array_shape.size:
        return "it has no elements"
    count = depth(x)
    if count > _LARGEST_SUM:
        return f"sums of {count} products of 8-bit integers may need more than 32 bits"
    return None


def depth(x: Instruction) -> int:
    """How many products each sum has."""
    shape = x.operands[1].array_shape
    return prod(shape.dims[d] for d in summed_dimensions(x, 1))
