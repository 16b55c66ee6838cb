"""The statistics of a block's rows: one pass along the columns for all that can share it."""

from collections.abc import Callable, Sequence
from typing import Any

from tfc.backends.gpu.attention.columns import ColumnsBlock
from tfc.backends.gpu.attention.growing import Growing, growing_in
from tfc.backends.gpu.attention.online import across, base_of, precise, quick
from tfc.backends.gpu.attention.ranges import Cuts, Range
from tfc.backends.mlir.arithmetic.value import Scalar, constant, maximum, select
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import F32, U32
from tfc.passes.attention.scores import Statistic

_LOWEST = -float("inf")


def gather(block: ColumnsBlock) -> None:
    """Go along the columns for all statistics, which the block then knows."""
    growing = growing_in(block.scores)
    if growing is not None:
        _Growth(block, growing).gather()
    for statistics in _passes(block):
        _gather(block, statistics)


def _passes(block: ColumnsBlock) -> list[list[Statistic]]:
    """What is not known in the order in which it needs each other; together what does not."""
    found: list[list[Statistic]] = []
    known = list(block.known)
    left = [s for s in block.scores.statistics if s.reduce not in block.known]
    while left:
        waiting = {s.reduce for s in left}
        ready = [
            s for s in left
            if waiting.isdisjoint(block.scores.needed([s.reduce.operands[0]], known))
        ]  # fmt: skip
        found.append(ready)
        known += [s.reduce for s in ready]
        left = [s for s in left if s not in ready]
    return found


def _gather(block: ColumnsBlock, statistics: Sequence[Statistic]) -> None:
    """Go along the columns for statistics that need nothing unknown."""
    slots = block.places.slots
    combine = [_combiner(s) for s in statistics]
    starts = [float(s.reduce.operands[1]["literal"].array) for s in statistics]
    begin = [constant(F32, x).value for x in starts for _ in range(slots)]
    arrays = [s.reduce.operands[0] for s in statistics]
    maxima = [s.combined_by == "maximum" for s in statistics]
    cuts = block.visible.cuts(arrays, maxima, list(block.known))
    tiles = block.tiles_left(cuts)

    def turn(tile: Any, stage: Scalar, values: list[Any]) -> list[Any]:
        made = block.made_scores(stage, arrays)
        return _combined(block, block.elements(tile, arrays, starts, made), values, combine)

    result = block.along(tiles, block.used_by(arrays), begin, turn)
    for n, statistic in enumerate(statistics):
        own = [Scalar(v, F32) for v in result[n * slots : (n + 1) * slots]]
        own = [across(block.places, x, combine[n]) for x in own]
        if maxima[n]:
            own = [_with_hidden(block, x, cuts, tiles, n) for x in own]
        block.known[statistic.reduce] = own


def _combined(
    block: ColumnsBlock,
    elements: Sequence[Sequence[Scalar]],
    values: Sequence[Any],
    combine: Sequence[Callable[[Scalar, Scalar], Scalar]],
) -> list[Any]:
    """What is carried of each slot, array after array, with the elements of a tile."""
    totals, slots = [Scalar(v, F32) for v in values], block.places.slots
    for number, own in enumerate(elements):
        slot = block.places.place(number)[0]
        for n, element in enumerate(own):
            at = n * slots + slot
            totals[at] = combine[n](totals[at], element)
    return [t.value for t in totals]


def _with_hidden(
    block: ColumnsBlock, largest: Scalar, cuts: Cuts, tiles: Range, number: int
) -> Scalar:
    """A maximum with the elements of what was left out."""
    whole = block.ranges.all()
    missing = (tiles.begin.ne(whole.begin), tiles.end.ne(whole.end))
    for cut, is_missing in zip(cuts, missing):
        if cut is not None:
            element = constant(F32, cut.elements[number])
            largest = select(is_missing, maximum(largest, element), largest)
    return largest


def _combiner(statistic: Statistic) -> Callable[[Scalar, Scalar], Scalar]:
    return maximum if statistic.combined_by == "maximum" else _add


def _add(x: Scalar, y: Scalar) -> Scalar:
    return x + y


class _Growth:
    """A maximum and its sums in one pass; in a second one if what a mask hides has a weight."""

    def __init__(self, block: ColumnsBlock, growing: Growing):
        self.block, self.growing = block, growing
        self.largest = growing.largest.reduce
        self.logits: Instruction = self.largest.operands[0]
        self.reduces = [s.statistic.reduce for s in growing.sums]
        self.arrays = [reduce.operands[0] for reduce in self.reduces]
        self.combine = [_add] * len(self.arrays)
        self.zeros = [0.0] * len(self.arrays)
        self.ones = {reduce: [constant(F32, 1)] * block.places.slots for reduce in self.reduces}

    def gather(self) -> None:
        """Go along the columns, and make the statistics known."""
        block, slots = self.block, self.block.places.slots
        cuts, of_sums = self._cuts()
        tiles = block.tiles_left(cuts)
        used = block.used_by([self.logits, *self.arrays])
        begin = [constant(F32, _LOWEST).value] * slots
        begin += [constant(F32, 0).value] * (slots * len(self.arrays))
        result = block.along(tiles, used, begin, self._turn)
        largest = [Scalar(v, F32) for v in result[:slots]]
        # Of a row of nothing but -inf the program makes NaN.
        sums = [select(largest[n % slots].eq(_LOWEST), float("nan"), Scalar(v, F32)).value
                for n, v in enumerate(result[slots:])]  # fmt: skip
        block.known[self.largest] = [_with_hidden(block, x, cuts, tiles, 0) for x in largest]
        if cuts != (None, None):
            sums = self._again(tiles, block.tiles_left(of_sums), sums)
        for n, reduce in enumerate(self.reduces):
            own = [Scalar(v, F32) for v in sums[n * slots : (n + 1) * slots]]
            block.known[reduce] = [
                self._with_powers(n, slot, across(block.places, x, _add))
                for slot, x in enumerate(own)
            ]

    def _cuts(self) -> tuple[Cuts, Cuts]:
        """What can be left out for the maximum, and for the sums if the rows are far above that;
        nothing if it is not the same."""
        visible = self.block.visible
        of_largest = visible.cuts([self.logits], [True], [])
        of_sums = visible.cuts(self.arrays, [False] * len(self.arrays), [self.largest])
        columns = [
            [None if c is None else c.column for c in cuts] for cuts in (of_largest, of_sums)
        ]
        none: Cuts = (None, None)
        return (of_largest, of_sums) if columns[0] == columns[1] else (none, none)

    def _turn(self, tile: Any, stage: Scalar, values: list[Any]) -> list[Any]:
        """The maximum and the sums with a tile's."""
        block, places = self.block, self.block.places
        made = block.made_scores(stage, [self.logits, *self.arrays])
        logits = [e for (e,) in block.elements(tile, [self.logits], [_LOWEST], made, {})]
        before = [Scalar(v, F32) for v in values[: places.slots]]
        largest = list(before)
        for number, logit in enumerate(logits):
            slot = places.place(number)[0]
            largest[slot] = maximum(largest[slot], logit)
        largest = [across(places, x, maximum) for x in largest]
        bases = [base_of(x) for x in largest]
        power = quick if block.spec.by_matrices else precise
        scales = [power(old, base) for old, base in zip(before, bases)]
        sums = [(Scalar(v, F32) * scales[n % places.slots]).value
                for n, v in enumerate(values[places.slots :])]  # fmt: skip
        made = {**made, self.logits: [x.value for x in logits]}
        known = {**self.ones, self.largest: bases}
        elements = block.elements(tile, self.arrays, self.zeros, made, known)
        return [*(x.value for x in largest), *_combined(block, elements, sums, self.combine)]

    def _again(self, seen: Range, wanted: Range, sums: list[Any]) -> list[Any]:
        """The sums of all columns with the maximum that there is now, if some were left out that
        have a weight."""
        block = self.block
        differs = wanted.begin.ne(seen.begin) | wanted.end.ne(seen.end)
        zero = constant(F32, 0)
        end = select(differs, constant(U32, block.spec.tiles), constant(U32, 0))
        begin = [select(differs, zero, Scalar(v, F32)).value for v in sums]
        known = {**self.ones, self.largest: block.known[self.largest]}

        def turn(tile: Any, stage: Scalar, values: list[Any]) -> list[Any]:
            made = block.made_scores(stage, self.arrays)
            elements = block.elements(tile, self.arrays, self.zeros, made, known)
            return _combined(block, elements, values, self.combine)

        return block.along(Range(constant(U32, 0), end), block.used_by(self.arrays), begin, turn)

    def _with_powers(self, number: int, slot: int, x: Scalar) -> Scalar:
        """A sum, multiplied by sums before it as its elements are in the program."""
        for reduce, power in self.growing.sums[number].powers:
            for _ in range(abs(power)):
                factor = self.block.known[reduce][slot]
                x = x * factor if power > 0 else x / factor
        return x
