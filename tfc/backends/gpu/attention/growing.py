"""Statistics that can be gathered while the maximum of their rows still grows.

    m = max(x)    t = sum(exp(x - m))    c = sum(exp(x - m) / t g)

All elements of such a sum are products with exp(x - m), and beside that with powers of other such
sums. So they are added up with the maximum so far and with 1 in the place of those sums; when the
maximum grows from m to m', what there is is multiplied by exp(m - m'), and in the end by the
powers.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from tfc.backends.gpu.attention.hidden import before
from tfc.hlo.ir import Instruction
from tfc.passes.attention.forward import MOVES, Indices, moved_back
from tfc.passes.attention.scores import Scores, Statistic

_WEIGHT = "weight"


@dataclass(frozen=True)
class Sum:
    """A sum of products with weights.

    powers: (a sum before it, how often the sum is multiplied by it; negative for divided).
    """

    statistic: Statistic
    powers: tuple[tuple[Instruction, int], ...]


@dataclass(frozen=True)
class Growing:
    """A maximum, and what can be added up while it grows."""

    largest: Statistic
    sums: tuple[Sum, ...]


def growing_in(scores: Scores) -> Growing | None:
    """The first maximum with such sums; None if there is none."""
    for largest in scores.statistics:
        needed = scores.needed([largest.reduce.operands[0]])
        is_first = all(s.reduce not in needed for s in scores.statistics)
        if largest.combined_by == "maximum" and is_first:
            found = _Degrees(scores, largest)
            if found.sums:
                return Growing(largest, tuple(found.sums))
    return None


class _Degrees:
    """How often elements are products with weights and with sums.

    sums: those of the statistics whose elements are products with one weight.
    """

    def __init__(self, scores: Scores, largest: Statistic):
        self._scores, self._largest = scores, largest
        logits = largest.reduce.operands[0]
        self._logits = before(logits, scores.at[logits])
        self._statistics = {s.reduce for s in scores.statistics}
        self._unknown = {largest.reduce: largest}
        self.sums: list[Sum] = []
        for statistic in scores.statistics:
            if statistic.combined_by == "add":
                array = statistic.reduce.operands[0]
                degrees = self._of(array, scores.at[array])
                if degrees is not None and degrees.pop(_WEIGHT, 0) == 1:
                    powers = tuple((x, n) for x, n in degrees.items() if n)
                    self.sums.append(Sum(statistic, powers))
                    self._unknown[statistic.reduce] = statistic

    def _of(self, x: Instruction, at: Indices) -> Counter[Any] | None:
        """The degrees of an element; None if it is something else than such a product."""
        needed = {s for s in self._scores.needed([x]) if s in self._statistics}
        if not needed:
            return Counter()
        if not needed <= self._unknown.keys():  # one that the pass does not make
            return None
        if x in self._unknown:
            is_sum = x is not self._largest.reduce and at == self._unknown[x].index
            return Counter({x: 1}) if is_sum else None
        if x.opcode in MOVES:
            return self._of(*moved_back(x, at))
        if x.opcode == "exponential":
            return Counter({_WEIGHT: 1}) if self._is_weight(x.operands[0], at) else None
        if x.opcode not in ("negate", "multiply", "divide"):
            return None
        degrees = [self._of(operand, at) for operand in x.operands]
        first, second = degrees if len(degrees) == 2 else (degrees[0], Counter())
        if first is None or second is None:
            return None
        found = Counter(first)
        (found.subtract if x.opcode == "divide" else found.update)(second)
        return found

    def _is_weight(self, x: Instruction, at: Indices) -> bool:
        """Whether a number is that of which the maximum is taken, less the maximum."""
        x, at = before(x, at)
        if x.opcode != "subtract":
            return False
        left, right = (before(operand, at) for operand in x.operands)
        return left == self._logits and right == (self._largest.reduce, self._largest.index)
