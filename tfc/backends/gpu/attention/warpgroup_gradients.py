"""Gradients of attention by warpgroups on sm_90a: lines stay, columns come as boxes in stages.

    warpgroup 0     one thread asks for boxes: of the lines, and of columns, pass after pass
    warpgroups 1, 2 have 64 lines each: scores of a stage's columns, what is made of them, and for
                    results the values by these, which stay in registers

    ranges[n]       a phase ends when pass n has said along which columns it goes
    lines           … when the boxes of the lines have come
    loaded[s]       … when those of the columns of stage s have; `used` when they are multiplied

What is computed is that of gradients.py, whose block this is in another form.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from tfc.backends.gpu.assembly import index
from tfc.backends.gpu.assembly import number as narrow
from tfc.backends.gpu.attention.boxes import Placed, placed
from tfc.backends.gpu.attention.columns import Turn
from tfc.backends.gpu.attention.gradient_spec import GradientSpec, Loaded, gradient_in
from tfc.backends.gpu.attention.gradients import GradientBlock
from tfc.backends.gpu.attention.online import QUICK
from tfc.backends.gpu.attention.ranges import Range
from tfc.backends.gpu.attention.warpgroup_tiles import (
    ALIGNMENT,
    GROUPS,
    SIZE,
    THREADS,
    WARPS,
    Fragments,
)
from tfc.backends.gpu.grid import gpu, thread_in_block
from tfc.backends.gpu.matrices import load_shared, rounded_pairs, store_shared
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.gpu.products.kernels import shared_memory
from tfc.backends.gpu.stages import Place, where
from tfc.backends.gpu.warpgroups import (
    PHASE_BYTES,
    ROW_BYTES,
    WARPGROUP,
    Matrix,
    WarpgroupKind,
    announce_phases,
    arrive,
    arrive_with_bytes,
    begin_phases,
    elected,
    fetch_descriptor,
    hold_registers,
    load_box,
    meet,
    wait_for_phase,
)
from tfc.backends.gpu.warpgroups import ROWS as GROUP_ROWS
from tfc.backends.gpu.warps import WARP
from tfc.backends.mlir.arithmetic.elemental import emitting
from tfc.backends.mlir.arithmetic.value import Scalar, constant
from tfc.backends.mlir.elements import Buffer
from tfc.backends.mlir.kernels import Kernel
from tfc.backends.mlir.provider import ir, scf
from tfc.backends.mlir.vectors import index_value, multiply
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import BF16, F16, U32
from tfc.passes.attention.forward import read_from
from tfc.passes.attention.scores import Mixing

_LEAST = 66  # blocks from which on these are worth their while: half of the multiprocessors
_MOST_SUMS = 128  # a line's of all results, with which a stage has 64 columns; else 32
_SHARED = 227 << 10
_MOST_STAGES = 4
_FEW, _MANY = 40, 232  # registers of the thread that asks for boxes, and of those that multiply
_NAMES = {F16: "f16", BF16: "bf16"}


def warpgroup_gradient_parts(kernel: Kernel) -> list[Part] | None:
    """The part of a kernel of a gradient; None if another form is better, or for others."""
    spec = _spec(kernel)
    if spec is None:
        return None

    def emit(work: Work) -> None:
        with emitting(QUICK):
            _Block(work, spec).run()

    boxes = [(number, found.boxes) for number, found in spec.boxes]
    return [
        Part(
            emit,
            spec.size("b") * spec.line_tiles,
            True,
            threads=THREADS,
            shared=spec.shared_bytes + ALIGNMENT,
            boxes=boxes,
            resident=1,
        )
    ]


@dataclass(frozen=True)
class _Spec(GradientSpec):
    """The same, of 128 lines, in units of 128 bytes of a vector: *slabs*.

    boxes: of the factors of lines and then of columns, with the numbers of their buffers.
    """

    boxes: tuple[tuple[int, Placed], ...] = ()

    @property
    def warps(self) -> int:
        """Warps that multiply."""
        return WARPS

    @property
    def keys(self) -> int:
        """Columns of a stage."""
        sums = sum(self.width(m) for m in self.scores.mixings)
        return 64 if sums <= _MOST_SUMS else 32

    def width(self, mixing: Mixing) -> int:
        """Columns of a block's results, those beyond the width included."""
        return slabs(mixing.width) * ROW_BYTES // SIZE

    def line_place(self, number: int) -> int:
        """Where a factor of lines begins in shared memory."""
        return sum(slabs(x.width) * self.rows * ROW_BYTES for x in self.line_factors[:number])

    def column_place(self, number: int) -> int:
        """Where a factor of columns begins in its stage."""
        return sum(map(self.column_bytes, range(number)))

    def column_bytes(self, number: int) -> int:
        """Of a factor of columns in a stage."""
        return slabs(self.column_factors[number].width) * self.keys * ROW_BYTES

    @property
    def stages(self) -> int:
        """How many fit."""
        return min((_SHARED - 2 * ALIGNMENT - self.stages_at) // self.stage_bytes, _MOST_STAGES)

    @property
    def phases_at(self) -> int:
        """Where the barriers are."""
        return self.stages_at + self.stages * self.stage_bytes

    @property
    def passes(self) -> int:
        """How many passes there are at most."""
        return len(self.scores.statistics) + 1

    @property
    def board_at(self) -> int:
        """Where warps say what they decide, a word each, and then passes their ranges."""
        end = self.phases_at + (self.passes + 1 + 2 * self.stages) * PHASE_BYTES
        return -(-end // 16) * 16

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block."""
        results = [self.rows * self.line_of(m) * 4 for m in self.scores.mixings]
        return max([self.board_at + WARPS * 4 + self.passes * 8, *results])


def slabs(width: int) -> int:
    """Slabs of a vector of so many numbers."""
    return -(-width * SIZE // ROW_BYTES)


def _spec(kernel: Kernel) -> _Spec | None:
    """The spec of a gradient's kernel; None if it is too small, or not such as boxes take."""
    found = gradient_in(kernel.computation)
    if found is None or not found.by_matrices:
        return None
    spec = _Spec(*(getattr(found, f.name) for f in fields(found)))
    least = spec.size(spec.lines) > GROUP_ROWS and spec.size(spec.columns) >= spec.keys
    if not least or spec.size("b") * spec.line_tiles < _LEAST:
        return None
    sides = [
        *((x, spec.lines, spec.rows) for x in spec.line_factors),
        *((x, spec.columns, spec.keys) for x in spec.column_factors),
    ]
    boxes = [_operand(kernel, spec, *side) for side in sides]
    known = tuple(b for b in boxes if b is not None)
    if len(known) < len(boxes):
        return None
    made = _Spec(spec.scores, spec.lines, WARPS, spec.keys, known)
    return made if made.stages > 1 else None


def _operand(
    kernel: Kernel, spec: GradientSpec, loaded: Loaded, lines: str, count: int
) -> tuple[int, Placed] | None:
    """(number of the buffer, boxes) of what a product multiplies; None if no copies bring it."""
    array, at = read_from(loaded.factor)
    parameters = kernel.computation.parameters
    number = next((n for n, p in enumerate(parameters) if p is array), None)
    alike = array.array_shape.element_type == loaded.element_type
    if number is None or number not in kernel.arguments or not alike:
        return None
    sizes = {"p": loaded.width, lines: spec.size(lines), "b": spec.size("b")}
    found = placed(Buffer(None, array.array_shape).position(at), sizes, "p", lines, count, SIZE)
    return None if found is None else (kernel.arguments.index(number), found)


class _Block(GradientBlock):
    """The code of a block. What `GradientBlock` says is run by the threads that multiply."""

    spec: _Spec

    def __init__(self, work: Work, spec: _Spec):
        super().__init__(work, spec)
        self.base = (shared_memory() + (ALIGNMENT - 1)) / ALIGNMENT * ALIGNMENT
        self.all_threads = narrow(thread_in_block())
        self.uses: list[list[int]] = []
        self.place = Place.first()

    def run(self) -> None:
        """Emit it all."""
        spec = self.spec
        with where(self.all_threads.eq(0)):
            for number in range(spec.passes + 1):
                begin_phases(self._phase(number), 1)
            for stage in range(spec.stages):
                begin_phases(self._loaded(constant(U32, stage)), 1)
                begin_phases(self._emptied(constant(U32, stage)), WARPS)
            announce_phases()
        gpu.barrier()
        group = self.all_threads / WARPGROUP
        fork = scf.IfOp(group.eq(0).value, has_else=True)
        with ir.InsertionPoint(fork.else_block):
            hold_registers(_MANY, more=True)
            self._multiply(self.all_threads - WARPGROUP)
            scf.yield_([])
        with ir.InsertionPoint(fork.then_block):  # which passes there are is known now
            hold_registers(_FEW, more=False)
            with where(self.all_threads < WARP), where(elected().ne(0)):
                self._load()
            scf.yield_([])

    # --- Where things are -------------------------------------------------------------------------

    def _phase(self, number: int | Scalar) -> Scalar:
        """The barrier of a pass; the one behind all passes is that of the lines."""
        return self.base + self.spec.phases_at + number * PHASE_BYTES

    def _loaded(self, stage: Scalar) -> Scalar:
        return self._phase(stage + (self.spec.passes + 1))

    def _emptied(self, stage: Scalar) -> Scalar:
        return self._loaded(stage) + self.spec.stages * PHASE_BYTES

    def _at(self, stage: Scalar) -> Scalar:
        return self.base + self.spec.stages_at + stage * self.spec.stage_bytes

    def _said(self, number: int) -> Scalar:
        """Where a pass says along which columns it goes."""
        return self.base + self.spec.board_at + WARPS * 4 + number * 8

    # --- The thread that asks for boxes -----------------------------------------------------------

    def _load(self) -> None:
        """Ask for the lines, and for the columns of pass after pass."""
        spec = self.spec
        for boxes in self.work.boxes:
            fetch_descriptor(boxes)
        lines = self._phase(spec.passes)
        arrive_with_bytes(lines, spec.stages_at)
        for number in range(len(spec.line_factors)):
            at = self.base + spec.line_place(number)
            self._ask(number, at, {spec.lines: self.first_line}, spec.rows, lines)
        carried = Place.first()
        for number, used in enumerate(self.uses):
            wait_for_phase(self._phase(number), constant(U32, 0))
            begin, end = load_shared(self._said(number), "i32", 2)
            loop = scf.ForOp(begin, end, constant(U32, 1).value, carried)
            with ir.InsertionPoint(loop.body):
                place = Place.of(list(loop.inner_iter_args))
                tile = index(Scalar(loop.induction_variable, U32))
                self._bring_stage(used, place, index_value(multiply(tile, spec.keys)))
                scf.yield_(place.next(spec.stages).values)
            carried = list(loop.results)

    def _bring_stage(self, used: Sequence[int], place: Place, first: Any) -> None:
        """Ask for the columns of a stage, once those that were there have been multiplied."""
        spec, loaded = self.spec, self._loaded(place.stage)
        wait_for_phase(self._emptied(place.stage), place.parity ^ 1)
        arrive_with_bytes(loaded, sum(map(spec.column_bytes, used)))
        for number in used:
            at, box = self._at(place.stage) + spec.column_place(number), len(spec.line_factors)
            self._ask(box + number, at, {spec.columns: first}, spec.keys, loaded)

    def _ask(
        self, number: int, to: Scalar, lines: dict[str, Any], count: int, phase: Scalar
    ) -> None:
        """Ask for the boxes of some lines, slab after slab."""
        spec = self.spec
        _, found = spec.boxes[number]
        factors = [*spec.line_factors, *spec.column_factors]
        for slab in range(slabs(factors[number].width)):
            first = constant(U32, slab * ROW_BYTES // SIZE)
            corner = found.corner(first, {**lines, "b": self.batch})
            load_box(to + slab * count * ROW_BYTES, self.work.boxes[number], corner, phase)

    # --- The threads that multiply ----------------------------------------------------------------

    def _multiply(self, thread: Scalar) -> None:
        spec = self.spec
        self.tiles = {m.dot: _Mixed(thread, self._kind(m), spec.keys) for m in self.scores.mixings}
        self.enter(thread, Fragments(thread, constant(U32, 0), 0), spec.board_at)
        wait_for_phase(self._phase(spec.passes), constant(U32, 0))
        self.compute()

    def meet(self) -> None:
        """Wait for all threads that multiply."""
        meet(constant(U32, 1), GROUPS * WARPGROUP)

    def along(self, tiles: Range, used: set[int], begin: list[Any], turn: Turn) -> list[Any]:
        """What a loop carries after tiles of columns, which another thread asks for."""
        number = len(self.uses)
        self.uses.append(sorted(used))
        with where(self.thread.eq(0)):
            store_shared(self._said(number), [tiles.begin.value, tiles.end.value])
            arrive(self._phase(number))
        start = [*self.place, *begin]
        loop = scf.ForOp(tiles.begin.value, tiles.end.value, constant(U32, 1).value, start)
        with ir.InsertionPoint(loop.body):
            carried = list(loop.inner_iter_args)
            place = Place.of(carried[:2])
            wait_for_phase(self._loaded(place.stage), place.parity)
            tile = index(Scalar(loop.induction_variable, U32))
            made = turn(tile, self._at(place.stage), carried[2:])
            with where((self.thread % WARP).eq(0)):
                arrive(self._emptied(place.stage))
            scf.yield_([*place.next(self.spec.stages).values, *made])
        results = list(loop.results)
        self.place = results[:2]
        return results[2:]

    def made_scores(
        self, stage: Scalar, wanted: Sequence[Instruction]
    ) -> dict[Instruction, list[Any]]:
        """The products that arrays need, for each score of a thread's."""
        spec, found = self.spec, {}
        needed = self.scores.needed(wanted, list(self.known))
        form = Matrix(True, ROW_BYTES // SIZE)
        own = self.thread / WARPGROUP * (GROUP_ROWS * ROW_BYTES)
        for scoring in self.scores.scorings:
            if scoring.dot not in needed:
                continue
            line = spec.number_of(scoring.factors[spec.lines], spec.line_factors)
            column = spec.number_of(scoring.factors[spec.columns], spec.column_factors)
            name = _NAMES[spec.line_factors[line].element_type]
            kind, count = WarpgroupKind(name, name, SIZE, spec.keys), slabs(scoring.depth)
            left, right = self.base + spec.line_place(line) + own, stage + spec.column_place(column)
            sums = [_undefined()] * kind.count
            for slab in range(count):
                first, second = (
                    form.descriptor(at + slab * lines * ROW_BYTES)
                    for at, lines in ((left, spec.rows), (right, spec.keys))
                )
                under_way = 0 if slab == count - 1 else 1
                sums = kind.multiply(first, second, (form, form), sums, under_way, slab == 0)
            found[scoring.dot] = sums
        return found

    def _kind(self, mixing: Mixing) -> WarpgroupKind:
        number = self.spec.number_of(mixing.values, self.spec.column_factors)
        name = _NAMES[self.spec.column_factors[number].element_type]
        return WarpgroupKind(name, name, SIZE, self.spec.width(mixing))


class _Mixed(Fragments):
    """A thread's sums of weights, which stay in registers, times values of a stage's columns."""

    def __init__(self, thread: Scalar, kind: WarpgroupKind, columns: int):
        super().__init__(thread, constant(U32, 0), kind.count)
        self._kind, self._form = kind, Matrix(False, columns)

    def mix(self, weights: Sequence[Scalar], _: Scalar, values: Scalar, sums: list[Any]) -> list:
        """Add weights times the values at an address."""
        return self.mix_words(rounded_pairs(self._kind.lhs, weights), values, sums)

    def mix_words(self, words: Sequence[Any], values: Scalar, sums: Sequence[Any]) -> list[Any]:
        """The same of weights that are rounded, two in a word."""
        return self._kind.multiply_held(words, self._form.descriptor(values), self._form, sums)


def _undefined() -> Any:
    return ir.Operation.create("llvm.mlir.undef", [ir.F32Type.get()]).result
