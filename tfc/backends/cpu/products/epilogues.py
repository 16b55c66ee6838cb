"""What follows a product in its kernel, applied to results while they are in a cache.

A tiled kernel makes sums a block at a time and finishes each block: every element of the root is
computed from its sum. Where the root's elements lie as the product's do and have their type, sums
are made in the memory of the result and finished in place; else they are made in memory apart.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.mlir.arithmetic.value import from_memory
from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.kernels import Kernel, finish_element, sources
from tfc.backends.mlir.vectors import Position, for_range, index_value, load
from tfc.hlo.index_maps import Index
from tfc.passes.analysis.aliases import is_bitcast
from tfc.passes.analysis.products import epilogue_path, root_index

# (values of the variables) -> the memory and the position of the sum.
Place = Callable[[Mapping[str, Position]], tuple[Any, Position]]


def is_apart(kernel: Kernel) -> bool:
    """True if the product's sums cannot be made where the kernel's result is."""
    assert kernel.product is not None
    before = kernel.product.array_shape
    if before.element_type != kernel.root.array_shape.element_type:
        return True
    for step in epilogue_path(kernel.computation):
        same = step.array_shape.layout == before.layout
        if not (is_bitcast(step) if step.opcode in ("reshape", "transpose") else same):
            return True
        before = step.array_shape
    return False


@dataclass(frozen=True)
class Epilogue:
    """Finishes the sums of a kernel's product.

    Args:
        buffers: the operands' and the result's.
    """

    kernel: Kernel
    buffers: Sequence[Buffer]

    def finish(
        self,
        index: Sequence[Index],
        outer: Mapping[str, Position],
        loops: Sequence[tuple[str, Position, Position]],
        place: Place | None,
    ) -> None:
        """Emit loops over a block of sums, and in them the elements of the root.

        Args:
            index: the product's index in terms of variables.
            outer: the variables that stay the same in the block, and their values.
            loops: the other variables, outermost first: the first value, and how many there are.
            place: where a sum is; None for the memory of the result.
        """
        if not loops:
            self._element(index, outer, place)
            return
        (name, first, end), *rest = loops

        def body(point: Position, _: Any) -> None:
            self.finish(index, {**outer, name: point}, rest, place)

        for_range(first, end, 1, body)

    def _element(
        self, index: Sequence[Index], values: Mapping[str, Position], place: Place | None
    ) -> None:
        assert self.kernel.product is not None
        at = root_index(self.kernel.computation, index)
        scope = Elements(
            sources(self.kernel, self.buffers), {n: index_value(v) for n, v in values.items()}
        )
        if place is None:
            # At the very position that is stored to, so that LLVM sees that they are the same.
            total = scope.load(self.buffers[-1], at)
        else:
            memory, position = place(values)
            element_type = self.kernel.product.array_shape.element_type
            total = from_memory(load(memory, position), element_type)
        finish_element(self.kernel, self.buffers, scope, total, at)
