"""Which columns a block of a gradient goes along: where a mask hides all others, they add nothing.

    logits = select(key <= query, x, low)     w = exp(logits - max) / total     d = w (g - c)

Where a bound of the mask says that a test is false, the elements of arrays are followed from there:
the logit is `low`, the weight 0 if the row's maximum is far enough above, and what is a product
with 0 is 0. A sum needs no columns whose elements are 0, and a maximum none whose elements are all
the same. An infinite value behind a mask counts as hidden, as in attention itself.

Bounds do not fall from row to row. So the columns of a block are those from the first that its
first line sees to the last that its last line sees, be lines rows or keys.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfc.backends.gpu.attention.hidden import Bound, before, bound_of, conjuncts, has_row
from tfc.hlo.index_maps import Index, variable
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import F32
from tfc.passes.attention.forward import MOVES, Indices, moved_back, names_in
from tfc.passes.attention.scores import Scores


@dataclass(frozen=True)
class Far:
    """A number of each row that must be `hidden.FAR` above `low`, for a weight to be 0."""

    value: Instruction
    index: Indices
    low: float


@dataclass(frozen=True)
class Cut:
    """Columns that need not be gone along: those before a column, or from one on.

    column: depends on the line and does not fall.
    elements: what wanted arrays have there.
    far: what must hold for each row of them.
    """

    column: Index
    elements: tuple[float, ...]
    far: tuple[Far, ...]


class Visible:
    """What is known of the scores of a kernel whose blocks have some lines, "r" or "j"."""

    def __init__(self, scores: Scores, lines: str):
        self._scores, self._lines = scores, lines

    def cuts(
        self, wanted: Sequence[Instruction], maxima: Sequence[bool], known: Sequence[Instruction]
    ) -> tuple[Cut | None, Cut | None]:
        """What can be left out at the beginning and at the end of the columns.

        Args:
            wanted: arrays of the size of the scores of which maxima or else sums are made.
            known: statistics that have been computed.
        """
        bounds = sorted(
            bounds_in(self._scores), key=lambda b: b.key.high if b.is_last else -b.key.low
        )
        found: dict[bool, Cut | None] = {True: None, False: None}
        for bound in bounds:
            if found[bound.is_last] is None:
                found[bound.is_last] = self._cut(bound, wanted, maxima, known)
        # Keys behind the last of a row come last; rows that do not see a key yet come first.
        by_last, by_first = found[True], found[False]
        return (by_first, by_last) if self._lines == "r" else (by_last, by_first)

    def _cut(
        self,
        bound: Bound,
        wanted: Sequence[Instruction],
        maxima: Sequence[bool],
        known: Sequence[Instruction],
    ) -> Cut | None:
        column = self._column(bound)
        if column is None:
            return None
        beyond = _Beyond(bound, self._scores, known)
        elements = []
        for x, is_maximum in zip(wanted, maxima, strict=True):
            element = beyond.element(x, self._scores.at[x])
            if element is None or not (is_maximum or element == 0):
                return None
            elements.append(float(element))
        return Cut(column, tuple(elements), tuple(beyond.far))

    def _column(self, bound: Bound) -> Index | None:
        """The first column of a line, or the one behind its last one."""
        if self._lines == "r":
            return bound.key + 1 if bound.is_last else bound.key
        key = variable("j", self._scores.sizes["j"])
        return _least_row(bound.key, key if bound.is_last else key + 1)


def bounds_in(scores: Scores) -> list[Bound]:
    """The bounds of all masks."""
    found: dict[Bound, None] = {}
    for x in scores.computation.instructions:
        at = scores.at.get(x)
        if x.opcode == "select" and at is not None and x.operands[0].array_shape.rank:
            for test, where in conjuncts(x.operands[0], at):
                bound = bound_of(test, where, scores.sizes["j"])
                if bound is not None:
                    found[bound] = None
    return list(found)


def _least_row(rising: Index, value: Index) -> Index | None:
    """The first row for which an expression is at least a value; None if it is not found."""
    match rising.kind:
        case "variable":
            return value
        case "add":
            own = [t for t in rising.terms if has_row(t)]
            return _least_row(own[0], value - (rising - own[0])) if len(own) == 1 else None
        case "mul" if rising.left is not None and has_row(rising):
            return _least_row(rising.left, (value + (rising.value - 1)) // rising.value)
        case "floordiv" if rising.left is not None and has_row(rising):
            return _least_row(rising.left, value * rising.value)
        case _:
            return None


@dataclass
class _Beyond:
    """Elements for keys beyond a bound, behind a last one or before a first one.

    far: what must hold for those that have been asked for.
    """

    bound: Bound
    scores: Scores
    known: Sequence[Instruction]
    far: dict[Far, None] = field(default_factory=dict)
    _found: dict[tuple[Instruction, Indices], Any] = field(default_factory=dict)

    def element(self, x: Instruction, at: Indices) -> Any:
        """A bool, or a number as the program has it; None if it is not known to be one."""
        key = x, (at if x.array_shape.rank else ())
        if key not in self._found:
            self._found[key] = self._element(*key)
        return self._found[key]

    def _element(self, x: Instruction, at: Indices) -> Any:
        if x.opcode in MOVES:
            return self.element(*moved_back(x, at))
        match x.opcode:
            case "compare":
                return False if self._is_false(x, at) else None
            case "constant" if x["literal"].is_splat():
                return x["literal"].array.reshape(-1)[0]
            case "exponential":
                return self._weight(x, at)
            case "select":
                test = self.element(x.operands[0], at)
                return None if test is None else self.element(x.operands[1 if test else 2], at)
            case "and":
                tests = [self.element(o, at) for o in x.operands]
                return False if any(t is not None and not t for t in tests) else None
        rule = _FLOATS.get(x.opcode)
        if rule is None or not all(y.array_shape.element_type.is_float for y in (x, *x.operands)):
            return None
        with np.errstate(all="ignore"):
            found = rule(*(self.element(o, at) for o in x.operands))
            # In the number's own type, and so with its rounding.
            return None if found is None else x.array_shape.element_type.dtype.type(found)

    def _is_false(self, test: Instruction, at: Indices) -> bool:
        """Whether a comparison is false wherever the bound's is."""
        found = bound_of(test, at, self.scores.sizes["j"])
        if found is None or found.is_last != self.bound.is_last:
            return False
        closer = self.bound.key - found.key if found.is_last else found.key - self.bound.key
        return closer.low >= 0

    def _weight(self, x: Instruction, at: Indices) -> Any:
        """exp(low - a number of the row), which is 0 if that is far above."""
        below, where = before(x.operands[0], at)
        if below.opcode != "subtract" or below.array_shape.element_type != F32:
            return None
        left, right = below.operands
        low, (value, index) = self.element(left, where), before(right, where)
        is_of_row = "j" not in names_in(index) and not self.scores.needed([value], self.known)
        if low is None or not is_of_row:
            return None
        self.far[Far(value, index, float(low))] = None
        return np.float32(0)


def _product(x: Any, y: Any) -> Any:
    if x is not None and y is not None:
        return x * y
    return next((v for v in (x, y) if v is not None and v == 0), None)


_FLOATS: dict[str, Callable[..., Any]] = {
    "convert": lambda x: x,
    "negate": lambda x: None if x is None else -x,
    "multiply": _product,
    "divide": lambda x, y: x if x is not None and x == 0 else None,
    "add": lambda x, y: None if x is None or y is None else x + y,
    "subtract": lambda x, y: None if x is None or y is None else x - y,
}
