"""When an attention goes by warpgroups, and how its tiles lie in shared memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.gpu.attention.boxes import Placed, placed
from tfc.backends.gpu.attention.kernels import Block
from tfc.backends.gpu.attention.spec import Spec, spec_in
from tfc.backends.gpu.matrices import PIECE
from tfc.backends.gpu.warpgroups import PHASE_BYTES, ROW_BYTES, WARPGROUP, WarpgroupKind
from tfc.backends.gpu.warpgroups import ROWS as GROUP_ROWS
from tfc.backends.gpu.warps import WARP
from tfc.backends.mlir.arithmetic.value import Scalar, constant
from tfc.backends.mlir.elements import Buffer
from tfc.backends.mlir.kernels import Kernel
from tfc.hlo.index_maps import Index
from tfc.hlo.shape import BF16, F16, F32
from tfc.passes.attention.forward import Factor, read_from

ROWS = 2 * GROUP_ROWS
"""Rows of a block."""
KEYS = 128
"""Keys of a stage."""
THREADS = 3 * WARPGROUP
GROUPS = 2  # that multiply
WARPS = GROUPS * WARPGROUP // WARP
FIRST_STAGE = 3  # barriers before those of stages
_MULTIPROCESSORS = 132  # of an H100; with others, some have a unit more or less
_LONGEST = 128  # of the vectors that are multiplied: scores, weights and sums stay in registers
_LEAST = _MULTIPROCESSORS // 2  # units from which on no keys need be shared
_SHARED, ALIGNMENT = 227 << 10, 1024  # bytes: of a block, and what boxes begin at
_MOST_STAGES = 4
_NAMES = {F16: "f16", BF16: "bf16"}
SIZE = 2  # bytes of a number of operands and results


@dataclass(frozen=True)
class Tiles:
    """How an attention lies in shared memory, in units of 128 bytes of a vector: *slabs*.

    boxes: of queries, keys, values and results, with the numbers of their buffers.
    """

    spec: Spec
    boxes: tuple[tuple[int, Placed], ...]

    def slabs(self, name: str) -> int:
        """Of a vector along "p" or "d"."""
        return -(-self.spec.size(name) * SIZE // ROW_BYTES)

    @property
    def row_tiles(self) -> int:
        """Tiles of rows."""
        return -(-self.spec.size("r") // ROWS)

    @property
    def units(self) -> int:
        """What blocks do, one after the other."""
        return self.spec.size("b") * self.row_tiles

    @property
    def blocks(self) -> int:
        """The blocks that run at once."""
        return min(self.units, _MULTIPROCESSORS)

    @property
    def key_tiles(self) -> int:
        """Stages that go by."""
        return -(-self.spec.size("j") // KEYS)

    @property
    def row_bytes(self) -> int:
        """Shared memory of the queries, and then of the results."""
        return ROWS * ROW_BYTES * max(self.slabs("p"), self.slabs("d"))

    def stage_bytes(self, name: str) -> int:
        """Of the keys ("p") or the values ("d") of a stage."""
        return KEYS * ROW_BYTES * self.slabs(name)

    @property
    def stages(self) -> int:
        """How many fit."""
        rest = _SHARED - 2 * ALIGNMENT - self.row_bytes
        return min(rest // (self.stage_bytes("p") + self.stage_bytes("d")), _MOST_STAGES)

    @property
    def values_at(self) -> int:
        """Where the values' stages begin."""
        return self.row_bytes + self.stages * self.stage_bytes("p")

    @property
    def phases_at(self) -> int:
        """Where the barriers are, and behind them what warps decide."""
        return self.values_at + self.stages * self.stage_bytes("d")

    @property
    def decisions_at(self) -> int:
        """A word of each warp, twice."""
        end = self.phases_at + (FIRST_STAGE + 4 * self.stages) * PHASE_BYTES
        return -(-end // PIECE) * PIECE

    @property
    def shared_bytes(self) -> int:
        """Shared memory of it all."""
        return self.decisions_at + 2 * WARPS * 4

    @property
    def kinds(self) -> tuple[WarpgroupKind, WarpgroupKind]:
        """What multiplies queries and keys, weights and values."""
        first, second = (_NAMES[t] for t in self.spec.element_types)
        columns = self.slabs("d") * ROW_BYTES // SIZE
        return (
            WarpgroupKind(first, first, SIZE, KEYS),
            WarpgroupKind(second, second, SIZE, columns),
        )


def tiles_of(kernel: Kernel) -> Tiles | None:
    """The tiles of an attention; None if it is too small, or not such as boxes take."""
    spec = spec_in(kernel.computation)
    if spec is None or spec.kinds is None or not _is_alike(spec):
        return None
    units = spec.size("b") * -(-spec.size("r") // ROWS)
    if max(spec.size("p"), spec.size("d")) > _LONGEST or spec.size("r") <= GROUP_ROWS:
        return None
    if units < _LEAST or spec.size("j") < KEYS:
        return None
    a = spec.attention
    factors = ((a.query, "r", "p", ROWS), (a.key, "j", "p", KEYS), (a.value, "j", "d", KEYS))
    found = [_operand(kernel, spec, *each) for each in factors]
    found.append(_result(kernel, spec))
    boxes = tuple(each for each in found if each is not None)
    return Tiles(spec, boxes) if len(boxes) == len(found) else None


def _is_alike(spec: Spec) -> bool:
    """Whether both factors of each product have one type."""
    a = spec.attention
    types = [x.array_shape.element_type for x in
             (a.query.value, a.key.value, a.weights, a.value.value)]  # fmt: skip
    return types[0] == types[1] and types[2] == types[3]


def _operand(
    kernel: Kernel, spec: Spec, factor: Factor, lines: str, along: str, count: int
) -> tuple[int, Placed] | None:
    """(number of the buffer, boxes) of what a product multiplies; None if no copies bring it."""
    parameters = kernel.computation.parameters
    array, index = read_from(factor)
    number = next((n for n, p in enumerate(parameters) if p is array), None)
    if number is None or number not in kernel.arguments:
        return None
    position = Buffer(None, array.array_shape).position(index)
    found = _placed(spec, position, lines, along, count)
    return None if found is None else (kernel.arguments.index(number), found)


def _result(kernel: Kernel, spec: Spec) -> tuple[int, Placed] | None:
    """The same of the result, of which each warpgroup stores its rows."""
    (shape,) = kernel.results
    if shape.element_type.bits != SIZE * 8:
        return None
    position = Buffer(None, shape).position(Block(kernel, spec).root_index)
    found = _placed(spec, position, "r", "d", GROUP_ROWS)
    return None if found is None else (len(kernel.arguments), found)


def _placed(spec: Spec, position: Index, lines: str, along: str, count: int) -> Placed | None:
    sizes = {name: spec.size(name) for name in (along, lines, "b")}
    return placed(position, sizes, along, lines, count, SIZE)


class Fragments:
    """Which scores and sums a thread of a warpgroup has: fragments of 8 columns, as `mma.sync`."""

    across = (1, 2)
    slots = 2

    def __init__(self, thread: Scalar, first_row: Scalar, sums: int):
        self._row, self._lane = first_row + thread / WARP * 16, thread % WARP
        self._sums = sums

    def row(self, slot: int) -> Scalar:
        """Rows l/4 and l/4 + 8 of a warp."""
        return self._row + self._lane / 4 + 8 * slot

    @property
    def column(self) -> Scalar:
        """Four lanes have pairs of eight columns."""
        return self._lane % 4 * 2

    def place(self, number: int) -> tuple[int, int]:
        """Of four in a fragment, two are in each row."""
        return number % 4 // 2, number // 4 * 8 + number % 2

    def start(self) -> list[Any]:
        """Zeros."""
        return [constant(F32, 0).value] * self._sums

    def slot(self, number: int) -> int:
        """As with scores."""
        return number % 4 // 2

    def results(self, sums: Sequence[Any]) -> list[tuple[Scalar, Scalar, list[Any]]]:
        """Pairs: (row, column, both sums)."""
        found = []
        for number in range(0, len(sums), 2):
            slot, column = self.place(number)
            found.append((self.row(slot), self.column + column, list(sums[number : number + 2])))
        return found
