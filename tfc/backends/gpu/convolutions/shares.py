"""Few results with long sums, such as the gradient of a depthwise kernel: threads share each sum.

A thread sums over the inner dimensions of the window, for one place of the outer ones; neighbours
have neighbouring features, so that sectors are whole. A second function adds up what was summed,
always in the same order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from tfc.backends.gpu.convolutions.phases import is_canonical
from tfc.backends.gpu.grid import Grid
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.mlir.arithmetic.value import Scalar, constant
from tfc.backends.mlir.elements import Elements, Indices
from tfc.backends.mlir.kernels import Kernel, add_freely, add_product, finish_element, nest, sources
from tfc.backends.mlir.scratch import scratch_arrays
from tfc.backends.mlir.windows import along, guarded
from tfc.hlo.index_maps import Condition, variable
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.convolution import convolution_window, group_counts
from tfc.hlo.shape import PRED, Shape
from tfc.passes.analysis.products import root_index

_MOST_RESULTS = 1 << 15  # more of them are threads enough
_LEAST_SUMS = 64  # products of a result that are worth a second function


@dataclass(frozen=True)
class Shares:
    """A kernel of a canonical convolution whose threads share sums.

    outer: how many dimensions of the window have a share at each place.
    """

    kernel: Kernel
    outer: int

    @property
    def product(self) -> Instruction:
        """The convolution."""
        assert self.kernel.product is not None
        return self.kernel.product

    @property
    def sizes(self) -> tuple[int, ...]:
        """Of the window."""
        return convolution_window(self.product.attributes).size

    @property
    def sums(self) -> Shape:
        """The array of what was summed: place of the outer dimensions, and result."""
        result = self.product.array_shape
        return Shape(result.element_type, (*self.sizes[: self.outer], *result.dims))

    def parts(self) -> list[Part]:
        """What sums, and what adds up."""
        return [Part(self.sum, self.sums.size), Part(self.add_up, self.product.array_shape.size)]

    def sum(self, work: Work) -> None:
        """Emit the shares."""
        (buffer,) = scratch_arrays(work.scratch, [self.sums])
        left, right = self.product.operands
        array, window, inside = self._places()
        taps, result = self._taps(), self._result()
        inputs = variable("c", right.array_shape.dims[-2])

        def step(scope: Elements, total: Sequence[Scalar]) -> Sequence[Scalar]:
            def add(there: Elements) -> list[Scalar]:
                factors = there.element(left, array), there.element(right, window)
                return [add_product(total[0], *factors)]

            return guarded(scope, inside, add, total)

        def body(points: Sequence[Any]) -> None:
            names = [x.name for x in (*taps[: self.outer], *result)]
            scope = Elements(sources(work.kernel, work.buffers), dict(zip(names, points)))
            inner = [*taps[self.outer :], inputs]
            lengths = [*self.sizes[self.outer :], inputs.high + 1]
            (total,) = nest(scope, inner, lengths, [constant(self.sums.element_type, 0)], step)
            scope.store(total, buffer, (*taps[: self.outer], *result))

        Grid().each(self.sums.dims, body)

    def add_up(self, work: Work) -> None:
        """Emit the sums of shares, and what comes after."""
        (buffer,) = scratch_arrays(work.scratch, [self.sums])
        taps, result = self._taps()[: self.outer], self._result()
        at = root_index(self.kernel.computation, result)

        def step(scope: Elements, total: Sequence[Scalar]) -> Sequence[Scalar]:
            return [add_freely(total[0], scope.load(buffer, (*taps, *result)))]

        def body(points: Sequence[Any]) -> None:
            names = [x.name for x in result]
            scope = Elements(sources(work.kernel, work.buffers), dict(zip(names, points)))
            start = [constant(self.sums.element_type, 0)]
            (total,) = nest(scope, taps, self.sizes[: self.outer], start, step)
            finish_element(work.kernel, work.buffers, scope, total, at)

        Grid().each(self.product.array_shape.dims, body)

    def _taps(self) -> Indices:
        return tuple(variable(f"k{n}", size) for n, size in enumerate(self.sizes))

    def _result(self) -> Indices:
        return tuple(variable(f"o{n}", d) for n, d in enumerate(self.product.array_shape.dims))

    def _places(self) -> tuple[Indices, Indices, list[Condition]]:
        """The elements of the array and of the kernel, and when there is one of the array."""
        left, right = (o.array_shape for o in self.product.operands)
        batch, *places, feature = self._result()
        groups, inputs = group_counts(self.product.attributes)[0], right.dims[-2]
        channel, at, inside = variable("c", inputs), [], []
        dimensions = convolution_window(self.product.attributes).dimensions
        for d, size, place, tap in zip(dimensions, left.dims[1:], places, self._taps()):
            position, conditions = along(d, size, place, tap)
            at.append(position)
            inside += conditions
        own = feature // (right.dims[-1] // groups) * inputs + channel
        return (batch, *at, own), (*self._taps(), channel, feature), inside


def shares_of(kernel: Kernel) -> Shares | None:
    """How threads share the sums of a kernel's convolution; None if there are threads enough."""
    root = kernel.product
    if root is None or root.opcode != "convolution" or not is_canonical(root):
        return None
    inputs = root.operands[1].array_shape.dims[-2]
    sizes = convolution_window(root.attributes).size
    if (
        len(kernel.results) != 1
        or root.array_shape.size > _MOST_RESULTS
        or prod(sizes) * inputs < _LEAST_SUMS
        or root.array_shape.element_type is PRED
    ):
        return None

    def steps(outer: int) -> int:
        """How many additions come one after the other."""
        return prod(sizes[:outer]) + prod(sizes[outer:]) * inputs

    outer = min(range(len(sizes) + 1), key=steps)
    return Shares(kernel, outer) if outer else None
