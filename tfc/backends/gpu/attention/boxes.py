"""Operands and results of an attention as boxes that lie in memory in any order of dimensions.

A matrix's lines and pairs of matrices are counted by one variable each, whatever dimensions of the
array these are made of. So a variable is taken apart into *digits*: of a batch b of 2 x 16 heads
that is moved to the front of f16[2,1024,16,64]

    position = (b % 16) * 64 + (b // 16) * 1048576        digits (1, 16, 64), (16, 2, 1048576)

each of which is a dimension of the boxes. A digit that changes nothing, as where heads of queries
share those of keys, is none. A box has some lines, all of the vectors' numbers that 128 bytes hold,
and is of one pair of matrices.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfc.backends.gpu.assembly import number as narrow
from tfc.backends.gpu.driver.interface import Boxes
from tfc.backends.gpu.matrices import PIECE
from tfc.backends.gpu.warpgroups import ROW_BYTES
from tfc.backends.mlir.arithmetic.value import Scalar, constant
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.index_maps import Index, evaluate_index
from tfc.hlo.shape import U32

_MOST_DIMENSIONS = 5  # of boxes
_MOST_LINES = 256  # of a box along one dimension


@dataclass(frozen=True)
class Digit:
    """(x // divisor) % size of a variable x, which moves by so many elements.

    is_last: whether all that is left of x is less than the size, but for lines beyond the array.
    """

    divisor: int
    size: int
    stride: int
    is_last: bool


@dataclass(frozen=True)
class Placed:
    """How boxes of a matrix are copied, and which digits of the variables say where one is.

    digits: (variable, digit) of each dimension but the first, which goes along the vectors.
    is_inside: the matrices begin inside of the array; a last dimension of two is at its second.
    """

    boxes: Boxes
    digits: tuple[tuple[str, Digit], ...]
    is_inside: bool

    def corner(self, first: Scalar, values: Mapping[str, Any]) -> list[Scalar]:
        """Where a box begins.

        Args:
            first: the place along the vectors.
            values: those of the variables, of type index; a line that is a multiple of the box's.
        """
        places = [first]
        for name, digit in self.digits:
            x = values[name]
            x = x if digit.divisor == 1 else arith.divui(x, index_value(digit.divisor))
            if not digit.is_last:
                x = arith.remui(x, index_value(digit.size))
            places.append(narrow(x))
        return [*places, constant(U32, 1)] if self.is_inside else places


def placed(
    position: Index, sizes: Mapping[str, int], along: str, lines: str, count: int, itemsize: int
) -> Placed | None:
    """How boxes of so many lines are copied; None if no copies of boxes can.

    Args:
        position: of an element, by the variables whose sizes are given: that along the vectors,
            that of the lines, and others.
    """
    found = _by_variable(position, sizes)
    if found is None:
        return None
    terms, begin = found
    if not _is_line(terms[along], sizes[along]):
        return None
    dims, strides, box, places = [sizes[along]], [], [ROW_BYTES // itemsize], []
    left = count
    for name in (lines, *(n for n in sizes if n not in (along, lines))):
        digits = digits_of(terms[name])
        if digits is None or (name == lines and any(d.stride == 0 for d in digits)):
            return None
        for digit in digits:
            if digit.stride == 0:
                continue
            size = 1
            if name == lines and left > 1:
                size = min(left, digit.size)
                # Beyond the last there are zeros; beyond others there would be further lines.
                if not digit.is_last and (left % size or digit.size % size):
                    return None
                size = left if digit.is_last else size
                left //= size
            places.append((name, digit))
            dims.append(digit.size)
            strides.append(digit.stride * itemsize)
            box.append(size)
    if begin:
        dims.append(2)
        strides.append(begin * itemsize)
        box.append(1)
    is_possible = len(dims) <= _MOST_DIMENSIONS and all(s % PIECE == 0 for s in strides)
    if left > 1 or not strides or not is_possible or max(box[1:]) > _MOST_LINES:
        return None
    made = Boxes(itemsize, tuple(dims), tuple(strides), tuple(box), ROW_BYTES)
    return Placed(made, tuple(places), begin > 0)


def digits_of(values: np.ndarray) -> list[Digit] | None:
    """The digits of a function of 0 … n-1, from the least one on; None if it is no sum of such."""
    if values[0]:
        return None
    found, divisor = [], 1
    while len(values) > 1:
        count = len(values)
        stride = int(values[1])
        sizes = [n for n in range(2, count + 1) if count % n == 0]
        fits = [n for n in sizes if _repeats(values, n, stride)]
        if not fits:
            return None
        size = max(fits)
        found.append(Digit(divisor, size, stride, size == count))
        divisor, values = divisor * size, values[::size]
    return found


def _repeats(values: np.ndarray, size: int, stride: int) -> bool:
    """Whether values go on by a stride, and begin anew after so many."""
    rows = values.reshape(-1, size)
    return bool((rows == rows[:, :1] + np.arange(size) * stride).all())


def _by_variable(
    position: Index, sizes: Mapping[str, int]
) -> tuple[dict[str, np.ndarray], int] | None:
    """(what each variable adds to a position, where it begins); None if some part depends on
    several or on more."""
    found = {name: np.zeros(size, np.int64) for name, size in sizes.items()}
    begin = 0
    for term in position.terms if position.kind == "add" else (position,):
        names = _variables(term)
        if names is None or len(names) > 1 or not names <= sizes.keys():
            return None
        for name in names:
            found[name] += evaluate_index(term, {name: np.arange(sizes[name])})
        if not names:
            begin += evaluate_index(term, {})
    return found, begin


def _variables(index: Index) -> set[str] | None:
    """The variables of an expression; None if it has elements of arrays."""
    if index.kind == "element":
        return None
    names = {index.name} if index.kind == "variable" else set[str]()
    parts: Sequence[Index] = (*index.terms, *([index.left] if index.left is not None else []))
    for part in parts:
        inner = _variables(part)
        if inner is None:
            return None
        names |= inner
    return names


def _is_line(values: np.ndarray, size: int) -> bool:
    """Whether elements along the vectors lie side by side."""
    return bool((values == np.arange(size)).all())
