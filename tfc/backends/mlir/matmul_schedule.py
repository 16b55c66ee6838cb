"""What a matrix product is to the emitters, and the plan by which a target computes it."""

from dataclasses import dataclass, replace
from functools import cache
from math import ceil

from tfc.backends.target import Target
from tfc.errors import InternalError
from tfc.hlo.shape import F32, F64, ElementType

Strides = tuple[int, int, int]


@dataclass(frozen=True)
class MatmulSpec:
    """out[b, i, j] = Σ_p lhs[b, i, p] · rhs[b, p, j], with b < batch, i < m, j < n, p < k.

    Attributes:
        element_type: F32 or F64, of all three arrays.
        lhs_strides: distance in elements between neighbours along (b, i, p).
        rhs_strides: the same along (b, p, j).
        out_strides: the same along (b, i, j); the last is 1.
        lhs_size, rhs_size, out_size: the arrays' numbers of elements.

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

    def __post_init__(self) -> None:
        if self.element_type not in (F32, F64) or (self.n > 1 and self.out_strides[2] != 1):
            raise InternalError(f"no matrix product for {self}")
        if 0 in (self.batch, self.m, self.n):
            return
        for strides, sizes, size in (
            (self.lhs_strides, (self.batch, self.m, self.k), self.lhs_size),
            (self.rhs_strides, (self.batch, self.k, self.n), self.rhs_size),
            (self.out_strides, (self.batch, self.m, self.n), self.out_size),
        ):
            last = sum(stride * (width - 1) for stride, width in zip(strides, sizes))
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
        if self.batch == 1 or self.rhs_strides[0] != 0:
            return self
        for strides in (self.lhs_strides, self.out_strides):
            if strides[0] != self.m * strides[1]:
                return self
        return replace(self, batch=1, m=self.batch * self.m)


@dataclass(frozen=True)
class Schedule:
    """The plan for one product.

    Attributes:
        lanes: elements of a vector.
        tile_rows, tile_vectors: the tile of the result that is kept in registers.
        block_rows, block_columns, block_depth: what is packed at a time: left operand's
            block_rows × block_depth, right operand's block_depth × block_columns; multiples of the
            tile's sizes.
        pack_lhs, pack_rhs: whether to pack the operand, else it is read in place.
        rhs_elements, lhs_elements: sizes of the packed blocks.
    """

    lanes: int
    tile_rows: int
    tile_vectors: int
    block_rows: int
    block_columns: int
    block_depth: int
    pack_lhs: bool
    pack_rhs: bool
    lhs_elements: int
    rhs_elements: int

    @property
    def tile_columns(self) -> int:
        """The width of a tile in elements."""
        return self.tile_vectors * self.lanes

    @property
    def workspace_size(self) -> int:
        """The number of elements of both packed blocks."""
        return self.lhs_elements + self.rhs_elements


def tile_shape(target: Target, lanes: int) -> tuple[int, int]:
    """Rows and vectors per row of the tile that fills the target's registers.

    Beside the tile, a row of the right operand's vectors and one element of the left stay in
    registers; without fused multiply-add, one product too.
    """
    if lanes == 1:
        return 4, 4
    if target.vector_registers >= 32:
        return (8, 3) if target.vector_bits == 128 else (12, 2)
    return (6, 2) if target.has_fma else (4, 2)


def _even_blocks(total: int, limit: int, step: int) -> int:
    """The size of the blocks, a multiple of `step`, that share `total` evenly within `limit`."""
    limit = max(limit // step * step, step)
    blocks = max(ceil(total / limit), 1)
    return max(ceil(ceil(total / blocks) / step) * step, step)


@cache
def make_schedule(spec: MatmulSpec, target: Target) -> Schedule:
    """The plan by which a target computes a product."""
    spec = spec.flattened()
    size = spec.element_type.bytes
    lanes = target.lanes(spec.element_type.bits)
    rows, vectors = tile_shape(target, lanes)
    columns = vectors * lanes
    # Half of L1 holds a panel of the right operand, half of L2 the left operand's block, and half
    # of the last level (which other cores share) the right operand's block.
    depth = _even_blocks(spec.k, target.l1_bytes // 2 // (columns * size), 4)
    block_rows = _even_blocks(spec.m, target.l2_bytes // 2 // (depth * size), rows)
    last_level = min(target.l3_bytes // 2, 4 << 20)
    block_columns = _even_blocks(spec.n, last_level // (depth * size), columns)
    pack_lhs = _pays_to_pack_lhs(spec, target, columns)
    pack_rhs = _pays_to_pack_rhs(spec, target, rows)
    padded = ceil(spec.n / lanes) * lanes
    # A vector's worth of slack: the last store of a left panel may be wider than the panel.
    lhs_elements = min(block_rows, ceil(spec.m / rows) * rows) * depth + lanes if pack_lhs else 0
    rhs_elements = min(block_columns, padded) * depth if pack_rhs else 0
    rhs_elements = ceil(rhs_elements / 16) * 16
    return Schedule(
        lanes, rows, vectors, block_rows, block_columns, depth,
        pack_lhs, pack_rhs, lhs_elements, rhs_elements,
    )  # fmt: skip


# Packing costs about as much as reading the operand from memory once or twice, and is paid back by
# every tile that the panel is used for. The limits below are where it broke even in measurements.


def _pays_to_pack_lhs(spec: MatmulSpec, target: Target, tile_columns: int) -> bool:
    tiles = spec.n / tile_columns
    size = spec.m * spec.k * spec.element_type.bytes
    _, line, along = spec.lhs_strides
    if along == 1:
        # In place, each row is a stream of its own, which only the caches' associativity limits.
        return tiles >= 16 and size > target.l2_bytes
    return tiles >= (8 if line == 1 else 4) and size > 2 * target.l1_bytes


def _pays_to_pack_rhs(spec: MatmulSpec, target: Target, tile_rows: int) -> bool:
    tiles = spec.m / tile_rows
    size = spec.k * spec.n * spec.element_type.bytes
    if spec.rhs_strides[2] != 1:
        return spec.n > 1  # a tile can only load vectors of neighbours
    return (tiles > 32 and size > target.l1_bytes) or (tiles > 6 and size > target.l2_bytes // 2)
