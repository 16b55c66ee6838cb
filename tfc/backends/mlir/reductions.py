"""Reductions: a kernel whose root is `reduce`, with the producers that fusion gave it.

Where the fastest dimension in memory is reduced, each result is a sequential sum that LLVM splits
over vector lanes (rows). Where it is kept, the results of a stretch of neighbours are accumulated
side by side in the result buffer (columns). On a grid each point makes one result.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.kernels import (
    Kernel,
    Loops,
    add_freely,
    multiply_freely,
    nest,
    plain_loop,
    sources,
)
from tfc.backends.mlir.loops import LoopBody, LoopNest, for_loop, index_constant
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.scalar_computation import emit_scalar_computation
from tfc.backends.mlir.spaces import (
    Indices,
    Space,
    access_positions,
    bind,
    make_space,
    merge_loops,
)
from tfc.backends.mlir.value import Scalar, constant, convert, maximum, minimum
from tfc.hlo.contraction import free_dimensions
from tfc.hlo.indexing import Index
from tfc.hlo.ir import Computation
from tfc.hlo.shape import F32, ElementType, Shape

# Sums longer than this are taken in pieces: the error then grows with the root of the length.
CHUNK = 4096
# Neighbouring results accumulated at a time: 8 KiB of f32 stays in the first-level cache.
STRETCH = 2048

Combine = Callable[[Sequence[Scalar], Sequence[Scalar]], Sequence[Scalar]]


def emit_reduce(kernel: Kernel, buffers: Sequence[Buffer], loops: Loops, flat: bool) -> None:
    """A reduction into one result buffer for each of its operands."""
    root = kernel.root
    count = len(root.operands) // 2
    results = buffers[-count:]
    operand = root.operands[0].array_shape
    kept = free_dimensions(operand.rank, root["dimensions"])
    order = operand.layout.minor_to_major[::-1]
    wide = [d for d in order if operand.dims[d] > 1]
    if flat:
        groups = [*([d] for d in kept), *([d] for d in order if d not in kept)]
        space = make_space(operand.dims, groups)
        _emit_rows(kernel, buffers, results, space, len(kept), loops)
    elif wide and wide[-1] in kept and root["dimensions"]:
        _emit_columns(kernel, buffers, results, kept, loops)
    else:
        rows = [d for d in order if d in kept] + [d for d in order if d not in kept]
        space = merge_loops(operand.dims, rows, [len(kept)], _reads(kernel))
        outer = sum(1 for g in space.groups if g[0] in kept)
        _emit_rows(kernel, buffers, results, space, outer, loops)


def _reads(kernel: Kernel) -> Callable[[Indices], Iterator[Index]]:
    """The positions in memory that are read for an element of the first operand."""
    parameters, operand = kernel.computation.parameters, kernel.root.operands[0]
    return lambda index: access_positions(parameters, operand, index)


def combination(to_apply: Computation) -> tuple[Combine, float | complex | None]:
    """How to combine accumulators with elements, and the identity if it is a plain float sum."""
    root = to_apply.root
    plain = root.opcode in ("add", "multiply") and set(root.operands) == set(to_apply.parameters)
    if plain and root.array_shape.element_type.is_float:
        plain = root.array_shape.element_type.bits > 16  # LLVM calls functions for narrower ones
    if plain and len(to_apply.parameters) == 2:
        freely = add_freely if root.opcode == "add" else multiply_freely
        # -0.0 is the sum's exact identity: adding +0.0 would turn a -0.0 result positive.
        zeros = {"float": -0.0, "complex": complex(-0.0, -0.0)}
        zero = zeros.get(root.array_shape.element_type.kind) if root.opcode == "add" else None
        return lambda x, y: [freely(x[0], y[0])], zero
    return lambda x, y: emit_scalar_computation(to_apply, [*x, *y]), None


@dataclass(frozen=True)
class Accumulation:
    """How a loop accumulates a reduction in registers.

    identities: for each scalar that of its sum, if it is a plain sum of floats.
    wide: the type that narrow floats are carried in, if that changes nothing but the speed.
    """

    combine: Combine
    identities: tuple[float | complex | None, ...]
    wide: ElementType | None = None

    def widen(self, scalars: Sequence[Scalar]) -> list[Scalar]:
        """Elements or initial values as `combine` takes them."""
        return [convert(s, self.wide or s.element_type) for s in scalars]

    def narrow(self, totals: Sequence[Scalar], shapes: Sequence[Shape]) -> list[Scalar]:
        """The totals in the types of the results."""
        return [convert(t, s.element_type) for t, s in zip(totals, shapes)]


def accumulation(to_apply: Computation) -> Accumulation:
    """The accumulation of a reduction."""
    root, count = to_apply.root, len(to_apply.parameters) // 2
    function = {"maximum": maximum, "minimum": minimum}.get(root.opcode)
    if function and count == 1 and set(root.operands) == set(to_apply.parameters):
        element_type = root.array_shape.element_type
        if element_type.is_float and element_type.bits <= 16:
            return Accumulation(lambda x, y: [function(x[0], y[0])], (None,), F32)
    combine, identity = combination(to_apply)
    return Accumulation(combine, (identity,) * count)


def _emit_rows(
    kernel: Kernel,
    buffers: Sequence[Buffer],
    results: Sequence[Buffer],
    space: Space,
    outer: int,
    loops: Loops,
) -> None:
    """The first `outer` loops visit the results; the others run inside with accumulators."""
    root = kernel.root
    count = len(results)
    kept = free_dimensions(root.operands[0].array_shape.rank, root["dimensions"])
    at = tuple(space.index[d] for d in kept)
    sums = accumulation(root["to_apply"])

    def step(scope: Elements, totals: Sequence[Scalar]) -> Sequence[Scalar]:
        elements = [scope.element(o, space.index) for o in root.operands[:count]]
        return sums.combine(totals, sums.widen(elements))

    variables, sizes = space.variables[outer:], space.sizes[outer:]

    def innermost(size: int, body: LoopBody, carried: Sequence[Scalar]) -> Sequence[Scalar]:
        return chunked_loop(size, body, carried, sums.identities, prod(sizes))

    def body(points: Sequence[Any]) -> None:
        scope = Elements(sources(kernel, buffers), space.bind(points))
        inits = sums.widen([scope.element(i, ()) for i in root.operands[count:]])
        totals = nest(scope, variables, sizes, inits, step, innermost)
        for total, result in zip(sums.narrow(totals, [r.shape for r in results]), results):
            scope.store(total, result, at)

    loops.each(space.sizes[:outer], body)


def chunked_loop(
    size: int,
    body: LoopBody,
    carried: Sequence[Scalar],
    identities: Sequence[float | complex | None],
    total: int,
) -> Sequence[Scalar]:
    """A loop, in pieces if the sum is long, each of which accumulates the plain sums by itself.

    Args:
        identities: for each carried scalar that of its sum, or None if it is something else.
        total: how many elements are accumulated by this loop and those around it.
    """
    if total <= CHUNK or all(i is None for i in identities):
        return plain_loop(size, body, carried)

    def chunk(low: Any, state: Sequence[Scalar]) -> Sequence[Scalar]:
        high = arith.minsi(arith.addi(low, index_constant(CHUNK)), index_constant(size))
        start = [s if i is None else constant(s.element_type, i) for s, i in zip(state, identities)]
        parts = zip(state, for_loop(low, high, 1, body, start), identities)
        return [p if i is None else add_freely(s, p) for s, p, i in parts]

    return for_loop(0, size, CHUNK, chunk, carried)


def _emit_columns(
    kernel: Kernel,
    buffers: Sequence[Buffer],
    results: Sequence[Buffer],
    kept: Sequence[int],
    loops: Loops,
) -> None:
    """Neighbouring results side by side: the loop over the fastest dimension is the inner one."""
    root = kernel.root
    operand = root.operands[0].array_shape
    order = operand.layout.minor_to_major[::-1]
    last = max(p for p, d in enumerate(order) if operand.dims[d] > 1)
    # Kept dimensions that end the order run innermost; the other kept ones are the outer loops.
    start = last
    while start > 0 and (order[start - 1] in kept or operand.dims[order[start - 1]] == 1):
        start -= 1
    inner = [d for d in order[start:] if d in kept]
    outer = [d for d in order[:start] if d in kept]
    reduced = [d for d in order if d not in kept]
    space = merge_loops(
        operand.dims, [*outer, *reduced, *inner], [len(outer), len(outer) + len(reduced)],
        _reads(kernel),
    )  # fmt: skip
    split = [sum(1 for g in space.groups if g[0] in part) for part in (outer, reduced)]
    _Columns(kernel, buffers, results, space, split, kept).emit(loops)


class _Columns:
    """The loops of the columns form: outer, stretch, reduced, neighbours."""

    def __init__(self, kernel, buffers, results, space: Space, split, kept: Sequence[int]):
        self.kernel, self.buffers, self.results, self.space = kernel, buffers, results, space
        self.outer, self.reduced = split
        self.at = tuple(space.index[d] for d in kept)
        self.combine, _ = combination(kernel.root["to_apply"])

    def emit(self, loops: Loops) -> None:
        """Emit the kernel's body."""
        sizes = self.space.sizes
        middle = self.outer + self.reduced
        # All but the last of the inner loops are as good as outer ones.
        around = [*range(self.outer), *range(middle, len(sizes) - 1)]

        def body(points: Sequence[Any]) -> None:
            outer = bind([self.space.variables[n] for n in around], points)
            scope = Elements(sources(self.kernel, self.buffers), outer)
            for_loop(0, sizes[-1], STRETCH, lambda low, _: self._stretch(scope, low), [])

        loops.each([sizes[n] for n in around], body)

    def _stretch(self, scope: Elements, low: Any) -> Sequence[Scalar]:
        high = arith.minsi(
            arith.addi(low, index_constant(STRETCH)), index_constant(self.space.sizes[-1])
        )
        for_loop(low, high, 1, lambda point, _: self._start(scope, point))
        middle = slice(self.outer, self.outer + self.reduced)
        variables = self.space.variables[middle]

        def accumulate(points: Sequence[Any]) -> None:
            inner = scope.with_variables(**bind(variables, points))
            for_loop(low, high, 1, lambda point, _: self._step(inner, point))

        LoopNest().each(self.space.sizes[middle], accumulate)
        return []

    def _at_point(self, scope: Elements, point: Any) -> Elements:
        return scope.with_variables(**{self.space.variables[-1].name: point})

    def _start(self, scope: Elements, point: Any) -> Sequence[Scalar]:
        inner = self._at_point(scope, point)
        for init, result in zip(self.kernel.root.operands[len(self.results) :], self.results):
            inner.store(inner.element(init, ()), result, self.at)
        return []

    def _step(self, scope: Elements, point: Any) -> Sequence[Scalar]:
        inner = self._at_point(scope, point)
        elements = [
            inner.element(o, self.space.index)
            for o in self.kernel.root.operands[: len(self.results)]
        ]
        totals = [inner.load(r, self.at) for r in self.results]
        for total, result in zip(self.combine(totals, elements), self.results):
            inner.store(total, result, self.at)
        return []
