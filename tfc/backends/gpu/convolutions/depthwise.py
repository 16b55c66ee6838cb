"""Depthwise convolutions: each feature of the result has a window of its own, of one feature.

A thread makes neighbouring results along the last dimension, of two neighbouring features: what
their windows share of the array is read once, and so are the windows. 3 x 3, five results:

    outer place of the window     7 pairs of the array, 3 of the kernel     15 pairs of products

Where all windows of a thread lie in the array, nothing more is asked; where one does not, products
are left out one by one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from tfc.backends.gpu.convolutions.phases import is_canonical
from tfc.backends.gpu.grid import Grid
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.mlir.arithmetic.value import Scalar, constant, mlir_type, select
from tfc.backends.mlir.elements import Elements
from tfc.backends.mlir.kernels import Kernel, add_product, finish_element, nest, sources
from tfc.backends.mlir.loops import when
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.vectors import index_value
from tfc.backends.mlir.windows import along, guarded
from tfc.hlo.attributes.window import WindowDimension
from tfc.hlo.index_maps import Condition, Index, variable
from tfc.hlo.index_maps import constant as constant_index
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.convolution import convolution_window, group_counts
from tfc.hlo.shape import PRED
from tfc.passes.analysis.products import root_index

_MOST_RESULTS = 8  # along the last dimension
_MOST_PRODUCTS = 256  # of a thread, for an outer place of the window
_MOST_SHARED = 16  # elements of a window for which 128 registers suffice
_LEAST_THREADS = 1 << 16  # from which on an H100 is at work: it runs as many with 128 registers


@dataclass(frozen=True)
class Depthwise:
    """How a kernel's convolution is made.

    count: results of a thread along the last dimension.
    features: of a thread, neighbours.
    """

    kernel: Kernel
    count: int
    features: int

    @property
    def product(self) -> Instruction:
        """The convolution."""
        assert self.kernel.product is not None
        return self.kernel.product

    @property
    def window(self) -> tuple[WindowDimension, ...]:
        """Along each dimension."""
        return convolution_window(self.product.attributes).dimensions

    @property
    def space(self) -> list[int]:
        """Of threads: batch, outer places of results, strips of the last, groups of features."""
        batch, *outer, last, features = self.product.array_shape.dims
        return [batch, *outer, -(-last // self.count), features // self.features]

    def part(self) -> Part:
        """The function."""
        buffers = range(len(self.kernel.arguments) + len(self.kernel.results))
        # What windows share is in registers, of which the assembler would rather use few.
        resident = 2 if self.window[-1].size <= _MOST_SHARED else 1
        return Part(self.emit, prod(self.space), wide=buffers, resident=resident)

    def emit(self, work: Work) -> None:
        """Emit what a thread makes."""
        variables = [variable(f"o{n}", size) for n, size in enumerate(self.space)]

        def body(points: Sequence[Any]) -> None:
            names = [x.name for x in variables]
            scope = Elements(sources(work.kernel, work.buffers), dict(zip(names, points)))
            _Strip(self, work, scope, variables).emit()

        Grid().each(self.space, body)


class _Strip:
    """The results of a thread."""

    def __init__(self, plan: Depthwise, work: Work, scope: Elements, variables: Sequence[Index]):
        self.plan, self.work, self.scope = plan, work, scope
        self.batch, *self.outer, strip, group = variables
        self.first = strip * plan.count
        self.channels = [group * plan.features + n for n in range(plan.features)]
        self.array, self.window = plan.product.operands
        self.dims = self.array.array_shape.dims
        *_, self.last = plan.window

    def emit(self) -> None:
        """Emit the sums, and store what is made of them."""
        element_type = self.plan.product.array_shape.element_type
        start = [constant(element_type, 0)] * (self.plan.count * self.plan.features)
        sums = self._sums(start)
        size = self.plan.product.array_shape.dims[-2]
        for q in range(self.plan.count):
            for n, channel in enumerate(self.channels):
                total = sums[q * self.plan.features + n]
                place = (self.batch, *self.outer, self.first + q, channel)
                self._store(total, place, Condition(self.first + q, 0, size))

    def _store(self, total: Scalar, place: Sequence[Index], there: Condition) -> None:
        at = root_index(self.work.kernel.computation, tuple(place))

        def store() -> None:
            inner = self.scope.with_variables()
            finish_element(self.work.kernel, self.work.buffers, inner, total, at)

        if there.always:
            store()
        else:
            when(self.scope.holds([there]), store)

    def _sums(self, start: Sequence[Scalar]) -> Sequence[Scalar]:
        """Of each result, and of each feature of it."""
        d, size = self.last, self.dims[-2]
        low = self.first * d.stride - d.low
        reach = (self.plan.count - 1) * d.stride + (d.size - 1) * d.window_dilation
        inside = [c for c in (Condition(low, 0, size), Condition(low + reach, 0, size))
                  if not c.always]  # fmt: skip
        if not inside:
            return self._over_window(self.scope, start, is_inside=True)
        if any(c.never for c in inside):
            return self._over_window(self.scope, start, is_inside=False)
        types = [mlir_type(s.element_type) for s in start]
        fork = scf.IfOp(self.scope.holds(inside), types, has_else=True)
        for block, known in ((fork.then_block, True), (fork.else_block, False)):
            with ir.InsertionPoint(block):
                made = self._over_window(self.scope.with_variables(), start, known)
                scf.yield_([s.value for s in made])
        return [Scalar(r, s.element_type) for r, s in zip(fork.results, start)]

    def _over_window(
        self, scope: Elements, start: Sequence[Scalar], is_inside: bool
    ) -> Sequence[Scalar]:
        """The sums over the window, one outer place of it after the other."""
        *dimensions, _ = self.plan.window
        taps = [variable(f"k{n}", d.size) for n, d in enumerate(dimensions)]
        places, conditions = [], []
        for d, size, at, tap in zip(dimensions, self.dims[1:], self.outer, taps):
            place, inside = along(d, size, at, tap)
            places.append(place)
            conditions += inside

        def step(inner: Elements, sums: Sequence[Scalar]) -> Sequence[Scalar]:
            def add(there: Elements) -> Sequence[Scalar]:
                return self._over_line(there, sums, places, taps, is_inside)

            return guarded(inner, conditions, add, sums)

        return nest(scope, taps, [d.size for d in dimensions], start, step)

    def _over_line(
        self,
        scope: Elements,
        sums: Sequence[Scalar],
        places: Sequence[Index],
        taps: Sequence[Index],
        is_inside: bool,
    ) -> Sequence[Scalar]:
        """The sums with the products of an outer place of the window."""
        d, features, found = self.last, self.plan.features, list(sums)
        read: dict[int, tuple[Any, list[Scalar]]] = {}
        for tap in range(d.size):
            window = [scope.element(self.window, (*taps, constant_index(tap), constant_index(0), c))
                      for c in self.channels]  # fmt: skip
            for q in range(self.plan.count):
                offset = q * d.stride + tap * d.window_dilation - d.low
                if offset not in read:
                    read[offset] = self._read(scope, places, offset, is_inside)
                there, elements = read[offset]
                for n in range(features):
                    at = q * features + n
                    made = add_product(found[at], elements[n], window[n])
                    found[at] = made if there is None else select(there, made, found[at])
        return found

    def _read(
        self, scope: Elements, places: Sequence[Index], offset: int, is_inside: bool
    ) -> tuple[Any, list[Scalar]]:
        """(whether the array has an element there, if that is to be asked; what it is, or that of
        another place)."""
        position, size = self.first * self.last.stride + offset, self.dims[-2]
        there = Condition(position, 0, size)
        if is_inside or there.always:
            return None, [scope.element(self.array, (self.batch, *places, position, c))
                          for c in self.channels]  # fmt: skip
        place = scope.index_value(position)
        nearest = arith.maxsi(arith.minsi(place, index_value(size - 1)), index_value(0))
        inner = scope.with_variables(nearest=nearest)
        at = (self.batch, *places, variable("nearest", size))
        return (
            Scalar(scope.holds([there]), PRED),
            [inner.element(self.array, (*at, c)) for c in self.channels],
        )


def depthwise_of(kernel: Kernel) -> Depthwise | None:
    """How a kernel's convolution is made; None if it is none of these."""
    root = kernel.product
    if root is None or root.opcode != "convolution" or not is_canonical(root):
        return None
    lhs, rhs = (o.array_shape for o in root.operands)
    groups, features = group_counts(root.attributes)[0], rhs.dims[-1]
    *outer, last = convolution_window(root.attributes).dimensions
    if (
        len(kernel.results) != 1
        or not groups == features == lhs.dims[-1]
        or groups == 1
        or lhs.layout.minor_to_major[0] != lhs.rank - 1
        or any(d.base_dilation > 1 for d in (*outer, last))
        or not root.array_shape.element_type.is_float
    ):
        return None
    together = 2 if features % 2 == 0 else 1
    results, size = root.array_shape, root.array_shape.dims[-2]
    threads = results.size // (together * size)

    def time(count: int) -> float:
        """Of all strips, in products of a feature: a pair that is read counts as three."""
        strips, read = -(-size // count), len(_offsets(last, count)) + last.size
        work = strips * (count * last.size + 1.5 * read)
        return work * max(1.0, _LEAST_THREADS / (threads * strips))

    counts = [n for n in range(1, _MOST_RESULTS + 1)
              if n * last.size * together <= _MOST_PRODUCTS]  # fmt: skip
    return Depthwise(kernel, min(counts, key=time), together) if counts else None


def _offsets(d: WindowDimension, count: int) -> set[int]:
    """Which elements of the array the windows of so many results have, from the first on."""
    return {q * d.stride + t * d.window_dilation for q in range(count) for t in range(d.size)}
