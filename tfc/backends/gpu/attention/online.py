"""The softmax while it goes along the keys: what a lane knows of its rows so far.

    m'  = max(m, logits)          weights = exp(logits - m')
    sums' = sums exp(m - m') + weights · values       total' = total exp(m - m') + sum of weights

Sums and totals are those of the program times exp(m - max), which is 1 in the end. Rows that have
seen only -inf have m = -inf, weights 0 and so in the end 0 / 0, as in the program.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.gpu.attention.warps import Lanes
from tfc.backends.gpu.instructions import INSTRUCTIONS, quick_exp
from tfc.backends.gpu.warps import from_lane
from tfc.backends.mlir.arithmetic.elemental import EMISSION, Emission
from tfc.backends.mlir.arithmetic.exponential import exp
from tfc.backends.mlir.arithmetic.floating import reciprocal
from tfc.backends.mlir.arithmetic.value import Scalar, constant, maximum, select
from tfc.backends.mlir.provider import ir
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import F32

_LOWEST = -float("inf")
Power = Callable[[Scalar, Scalar], Scalar]


def precise(x: Scalar, base: Scalar) -> Scalar:
    """exp(x - base) as everywhere."""
    return exp(x - base)


def quick(x: Scalar, base: Scalar) -> Scalar:
    """The same by the instruction, for weights that are rounded to 16 bits.

    Differences are at least -105 where the result is no 0. (The product of the base and log2 e by
    itself, which would save a subtraction, would be off by 2^-24 of the logits, however large.)
    """
    return quick_exp(x - base)


def _of_f32(opcode: str, rule: Callable[..., Scalar]) -> Emission:
    """A rule for f32; other types are emitted as everywhere."""
    other = INSTRUCTIONS.get(opcode, EMISSION[opcode])

    def emission(x: Instruction, *operands: Scalar) -> Scalar:
        return rule(*operands) if operands[0].element_type is F32 else other(x, *operands)

    return emission


def _quotient(x: Scalar, y: Scalar) -> Scalar:
    """x / y by the reciprocal, which is made once for all that is divided by the same."""
    return x if _is_one(y) else x * reciprocal(y)


def _is_one(x: Scalar) -> bool:
    """Whether a number is 1 already where the code is made."""
    owner = x.value.owner
    known = getattr(owner, "name", "") == "arith.constant"
    return known and float(ir.FloatAttr(owner.attributes["value"])) == 1


QUICK = {
    **INSTRUCTIONS,
    "exponential": _of_f32("exponential", quick_exp),
    "divide": _of_f32("divide", _quotient),
}
"""Rules for what is computed of scores and rounded to 16 bits: an error of 2^-22 each."""


@dataclass(frozen=True)
class State:
    """Of a lane.

    largest: the maximum of each of its rows, which all lanes of the row know.
    totals: of the lane's own weights.
    sums: of weights times values.
    """

    largest: list[Scalar]
    totals: list[Scalar]
    sums: list[Any]

    @staticmethod
    def start(tiles: Lanes) -> "State":
        """Before any key."""
        low = [constant(F32, _LOWEST)] * tiles.slots
        return State(low, [constant(F32, 0)] * tiles.slots, tiles.start())

    def values(self) -> list[Any]:
        """What a loop carries."""
        return [*(x.value for x in (*self.largest, *self.totals)), *self.sums]

    @staticmethod
    def of(values: Sequence[Any], slots: int) -> "State":
        """The same of what it carries."""
        scalars = [Scalar(v, F32) for v in values[: 2 * slots]]
        return State(scalars[:slots], scalars[slots:], list(values[2 * slots :]))

    def weighed(
        self, tiles: Lanes, logits: Sequence[Scalar], power: Power = precise
    ) -> "tuple[State, list[Scalar]]":
        """The state once the sums are scaled and the totals have grown, and the weights."""
        slot = [tiles.place(n)[0] for n in range(len(logits))]
        largest = list(self.largest)
        for n, logit in enumerate(logits):
            largest[slot[n]] = maximum(largest[slot[n]], logit)
        largest = [across(tiles, x, maximum) for x in largest]
        bases = [base_of(x) for x in largest]
        weights = [power(logit, bases[slot[n]]) for n, logit in enumerate(logits)]
        scales = [power(old, base) for old, base in zip(self.largest, bases)]
        totals = [total * scale for total, scale in zip(self.totals, scales)]
        for n, weight in enumerate(weights):
            totals[slot[n]] = totals[slot[n]] + weight
        sums = [
            (Scalar(x, F32) * scales[tiles.slot(n)]).value for n, x in enumerate(self.sums)
        ]  # fmt: skip
        return State(largest, totals, sums), weights


def across(tiles: Lanes, x: Scalar, combine: Any) -> Scalar:
    """What the lanes of a row have, combined."""
    for bit in tiles.across:
        x = combine(x, from_lane(x, bit))
    return x


def base_of(largest: Scalar) -> Scalar:
    """What is subtracted from logits: of nothing but -inf nothing, so that their weights are 0."""
    return select(largest.eq(_LOWEST), 0.0, largest)
