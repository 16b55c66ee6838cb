"""What a warp does with its 16 rows: scores of a tile of keys, and weights times values.

A lane has some sums of each row that it has a part in. Rows have *slots*: a sum of slot s belongs
to the lane's row number s. The lanes that share a row differ in the bits of `across`.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from tfc.backends.gpu.assembly import assembly
from tfc.backends.gpu.attention.spec import Tiling
from tfc.backends.gpu.matrices import Kind, Tile, multiply, rounded_pairs, store_shared
from tfc.backends.gpu.products.mma_tiles import MmaTiles
from tfc.backends.gpu.products.register_tiles import RegisterTiles
from tfc.backends.gpu.warps import WARP
from tfc.backends.mlir.arithmetic.value import Scalar, constant
from tfc.hlo.shape import F32


class Lanes(Protocol):
    """Which scores and sums a lane has."""

    @property
    def across(self) -> tuple[int, ...]:
        """The bits in which lanes differ that share a row."""
        ...

    @property
    def slots(self) -> int:
        """How many rows a lane has a part in."""
        ...

    def row(self, slot: int) -> Scalar:
        """The row of the block's tile."""
        ...

    @property
    def column(self) -> Scalar:
        """The lane's first column of scores."""
        ...

    def place(self, number: int) -> tuple[int, int]:
        """(slot, columns behind the lane's first) of a score of the lane's."""
        ...

    def start(self) -> list[Any]:
        """Sums that are zero."""
        ...

    def slot(self, number: int) -> int:
        """The slot of a sum of weights and values."""
        ...


class WarpTiles(Lanes, Protocol):
    """A lane's part of the tiles of its warp."""

    def scores(self, queries: Scalar, keys: Scalar) -> list[Any]:
        """The sums of queries and keys at two addresses."""
        ...

    def mix(self, weights: Sequence[Scalar], at: Scalar, values: Scalar, sums: list[Any]) -> list:
        """Add weights times the values at an address.

        Args:
            at: where weights may be put.
        """
        ...

    def results(self, sums: Sequence[Any]) -> list[tuple[Scalar, Scalar, list[Any]]]:
        """(row, column, neighbours in the row) of the sums."""
        ...


def warp_tiles(spec: Tiling, thread: Scalar) -> WarpTiles:
    """The part of a thread's warp."""
    return ByNumbers(spec, thread) if spec.kinds is None else ByMatrices(spec, thread, spec.kinds)


class ByMatrices:
    """Fragments of `mma.sync`: a lane has two rows, and the weights of both stay in registers."""

    across = (1, 2)
    slots = 2

    def __init__(self, spec: Tiling, thread: Scalar, kinds: tuple[Kind, Kind]):
        self._spec, self._kind, self._lane = spec, kinds[1], thread % WARP
        row, forms = thread / WARP * 16, spec.forms
        zero = constant(row.element_type, 0)
        self._row = row
        self._scores = MmaTiles(
            spec.scoring, kinds[0], (forms["r"], forms["j"]), self._lane, row, zero
        )
        self._mixed = MmaTiles(
            spec.mixing, kinds[1], (forms["r"], forms["d"]), self._lane, row, zero
        )

    def row(self, slot: int) -> Scalar:
        """Rows l/4 and l/4 + 8."""
        return self._row + self._lane / 4 + 8 * slot

    def scores(self, queries: Scalar, keys: Scalar) -> list[Any]:
        """A fragment after the other."""
        return self._scores.step(queries, keys, self._scores.start())

    @property
    def column(self) -> Scalar:
        """Four lanes have pairs of eight columns."""
        return self._lane % 4 * 2

    def place(self, number: int) -> tuple[int, int]:
        """Of four in a fragment, two are in each row."""
        return number % 4 // 2, number // 4 * 8 + number % 2

    def start(self) -> list[Any]:
        """Fragments."""
        return self._mixed.start()

    def slot(self, number: int) -> int:
        """As with scores."""
        return number % 4 // 2

    def mix(self, weights: Sequence[Scalar], at: Scalar, values: Scalar, sums: list[Any]) -> list:
        """Two fragments of scores beside each other are one of weights."""
        return self.mix_words(rounded_pairs(self._kind.lhs, weights), values, sums)

    def mix_words(self, words: Sequence[Any], values: Scalar, sums: Sequence[Any]) -> list[Any]:
        """Add weights, two in a word, times the values at an address."""
        kind, tile = self._kind, Tile(self._spec.forms["d"], values, self._lane)
        found = list(sums)
        for step in range(self._spec.keys // kind.depth):
            a = words[4 * step : 4 * step + 4]
            for column in range(0, self._spec.columns, 16):
                both = tile.columns(constant(values.element_type, 0), column, step)
                for n, b in enumerate(both):
                    first = (column // 8 + n) * 4
                    found[first : first + 4] = multiply(kind, a, b, found[first : first + 4])
        return found

    def results(self, sums: Sequence[Any]) -> list[tuple[Scalar, Scalar, list[Any]]]:
        """Pairs."""
        return list(self._mixed.places(sums))


class ByNumbers:
    """Tiles of registers: a lane has four rows, and weights go through shared memory."""

    across = (1, 2, 4)
    slots = 4

    def __init__(self, spec: Tiling, thread: Scalar):
        self._spec = spec
        row, lane, forms = thread / WARP * 16, thread % WARP, spec.forms
        zero = constant(row.element_type, 0)
        self._scores = RegisterTiles(spec.scoring, F32, (forms["r"], forms["j"]), lane, row, zero)
        self._mixed = RegisterTiles(spec.mixing, F32, (forms["w"], forms["d"]), lane, row, zero)
        self._first, self._lane = row, lane

    def row(self, slot: int) -> Scalar:
        """Every fourth row."""
        return self._first + self._lane / 8 + 4 * slot

    def scores(self, queries: Scalar, keys: Scalar) -> list[Any]:
        """Row after row."""
        return self._scores.step(queries, keys, self._scores.start())

    @property
    def column(self) -> Scalar:
        """One of eight."""
        return self._lane % 8

    def place(self, number: int) -> tuple[int, int]:
        """Row after row, every eighth column."""
        each = self._spec.keys // 8
        return number // each, number % each * 8

    def start(self) -> list[Any]:
        """Zeros."""
        return self._mixed.start()

    def slot(self, number: int) -> int:
        """Row after row."""
        return number // (self._spec.columns // 8)

    def mix(self, weights: Sequence[Scalar], at: Scalar, values: Scalar, sums: list[Any]) -> list:
        """The warp puts its rows of weights into shared memory, and reads them as all else."""
        form = self._spec.forms["w"]
        together = "bar.warp.sync 0xffffffff;"
        assembly(together, [], [], memory=True)
        for number, weight in enumerate(weights):
            slot, offset = self.place(number)
            column = self.column + offset
            place = form.place(self.row(slot), column / 4) + column % 4 * 4
            store_shared(at + place, [weight.value])
        assembly(together, [], [], memory=True)
        return self._mixed.step(at, values, sums)

    def results(self, sums: Sequence[Any]) -> list[tuple[Scalar, Scalar, list[Any]]]:
        """Neighbours of a piece."""
        return list(self._mixed.places(sums))
