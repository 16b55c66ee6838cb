"""When products go by warpgroups and boxes, and how their tiles lie in shared memory."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tfc.backends.choices import chosen
from tfc.backends.gpu.clusters import MOST_BLOCKS, cycles_of_joining
from tfc.backends.gpu.driver.interface import Boxes
from tfc.backends.gpu.matrices import KINDS
from tfc.backends.gpu.products.box_operands import BoxOperand, matrix_boxes, matrix_operand
from tfc.backends.gpu.products.kernels import product_index
from tfc.backends.gpu.products.spec import ProductSpec, Side
from tfc.backends.gpu.warpgroups import (
    PHASE_BYTES,
    ROW_BYTES,
    WARPGROUP,
    Matrix,
    WarpgroupKind,
)
from tfc.backends.gpu.warpgroups import ROWS as GROUP_ROWS
from tfc.backends.mlir.elements import Buffer, Indices
from tfc.backends.mlir.kernels import Kernel
from tfc.hlo.attributes.precision import operand_precision
from tfc.hlo.index_maps import constant, evaluate_index, variable
from tfc.hlo.shape import BF16, F8E4M3FN, F8E5M2, F16, F32, S8, S32, U8, U32, ElementType
from tfc.passes.analysis.products import root_index

ROWS = 128
"""Rows of a tile."""
THREADS = 3 * WARPGROUP
_GROUPS = ROWS // GROUP_ROWS
_MULTIPROCESSORS = 132  # of an H100, in pairs; with others, some have a tile more or less
_SHARED = 227 << 10
_ALIGNMENT = 1024
_MOST_STAGES = 6
_LEAST_TURNS = 4  # stages of a share
_SECOND_STEP = 6000  # cycles of a further launch
_MEMORY_BYTES = 1900  # of the whole GPU, in a cycle
_NARROW = 64  # columns of a tile that is no wider than a box
_LEAST = 64  # rows and columns from which on such tiles are worth their while
_NAMES = {F16: "f16", BF16: "bf16", S8: "s8", U8: "u8", F8E4M3FN: "e4m3", F8E5M2: "e5m2",
          F32: "tf32"}  # fmt: skip
_SUMMED_SHORT = {F8E4M3FN, F8E5M2}
# Not s8 and u8 together: that takes PTX 8.4, which is more than LLVM states, and drivers have.
_ALIKE: tuple[set[ElementType], ...] = ({F16}, {BF16}, {F32}, {S8}, {U8}, _SUMMED_SHORT)


@dataclass(frozen=True)
class Tiles:
    """The tiles of a product: 128 rows of results, and what of the operands is there at once.

    kind: what multiplies them.
    operands: of which boxes are copied.
    results: (number of the buffer, boxes of it).
    shares: the same of the sums of shares, which lie tile after tile, if there are any.
    grid: tiles down and across; `count`: of all batches.
    turns: stages that the sums of a tile take.
    whole: how many tiles are done by one block each, the first ones.
    splits: shares of the turns of each of the others, by different blocks, that a second step adds
        up.
    promotes: whether the sums of a stage are added to the others in f32, as the products of 8-bit
        floats are summed with fewer bits.
    cluster: blocks with tiles below each other, each of which brings its share of the right
        operand's part of a stage to all of them.
    adds_up: whether the blocks that share a tile are a cluster, which adds up the shares itself.
    cycles: how long they take by the model.
    """

    kind: WarpgroupKind
    operands: tuple[BoxOperand, BoxOperand]
    results: tuple[tuple[int, Boxes], ...]
    shares: tuple[int, Boxes] | None
    grid: tuple[int, int]
    count: int
    turns: int
    whole: int
    splits: int
    promotes: bool
    cluster: int = 1
    adds_up: bool = False
    cycles: float = 0.0

    @property
    def forms(self) -> tuple[Matrix, Matrix]:
        """How both operands lie in a stage."""
        return self.operands[0].form, self.operands[1].form

    @property
    def blocks(self) -> int:
        """The blocks that run at once."""
        return _MULTIPROCESSORS

    @property
    def shared(self) -> int:
        """Tiles whose sums several blocks share."""
        return self.count - self.whole

    @property
    def units(self) -> int:
        """Tiles and shares of tiles that blocks do."""
        return self.whole + self.shared * self.splits

    @property
    def share(self) -> int:
        """Stages of a share; the last one may have fewer."""
        return -(-self.turns // self.splits)

    @property
    def columns(self) -> int:
        """Columns of a tile."""
        return self.kind.columns

    @property
    def depth(self) -> int:
        """Places of the sums that a stage has."""
        return ROW_BYTES // self.kind.bytes

    @property
    def lhs_bytes(self) -> int:
        """Shared memory of the left operand's part of a stage."""
        return ROWS * ROW_BYTES

    @property
    def stage_bytes(self) -> int:
        """Shared memory of a stage."""
        return self.lhs_bytes + self.columns * ROW_BYTES

    @property
    def stages(self) -> int:
        """How many fit, with the boxes of the results and the barriers."""
        rest = _SHARED - 2 * _ALIGNMENT - self.result_bytes
        return min(rest // self.stage_bytes, _MOST_STAGES)

    @property
    def result_bytes(self) -> int:
        """Shared memory of the results: two boxes for each warpgroup."""
        return 2 * ROWS * ROW_BYTES

    @property
    def results_at(self) -> int:
        """Where these begin."""
        return self.stages * self.stage_bytes

    @property
    def phases_at(self) -> int:
        """Where the barriers are."""
        return self.results_at + self.result_bytes

    @property
    def shared_bytes(self) -> int:
        """Shared memory of it all."""
        return self.phases_at + 2 * self.stages * PHASE_BYTES

    def boxes_of(self, number: int) -> int:
        """Boxes that an operand's part of a stage has."""
        size = self.lhs_bytes if number == 0 else self.stage_bytes - self.lhs_bytes
        return size // self.operands[number].box_bytes


# (an operand, lines of it that a stage has) -> how it is copied; None if not in boxes.
OperandOf = Callable[[Side, int], BoxOperand | None]


def tiles_for(kernel: Kernel, spec: ProductSpec) -> Tiles | None:
    """The tiles of a dot; None if it is too small, or not such as boxes and warpgroups take."""
    turns = -(-spec.k // (ROW_BYTES * 8 // spec.lhs.stored.bits))
    operand = partial(matrix_operand, kernel, spec)
    return tiles_of(kernel, spec, product_index(kernel, spec), turns, operand)


def tiles_of(
    kernel: Kernel,
    spec: ProductSpec,
    index: Indices,
    turns: int,
    operand: OperandOf,
    may_add: bool = True,
) -> Tiles | None:
    """The tiles of a product; None if it is too small, or not such as boxes and warpgroups take.

    Args:
        index: of the product's element, of the variables b (batch), i (row), j (column).
        turns: the stages of its sums.
        may_add: whether there are registers for clusters that add up shares.
    """
    stored = {side.stored for side in spec.sides}
    is_known = any(stored <= alike for alike in _ALIKE) and spec.sums in (F32, S32, U32)
    promotes = stored <= _SUMMED_SHORT
    is_exact = not promotes or _is_default_enough(kernel)
    is_exact &= F32 not in stored or spec.kind is KINDS["tf32", "tf32"]
    results = _results(kernel, spec, index)
    if not (is_known and is_exact and results) or min(spec.m, spec.n) < _LEAST:
        return None
    size = spec.lhs.stored.bits // 8
    # The sums of boxes of 8-bit numbers, and what is read to add them up, are more than registers.
    may_add &= all(boxes.itemsize > 1 for _, boxes in results)
    columns = _columns(spec, turns, promotes, may_add)
    grid = (-(-spec.m // ROWS), -(-spec.n // columns))
    cluster = _cluster(grid, spec.batch) if columns > _NARROW else 1
    left, right = operand(spec.lhs, ROWS), operand(spec.rhs, columns // cluster)
    if left is None or right is None or any(b.box[0] > columns for _, b in results):
        return None
    names = [_NAMES[side.stored] for side in spec.sides]
    count = grid[0] * grid[1] * spec.batch
    divided = _division(count, turns, columns, may_add)
    apart = divided.splits > 1 and not divided.adds_up
    return Tiles(
        WarpgroupKind(names[0], names[1], size, columns, S32 if spec.sums.is_integer else F32),
        (left, right),
        results,
        _shares(kernel, spec, count - divided.whole, divided.splits, columns) if apart else None,
        grid,
        count,
        turns,
        divided.whole,
        divided.splits,
        promotes,
        cluster,
        divided.adds_up,
        divided.cycles,
    )


def _cluster(grid: tuple[int, int], batch: int) -> int:
    """Blocks of a cluster: two where all multiprocessors have tiles, and these come in pairs.

    Of 128 rows and 256 columns a block multiplies for 1024 cycles what is 48 KiB, more than the
    level-2 cache gives all blocks meanwhile by its stated rate (39 bytes a cycle each); with the
    columns shared it is 32.
    """
    return 2 if grid[0] % 2 == 0 and grid[0] * grid[1] * batch >= _MULTIPROCESSORS else 1


def _is_default_enough(kernel: Kernel) -> bool:
    """Whether a product states no precision beyond the usual one."""
    assert kernel.product is not None
    return operand_precision(kernel.product.attributes.get("operand_precision")) is None


def _columns(spec: ProductSpec, turns: int, promotes: bool, may_add: bool) -> int:
    """256 or 128: what was measured to take less time, or does as blocks go through tiles in turns;
    64 if there are no more.

    A wide tile has no registers for sums of a stage beside the others.
    """

    def time(columns: int) -> float:
        count = -(-spec.m // ROWS) * -(-spec.n // columns) * spec.batch
        return _division(count, turns, columns, may_add).cycles

    if spec.n <= _NARROW or promotes:
        return min(128, -(-spec.n // _NARROW) * _NARROW)
    first, second = sorted((128, 256), key=time)
    ways = {f"tiles of {ROWS} x {columns}": columns for columns in (first, second)}
    texts = list(ways)
    return ways[chosen(f"warpgroups: {spec}", lambda: texts[0], lambda: texts[1:]) or texts[0]]


@dataclass(frozen=True)
class _Division:
    """How blocks share tiles: those done whole, the shares of each of the others, whether clusters
    add these up, and how many cycles it takes."""

    whole: int
    splits: int
    adds_up: bool
    cycles: float


def _division(count: int, turns: int, columns: int, may_add: bool) -> _Division:
    """How so many tiles are shared.

    All blocks go through whole tiles as long as there are enough for all; the sums of the rest are
    shared if that saves more cycles than a second step takes: to begin, and to write and read the
    shares' sums. Where there are so few tiles that each block has one share, those of a tile may be
    a cluster, for which to meet takes less, and so does what they read of each other. By the stated
    rates of an H100, none of it measured. A wide tile takes less than twice as long as a narrow
    one, as its rows are brought once.

    Args:
        may_add: whether clusters may add up shares.
    """
    rest = count % _MULTIPROCESSORS
    whole, turn = count - rest, 4 * (columns + 32)
    before = whole // _MULTIPROCESSORS * turns * turn
    ways = [_Division(count, 1, False, before + turns * turn * (rest > 0))]
    most = min(_MULTIPROCESSORS // rest, turns // _LEAST_TURNS) if rest else 1
    # None of them is empty.
    for splits in sorted({-(-turns // -(-turns // n)) for n in range(2, most + 1)} - {1}):
        own, size = before + -(-turns // splits) * turn, ROWS * columns * 4
        apart = _SECOND_STEP + 2 * splits * rest * size / _MEMORY_BYTES
        ways.append(_Division(whole, splits, False, own + apart))
        if may_add and whole == 0 and splits <= MOST_BLOCKS:
            ways.append(_Division(whole, splits, True, own + cycles_of_joining(size)))
    return min(ways, key=lambda way: way.cycles)


def _shares(
    kernel: Kernel, spec: ProductSpec, count: int, splits: int, columns: int
) -> tuple[int, Boxes] | None:
    """(number of the buffer, boxes) of the sums of shares of so many tiles."""
    number = len(kernel.arguments) + len(kernel.results)
    size = spec.sums.bits // 8
    dims = (columns, count * splits * ROWS, 1)
    boxes = matrix_boxes(size, dims, (columns, 0), (ROW_BYTES // size, GROUP_ROWS))
    return None if boxes is None else (number, boxes)


def _results(kernel: Kernel, spec: ProductSpec, index: Indices) -> tuple[tuple[int, Boxes], ...]:
    """(number of the buffer, boxes) of each result; none if one does not lie in rows."""
    found = [_result(kernel, spec, index, number) for number in range(len(kernel.results))]
    known = tuple(each for each in found if each is not None)
    return known if len(known) == len(found) else ()


def _result(
    kernel: Kernel, spec: ProductSpec, index: Indices, number: int
) -> tuple[int, Boxes] | None:
    shape = kernel.results[number]
    size, kind = shape.element_type.bits // 8, shape.element_type.kind
    if shape.element_type.bits not in (8, 16, 32) or kind in ("pred", "complex"):
        return None
    where = root_index(kernel.computation, index)
    position = Buffer(None, shape).position(where)
    sizes = {"b": spec.batch, "i": spec.m, "j": spec.n}
    strides = {
        name: int(evaluate_index(position, {**dict.fromkeys(sizes, 0), name: 1}))
        if size_of > 1 else 0
        for name, size_of in sizes.items()
    }  # fmt: skip
    linear = sum(
        (variable(n, s) * strides[n] for n, s in sizes.items()), start=variable("b", 1) * 0
    )
    # Their difference, as sums of the same terms may have these in another order.
    if position - linear != constant(0) or strides["j"] != 1:
        return None
    dims = (spec.n, spec.m, spec.batch)
    box = (ROW_BYTES // size, GROUP_ROWS)
    boxes = matrix_boxes(size, dims, (strides["i"], strides["b"]), box)
    return None if boxes is None else (len(kernel.arguments) + number, boxes)
