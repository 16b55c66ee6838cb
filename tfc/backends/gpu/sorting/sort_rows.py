"""The rows of a sort: where an element of one is among the operands, and among the results."""

from collections.abc import Sequence
from typing import Any

from tfc.backends.gpu.grid import point_of
from tfc.backends.gpu.parts import Work
from tfc.backends.mlir.arithmetic.value import Scalar
from tfc.backends.mlir.elements import Elements, Indices
from tfc.backends.mlir.kernels import Kernel, sources
from tfc.backends.mlir.scalar_computation import emit_scalar_computation
from tfc.backends.mlir.spaces import bind, make_space
from tfc.hlo.index_maps import variable
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import ElementType

Scalars = Sequence[Scalar]


def sorted_types(root: Instruction) -> tuple[ElementType, ...]:
    """The types of an element's scalars: one for each operand."""
    return tuple(o.array_shape.element_type for o in root.operands)


def rows_and_length(kernel: Kernel) -> tuple[int, int]:
    """How many rows there are, and how many elements each has."""
    (dimension,) = kernel.root["dimensions"]
    shape = kernel.results[0]
    length = shape.dims[dimension]
    return shape.size // max(length, 1), length


def padded_length(length: int) -> int:
    """The power of two that a row of a network is taken for."""
    return 1 << max(length - 1, 0).bit_length()


class SortRows:
    """Emits elements of rows, given a row's number and a place in it, of type `index`."""

    def __init__(self, work: Work):
        root = work.root
        self.operands, self.results = root.operands, work.buffers[-len(root.operands) :]
        self.comparator = root["to_apply"]
        self._inputs = sources(work.kernel, work.buffers)
        (dimension,) = root["dimensions"]
        shape = self.results[0].shape
        self.length = shape.dims[dimension]
        order = [d for d in shape.layout.minor_to_major[::-1] if d != dimension]
        self._space = make_space(shape.dims, [[d] for d in order])
        self._place = variable("place", self.length)
        self._index: Indices = tuple(
            self._place if d == dimension else i for d, i in enumerate(self._space.index)
        )

    def _scope(self, row: Any, place: Any) -> Elements:
        points = point_of(row, self._space.sizes)
        variables = [*self._space.variables, self._place]
        return Elements(self._inputs, bind(variables, [*points, place]))

    def operand(self, row: Any, place: Any) -> Scalars:
        """The element of the operands."""
        scope = self._scope(row, place)
        return [scope.element(o, self._index) for o in self.operands]

    def result(self, row: Any, place: Any) -> Scalars:
        """The element that the results have at the moment."""
        scope = self._scope(row, place)
        return [scope.load(r, self._index) for r in self.results]

    def store(self, row: Any, place: Any, element: Scalars) -> None:
        """Set an element of the results."""
        scope = self._scope(row, place)
        for value, result in zip(element, self.results):
            scope.store(value, result, self._index)

    def is_before(self, x: Scalars, y: Scalars) -> Scalar:
        """Whether the comparator puts one element before another."""
        pairs = [s for pair in zip(x, y) for s in pair]
        return emit_scalar_computation(self.comparator, pairs)[0]
