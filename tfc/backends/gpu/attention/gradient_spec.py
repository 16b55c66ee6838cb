"""How the gradient of an attention is cut into tiles: for rows along keys, for keys along rows.

A block has some *lines*, rows or keys, and goes along the *columns*, which are the other; scores
and weights are computed again, tile by tile.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from tfc.backends.gpu.attention.spec import (
    FLOATS,
    ROWS_OF_WARP,
    Tiling,
    WeightsForm,
    whole_pieces,
)
from tfc.backends.gpu.attention.visible import bounds_in
from tfc.backends.gpu.matrices import PIECE, Kind, TileForm, kind_of
from tfc.backends.gpu.products.schedule import Schedule
from tfc.backends.gpu.shared import BLOCK_BYTES
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import BF16, F16, F32, ElementType
from tfc.passes.attention.forward import Factor, Indices
from tfc.passes.attention.scores import Mixing, Scores, Scoring, Statistic, scores_in, scores_of

_MOST_SUMS = 256  # numbers in a line of all results: they stay in registers
_COLUMNS = (32, 16)  # of a tile
_STARTS = {"maximum": -float("inf"), "add": 0.0}


def takes_scores(scores: Scores) -> bool:
    """Whether there is a kernel for what is computed of scores, of the rows' products or the keys'.

    Without products it is statistics of rows.
    """
    widths = [(m.lines, m.width) for m in scores.mixings]
    factors = [f for s in scores.scorings for f in s.factors.values()]
    factors += [f for m in scores.mixings for f in (m.weights, m.values)]
    dots = [*(s.dot for s in scores.scorings), *scores.products]
    return (
        all(scores.sizes.values())
        and all(0 < n <= _MOST_SUMS for n in (*(w for _, w in widths), *_depths(scores)))
        and all(sum(w for n, w in widths if n == name) <= _MOST_SUMS for name in "rj")
        and len(scores.scorings) <= 2
        and all(f.value.array_shape.element_type in FLOATS for f in factors)
        and all(x.array_shape.element_type == F32 for x in dots)
        and all(_is_sum_or_maximum(s) for s in scores.statistics)
        and all(_fitting(scores, name) for name in {m.lines for m in scores.mixings} or "r")
    )


def _depths(scores: Scores) -> list[int]:
    return [s.depth for s in scores.scorings]


def _is_sum_or_maximum(statistic: Statistic) -> bool:
    reduce, opcode = statistic.reduce, statistic.combined_by
    start = reduce.operands[1]
    return (
        reduce.array_shape.element_type == F32
        and start.opcode == "constant"
        and opcode in _STARTS
        and float(start["literal"].array) == _STARTS[opcode]
    )


def gradient_in(computation: Computation) -> "GradientSpec | None":
    """The spec of a kernel that computes a part of a gradient; None for all others."""
    opcodes = [x.opcode for x in computation.instructions]
    # Products around scores, or the statistics of some.
    if opcodes.count("dot") < 2 and not ("dot" in opcodes and opcodes.count("reduce") > 1):
        return None
    scores = scores_in(computation)
    if scores is None or not takes_scores(scores):
        return None
    # Rows in the order of which masks say the most: of several heads in one matrix, a query's
    # beside each other.
    orders = [scores, *(scores_of(computation, s.dot) for s in scores.scorings)]
    scores = max((s for s in orders if s is not None), key=lambda s: len(bounds_in(s)))
    lines = {x.lines for x in (*scores.mixings, *scores.statistics)}
    return _fitting(scores, *lines) if len(lines) == 1 else None


def _fitting(scores: Scores, lines: str) -> "GradientSpec | None":
    """The spec of the largest blocks that the memory they share is enough for."""
    size = scores.sizes[lines]
    for warps in (4, 2, 1):
        for columns in _COLUMNS:
            spec = GradientSpec(scores, lines, warps, columns)
            wanted = warps == 1 or (spec.rows < 2 * size and (warps == 2 or spec.by_matrices))
            if wanted and spec.shared_bytes <= BLOCK_BYTES:
                return spec
    return None


@dataclass(frozen=True)
class Loaded:
    """A tile of lines or columns: of which matrix, and of what type its elements are there.

    width: elements of a line. pieces: of a line in shared memory.
    """

    factor: Factor
    element_type: ElementType
    width: int
    pieces: int


@dataclass(frozen=True)
class GradientSpec:
    """What a block multiplies, and where it lies in shared memory.

    lines: what a block has some of, "r" or "j".
    own_warps, own_columns: warps of a block, and columns of a tile.
    """

    scores: Scores
    lines: str
    own_warps: int
    own_columns: int

    @property
    def columns(self) -> str:
        """What it goes along."""
        return "j" if self.lines == "r" else "r"

    def size(self, name: str) -> int:
        """The number of values of an index variable."""
        return self.scores.sizes[name]

    # --- What multiplies --------------------------------------------------------------------------

    @cached_property
    def by_matrices(self) -> bool:
        """Whether all products are of f16 or of bf16; else they are made number by number.

        Weights that the program does not narrow are multiplied in two parts of the values' type.
        """
        for scoring in self.scores.scorings:
            types = [f.value.array_shape.element_type for f in scoring.factors.values()]
            if types not in ([F16, F16], [BF16, BF16]):
                return False
        pairs = [(m.weights.value.array_shape.element_type, m.values.value.array_shape.element_type)
                 for m in self.scores.mixings]  # fmt: skip
        return all(v in (F16, BF16) and w in (F32, v) for w, v in pairs)

    def in_parts(self, mixing: Mixing) -> bool:
        """Whether weights are multiplied in two parts."""
        return self.by_matrices and mixing.weights.value.array_shape.element_type == F32

    def _type(self, factor: Factor) -> ElementType:
        return factor.value.array_shape.element_type if self.by_matrices else F32

    def _kind(self, factor: Factor) -> Kind | None:
        element_type = self._type(factor)
        return kind_of(element_type, element_type) if self.by_matrices else None

    # --- Sizes ------------------------------------------------------------------------------------

    @property
    def warps(self) -> int:
        """Warps of a block."""
        return self.own_warps

    @property
    def rows(self) -> int:
        """Lines of a block."""
        return self.warps * ROWS_OF_WARP

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.warps * 32

    @property
    def keys(self) -> int:
        """Columns of a tile."""
        return self.own_columns

    @property
    def tiles(self) -> int:
        """Tiles of columns."""
        return -(-self.size(self.columns) // self.keys)

    @property
    def line_tiles(self) -> int:
        """Tiles of lines."""
        return -(-self.size(self.lines) // self.rows)

    def depth_pieces(self, scoring: Scoring) -> int:
        """Pieces of a line along the sums of a score."""
        return -(-scoring.depth // 16) * 2 if self.by_matrices else -(-scoring.depth * 4 // PIECE)

    def width(self, mixing: Mixing) -> int:
        """Columns of a block's results, those beyond the width included."""
        step = 16 if self.by_matrices else 32
        return -(-mixing.width // step) * step

    # --- Tiles ------------------------------------------------------------------------------------

    @cached_property
    def line_factors(self) -> list[Loaded]:
        """What stays in shared memory, each matrix once."""
        return self._loaded(
            (s.factors[self.lines], s.depth, max(self.depth_pieces(s), 2))
            for s in self.scores.scorings
        )

    @cached_property
    def column_factors(self) -> list[Loaded]:
        """What passes by, each matrix once, whether it makes scores or is mixed."""
        least = max(self.threads // self.keys, 1)  # each thread brings a piece
        scored = [(s.factors[self.columns], s.depth, max(self.depth_pieces(s), least))
                  for s in self.scores.scorings]  # fmt: skip
        mixed = [(m.values, m.width,
                  max(self.width(m) * self._type(m.values).bits // 8 // PIECE, least))
                 for m in self.scores.mixings]  # fmt: skip
        return self._loaded((*scored, *mixed))

    def _loaded(self, wanted: Iterable[tuple[Factor, int, int]]) -> list[Loaded]:
        pieces: dict[tuple[Instruction, Indices, int], int] = {}
        factors: dict[tuple[Instruction, Indices, int], Factor] = {}
        for factor, width, count in wanted:
            key = (factor.value, factor.index, width)
            factors[key] = factor
            pieces[key] = max(pieces.get(key, 0), whole_pieces(count))
        return [Loaded(f, self._type(f), key[2], pieces[key]) for key, f in factors.items()]

    def number_of(self, factor: Factor, among: Sequence[Loaded]) -> int:
        """Which of the tiles has a matrix."""
        wanted = factor.value, factor.index
        return [(x.factor.value, x.factor.index) for x in among].index(wanted)

    def form(self, loaded: Loaded, lines: int, along: bool) -> TileForm:
        """How a tile lies."""
        return TileForm(lines, loaded.pieces, along, self._kind(loaded.factor))

    def line_place(self, number: int) -> int:
        """Where a tile of lines begins in shared memory."""
        return sum(x.pieces * PIECE * self.rows for x in self.line_factors[:number])

    def column_place(self, number: int) -> int:
        """Where a tile of columns begins in its stage."""
        return sum(x.pieces * PIECE * self.keys for x in self.column_factors[:number])

    @property
    def stages_at(self) -> int:
        """Where the two stages begin."""
        return self.line_place(len(self.line_factors))

    @property
    def stage_bytes(self) -> int:
        """All tiles of columns."""
        return self.column_place(len(self.column_factors))

    @property
    def weights_at(self) -> int:
        """Where weights are: behind the stages."""
        return self.stages_at + 2 * self.stage_bytes

    def line_of(self, mixing: Mixing) -> int:
        """Numbers from one row of results to the next, where these are put in order."""
        width = self.width(mixing)
        return width + (8 - width) % 32

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block."""
        weights = 0 if self.by_matrices else self.weights_form.bytes
        results = [self.rows * self.line_of(m) * 4 for m in self.scores.mixings]
        return max([self.weights_at + weights, *results])

    @property
    def weights_form(self) -> TileForm:
        """Weights on the way from those who made them to those who multiply them."""
        return WeightsForm(self.rows, self.keys * 4 // PIECE, True, None)

    # --- Products ---------------------------------------------------------------------------------

    def scoring_tiling(self, scoring: Scoring) -> Tiling:
        """Lines by columns."""
        row, key = scoring.factors[self.lines], scoring.factors[self.columns]
        rows = self.line_factors[self.number_of(row, self.line_factors)]
        keys = self.column_factors[self.number_of(key, self.column_factors)]
        made = Schedule(self.rows, self.keys, ROWS_OF_WARP, self.keys, self.depth_pieces(scoring))
        values = self.form(keys, self.keys, False)
        forms = {"r": self.form(rows, self.rows, True), "j": self.form(keys, self.keys, True),
                 "d": values, "w": self.weights_form}  # fmt: skip
        return Tiling(self._kinds(row), forms, made, made, self.keys, self.keys)

    def mixing_tiling(self, mixing: Mixing) -> Tiling:
        """Weights by values."""
        values = self.column_factors[self.number_of(mixing.values, self.column_factors)]
        width = self.width(mixing)
        pieces = self.keys * values.element_type.bits // 8 // PIECE
        made = Schedule(self.rows, width, ROWS_OF_WARP, width, pieces)
        form = self.form(values, self.keys, False)
        # What scores are made of is not asked for.
        forms = {"r": form, "j": form, "d": form, "w": self.weights_form}
        return Tiling(self._kinds(mixing.values), forms, made, made, self.keys, width)

    def _kinds(self, factor: Factor) -> tuple[Kind, Kind] | None:
        kind = self._kind(factor)
        return None if kind is None else (kind, kind)
