"""Weights in f32 as two numbers of 16 bits each, which tensor cores multiply one after the other.

    weight = large + small      large: the weight rounded to 16 bits; small: what is left, rounded

Two numbers of bf16 leave an error of 2^-17 of the weight. Two of f16 leave 2^-22, but not of any
weight: f16 ends at 65504, and below 2^-24 there is nothing. So a line's weights are multiplied by a
power of two with which the largest so far is between 2^14 and 2^15: what is below 2^-24 then is
2^-38 of the largest. When a larger one comes, the power falls and sums of before are multiplied by
the quotient of both; in the end sums are divided by it. All of these are exact. An infinite weight
makes its sums NaN.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.gpu.assembly import assembly
from tfc.backends.gpu.attention.online import across
from tfc.backends.gpu.attention.warps import Lanes
from tfc.backends.gpu.matrices import rounded_pair
from tfc.backends.gpu.warps import lanes_where
from tfc.backends.mlir.arithmetic.floating import absolute
from tfc.backends.mlir.arithmetic.narrow_floats import with_instructions
from tfc.backends.mlir.arithmetic.value import Scalar, bitcast, constant, convert, maximum, minimum
from tfc.backends.mlir.provider import ir, scf
from tfc.hlo.shape import F16, F32, S32, U32, ElementType

_BIAS, _FRACTION = 127, 23  # of f32
_LARGEST = _BIAS + 14  # the exponent that a line's largest weight has then
_LEAST, _MOST = _BIAS - 100, _BIAS + 126  # exponents of weights whose powers of two are normal

# (the slot of a sum or of a weight, by its number)
SlotOf = Callable[[int], int]


@dataclass(frozen=True)
class TwoParts:
    """How weights become two parts of a type.

    places: which weights a lane has; slot: of a sum.
    """

    element_type: ElementType
    places: Lanes
    slot: SlotOf

    @property
    def powers(self) -> int:
        """How many powers of two are carried beside the sums: one for each slot, or none."""
        return self.places.slots if self.element_type is F16 else 0

    def start(self) -> list[Any]:
        """The powers of two before any weight: the largest ones."""
        return [constant(F32, 2.0 ** (_LARGEST - _LEAST)).value] * self.powers

    def split(
        self, weights: Sequence[Scalar], powers: Sequence[Any], sums: Sequence[Any]
    ) -> tuple[list[list[Any]], list[Any], list[Any]]:
        """The words of small and of large parts, the powers, and the sums that fit them."""
        before = [Scalar(p, F32) for p in powers]
        made = list(sums)
        if self.powers:
            slots = [self.places.place(n)[0] for n in range(len(weights))]
            after = [self._power(p, [w for w, s in zip(weights, slots) if s == own])
                     for own, p in enumerate(before)]  # fmt: skip
            made = self._fitted(made, before, after)
            weights = [w * after[s] for w, s in zip(weights, slots)]
            before = after
        return self._parts(weights), [p.value for p in before], made

    def finished(self, powers: Sequence[Any], sums: Sequence[Any]) -> list[Any]:
        """The sums of the weights themselves."""
        if not self.powers:
            return list(sums)
        backs = [_power_of(2 * _BIAS - _exponent(Scalar(p, F32))) for p in powers]
        return self._scaled(sums, backs)

    def _power(self, before: Scalar, weights: Sequence[Scalar]) -> Scalar:
        """The power of a line that has these weights, too."""
        largest = absolute(weights[0])
        for weight in weights[1:]:
            largest = maximum(largest, absolute(weight))
        exponent = _exponent(across(self.places, largest, maximum))
        exponent = minimum(maximum(exponent, _LEAST), _MOST)
        return _power_of(minimum(_LARGEST + _BIAS - exponent, _exponent(before)))

    def _fitted(
        self, sums: list[Any], before: Sequence[Scalar], after: Sequence[Scalar]
    ) -> list[Any]:
        """Sums multiplied by the quotients of powers, if one has changed in a warp."""
        changed = before[0].ne(after[0])
        for old, new in zip(before[1:], after[1:]):
            changed = changed | old.ne(new)
        some = lanes_where(changed.value).ne(0)
        fork = scf.IfOp(some.value, [s.type for s in sums], has_else=True)
        with ir.InsertionPoint(fork.then_block):
            falls = [_exponent(new) - _exponent(old) for old, new in zip(before, after)]
            factors = [_power_of(maximum(fall + _BIAS, 0)) for fall in falls]
            scf.yield_(self._scaled(sums, factors))
        with ir.InsertionPoint(fork.else_block):
            scf.yield_(sums)
        return list(fork.results)

    def _scaled(self, sums: Sequence[Any], factors: Sequence[Scalar]) -> list[Any]:
        return [(Scalar(s, F32) * factors[self.slot(n)]).value for n, s in enumerate(sums)]

    def _parts(self, weights: Sequence[Scalar]) -> list[list[Any]]:
        small, large = [], []
        for first, second in zip(weights[::2], weights[1::2]):
            word = rounded_pair(self.element_type.name, first, second)
            there = _numbers(word, self.element_type)
            left = (first - there[0], second - there[1])
            large.append(word)
            small.append(rounded_pair(self.element_type.name, *left))
        return [small, large]


def _numbers(word: Any, element_type: ElementType) -> tuple[Scalar, Scalar]:
    """Both numbers of a word, in f32."""
    if element_type is F16:
        halves = assembly("mov.b32 {$0, $1}, $2;", ["i16", "i16"], [word])
        with with_instructions():
            first, second = (convert(Scalar(half, F16), F32) for half in halves)
        return first, second
    both = Scalar(word, U32)
    return bitcast(both << 16, F32), bitcast(both & 0xFFFF0000, F32)


def _exponent(x: Scalar) -> Scalar:
    """The exponent's bits of a number that is not negative; of NaN those of infinity."""
    return bitcast(x, S32) >> _FRACTION


def _power_of(exponent: Scalar) -> Scalar:
    """The power of two with an exponent's bits; 0 for 0."""
    return bitcast(exponent << _FRACTION, F32)
