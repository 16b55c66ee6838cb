"""Index expressions: which operand element a result element is, as simplified integer arithmetic.

An Index is a variable, a constant, an element of an integer array that is read when the program
runs, or built by +, *, // and % with constants. Every node knows the
range of values it can take, and that is what simplifies: `(d0*8 + d1) // 8` is `d0` when
0 <= d1 < 8. Reshape, transpose, slice and the like give an operand's index for a result's index;
applying one map to the result of another composes them, so a chain of reshapes costs what is left
after simplification.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any

from tfc.errors import InternalError


@dataclass(frozen=True)
class Index:
    """An integer expression with the inclusive range [low, high] of its values.

    kind: "variable" (name), "constant" (value), "element" (source: an array and the index in it),
    "add" (terms), "mul", "floordiv", "mod" (left, positive constant; for "mul" any constant).
    """

    kind: str
    low: int
    high: int
    name: str = ""
    left: "Index | None" = None
    terms: tuple["Index", ...] = ()
    value: int = 0
    source: "tuple[Any, tuple[Index, ...]] | None" = None

    def __add__(self, other: "Index | int") -> "Index":
        return _sum([self, _index(other)])

    def __radd__(self, other: int) -> "Index":
        return self + other

    def __sub__(self, other: "Index | int") -> "Index":
        return self + _index(other) * -1

    def __rsub__(self, other: int) -> "Index":
        return self * -1 + other

    def __mul__(self, factor: int) -> "Index":
        if factor == 0:
            return constant(0)
        if factor == 1:
            return self
        match self.kind:
            case "constant":
                return constant(self.value * factor)
            case "mul":
                return self.left * (self.value * factor)  # type: ignore[operator]
            case "add":
                return _sum([t * factor for t in self.terms])
            case _:
                ends = (self.low * factor, self.high * factor)
                return Index("mul", min(ends), max(ends), left=self, value=factor)

    __rmul__ = __mul__

    def __floordiv__(self, divisor: int) -> "Index":
        if divisor == 1:
            return self
        if self.low // divisor == self.high // divisor:
            return constant(self.low // divisor)
        whole, rest = _split(self, divisor)
        if rest.low >= 0 and rest.high < divisor:
            return whole
        if whole.kind != "constant" or whole.value:
            return whole + rest // divisor
        if step := _step(self, divisor):
            return _split(self, step)[0] // (divisor // step)
        if self.kind == "floordiv":
            return self.left // (self.value * divisor)  # type: ignore[operator]
        return Index(
            "floordiv", self.low // divisor, self.high // divisor, left=self, value=divisor
        )

    def __mod__(self, divisor: int) -> "Index":
        if divisor == 1:
            return constant(0)
        if self.low // divisor == self.high // divisor:
            return self - (self.low // divisor) * divisor
        whole, rest = _split(self, divisor)
        if whole.kind != "constant" or whole.value:
            return rest % divisor
        if step := _step(self, divisor):
            whole, rest = _split(self, step)
            return whole % (divisor // step) * step + rest
        if self.kind == "mod" and self.value % divisor == 0:
            return self.left % divisor  # type: ignore[operator]
        return Index("mod", 0, divisor - 1, left=self, value=divisor)

    def __str__(self) -> str:
        match self.kind:
            case "variable":
                return self.name
            case "constant":
                return str(self.value)
            case "element":
                assert self.source is not None
                array, index = self.source
                return f"{array.name}[{', '.join(map(str, index))}]"
            case "add":
                return "(" + " + ".join(map(str, self.terms)) + ")"
            case _:
                sign = {"mul": "*", "floordiv": "//", "mod": "%"}[self.kind]
                return f"({self.left} {sign} {self.value})"


def variable(name: str, size: int) -> Index:
    """A variable with values 0 … size-1; a size of one leaves only the constant zero."""
    return constant(0) if size == 1 else Index("variable", 0, max(size - 1, 0), name=name)


def constant(value: int) -> Index:
    """A constant."""
    return Index("constant", value, value, value=value)


def element(array: Any, index: Sequence[Index], high: int) -> Index:
    """The element of an integer instruction at an index, clamped to the range 0 … high."""
    source = (array, tuple(index))
    return constant(0) if high <= 0 else Index("element", 0, high, source=source)


def elements_in(index: Index) -> Iterator[Index]:
    """The indices of kind "element" in an expression."""
    match index.kind:
        case "element":
            yield index
        case "add":
            for term in index.terms:
                yield from elements_in(term)
        case "mul" | "floordiv" | "mod":
            assert index.left is not None
            yield from elements_in(index.left)


def _index(value: "Index | int") -> Index:
    return value if isinstance(value, Index) else constant(value)


def _sum(parts: Sequence[Index]) -> Index:
    """A sum with like terms merged and the constant last."""
    factors: dict[Index, int] = {}
    total = 0
    for part in parts:
        for term in part.terms if part.kind == "add" else (part,):
            match term.kind:
                case "constant":
                    total += term.value
                case "mul":
                    assert term.left is not None
                    factors[term.left] = factors.get(term.left, 0) + term.value
                case _:
                    factors[term] = factors.get(term, 0) + 1
    total += _merge_remainders(factors)
    terms = [base * factor for base, factor in factors.items() if factor]
    if total or not terms:
        terms.append(constant(total))
    if len(terms) == 1:
        return terms[0]
    return Index("add", sum(t.low for t in terms), sum(t.high for t in terms), terms=tuple(terms))


def _merge_remainders(factors: dict[Index, int]) -> int:
    """Undo a delinearisation: (x//c)*c + x%c is x, and ((x//c)%m)*c + x%c is x%(c*m).

    Changes the terms in place and returns the constant that comes out besides.
    """
    merged, total = True, 0
    while merged:
        merged = False
        for remainder in [i for i, factor in factors.items() if i.kind == "mod" and factor]:
            x, c, factor = remainder.left, remainder.value, factors[remainder]
            assert x is not None
            whole = next(
                (i for i, f in factors.items() if f == factor * c and _is_quotient(i, x, c)), None
            )
            if whole is None:
                continue
            del factors[remainder], factors[whole]
            joined = x % (c * whole.value) if whole.kind == "mod" else x
            for term in joined.terms if joined.kind == "add" else (joined,):
                if term.kind == "constant":
                    total += term.value * factor
                    continue
                base, times = (term.left, term.value) if term.kind == "mul" else (term, 1)
                assert base is not None
                factors[base] = factors.get(base, 0) + times * factor
            merged = True
            break
    return total


def _is_quotient(index: Index, x: Index, divisor: int) -> bool:
    """True if the index is x // divisor, or that modulo something."""
    quotient = index.left if index.kind == "mod" else index
    return quotient == x // divisor


def _step(index: Index, divisor: int) -> int:
    """A part of the divisor of which only one term is no multiple, and less; 0 if there is none.

    (x*2 + y) // 4 is x // 2, and that modulo 4 is x%2*2 + y, for y of 0 and 1.
    """
    for term in index.terms if index.kind == "add" else ():
        step = gcd(term.value, divisor) if term.kind == "mul" else 1
        if 1 < step < divisor:
            rest = _split(index, step)[1]
            if rest.low >= 0 and rest.high < step:
                return step
    return 0


def _split(index: Index, divisor: int) -> tuple[Index, Index]:
    """(whole, rest) with index == whole * divisor + rest, moving what divides evenly to whole."""
    whole, rest = [], []
    for term in index.terms if index.kind == "add" else (index,):
        if term.kind in ("constant", "mul"):
            quotient, remainder = divmod(term.value, divisor)
            base = term.left if term.kind == "mul" else constant(1)
            assert base is not None
            if remainder == 0 or term.kind == "constant":
                whole.append(base * quotient)
                rest.append(base * remainder)
                continue
        rest.append(term)
    return _sum(whole or [constant(0)]), _sum(rest or [constant(0)])


@dataclass(frozen=True)
class Condition:
    """low <= index < high."""

    index: Index
    low: int
    high: int

    @property
    def always(self) -> bool:
        """True if the index's range lies inside."""
        return self.low <= self.index.low and self.index.high < self.high

    @property
    def never(self) -> bool:
        """True if the index's range lies outside."""
        return self.index.high < self.low or self.index.low >= self.high


@dataclass(frozen=True)
class Piece:
    """A result element is `operand` at `index` where all `conditions` hold."""

    operand: int
    index: tuple[Index, ...]
    conditions: tuple[Condition, ...] = ()

    def sources(self) -> "list[tuple[Any, tuple[Index, ...]]]":
        """The array elements, as (instruction, index), that finding this one reads besides."""
        expressions = (*self.index, *(c.index for c in self.conditions))
        found = (e.source for i in expressions for e in elements_in(i))
        return [source for source in dict.fromkeys(found) if source is not None]


Decided = Mapping[Condition, bool]  # conditions that are known to hold, or not to


def possible(pieces: Sequence[Piece], decided: Decided | None = None) -> list[Piece]:
    """The pieces that an element may be, to be tested in order: conditions that always hold are
    left out, and the last piece has none, since one of the pieces holds."""
    found: list[Piece] = []
    known = decided or {}
    for piece in pieces:
        if any(c.never or known.get(c) is False for c in piece.conditions):
            continue
        conditions = tuple(c for c in piece.conditions if not (c.always or c in known))
        found.append(Piece(piece.operand, piece.index, conditions))
        if not conditions:
            return found
    *others, last = found or pieces[-1:]  # none is possible where there are no elements at all
    return [*others, Piece(last.operand, last.index)]


def evaluate_index(index: Index, values: Mapping[Any, Any]) -> Any:
    """The value of an expression for given values of its variables (integers or NumPy arrays).

    Args:
        values: by name for variables, by source for elements of arrays.

    Raises:
        InternalError: a variable has no value.
    """
    match index.kind:
        case "constant":
            return index.value
        case "variable":
            if index.name not in values:
                raise InternalError(f"index variable {index.name} has no value")
            return values[index.name]
        case "element":
            return values[index.source].clip(index.low, index.high)
        case "add":
            total = evaluate_index(index.terms[0], values)
            for term in index.terms[1:]:
                total = total + evaluate_index(term, values)
            return total
    assert index.left is not None
    left = evaluate_index(index.left, values)
    match index.kind:
        case "mul":
            return left * index.value
        case "floordiv":
            return left // index.value
        case _:
            return left % index.value


def linearize(index: Sequence[Index], sizes: Sequence[int]) -> Index:
    """The row-major position of a multi-dimensional index."""
    position = constant(0)
    for i, size in zip(index, sizes):
        position = position * size + i
    return position


def delinearize(position: Index, sizes: Sequence[int]) -> tuple[Index, ...]:
    """The multi-dimensional index at a row-major position; the inverse of `linearize`."""
    index: list[Index] = []
    for size in reversed(sizes):
        index.append(position % size if size else constant(0))
        position = position // size if size else constant(0)
    return tuple(reversed(index))
