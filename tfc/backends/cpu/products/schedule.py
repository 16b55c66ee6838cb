"""What a matrix product is to the emitters, and the plan by which a target computes it."""

from dataclasses import dataclass, replace
from functools import cache
from math import ceil

from tfc.backends.cpu.products.choice import AS_MODELLED, ProductChoice
from tfc.backends.cpu.products.words import Words
from tfc.backends.target import Target
from tfc.errors import InternalError
from tfc.hlo.shape import F32, F64, ElementType

Strides = tuple[int, int, int]
_FINISHED = 64


@dataclass(frozen=True)
class MatmulSpec:
    """out[b, i, j] = Σ_p lhs[b, i, p] · rhs[b, p, j], with b < batch, i < m, j < n, p < k.

    Attributes:
        element_type: F32, F64 or integers of 32 or 64 bits, of all three arrays.
        lhs_strides: distance in elements between neighbours along (b, i, p).
        rhs_strides: the same along (b, p, j).
        out_strides: the same along (b, i, j); the last is 1.
        lhs_size, rhs_size, out_size: the arrays' numbers of elements.
        outer: for a batch in two directions: how many steps of the inner one, which the strides are
            of, make one of the outer, and how long that is in lhs, rhs and out.
        apart: sums are made in memory apart, and the result from them (an epilogue).
        lhs_computed, rhs_computed: the operand is not in memory, but computed element by element.
        part_of: the m and n of the product that this is a part of: the size of its operands.
        words: k counts words of several narrow elements, which both operands, computed, hold.
        rhs_panels: the right operand lies in panels of so many columns, which divide n: then its
            strides are those from a panel's columns to the next panel's, divided by their number,
            and along a panel's depth.
        choice: what of the schedule was measured to be best; the model decides the rest.

    Raises:
        InternalError: the element type, a stride or a size is not as said above.
    """

    element_type: ElementType
    batch: int
    m: int
    n: int
    k: int
    lhs_strides: Strides
    rhs_strides: Strides
    out_strides: Strides
    lhs_size: int
    rhs_size: int
    out_size: int
    outer: tuple[int, Strides] | None = None
    apart: bool = False
    lhs_computed: bool = False
    rhs_computed: bool = False
    part_of: tuple[int, int] | None = None
    words: Words | None = None
    rhs_panels: int = 0
    choice: ProductChoice = AS_MODELLED

    def __post_init__(self) -> None:
        element_type = self.element_type
        tiled = element_type in (F32, F64) or (element_type.is_integer and element_type.bits >= 32)
        if not tiled or (self.n > 1 and self.out_strides[2] != 1):
            raise InternalError(f"no matrix product for {self}")
        if 0 in (self.batch, self.m, self.n):
            return
        inner, outer = self.outer or (self.batch, (0, 0, 0))
        if self.rhs_panels and (self.n % self.rhs_panels or self.k * self.n > self.rhs_size):
            raise InternalError(f"no panels of {self.rhs_panels} columns in {self}")
        arrays = (
            ((outer[0], *self.lhs_strides), (inner, self.m, self.k), self.lhs_size),
            ((outer[1], *self.rhs_strides), (inner, self.k, self.n), self.rhs_size),
            ((outer[2], *self.out_strides), (inner, self.m, self.n), self.out_size),
        )
        for strides, sizes, size in arrays[:: 2 if self.rhs_panels else 1]:
            widths = (self.batch // inner, *sizes)
            last = sum(stride * (width - 1) for stride, width in zip(strides, widths))
            if min(sizes) > 0 and (min(strides) < 0 or last >= size):
                raise InternalError(f"strides leave an array of {size} elements in {self}")

    @staticmethod
    def contiguous(
        element_type: ElementType,
        m: int,
        n: int,
        k: int,
        *,
        batch: int = 1,
        lhs_transposed: bool = False,
        rhs_transposed: bool = False,
    ) -> "MatmulSpec":
        """The product of dense arrays: lhs[b,m,k] (or [b,k,m]) × rhs[b,k,n] (or [b,n,k])."""
        lhs = (m * k, 1, m) if lhs_transposed else (m * k, k, 1)
        rhs = (k * n, 1, k) if rhs_transposed else (k * n, n, 1)
        sizes = (batch * m * k, batch * k * n, batch * m * n)
        return MatmulSpec(element_type, batch, m, n, k, lhs, rhs, (m * n, n, 1), *sizes)

    def workspace_size(self, target: Target) -> int:
        """The number of elements of the workspace that the emitted function wants."""
        return make_schedule(self, target).workspace_size

    def flattened(self) -> "MatmulSpec":
        """The same product with the batch counted as rows, where the strides allow it."""
        if self.batch == 1 or self.rhs_strides[0] != 0 or self.outer is not None:
            return self
        for strides in (self.lhs_strides, self.out_strides):
            if strides[0] != self.m * strides[1]:
                return self
        return replace(self, batch=1, m=self.batch * self.m)


@dataclass(frozen=True)
class Stream:
    """A product with few vectors: result[v, i] = Σ_p matrix[i, p] · vector[v, p].

    Attributes:
        swapped: the matrix is the product's left operand, the vectors the right operand's columns.
        count, outputs, depth: v < count, i < outputs, p < depth.
        matrix_output, matrix_depth: the matrix's strides along i and p.
        vector_step, vector_depth: the vectors' strides along v and p.
        result_step, result_output: the result's strides along v and i.
    """

    swapped: bool
    count: int
    outputs: int
    depth: int
    matrix_output: int
    matrix_depth: int
    vector_step: int
    vector_depth: int
    result_step: int
    result_output: int

    @property
    def in_rows(self) -> bool:
        """True if the elements of the matrix that are summed are neighbours."""
        return self.matrix_depth == 1

    @property
    def in_columns(self) -> bool:
        """True if the elements of the matrix that belong to different sums are neighbours."""
        return self.matrix_output == 1 and self.result_output == 1

    @property
    def gathered(self) -> int:
        """The number of elements of vectors that must be copied to be neighbours."""
        return self.count * self.depth if self.in_rows and self.vector_depth != 1 else 0


@dataclass(frozen=True)
class TileSchedule:
    """The plan for one product.

    Attributes:
        stream: the way to read the matrix, if the product is one of a matrix and few vectors; the
            rest is for the other products.
        lanes: elements of a vector register.
        tile_rows, tile_vectors: the tile of the result that is kept in registers.
        block_rows, block_columns, block_depth: what is packed at a time: block_rows × block_depth
            of the left operand, block_depth × block_columns of the right one; multiples of the
            tile's sizes.
        pack_lhs, pack_rhs: whether to pack the operand, else it is read in place.
        rhs_elements, lhs_elements: sizes of the packed blocks, which follow each other.
        rhs_computed, lhs_computed: sizes of the blocks of computed operands, which come next.
        sums: the size of the sums that are made apart, which are last: those of one tile, if a
            tile is finished at once, else all.
    """

    stream: Stream | None
    lanes: int
    tile_rows: int = 0
    tile_vectors: int = 0
    block_rows: int = 0
    block_columns: int = 0
    block_depth: int = 0
    pack_lhs: bool = False
    pack_rhs: bool = False
    rhs_elements: int = 0
    lhs_elements: int = 0
    rhs_computed: int = 0
    lhs_computed: int = 0
    sums: int = 0

    def __str__(self) -> str:
        """What of it a measurement may choose, in words."""
        if self.stream is not None:
            return "matrix read once"
        packed = [n for n, p in (("left", self.pack_lhs), ("right", self.pack_rhs)) if p]
        return (
            f"tiles of {self.tile_rows} x {self.tile_vectors} vectors, "
            f"{self.block_depth} deep, {' and '.join(packed) or 'nothing'} packed"
        )

    @property
    def tile_columns(self) -> int:
        """The width of a tile in elements."""
        return self.tile_vectors * self.lanes

    @property
    def workspace_size(self) -> int:
        """The number of elements of workspace."""
        return self.sums_start + self.sums

    @property
    def computed_start(self) -> int:
        """Where in the workspace blocks of computed operands begin."""
        return _aligned(self.rhs_elements + self.lhs_elements)

    @property
    def finished(self) -> tuple[int, int]:
        """How many rows and columns of results are finished together."""
        return _finished(self.tile_rows), _finished(self.tile_columns)

    @property
    def sums_start(self) -> int:
        """Where in the workspace sums begin that are made apart."""
        if self.stream is not None:
            return _aligned(self.stream.gathered) if self.sums else self.stream.gathered
        if not (self.rhs_computed + self.lhs_computed + self.sums):
            return self.rhs_elements + self.lhs_elements
        return self.computed_start + _aligned(self.rhs_computed + self.lhs_computed)


@cache
def make_schedule(spec: MatmulSpec, target: Target) -> TileSchedule:
    """The plan by which a target computes a product."""
    spec = spec.flattened()
    lanes = target.lanes(spec.element_type.bits)
    stream = _find_stream(spec, target)
    if stream is not None:
        return TileSchedule(stream, lanes, sums=spec.m * spec.n if spec.apart else 0)
    size = spec.element_type.bytes
    rows, vectors = tile_shape(
        spec.m, spec.n, target, lanes, spec.choice.tile, further_rows=further_rows(spec.words)
    )
    columns = vectors * lanes
    wide = max(columns, spec.rhs_panels)
    # Half of L1 holds a panel of the right operand, half of L2 the left operand's block, and half
    # of the last level (which other cores share) the right operand's block.
    panel = spec.choice.panel or target.l1_bytes // 2
    depth = _even_blocks(spec.k, panel // (columns * size), 4)
    block_rows = _even_blocks(spec.m, target.l2_bytes // 2 // (depth * size), rows)
    last_level = min(target.l3_bytes // 2, 4 << 20)
    if spec.rhs_computed:
        # What is computed should not leave L2 before it is used; with many rows it is used often.
        last_level = target.l2_bytes // (4 if spec.m <= 4 * rows else 1)
    block_columns = _even_blocks(spec.n, last_level // (depth * size), wide)
    pack_lhs, pack_rhs = spec.choice.pack_lhs, None if spec.rhs_panels else spec.choice.pack_rhs
    pack_lhs = _pays_to_pack_lhs(spec, target, columns) if pack_lhs is None else pack_lhs
    pack_rhs = _pays_to_pack_rhs(spec, target, rows) if pack_rhs is None else pack_rhs
    padded = ceil(spec.n / lanes) * lanes
    rhs_elements = min(block_columns, padded) * depth if pack_rhs else 0
    # A vector's worth of slack: the last store of a left panel may be wider than the panel.
    lhs_elements = min(block_rows, spec.m) * depth + lanes if pack_lhs else 0
    at_once = spec.k <= depth
    return TileSchedule(
        None, lanes, rows, vectors, block_rows, block_columns, depth,
        pack_lhs, pack_rhs, _aligned(rhs_elements), lhs_elements,
        _aligned(min(block_columns, padded) * depth) if spec.rhs_computed else 0,
        min(block_rows, spec.m) * depth if spec.lhs_computed else 0,
        (_finished(rows) * _finished(columns) if at_once else spec.m * spec.n)
        if spec.apart else 0,
    )  # fmt: skip


def _finished(tile: int) -> int:
    """Whole tiles: few enough to be in L1, enough for loops over a row to be in vectors mostly."""
    return ceil(_FINISHED / tile) * tile


def _aligned(elements: int) -> int:
    return ceil(elements / 16) * 16


def _find_stream(spec: MatmulSpec, target: Target) -> Stream | None:
    """The product as a stream, if that is the way to compute it."""
    in_tiles = spec.rhs_panels or spec.choice.stream is False
    if spec.lhs_computed or spec.rhs_computed or in_tiles:
        return None
    (_, lhs_m, lhs_k), (_, rhs_k, rhs_n) = spec.lhs_strides, spec.rhs_strides
    m, n, k, out_m = spec.m, spec.n, spec.k, spec.out_strides[1]
    right = Stream(False, m, n, k, rhs_n, rhs_k, lhs_m, lhs_k, out_m, 1)
    left = Stream(True, n, m, k, lhs_m, lhs_k, rhs_n, rhs_k, 1, out_m)
    for stream in (left, right):
        large = stream.outputs * k * spec.element_type.bytes > target.l2_bytes
        few = stream.count == 1 or (stream.count <= 4 and (large or spec.choice.stream is True))
        if k and few and (stream.in_rows or stream.in_columns):
            return stream
    return None


def further_rows(words: Words | None) -> int:
    """The rows of sums that products of words need beside the result's."""
    return int(words is Words.OFFSET)


def largest_tiles(
    target: Target, lanes: int, *, further_rows: int = 0
) -> tuple[tuple[int, int], ...]:
    """Rows and vectors per row of tiles that fill the target's registers, the usual one first.

    Beside the tile, a row of the right operand's vectors and one element of the left stay in
    registers; without fused multiply-add, one product too.

    Args:
        further_rows: rows of sums, with a factor each, that stay in registers beside the result's.
    """
    if lanes == 1:
        return ((4, 4),)
    if target.vector_registers >= 32:
        usual, *others = (8, 3), (12, 2), (6, 4)
        if target.vector_bits > 128:
            usual, others = (12, 2), [(8, 3), (6, 4)]
    elif target.has_fma:
        usual, others = (6 - further_rows, 2), [(4, 3), (12, 1)]
    else:
        usual, others = (4 - further_rows, 2), [(8, 1)]
    return (usual,) if further_rows else (usual, *others)


def tile_shape(
    m: int,
    n: int,
    target: Target,
    lanes: int,
    largest: tuple[int, int] | None = None,
    *,
    further_rows: int = 0,
) -> tuple[int, int]:
    """Rows and vectors per row of the tile of an m × n result.

    Args:
        largest: the tile of a result that is large in both directions; the usual one if left out.
        further_rows: see `largest_tiles`.
    """
    rows, vectors = largest or largest_tiles(target, lanes, further_rows=further_rows)[0]
    narrow = min(vectors, max(ceil(n / lanes), 1))
    rows = rows * vectors // narrow
    return even_parts(m, rows), narrow


def even_parts(total: int, most: int) -> int:
    """The size of nearly equal parts: for 8 of up to 6 it is 4, not 6 and a rest of 2."""
    return max(ceil(total / max(ceil(total / most), 1)), 1)


def _even_blocks(total: int, limit: int, step: int) -> int:
    """The size of the blocks, a multiple of `step`, that share `total` evenly within `limit`."""
    limit = max(limit // step * step, step)
    blocks = max(ceil(total / limit), 1)
    return max(ceil(ceil(total / blocks) / step) * step, step)


# Packing costs about as much as reading the operand from memory once or twice, and is paid back by
# every tile that the panel is used for. The limits below are where it broke even in measurements.


def _pays_to_pack_lhs(spec: MatmulSpec, target: Target, tile_columns: int) -> bool:
    tiles = spec.n / tile_columns
    rows, _ = spec.part_of or (spec.m, spec.n)
    size = rows * spec.k * spec.element_type.bytes
    _, line, along = spec.lhs_strides
    if along == 1:
        # In place, each row is a stream of its own, which only the caches' associativity limits.
        return tiles >= 16 and size > target.l2_bytes
    return tiles >= (8 if line == 1 else 4) and size > 2 * target.l1_bytes


def _pays_to_pack_rhs(spec: MatmulSpec, target: Target, tile_rows: int) -> bool:
    _, along, line = spec.rhs_strides
    if spec.rhs_panels:
        return False
    if line != 1:
        return spec.n > 1  # a tile can only load vectors of neighbours
    tiles = spec.m / tile_rows
    _, columns = spec.part_of or (spec.m, spec.n)
    size = spec.k * columns * spec.element_type.bytes
    if size > target.l2_bytes // 2:
        # At a distance of pages, all elements of a panel compete for the same few places in L1.
        pages = along * spec.element_type.bytes % 4096 == 0
        return tiles > (1 if pages else 6)
    return tiles > 32 and size > target.l1_bytes
