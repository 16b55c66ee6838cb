"""Elements at neighbouring points: what a thread has of each value, read by as few accesses as lie
together."""

from collections.abc import Sequence

from tfc.backends.gpu.movement.neighbours import position_of, shift, undecided
from tfc.backends.mlir.arithmetic.value import Scalar
from tfc.backends.mlir.elements import Buffer, Elements, Indices
from tfc.backends.mlir.kernels import Kernel
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.spaces import Space, bind, step_of
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.index_maps import Condition, Index
from tfc.hlo.ir import Instruction
from tfc.passes.analysis.loop_spaces import visits


class Group:
    """The scopes of neighbours along a loop, in its order.

    Args:
        last: the variable of the loop.
        buffers: those of the kernel's operands.
    """

    def __init__(
        self, scopes: Sequence[Elements], last: Index, kernel: Kernel, buffers: Sequence[Buffer]
    ):
        self.scopes, self._last = scopes, last
        self._kernel, self._buffers = kernel, buffers

    @staticmethod
    def of(
        outer: Elements,
        space: Space,
        first: object,
        count: int,
        kernel: Kernel,
        buffers: Sequence[Buffer],
    ) -> "Group":
        """Those of `count` neighbours along the last loop of a space, from a point on."""
        points = [arith.addi(first, index_value(k)) for k in range(count)] if count > 1 else [first]
        last = space.variables[-1:]
        scopes = [outer.with_variables(**bind(last, [p])) for p in points]
        return Group(scopes, last[0], kernel, buffers)

    def with_variables(self, **variables: object) -> "Group":
        """The same with further index variables, of which all have one value."""
        scopes = [s.with_variables(**variables) for s in self.scopes]
        return Group(scopes, self._last, self._kernel, self._buffers)

    def holds(self, conditions: Sequence[Condition]) -> object:
        """An i1: every condition holds, which is the same for all neighbours."""
        return self.scopes[0].holds(conditions)

    def elements(self, value: Instruction, index: Indices) -> list[Scalar]:
        """What the neighbours have of a value at an index."""
        seen = list(visits(self._kernel.computation.parameters, value, index))
        if undecided(seen) is None:
            for source, at, _ in seen:
                self.read(source, at)
        return [s.element(value, index) for s in self.scopes]

    def read(self, value: Instruction, index: Indices) -> None:
        """Read the neighbours' elements of an operand together, if they lie so."""
        parameters, count = self._kernel.computation.parameters, len(self.scopes)
        if count == 1 or value not in parameters or value.array_shape.element_type.is_complex:
            return
        position = position_of((value, index))
        after = shift((value, index), position, self._last, count)
        if after is None or (after and self._kernel.overwrites(value)):
            return
        source = self._buffers[parameters.index(value)]
        upwards = self.scopes if step_of(position, self._last) == 1 else self.scopes[::-1]
        lowest = upwards[0]
        at = arith.subi(lowest.index_value(position), index_value(after))
        found = lowest.load_together(source, at, count)
        if after:
            beyond = arith.addi(at, index_value(count))
            found = [*found, *lowest.load_together(source, beyond, count)][after : after + count]
        for scope, element in zip(upwards, found):
            scope.know(value, index, element)

    def store(self, values: Sequence[Scalar], buffer: Buffer, index: Indices) -> None:
        """Set the neighbours' elements of an array, which lie together."""
        if len(self.scopes) > 1 and not buffer.shape.element_type.is_complex:
            self.scopes[0].store_together(values, buffer, index)
            return
        for scope, value in zip(self.scopes, values):
            scope.store(value, buffer, index)
