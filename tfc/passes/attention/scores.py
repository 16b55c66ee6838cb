"""Arrays of scores that only products and sums of rows read, as around the gradient of attention.

    s = dot(q, k)   g = dot(dy, v)           scorings: each makes a number for a row and a key
    w = softmax(s)  d = w (g - sum(w g))     element by element, but for statistics of rows
    dot(d, k)                                mixings: sums along keys give rows,
    dot(d, q)   dot(w, dy)                   sums along rows give keys

Everything is told as indices of the variables

    b  the pair of matrices     r  the row of the scores     j  the key
    p  along what is multiplied for a score, or along the values of a mixing
    d  along the result of a mixing

What lies between is not looked into: whatever is computed of each score by itself fits.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import Shape
from tfc.passes.analysis.fusible import is_elementwise, is_loop
from tfc.passes.analysis.products import moved_index
from tfc.passes.attention.forward import (
    REARRANGING,
    Factor,
    Indices,
    Side,
    factor_of,
    goes_along,
    keeps_places,
    moved_back,
    names_in,
    narrowest,
    sides_of,
    trail_to,
)
from tfc.passes.rewriting.replacing import reducer

_WAYS = (({"r"}, {"j"}), ({"j"}, {"r"}))


@dataclass(frozen=True)
class Scoring:
    """A product that has a number for each row and key.

    factors: of "r" and "j", what it multiplies at (b, r, p) and (b, j, p).
    depth: the values of p.
    """

    dot: Instruction
    factors: dict[str, Factor]
    depth: int


@dataclass(frozen=True)
class Statistic:
    """A reduction of each row, or of each key: the element of (b, `lines`) is at `index`."""

    reduce: Instruction
    lines: str
    index: Indices

    @property
    def combined_by(self) -> str | None:
        """The opcode of what its function is; None for others."""
        return reducer(self.reduce["to_apply"])


@dataclass(frozen=True)
class Mixing:
    """A product of weights, one for each row and key, and values.

    lines: what its results are for, "r" or "j"; its sums go along the other.
    weights: before conversions that only widen, and where it has the element (b, r, j).
    values: at (b, the other, p); width: the values of p, and of d.
    index: where the product has the element (b, lines, d).
    """

    dot: Instruction
    lines: str
    weights: Factor
    values: Factor
    width: int
    index: Indices


@dataclass(frozen=True)
class Scores:
    """All that is computed of the same scores.

    at: where arrays of the size of the scores have the element (b, r, j).
    dependent: what is computed of scores, up to the mixings.
    """

    computation: Computation
    sizes: dict[str, int]
    scorings: tuple[Scoring, ...]
    statistics: tuple[Statistic, ...]
    mixings: tuple[Mixing, ...]
    at: dict[Instruction, Indices]
    dependent: frozenset[Instruction]

    @cached_property
    def products(self) -> tuple[Instruction, ...]:
        """Of the mixings."""
        return tuple(m.dot for m in self.mixings)

    def needed(
        self, wanted: Sequence[Instruction], known: Sequence[Instruction] = ()
    ) -> list[Instruction]:
        """Which of the scorings' products and the statistics a value needs, but for the known."""
        ends = {s.dot for s in self.scorings} | {s.reduce for s in self.statistics}
        found: dict[Instruction, None] = {}
        done: set[Instruction] = set(known)
        stack = list(wanted)
        while stack:
            x = stack.pop()
            if x in done or x not in self.dependent:
                continue
            done.add(x)
            if x in ends:
                found[x] = None
            else:
                stack += x.operands
        return list(found)


def scores_in(computation: Computation) -> Scores | None:
    """The scores that a kernel's computation is about."""
    first = next((x for x in computation.instructions if x.opcode == "dot"), None)
    return None if first is None else scores_of(computation, first)


def scores_of(computation: Computation, first: Instruction) -> Scores | None:
    """What is computed of the scores that a product makes; None if these are no such.

    Rows are those of the first or the second operand: statistics, if there are any, are of rows.
    """
    if first.array_shape.size <= 1:
        return None
    for sides in (sides_of(first), sides_of(first)[::-1]):
        found = _scores(computation, first, *sides)
        if found is None or not all(s.lines == "r" for s in found.statistics):
            continue
        return found if found.mixings or found.statistics else None
    return None


def _scores(computation: Computation, first: Instruction, row: Side, key: Side) -> Scores | None:
    lines = {"r": row.split("r", row.free), "j": key.split("j", key.free)}
    order = ("r", "j") if row.number == 0 else ("j", "r")
    start = (*row.split("b", row.batch), *(i for name in order for i in lines[name]))
    sizes = {"b": row.size(row.batch), "r": row.size(row.free), "j": key.size(key.free)}
    at = _located(computation, first, start)
    if at is None:
        return None
    dots = [x for x in computation.instructions if x in at and x.opcode == "dot"]
    scorings = [s for s in (_scoring(x, at[x]) for x in dots) if s is not None]
    dependent = {s.dot for s in scorings}
    statistics: list[Statistic] = []
    mixings: list[Mixing] = []
    for x in computation.instructions:
        if x in dependent or not any(o in dependent for o in x.operands):
            continue
        if x.opcode == "dot":
            mixing = _mixing(x, at, dependent)
            mixings += [] if mixing is None else [mixing]
        elif x.opcode == "reduce":
            statistic = _statistic(x, at)
            if statistic is not None:
                statistics.append(statistic)
                dependent.add(x)
        elif isinstance(x.shape, Shape) and is_loop(x):
            dependent.add(x)
    return Scores(
        computation, sizes, tuple(scorings), tuple(statistics), tuple(mixings), at,
        frozenset(dependent),
    )  # fmt: skip


# --- Where arrays of the size of the scores have the element (b, r, j) ----------------------------


def _located(
    computation: Computation, first: Instruction, start: Indices
) -> dict[Instruction, Indices] | None:
    """The index in each array that is made of scores; None if one would have two."""
    size = first.array_shape.size
    carried: set[Instruction] = set()
    for x in computation.instructions:
        if isinstance(x.shape, Shape) and x.array_shape.size == size:
            passes = keeps_places(x, size) and any(o in carried for o in x.operands)
            carried |= {x} if x.opcode == "dot" or passes else set()
    at, stack = {first: start}, [first]
    while stack:
        x = stack.pop()
        beside = [(u, moved_index(u, at[x])) for u in computation.users[x] if u.opcode != "dot"]
        for y, index in (*beside, *_behind(x, at[x])):
            if y not in carried:
                continue
            if y not in at:
                at[y] = index
                stack.append(y)
            elif at[y] != index:
                return None
    return at


def _behind(x: Instruction, index: Indices) -> Iterator[tuple[Instruction, Indices]]:
    """The operands of what keeps places, and where they have the same element."""
    if x.opcode in REARRANGING:
        yield moved_back(x, index)
    elif is_elementwise(x):
        for operand in x.operands:
            if operand.array_shape.dims == x.array_shape.dims:
                yield operand, index


# --- The parts ------------------------------------------------------------------------------------


def _scoring(dot: Instruction, at: Indices) -> Scoring | None:
    """A product whose sides have the rows and the keys; None if they do not."""
    left, right = sides_of(dot)
    batch, first = len(left.batch), len(left.batch) + len(left.free)
    groups = {0: at[batch:first], 1: at[first:]}
    names = [names_in(groups[n]) for n in (0, 1)]
    if (names[0], names[1]) not in _WAYS or not names_in(at[:batch]) <= {"b"}:
        return None
    factors = {}
    for side in (left, right):
        (name,) = names[side.number]
        index = side.place(at[:batch], groups[side.number], side.split("p", side.summed))
        factors[name] = factor_of(side.operand, index)
    return Scoring(dot, factors, left.size(left.summed))


def _statistic(reduce: Instruction, at: dict[Instruction, Indices]) -> Statistic | None:
    """A reduction along all keys, or along all rows."""
    array = reduce.operands[0]
    if len(reduce.operands) != 2 or array not in at:
        return None
    index, dimensions = at[array], reduce["dimensions"]
    kept = tuple(i for d, i in enumerate(index) if d not in dimensions)
    for lines, along in (("r", "j"), ("j", "r")):
        gone = [index[d] for d in dimensions]
        if goes_along(along, gone, array.array_shape, dimensions) and along not in names_in(kept):
            return Statistic(reduce, lines, kept)
    return None


def _mixing(
    dot: Instruction, at: dict[Instruction, Indices], dependent: set[Instruction]
) -> Mixing | None:
    """A product with weights on one side, and on the other what is none of that."""
    sides = sides_of(dot)
    for weights, values in (sides, sides[::-1]):
        if weights.operand not in at or values.operand in dependent:
            continue
        index = at[weights.operand]
        inner, outer, summed = (
            tuple(index[d] for d in group)
            for group in (weights.batch, weights.free, weights.summed)
        )
        along, lines = names_in(summed), names_in(outer)
        if (lines, along) not in _WAYS or not names_in(inner) <= {"b"}:
            continue
        trail, last = trail_to(weights.operand, ("convert", *REARRANGING))
        narrow = narrowest([x for x in (last, *trail[::-1]) if x in at])
        found = values.split("d", values.free)
        place = values.place(inner, values.split("p", values.free), summed)
        (name,) = lines
        return Mixing(
            dot, name, Factor(narrow, at[narrow]), factor_of(values.operand, place),
            values.size(values.free),
            (*inner, *((*outer, *found) if weights.number == 0 else (*found, *outer))),
        )  # fmt: skip
    return None
