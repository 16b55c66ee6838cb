"""In which order blocks that stay go through the tiles of a product, and shares of tiles.

whole tiles, one for each block and turn        shares of the others
0 … 131 │ 132 … 263 │ …                         (264, 0) (264, 1) … │ (265, 0) …
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.gpu.assembly import index
from tfc.backends.gpu.clusters import rank_in_cluster
from tfc.backends.gpu.grid import block_number
from tfc.backends.gpu.products.kernels import divided
from tfc.backends.gpu.products.spec import ProductSpec
from tfc.backends.gpu.products.tiles import ROWS, Tiles
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.vectors import add, index_value, minimum, multiply, subtract

_SUPER_ROWS = 8  # of tiles, that blocks with neighbouring numbers go down before they go right


@dataclass(frozen=True)
class Tile:
    """A tile of the results, or a share of it, all of type index.

    batch: of which pair of matrices.
    row, column: where the tile's begin.
    first, turns: the stage at which the share begins, and how many it has.
    place: the number of the share among all shares.
    is_share: whether it is one, where some are and some are not.
    """

    batch: Any
    row: Any
    column: Any
    first: Any
    turns: Any
    place: Any = None
    is_share: Any = None


@dataclass(frozen=True)
class TileOrder:
    """That of the tiles of a product."""

    spec: ProductSpec
    tiles: Tiles

    @property
    def blocks(self) -> int:
        """The blocks of the launch: whole clusters."""
        tiles = self.tiles
        return min(tiles.units, tiles.blocks) // tiles.cluster * tiles.cluster

    def each(
        self, carried: Sequence[Any], body: Callable[[Tile, Sequence[Any]], Sequence[Any]]
    ) -> Sequence[Any]:
        """Emit the loop over the tiles of this block."""
        tiles = self.tiles
        first, cluster = block_number(), tiles.cluster
        if cluster > 1:
            _, first = divided(first, cluster, self.blocks // cluster)
        units, step = (index_value(n // cluster) for n in (tiles.units, self.blocks))
        loop = scf.ForOp(first, units, step, list(carried))
        with ir.InsertionPoint(loop.body):
            tile = self._at(loop.induction_variable)
            scf.yield_(list(body(tile, list(loop.inner_iter_args))))
        return list(loop.results)

    def _at(self, number: Any) -> Tile:
        """What a block does at a number; the blocks of a cluster have the same one."""
        tiles = self.tiles
        rank = index(rank_in_cluster()) if tiles.cluster > 1 else 0
        if tiles.splits == 1:
            return Tile(*self.corner(number, rank), 0, tiles.turns)
        whole = tiles.whole // tiles.cluster
        rest = arith.subi(number, index_value(whole))
        split, shared = divided(rest, tiles.splits, tiles.shared // tiles.cluster)
        first = multiply(split, tiles.share)
        turns = minimum(tiles.share, subtract(tiles.turns, first))
        place = add(multiply(add(multiply(shared, tiles.cluster), rank), tiles.splits), split)
        if whole == 0:
            return Tile(*self.corner(shared, rank), first, turns, place)
        is_share = arith.cmpi(arith.CmpIPredicate.uge, number, index_value(whole))
        tile, first, turns = (
            arith.select(is_share, index_value(a), index_value(b))
            for a, b in ((add(shared, whole), number), (first, 0), (turns, tiles.turns))
        )
        return Tile(*self.corner(tile, rank), first, turns, place, is_share)

    def corner(self, number: Any, rank: Any) -> tuple[Any, Any, Any]:
        """(batch, first row, first column) of a tile, or of that of a cluster's block.

        Blocks that run at the same time share rows and columns: the tiles go down some rows, then
        one to the right, so that the level-2 cache has what several of them need. Those of a
        cluster have one below the other.
        """
        tiles, (down, across) = self.tiles, self.tiles.grid
        down, high = down // tiles.cluster, _SUPER_ROWS // tiles.cluster
        tile, batch = divided(number, down * across, self.spec.batch)
        if down % high == 0 and across > 1:
            inside, outer = divided(tile, high * across, down // high)
            row, column = divided(inside, high, across)
            row = add(multiply(outer, high), row)
        else:
            row, column = divided(tile, down, across)
        row = add(multiply(row, tiles.cluster), rank)
        return batch, multiply(row, ROWS), multiply(column, tiles.columns)
