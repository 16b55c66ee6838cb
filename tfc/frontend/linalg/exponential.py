"""The exponential of a matrix, by scaling and squaring around a Padé approximation of degree 13.

Higham, "The scaling and squaring method for the matrix exponential revisited", 2005: the matrix is
halved until its 1-norm is at most the bound for which the approximation is exact to rounding.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.frontend.control.loops import fori_loop
from tfc.frontend.linalg.matrices import (
    absolute,
    as_square,
    corner,
    identities,
    is_,
    largest,
    like,
    product,
    summed,
    swapped,
    where,
)
from tfc.frontend.linalg.solutions import solve_square
from tfc.frontend.marked import CallRule, Flow, call_marked
from tfc.frontend.numpy.functions import exp2, log2
from tfc.frontend.operations import (
    concatenate,
    constant,
    full_like,
    make_tuple,
    operation,
    slice_along,
)
from tfc.frontend.promotion import cast
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import S64

_BOUND = {np.dtype(np.float32): 3.925724783138660, np.dtype(np.float64): 5.371920351148152}
_PADE_7 = (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0)
_PADE_13 = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
    129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0,
    40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip


@evaluable
def expm(a: ArrayLike, /) -> Tensor:
    """The sum of aᵏ / k! over all k: what solves x' = a x.

    Raises:
        ShapeError: the matrices are not square.
        TraceError: the floats are narrower than f32.
    """
    matrix = as_square("expm", a)
    return _exponential(matrix) if matrix.size else matrix


def _exponential(a: Tensor) -> Tensor:
    """The exponential, with a derivative of its own."""
    _, (found,) = call_marked("expm", _computed, [a], lambda _: _ExpmRule())
    return found


class _ExpmRule(CallRule):
    """In the direction e the exponential of a changes by the corner of that of [[a, e], [0, a]]."""

    def forward(
        self, call: Instruction, operands: Sequence[Tensor]
    ) -> tuple[Tensor, Sequence[Tensor], Any]:
        """The call as it is."""
        return operation("call", *operands, to_apply=call["to_apply"]), operands, None

    def backward(
        self,
        call: Instruction,
        residuals: Sequence[Tensor],
        note: Any,
        cotangent: list[Flow],
        active: Sequence[bool],
    ) -> Sequence[Flow]:
        """The change of the transpose's exponential in the direction of the cotangent."""
        (g,) = cotangent
        return [_change(swapped(residuals[0]), g)[1]] if isinstance(g, Tensor) else [None]

    def push(
        self, call: Instruction, operands: Sequence[Tensor], tangents: Sequence[Flow]
    ) -> tuple[Tensor, Flow]:
        """The exponential, and how it changes in the direction of the tangent."""
        (a,), (tangent,) = operands, tangents
        assert isinstance(tangent, Tensor), "rules are asked only where something flows"
        value, change = _change(a, tangent)
        return make_tuple([value]), [change]


def _change(a: Tensor, direction: Tensor) -> tuple[Tensor, Tensor]:
    """The exponential of a, and its derivative in a direction."""
    size, last = a.shape[-1], a.ndim - 1
    upper = concatenate([a, direction], last)
    lower = concatenate([full_like(0, a), a], last)
    found = corner(_exponential(concatenate([upper, lower], last - 1)), size, 2 * size)
    return corner(found, size, size), slice_along(found, last, size, 2 * size)


def _computed(matrix: Tensor) -> Tensor:
    bound = _BOUND[matrix.array_shape.element_type.component.dtype]
    size = largest(summed(absolute(matrix), -2, keep=True), [-1], keep=True)
    halvings = operation("ceil", log2(where(is_("GT", size, 0), size / bound, 1)))
    halvings = operation("maximum", halvings, full_like(0, halvings))
    # Of a matrix with infinities or NaN nothing is halved, and the result is NaN.
    halvings = where(operation("is-finite", halvings), halvings, 0)
    odd, even = _pade(matrix * like(exp2(-halvings), matrix))
    found = solve_square(even - odd, even + odd)
    most = cast(largest(halvings, range(halvings.ndim)), np.int64)

    def square(number: Tensor, power: Tensor) -> Tensor:
        is_open = is_("GT", halvings, cast(number, halvings.dtype))
        return where(is_open, product(power, power), power)

    return fori_loop(constant(0, S64), most, square, found)


def _pade(a: Tensor) -> tuple[Tensor, Tensor]:
    """The odd and the even part of the numerator; the denominator has the odd one negated."""
    one, second = identities(a, a.shape[-1]), product(a, a)
    fourth = product(second, second)
    sixth = product(second, fourth)

    def combined(terms: Any, *powers: Tensor) -> Tensor:
        total = powers[0] * full_like(terms[0], powers[0])
        for term, power in zip(terms[1:], powers[1:]):
            total = total + power * full_like(term, power)
        return total

    if a.array_shape.element_type.component.bits == 32:
        b = _PADE_7
        odd = product(a, combined(b[1::2], one, second, fourth, sixth))
        return odd, combined(b[0::2], one, second, fourth, sixth)
    b = _PADE_13
    odd = product(sixth, combined(b[9::2], second, fourth, sixth))
    odd = product(a, odd + combined(b[1:8:2], one, second, fourth, sixth))
    even = product(sixth, combined(b[8::2], second, fourth, sixth))
    return odd, even + combined(b[0:7:2], one, second, fourth, sixth)
