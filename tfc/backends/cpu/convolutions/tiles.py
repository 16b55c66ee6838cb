"""Tiles of a convolution: results whose sums are made in registers, at all places of a window.

for each place of the window:
    for each input feature:
        tile += column of the array's elements × row of the packed kernel
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.cpu.products.functions import call_part
from tfc.backends.mlir.vectors import (
    Position,
    Vectors,
    add,
    for_range,
    index_value,
    load,
    multiply,
    round_down,
)

_UNROLL = 2  # features in one turn of a loop: enough to hide its overhead


@dataclass(frozen=True)
class Walk:
    """The places of the window along a dimension: how many, and how far apart in both operands."""

    count: Position
    lhs_step: Position
    rhs_step: Position


@dataclass(frozen=True)
class Tiles:
    """Tiles of `count` members, `height` in each, and of `columns` features, `width` in each.

    panel_step: from a column to the next in the packed kernel.
    features: how many of the array's make one of the result, `feature_step` apart.
    lhs_step, out_step: from a member to the next, in the array and in the result.
    """

    vectors: Vectors
    height: int
    width: int
    columns: Position
    panel_step: Position
    count: Position
    features: Position
    feature_step: Position
    lhs_step: Position
    out_step: Position
    walks: Sequence[Walk]

    def call(self, memories: Sequence[Any], starts: Sequence[Position], *, special: bool) -> None:
        """Emit a call of a function that makes them, which convolutions of all sizes share.

        Args:
            memories: those of the array, the packed kernel and the result.
            starts: where in them to begin.
            special: known sizes become part of the code.
        """
        features, feature_step = self.features, self.feature_step
        assert isinstance(features, int)
        values = [*starts, self.columns, self.panel_step, self.count, self.lhs_step, self.out_step]
        values += [v for w in self.walks for v in (w.count, w.lhs_step, w.rhs_step)]
        unroll = min(_UNROLL, features)
        if not special:
            values = list(map(index_value, values))
            features = features if features <= _UNROLL else index_value(features)
            feature_step = feature_step if feature_step == 1 else index_value(feature_step)
        even = self.features % unroll == 0

        def body(memories: list[Any], values: list[Position]) -> None:
            features, feature_step, *starts = values[:5]
            columns, panel_step, count, lhs_step, out_step, *rest = values[5:]
            walks = [Walk(*rest[n : n + 3]) for n in range(0, len(rest), 3)]
            Tiles(
                self.vectors, self.height, self.width, columns, panel_step, count,
                features, feature_step, lhs_step, out_step, walks,
            ).emit(memories, starts, unroll, even)  # fmt: skip

        key = self.vectors, self.height, self.width, unroll, even
        values = [features, feature_step, *values]
        call_part("convolution", key, memories, values, body, any_size=True)

    def emit(
        self, memories: Sequence[Any], starts: Sequence[Position], unroll: int, even: bool
    ) -> None:
        """Emit the tiles.

        Args:
            unroll: how many features one turn of the innermost loop has.
            even: the number of features is a multiple of that.
        """
        lhs, rhs, out = starts
        whole = self.features if even else round_down(self.features, unroll)

        def panel(j: Position, _: Any) -> None:
            right = add(rhs, multiply(j, self.panel_step))

            def tile(member: Position, _: Any) -> None:
                sums = [self.vectors.zero()] * (self.height * self._count)
                start = add(lhs, multiply(member, self.lhs_step))
                sums = self._sum(memories, start, right, sums, self.walks, unroll, whole)
                self._store(sums, memories[2], add(out, j, multiply(member, self.out_step)))

            for_range(0, self.count, self.height, tile)

        for_range(0, self.columns, self.width, panel)

    @property
    def _count(self) -> int:
        """The number of vectors in a row."""
        return -(-self.width // self.vectors.lanes)

    def _sum(
        self, memories: Sequence[Any], lhs: Position, rhs: Position, sums: Sequence[Any],
        walks: Sequence[Walk], unroll: int, whole: Position,
    ) -> Sequence[Any]:  # fmt: skip
        """The sums with what the places of the window that are left to walk add to them."""
        if walks:
            (walk, *inner) = walks

            def place(t: Position, sums: Sequence[Any]) -> Sequence[Any]:
                from_lhs = add(lhs, multiply(t, walk.lhs_step))
                from_rhs = add(rhs, multiply(t, walk.rhs_step))
                return self._sum(memories, from_lhs, from_rhs, sums, inner, unroll, whole)

            return for_range(0, walk.count, 1, place, sums)

        def features(c: Position, sums: Sequence[Any], count: int) -> Sequence[Any]:
            for n in range(count):
                sums = self._add_feature(memories, lhs, rhs, add(c, n), sums)
            return sums

        sums = for_range(0, whole, unroll, lambda c, s: features(c, s, unroll), sums)
        if whole is self.features:
            return sums
        return for_range(whole, self.features, 1, lambda c, s: features(c, s, 1), sums)

    def _add_feature(
        self, memories: Sequence[Any], lhs: Position, rhs: Position, feature: Position,
        sums: Sequence[Any],
    ) -> list[Any]:  # fmt: skip
        vectors, count, sums = self.vectors, self._count, list(sums)
        at = add(rhs, multiply(feature, count * vectors.lanes))
        row = [vectors.load(memories[1], add(at, j * vectors.lanes)) for j in range(count)]
        start = add(lhs, multiply(feature, self.feature_step))
        for i in range(self.height):
            factor = load(memories[0], add(start, multiply(i, self.lhs_step)))
            factor = vectors.broadcast(factor)
            for j in range(count):
                place = i * count + j
                sums[place] = vectors.multiply_add(factor, row[j], sums[place])
        return sums

    def _store(self, sums: Sequence[Any], memory: Any, out: Position) -> None:
        vectors = self.vectors
        for i in range(self.height):
            for j in range(self._count):
                inside = self.width - j * vectors.lanes
                position = add(out, multiply(i, self.out_step), j * vectors.lanes)
                vectors.store(sums[i * self._count + j], memory, position, inside)
