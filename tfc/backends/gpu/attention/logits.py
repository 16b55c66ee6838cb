"""What a program makes of scores before the softmax, and which tiles of keys have any weight."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.gpu.assembly import index
from tfc.backends.gpu.attention.hidden import FAR, Hidden
from tfc.backends.gpu.attention.spec import Spec
from tfc.backends.gpu.attention.warps import Lanes
from tfc.backends.gpu.parts import Work
from tfc.backends.gpu.warps import from_lane
from tfc.backends.mlir.arithmetic.value import Scalar, constant, convert, select
from tfc.backends.mlir.elements import Elements
from tfc.backends.mlir.kernels import sources
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.vectors import add, index_value
from tfc.hlo.shape import F32, PRED, U32

_LOWEST = -float("inf")


@dataclass(frozen=True)
class Logits:
    """Those of a block.

    batch, first_row: which pair of matrices, and the block's first row, of type index.
    rows, keys: of a tile.
    """

    work: Work
    spec: Spec
    batch: Any
    first_row: Any
    rows: int
    keys: int

    def of(
        self, lanes: Lanes, scores: Sequence[Any], first_key: Any, clear: Hidden | None = None
    ) -> list[Scalar]:
        """The logits of a lane's scores of a tile that begins at a key.

        Args:
            clear: what hides none of them, so that nothing is asked.
        """
        attention = self.spec.attention
        inputs = sources(self.work.kernel, self.work.buffers)
        if clear is not None:
            inputs = {**inputs, clear.test: constant(PRED, 1)}
        rows = [self._inside("r", add(self.first_row, index(lanes.row(s))), self.rows)
                for s in range(lanes.slots)]  # fmt: skip
        first_key = add(first_key, index(lanes.column))
        found = []
        for number, score in enumerate(scores):
            slot, offset = lanes.place(number)
            key = add(first_key, offset)
            scope = Elements(
                {**inputs, attention.scores: Scalar(score, F32)},
                {"b": self.batch, "r": rows[slot], "j": self._inside("j", key, self.keys)},
            )
            logit = convert(scope.element(attention.logits, attention.logits_index), F32)
            if self.spec.size("j") % self.keys:
                end = index_value(self.spec.size("j"))
                there = Scalar(arith.cmpi(arith.CmpIPredicate.ult, key, end), PRED)
                logit = select(there, logit, _LOWEST)
            found.append(logit)
        return found

    def visible(self, hidden: Hidden | None, first: Any, end: Any) -> Any:
        """The tile, of those from `first` to `end`, before which all are that a row may see."""
        if hidden is None:
            return end
        last = arith.minui(add(self.first_row, self.rows - 1), index_value(self.spec.size("r") - 1))
        return self._tiles(hidden, last, self.keys, first, end)  # 1 + … + keys - 1

    def clear(self, hidden: Hidden, end: Any) -> Any:
        """The tile, up to `end`, before which all rows see all keys: the first sees the fewest."""
        return self._tiles(hidden, self.first_row, 1, index_value(0), end)

    def _tiles(self, hidden: Hidden, row: Any, more: int, first: Any, end: Any) -> Any:
        """How many tiles the keys up to a row's last one and some more are."""
        scope = Elements({}, {"b": self.batch, "r": row})
        keys = arith.maxsi(scope.index_value(hidden.last + more), index_value(0))
        tiles = arith.divui(keys, index_value(self.keys))
        return arith.maxui(arith.minui(tiles, index_value(end)), index_value(first))

    def far(self, lanes: Lanes, largest: Sequence[Scalar], hidden: Hidden) -> Scalar:
        """1 in all lanes of a warp if its rows' maxima are far above what is hidden, else 0."""
        far = constant(U32, 1)
        for slot, most in enumerate(largest):
            row = add(self.first_row, index(lanes.row(slot)))
            size = index_value(self.spec.size("r"))
            beyond = Scalar(arith.cmpi(arith.CmpIPredicate.uge, row, size), PRED)
            above = (most - hidden.low) >= FAR
            far = far & convert(above | beyond, U32)
        for bit in (1, 2, 4, 8, 16):
            far = far & from_lane(far, bit)
        return far

    def _inside(self, name: str, place: Any, tile: int) -> Any:
        """A row or key that there is, for what a tile has beyond the last."""
        size = self.spec.size(name)
        return arith.minui(place, index_value(size - 1)) if size % tile else place
