"""Scatter: where a window of updates goes, and how an element of it is combined into the results.

Updates may fall on the same element, so the order of a window's number decides; which loops keep
that order is the backend's.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any

from tfc.backends.mlir.accumulations import combination
from tfc.backends.mlir.arithmetic.value import Scalar, constant, convert
from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.kernels import Kernel
from tfc.backends.mlir.provider import arith, ir
from tfc.hlo.index_maps import Index, variable
from tfc.hlo.index_maps import constant as constant_index
from tfc.hlo.ops.indexed import scatter_windows, window_sizes
from tfc.hlo.shape import PRED, S64, U64


class Scatter:
    """A scatter into one result buffer for each of its operands, which lie there already."""

    def __init__(self, kernel: Kernel, buffers: Sequence[Buffer]):
        self.kernel, self.buffers, self.root = kernel, buffers, kernel.root
        self.count = len(self.root.operands) // 2
        self.results = buffers[-self.count :]
        self.indices = self.root.operands[self.count]
        self.updates = self.root.operands[self.count + 1 :]
        self.windows = scatter_windows(self.root)
        operand, update = self.root.operands[0].array_shape, self.updates[0].array_shape
        self.operand = operand
        self.sizes = window_sizes(self.windows, operand, update)
        self.combine, _ = combination(self.root["to_apply"])

    def corner(self, scope: Elements, batch: Sequence[Index]) -> tuple[dict[str, Any], Any]:
        """The values of the variables s0, s1 … where a window begins, and whether it fits."""
        corner: dict[str, Any] = {}
        tests: list[Scalar] = [constant(PRED, True)]
        for number, d in enumerate(self.windows.index_map):
            at = self.windows.component(batch, constant_index(number))
            start = scope.element(self.indices, at)
            limit = self.operand.dims[d] - self.sizes[d]
            # An unsigned start beyond s64 is beyond every limit too.
            wide = convert(start, U64 if start.element_type.kind == "unsigned" else S64)
            tests += [wide <= limit] if wide.element_type == U64 else [wide >= 0, wide <= limit]
            corner[f"s{d}"] = arith.index_cast(ir.IndexType.get(), wide.value)
        return corner, reduce(lambda x, y: x & y, tests).value

    def place(self, index: Sequence[Index]) -> tuple[Index, ...]:
        """Where in the results an element of the updates goes."""
        batch, inside = self.windows.split(index)
        place = [constant_index(0)] * self.operand.rank
        for d, i in zip(self.windows.kept(self.operand.rank), inside):
            place[d] = i
        for d, i in self.windows.batched(batch):
            place[d] = i
        for d in self.windows.index_map:
            limit = self.operand.dims[d] - self.sizes[d]
            place[d] = place[d] + variable(f"s{d}", limit + 1)
        return tuple(place)

    def update(self, scope: Elements, index: Sequence[Index]) -> None:
        """Combine one element of each update into its result."""
        place = self.place(index)
        old = [scope.load(r, place) for r in self.results]
        new = self.combine(old, [scope.element(u, tuple(index)) for u in self.updates])
        for value, result in zip(new, self.results):
            scope.store(value, result, place)
