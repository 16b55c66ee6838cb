"""How an attention is multiplied, and how it is cut into tiles.

f16 and bf16 are multiplied as they are, by `mma.sync`, if the program narrows the weights to the
type of the values; all else as f32, number by number.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tfc.backends.gpu.matrices import PIECE, Kind, TileForm, kind_of
from tfc.backends.gpu.products.schedule import Schedule
from tfc.backends.mlir.arithmetic.value import Scalar
from tfc.hlo.ir import Computation
from tfc.hlo.shape import BF16, F16, F32, ElementType, Shape
from tfc.passes.attention.forward import Attention, attention_in

_LONGEST = 256  # of the vectors that are multiplied
FLOATS = (F16, BF16, F32)
ROWS_OF_WARP = 16  # of a warp
_BLOCKS = 108  # that a GPU runs at the same time, about
_LEAST = 4  # tiles of keys for which it is worth to share them


def takes_attention(attention: Attention) -> bool:
    """Whether there is a kernel for an attention."""
    sizes, a = attention.sizes, attention
    arrays = (a.query.value, a.key.value, a.value.value, a.weights, a.logits)
    return (
        all(sizes.values())
        and max(sizes["p"], sizes["d"]) <= _LONGEST
        and all(x.array_shape.element_type in FLOATS for x in arrays)
        and a.scores.array_shape.element_type == a.mixed.array_shape.element_type == F32
    )


def spec_in(computation: Computation) -> "Spec | None":
    """The spec of a kernel that is an attention with code here; None for all others."""
    attention = attention_in(computation)
    return Spec(attention) if attention is not None and takes_attention(attention) else None


class WeightsForm(TileForm):
    """Weights in shared memory: a warp stores two pieces of each of four rows at once."""

    def place(self, line: Scalar, piece: Scalar) -> Scalar:
        """Where a piece begins: pieces are exchanged in pairs."""
        span = min(self.pieces, 8)
        exchanged = line / (8 // span) % (span // 2) * 2
        return line * self.line_bytes + (piece ^ exchanged) * PIECE


@dataclass(frozen=True)
class Tiling:
    """How tiles lie and are multiplied.

    kinds: what multiplies for scores, and weights by values; None: number by number.
    forms: of queries "r", keys "j", values "d", and, number by number, of weights "w".
    scoring, mixing: the products. keys: columns of scores; columns: of results.
    """

    kinds: tuple[Kind, Kind] | None
    forms: dict[str, TileForm]
    scoring: Schedule
    mixing: Schedule
    keys: int
    columns: int


@dataclass(frozen=True)
class Spec:
    """An attention as tiles: a block has some rows of one pair of matrices, and goes along keys."""

    attention: Attention

    def size(self, name: str) -> int:
        """The number of values of an index variable."""
        return self.attention.sizes[name]

    @cached_property
    def kinds(self) -> tuple[Kind, Kind] | None:
        """What multiplies queries and keys, weights and values; None: number by number."""
        a = self.attention
        types = [x.array_shape.element_type for x in
                 (a.query.value, a.key.value, a.weights, a.value.value)]  # fmt: skip
        if not all(t in (F16, BF16) for t in types):
            return None
        first, second = kind_of(*types[:2]), kind_of(*types[2:])
        return None if first is None or second is None else (first, second)

    @property
    def element_types(self) -> tuple[ElementType, ElementType]:
        """In shared memory: of queries and keys, of weights and values."""
        if self.kinds is None:
            return F32, F32
        a = self.attention
        return a.query.value.array_shape.element_type, a.value.value.array_shape.element_type

    # --- Sizes ------------------------------------------------------------------------------------

    @property
    def warps(self) -> int:
        """Warps of a block."""
        most = 2 if self.kinds is None else 4
        return next(
            (w for w in (1, 2, 4) if w * ROWS_OF_WARP >= self.size("r") and w <= most), most
        )

    @property
    def rows(self) -> int:
        """Rows of a block."""
        return self.warps * ROWS_OF_WARP

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.warps * 32

    @property
    def keys(self) -> int:
        """Keys of a tile: as many as leave registers for the sums of the results."""
        longest = max(self.size("p"), self.size("d"))
        few = 32 if longest <= 128 else 16
        return 64 if self.kinds is not None and longest <= 32 else few

    @property
    def tiles(self) -> int:
        """Tiles of keys."""
        return -(-self.size("j") // self.keys)

    @property
    def row_tiles(self) -> int:
        """Tiles of rows."""
        return -(-self.size("r") // self.rows)

    @cached_property
    def splits(self) -> int:
        """Blocks that share the keys of the same rows: as many as keep a GPU busy."""
        blocks = self.size("b") * self.row_tiles
        wanted = min(_BLOCKS // blocks, self.tiles // _LEAST)
        if wanted <= 1:
            return 1
        return -(-self.tiles // -(-self.tiles // wanted))

    @property
    def share(self) -> int:
        """Tiles of keys of a block."""
        return -(-self.tiles // self.splits)

    @property
    def depth_pieces(self) -> int:
        """Pieces of a query or a key."""
        if self.kinds is None:
            return -(-self.size("p") * 4 // PIECE)
        return -(-self.size("p") // 16) * 2

    @property
    def columns(self) -> int:
        """Columns of a block's results, those beyond the width included."""
        step = 32 if self.kinds is None else 16
        return -(-self.size("d") // step) * step

    # --- Shared memory ----------------------------------------------------------------------------

    def _forms_of_keys(self) -> tuple[TileForm, TileForm]:
        first, second = self.kinds or (None, None)
        least = self.threads // self.keys  # each thread brings a piece
        pieces = self.columns * self.element_types[1].bits // 8 // PIECE
        return (
            TileForm(self.keys, whole_pieces(max(self.depth_pieces, least)), True, first),
            TileForm(self.keys, whole_pieces(max(pieces, least)), False, second),
        )

    @cached_property
    def forms(self) -> dict[str, TileForm]:
        """The tiles of queries, keys and values, and of weights where they go through memory."""
        first, _ = self.kinds or (None, None)
        keys, values = self._forms_of_keys()
        found = {"r": TileForm(self.rows, whole_pieces(self.depth_pieces), True, first),
                 "j": keys, "d": values}  # fmt: skip
        if self.kinds is None:
            found["w"] = WeightsForm(self.rows, self.keys * 4 // PIECE, True, None)
        return found

    @property
    def stage_bytes(self) -> int:
        """A tile of keys and one of values."""
        return self.forms["j"].bytes + self.forms["d"].bytes

    @property
    def weights_at(self) -> int:
        """Where weights are: behind the queries and two stages of keys and values."""
        return self.forms["r"].bytes + 2 * self.stage_bytes

    @property
    def line(self) -> int:
        """Numbers from one row of results to the next, where these are put in order."""
        return self.columns + (8 - self.columns) % 32

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block."""
        weights = self.forms["w"].bytes if "w" in self.forms else 0
        return max(self.weights_at + weights, self.rows * self.line * 4)

    # --- How warps multiply -----------------------------------------------------------------------

    @property
    def scoring(self) -> Schedule:
        """Queries by keys."""
        return Schedule(self.rows, self.keys, ROWS_OF_WARP, self.keys, self.depth_pieces)

    @property
    def mixing(self) -> Schedule:
        """Weights by values."""
        pieces = self.keys * self.element_types[1].bits // 8 // PIECE
        return Schedule(self.rows, self.columns, ROWS_OF_WARP, self.columns, pieces)

    @property
    def tiling(self) -> Tiling:
        """All of that."""
        return Tiling(self.kinds, self.forms, self.scoring, self.mixing, self.keys, self.columns)

    # --- Shares of keys ---------------------------------------------------------------------------

    @property
    def partial(self) -> tuple[Shape, Shape]:
        """What blocks leave that share keys: sums, and of each row the maximum and the total."""
        dims: Any = (self.splits, self.size("b"), self.size("r"))
        return Shape(F32, (*dims, self.size("d"))), Shape(F32, (*dims, 2))


def whole_pieces(pieces: int) -> int:
    """As many pieces as a line can have: a power of two, or a multiple of eight."""
    return next((n for n in (1, 2, 4) if n >= pieces), -(-pieces // 8) * 8)
