"""Gradients of pooling, in vectors: select-and-scatter of windows that do not reach along channels.

    for each batch, and each window in it:
        for a few vectors of channels:
            best, chosen = the window's element that is selected, and its number    (in registers)
            for each element of the window:
                result += what the window is given, where chosen is the element's number, else -0

The edges that a fusion has put around the operand and taken off the result (the pass
`window-edges`) are bounds of these loops: neither array is made. Results are set to the init value
a row ahead of the windows that reach it, so that they are in a cache when these come.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from tfc.backends.cpu.loops.nests import LoopNest
from tfc.backends.mlir.arithmetic.value import Scalar, constant, mlir_type, select
from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.kernels import Kernel, Loops, sources
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.scalar_computation import emit_scalar_computation
from tfc.backends.mlir.vectors import (
    Position,
    Vectors,
    add,
    for_range,
    index_value,
    maximum,
    minimum,
    multiply,
)
from tfc.backends.mlir.windows import bounds_inside
from tfc.backends.target import Target
from tfc.hlo.attributes.window import WindowDimension
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.ops.windows import window_of
from tfc.hlo.shape import ELEMENT_TYPES
from tfc.passes.analysis.padded_windows import edges_of, windows_in

_MOST_VECTORS = 4  # whose best elements, and the numbers of these, are in registers together


def is_pooling_gradient(root: Instruction) -> bool:
    """True for a select-and-scatter, or a slice of one, that the code here is for.

    Its elements have 32 or 64 bits; it selects by a comparison and adds, and its windows reach
    along some dimension, but not along the fastest in memory of all its arrays.
    """
    scatter = windows_in(root)
    operand, source = edges_of(scatter.operands[0])[0].array_shape, scatter.operands[1].array_shape
    shapes = (operand, source, root.array_shape)
    dimensions, element_type = window_of(scatter).dimensions, operand.element_type
    if (
        not (element_type.is_integer or element_type.is_float)
        or element_type.bits < 32
        or 0 in operand.dims
    ):
        return False
    fastest = {s.layout.minor_to_major[:1] for s in shapes}
    if len(fastest) > 1 or not operand.rank or any(d.base_dilation > 1 for d in dimensions):
        return False
    ((fast,),) = fastest
    axes = _axes(root)
    return (
        _is_comparison(scatter["select"])
        and _is_sum(scatter["scatter"])
        and axes.pop(fast).is_plain
        and not all(a.is_plain for a in axes)
    )


def _is_comparison(select: Computation) -> bool:
    root = select.root
    total = root.attributes.get("type") == "TOTALORDER"
    return root.opcode == "compare" and not total and _is_of(root, select)


def _is_sum(scatter: Computation) -> bool:
    return scatter.root.opcode == "add" and _is_of(scatter.root, scatter)


def _is_of(root: Instruction, computation: Computation) -> bool:
    return set(root.operands) == set(computation.parameters)


@dataclass(frozen=True)
class _Axis:
    """A dimension: its windows, and where in memory the operand's and the result's elements are.

    Element i of what the windows slide over is element i - before of the array, if it has that, and
    element i - cut of the result. windows: their number. sizes: those of the array, of what the
    windows slide over and of the result. steps: from one element to the next of the array, the
    source and the result. edged: the array is padded on the way.
    """

    window: WindowDimension
    windows: int
    before: int
    cut: int
    sizes: tuple[int, int, int]
    steps: tuple[int, int, int]
    edged: bool

    @property
    def is_plain(self) -> bool:
        """True if each window is an element."""
        alone = self.window == WindowDimension(1) and not self.edged
        return alone and self.cut == 0 and self.sizes[2] == self.windows

    def taps(self, at: Position, before: int, size: int) -> tuple[Position, Position]:
        """The elements of a window from the first to the end inside an array of a size.

        Args:
            before: how far element 0 of the array is from where the first window begins.
        """
        w = replace(self.window, low=before)
        start = add(multiply(at, w.stride), -before)
        return bounds_inside(start, w.window_dilation, size, (0, w.size), w.reach(self.windows))


def _axes(root: Instruction) -> list[_Axis]:
    scatter = windows_in(root)
    array, edges = edges_of(scatter.operands[0])
    operand, source, result = (
        array.array_shape, scatter.operands[1].array_shape, root.array_shape,
    )  # fmt: skip
    cut = [0] * result.rank if root is scatter else [first for first, _, _ in root["slice"]]
    return [
        _Axis(
            w, source.dims[d], edges[d][0], cut[d],
            (operand.dims[d], scatter.operands[0].array_shape.dims[d], result.dims[d]),
            (operand.strides[d], source.strides[d], result.strides[d]), edges[d] != (0, 0),
        )
        for d, w in enumerate(window_of(scatter).dimensions)
    ]  # fmt: skip


def emit_pooling_gradient(
    kernel: Kernel, buffers: Sequence[Buffer], target: Target, loops: Loops
) -> None:
    """Emit a kernel that `is_pooling_gradient`.

    Args:
        loops: run what does not share results: dimensions without windows, or else channels.
    """
    _Pooling(kernel, buffers, target, loops).emit()


class _Pooling:
    def __init__(self, kernel: Kernel, buffers: Sequence[Buffer], target: Target, loops: Loops):
        scatter = windows_in(kernel.root)
        self.select = scatter["select"]
        array, _ = edges_of(scatter.operands[0])
        memory = dict(zip(kernel.computation.parameters, buffers))
        self.operand, self.source = (memory[x].memref for x in (array, scatter.operands[1]))
        self.result = buffers[-1].memref
        axes, fast = _axes(kernel.root), kernel.root.array_shape.layout.minor_to_major[0]
        self.count = axes.pop(fast).windows
        self.plain = [a for a in axes if a.is_plain]
        self.axes = [a for a in axes if not a.is_plain]
        element_type = array.array_shape.element_type
        self.vectors = Vectors(element_type, target.lanes(element_type.bits))
        self.numbers = Vectors(ELEMENT_TYPES[f"s{element_type.bits}"], self.vectors.lanes)
        self.most = min(_MOST_VECTORS, ceil(self.count / self.vectors.lanes))
        # Windows share results, so chunks are of whole images, or else of channels.
        stretches = ceil(self.count / (self.most * self.vectors.lanes))
        apart = max((a.windows for a in self.plain), default=0) >= stretches
        self.images, self.channels = (loops, LoopNest()) if apart else (LoopNest(), loops)
        scope = Elements(sources(kernel, buffers), {})
        outside, init = scatter.operands[0].operands[1:], scatter.operands[2]
        if array is scatter.operands[0]:
            outside = ()
        self.outside, self.init = (
            [self.vectors.broadcast(scope.element(x, ()).value) for x in some]
            for some in (outside, (init,))
        )
        neutral = constant(element_type, -0.0 if element_type.is_float else 0)
        self.neutral = self.vectors.broadcast(neutral.value)

    def emit(self) -> None:
        """Emit the kernel's body."""

        def image(points: Sequence[Any]) -> None:
            operand, source, result = (
                add(*(multiply(p, a.steps[n]) for p, a in zip(points, self.plain)))
                for n in range(3)
            )
            first = self.axes[0]

            def row(at: Position, filled: Sequence[Any]) -> Sequence[Any]:
                w = first.window
                end = add(multiply(at, w.stride), w.extent - w.low - first.cut)
                end = minimum(maximum(end, filled[0]), first.sizes[2])
                self._fill(0, (filled[0], end), result)
                self._windows([at], operand, source, result)
                return [index_value(end)]

            (filled,) = for_range(0, first.windows, 1, row, [index_value(0)])
            self._fill(0, (filled, first.sizes[2]), result)

        self.images.each([a.windows for a in self.plain], image)

    def _fill(self, n: int, places: tuple[Position, Position], result: Position) -> None:
        """Set results to the init value: at places along axis n, and at all along the next."""
        step = self.axes[n].steps[2]

        def place(p: Position, _: Any) -> None:
            at = add(result, multiply(p, step))
            if n + 1 < len(self.axes):
                self._fill(n + 1, (0, self.axes[n + 1].sizes[2]), at)
                return

            def vectors(c: Position, insides: Sequence[int]) -> None:
                self._store(self.init * len(insides), add(at, c), insides)

            self._stretches(vectors)

        for_range(*places, 1, place)

    def _stretches(self, body: Callable[[Position, Sequence[int]], None]) -> None:
        """Loops over stretches of channels: the first, and how many each vector has."""
        lanes = self.vectors.lanes
        width = self.most * lanes
        whole, rest = divmod(self.count, width)

        def stretch(points: Sequence[Any]) -> None:
            (n,) = points
            if not rest:
                body(multiply(n, width), [lanes] * self.most)
                return
            is_whole = arith.cmpi(arith.CmpIPredicate.slt, n, index_value(whole))
            branch = scf.IfOp(is_whole, has_else=True)
            with ir.InsertionPoint(branch.then_block):
                body(multiply(n, width), [lanes] * self.most)
                scf.yield_([])
            with ir.InsertionPoint(branch.else_block):
                body(whole * width, [min(rest - c, lanes) for c in range(0, rest, lanes)])
                scf.yield_([])

        self.channels.each([whole + bool(rest)], stretch)

    def _windows(
        self, places: list[Position], operand: Position, source: Position, result: Position
    ) -> None:
        """The windows at some places along the first axes."""
        if len(places) < len(self.axes):
            count = self.axes[len(places)].windows
            for_range(
                0, count, 1,
                lambda p, _: self._windows([*places, p], operand, source, result),
            )  # fmt: skip
            return
        each = list(zip(self.axes, places))
        source = add(source, *(multiply(p, a.steps[1]) for a, p in each))
        begins = [add(multiply(p, a.window.stride), -a.window.low) for a, p in each]
        seen = [a.taps(p, a.window.low, a.sizes[1]) for a, p in each]
        kept = [a.taps(p, a.window.low + a.cut, a.sizes[2]) for a, p in each]

        def vectors(c: Position, insides: Sequence[int]) -> None:
            chosen = self._look(begins, seen, add(operand, c), insides)
            given = self._load(self.source, add(source, c), insides)
            self._scatter(begins, kept, add(result, c), insides, chosen, given)

        if not self._may_be_empty():
            self._stretches(vectors)
            return
        tests = [
            arith.cmpi(arith.CmpIPredicate.slt, index_value(low), index_value(high))
            for low, high in seen
        ]
        some = tests[0]
        for test in tests[1:]:
            some = arith.andi(some, test)
        with ir.InsertionPoint(scf.IfOp(some).then_block):
            self._stretches(vectors)
            scf.yield_([])

    def _may_be_empty(self) -> bool:
        """True if some window lies in the window's padding altogether."""
        ends = ((a, p) for a in self.axes for p in range(a.windows))
        taps = (a.taps(p, a.window.low, a.sizes[1]) for a, p in ends)
        return any(low >= high for low, high in taps)

    def _look(
        self, begins: Sequence[Position], taps: Sequence[tuple[Position, Position]],
        operand: Position, insides: Sequence[int],
    ) -> list[Any]:  # fmt: skip
        """The numbers of the elements that are selected: vectors."""
        count = len(insides)

        def fetch(at: Sequence[Position]) -> list[Any]:
            """The elements at a place, which may be on the operand's edges."""
            tests, position = [], operand
            for a, i in zip(self.axes, at):
                place = add(i, -a.before)
                position = add(position, multiply(place, a.steps[0]))
                if a.edged:
                    for predicate, bound in (("sge", 0), ("slt", a.sizes[0])):
                        compared = getattr(arith.CmpIPredicate, predicate)
                        tests.append(arith.cmpi(compared, index_value(place), index_value(bound)))
            if not tests:
                return self._load(self.operand, position, insides)
            inside = tests[0]
            for test in tests[1:]:
                inside = arith.andi(inside, test)
            branch = scf.IfOp(inside, [self.vectors.type] * count, has_else=True)
            with ir.InsertionPoint(branch.then_block):
                scf.yield_(self._load(self.operand, position, insides))
            with ir.InsertionPoint(branch.else_block):
                scf.yield_(self.outside * count)
            return list(branch.results)

        def see(number: Any, at: Sequence[Position], carried: Sequence[Any]) -> Sequence[Any]:
            values, chosen = [], []
            for new, old, best in zip(fetch(at), carried[:count], carried[count:]):
                pair = [Scalar(v, self.vectors.element_type) for v in (old, new)]
                (keeps,) = emit_scalar_computation(self.select, pair)
                values.append(select(keeps, *pair).value)
                chosen.append(arith.select(keeps.value, best, number))
            return [*values, *chosen]

        # Seen again, the first element stays the one that is selected.
        first = [low for low, _ in taps]
        at = [
            add(b, multiply(k, a.window.window_dilation))
            for a, b, k in zip(self.axes, begins, first)
        ]
        start = [*fetch(at), *[self._number(self._numbered(first))] * count]
        return list(self._each_tap(begins, taps, start, see))[count:]

    def _scatter(
        self, begins: Sequence[Position], taps: Sequence[tuple[Position, Position]],
        result: Position, insides: Sequence[int], chosen: Sequence[Any], given: Sequence[Any],
    ) -> None:  # fmt: skip
        """Add what is given where each element of the window was chosen."""

        def put(number: Any, at: Sequence[Position], _: Any) -> Sequence[Any]:
            steps = (multiply(add(i, -a.cut), a.steps[2]) for a, i in zip(self.axes, at))
            position = add(result, *steps)
            new = []
            for old, best, x in zip(self._load(self.result, position, insides), chosen, given):
                here = arith.cmpi(arith.CmpIPredicate.eq, best, number)
                new.append(self.vectors.add(old, arith.select(here, x, self.neutral)))
            self._store(new, position, insides)
            return ()

        self._each_tap(begins, taps, (), put)

    def _each_tap(
        self, begins: Sequence[Position], taps: Sequence[tuple[Position, Position]],
        carried: Sequence[Any],
        body: Callable[[Any, Sequence[Position], Sequence[Any]], Sequence[Any]],
        at: tuple[Position, ...] = (), inside: tuple[Position, ...] = (),
    ) -> Sequence[Any]:  # fmt: skip
        """Loops over elements of a window: the number, the place, and what is carried."""
        n = len(at)
        if n == len(self.axes):
            return body(self._number(self._numbered(inside)), at, carried)
        dilation = self.axes[n].window.window_dilation

        def tap(k: Position, carried: Sequence[Any]) -> Sequence[Any]:
            place = add(begins[n], multiply(k, dilation))
            return self._each_tap(begins, taps, carried, body, (*at, place), (*inside, k))

        return for_range(*taps[n], 1, tap, carried)

    def _numbered(self, inside: Sequence[Position]) -> Position:
        """Which element of the window it is, given its number along each axis."""
        number: Position = 0
        for a, k in zip(self.axes, inside):
            number = add(multiply(number, a.window.size), k)
        return number

    def _number(self, number: Position) -> Any:
        """A vector of equal numbers."""
        kind = mlir_type(self.numbers.element_type)
        return self.numbers.broadcast(arith.index_cast(kind, index_value(number)))

    def _load(self, memory: Any, position: Position, insides: Sequence[int]) -> list[Any]:
        lanes = self.vectors.lanes
        return [
            self.vectors.load(memory, add(position, n * lanes), inside)
            for n, inside in enumerate(insides)
        ]

    def _store(self, values: Sequence[Any], position: Position, insides: Sequence[int]) -> None:
        lanes = self.vectors.lanes
        for n, (value, inside) in enumerate(zip(values, insides)):
            self.vectors.store(value, self.result, add(position, n * lanes), inside)
