"""Chains of data movement: operations that only move elements, one after the other, as one map.

    r = f32[2,3,4] reshape(f32[6,4] a)
    t = f32[4,2,3] transpose(r), dimensions={2,0,1}      result [i, j] is a[j, i]
    f32[4,6] reshape(t)                             -->  f32[4,6] transpose(a), dimensions={1,0}

The operations' index maps, composed, say which element of the first operand a result element is.
That map is read back as the shortest chain that has it: slice, reverse, reshape, transpose and
broadcast, in this order. It can be read if each index is a sum of digits: of quotients and
remainders of the result's indices by sizes that divide one another, each times a factor, so that
the elements taken along a dimension lie equally far apart. Other chains stay as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod

from tfc.hlo.index_maps import Index, Piece, linearize, possible, variable
from tfc.hlo.ir import NO_ATTRIBUTES, Attributes, Instruction
from tfc.hlo.op import OPS, op_named
from tfc.hlo.shape import PRED, Shape

Dims = tuple[int, ...]
FREE = frozenset({"broadcast", "reshape"})  # a result needs no memory of its own
# A copy may be of a tuple, which is no array.
MOVERS = frozenset(op.name for op in OPS.values() if op.is_fixed_movement) - {"copy"}
_MOST_KNOWN = 1 << 12  # chains that are remembered


@dataclass(frozen=True)
class Movement:
    """One operation of a chain, and the dimensions of its result."""

    opcode: str
    dims: Dims
    attributes: Attributes = NO_ATTRIBUTES

    def over(self, operand: Instruction, old: Instruction) -> Instruction:
        """The operation on an array, in the place of `old` or on the way to it."""
        last = self.dims == old.array_shape.dims
        shape = old.array_shape if last else Shape(old.array_shape.element_type, self.dims)
        operands, name = (operand,), self.opcode
        return Instruction(self.opcode, operands, shape, self.attributes, name, old.metadata)

    @property
    def cost(self) -> tuple[int, ...]:
        """What makes a chain worse, the worst first; reshapes are the best operations."""
        turned = len(self.attributes["dimensions"]) if self.opcode == "reverse" else 0
        return 1, self.opcode != "reshape", prod(self.dims), len(self.dims) + turned


@dataclass(frozen=True, eq=False)
class Chain:
    """Operations of data movement that follow one another: a first one, and those after it.

    result: the dimensions of the last one's result.
    most: how often elements may be moved: what is between may have other users, so not more often
        than by the last operation alone.
    cost: that of all operations together.
    """

    first: Instruction
    after: "Chain | None"
    result: Dims
    most: int
    cost: tuple[int, ...]

    @cached_property
    def piece(self) -> Piece | None:
        """Where all elements of the result come from; None if it is several arrays."""
        index: Sequence[Index] = [variable(str(d), n) for d, n in enumerate(self.result)]
        if self.after is not None:
            assert self.after.piece is not None
            index = self.after.piece.index
        index_map = op_named(self.first.opcode).index_map
        assert index_map is not None
        pieces = possible(index_map(self.first, index))
        return pieces[0] if len(pieces) == 1 else None

    @cached_property
    def operand(self) -> int | None:
        """Which of the first one's operands is moved; None if it is several."""
        if len(self.first.operands) == 1:
            return 0
        return None if self.piece is None else self.piece.operand

    @cached_property
    def shorter(self) -> tuple[Movement, ...] | None:
        """The best chain, if that is another one."""
        assert self.operand is not None
        source, result = self.first.operands[self.operand].array_shape.dims, self.result
        part, whole = prod(result), prod(source)
        least = (1, part != whole, part, len(result)) if source != result else ()
        if least >= self.cost or (part < whole and not self.most):
            return None
        if not self.cost[1]:  # reshapes only
            return (Movement("reshape", result),) if source != result else ()
        steps = None if self.piece is None else _shortest(self.piece.index, source, result)
        if steps is None or _sum([s.cost for s in steps]) >= self.cost:
            return None
        return tuple(steps) if sum(s.opcode not in FREE for s in steps) <= self.most else None


def chain_with(x: Instruction, after: Chain | None) -> Chain:
    """The chain of an operation that moves, and those after it; not of arrays without elements."""
    sizes = tuple([o.array_shape.dims for o in x.operands])
    return _chain(x.opcode, x.attributes, x.array_shape.dims, sizes, after)


@lru_cache(_MOST_KNOWN)
def _chain(
    opcode: str, attributes: Attributes, dims: Dims, sizes: tuple[Dims, ...], after: Chain | None
) -> Chain:
    # Remembered is what index maps ask for, not the instruction with all it is made of.
    arrays = [Instruction("parameter", (), Shape(PRED, n), NO_ATTRIBUTES, "") for n in sizes]
    first = Instruction(opcode, tuple(arrays), Shape(PRED, dims), attributes, opcode)
    cost = Movement(opcode, dims, attributes).cost
    if after is None:
        return Chain(first, None, dims, opcode not in FREE, cost)
    return Chain(first, after, after.result, after.most, _sum([after.cost, cost]))


def _sum(costs: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*costs)))


@dataclass(frozen=True)
class _Digit:
    """(i // divisor) % size of the result's index i in a dimension."""

    dimension: int
    divisor: int
    size: int


@dataclass(frozen=True)
class _Axis:
    """The elements of a dimension that are taken, in the order of digits or in reverse."""

    bounds: tuple[int, int, int]
    count: int
    reverse: bool
    digits: tuple[_Digit, ...]


def _shortest(index: Sequence[Index], source: Dims, result: Dims) -> list[Movement] | None:
    """The chain that makes an array of its elements at an index; None if the index is no digits."""
    whole = _axis(linearize(index, source))
    if whole is not None and whole.count == prod(source) and not whole.reverse:
        return _arranged([], whole.digits, source, result)
    axes = [a for a in map(_axis, index) if a is not None]
    if len(axes) < len(index):
        return None
    steps, dims = list[Movement](), tuple(a.count for a in axes)
    if dims != source:
        steps.append(Movement("slice", dims, Attributes(slice=tuple(a.bounds for a in axes))))
    backwards = tuple(d for d, a in enumerate(axes) if a.reverse)
    if backwards:
        steps.append(Movement("reverse", dims, Attributes(dimensions=backwards)))
    return _arranged(steps, [d for a in axes for d in a.digits], dims, result)


def _axis(index: Index) -> _Axis | None:
    """An index as digits from the most significant on; None if it is something else."""
    start, found = 0, list[tuple[int, _Digit]]()
    for term in index.terms if index.kind == "add" else (index,):
        if term.kind == "constant":
            start = term.value
            continue
        factor, base = (term.value, term.left) if term.kind == "mul" else (1, term)
        digit = _digit(base)
        if digit is None:
            return None
        found.append((factor, digit))
    found.sort(key=lambda f: -abs(f[0]))
    stride = weight = found[-1][0] if found else 1
    for factor, digit in reversed(found):
        if factor != weight:
            return None
        weight *= digit.size
    low, high = sorted((start, start + weight - stride))
    digits = tuple(digit for _, digit in found)
    return _Axis((low, high + 1, abs(stride)), weight // stride, stride < 0, digits)


def _digit(index: Index | None) -> _Digit | None:
    assert index is not None
    if index.kind == "variable":
        return _Digit(int(index.name), 1, index.high + 1)
    inner = _digit(index.left) if index.kind in ("floordiv", "mod") else None
    if inner is None or inner.size % index.value:
        return None
    if index.kind == "mod":
        return _Digit(inner.dimension, inner.divisor, index.value)
    return _Digit(inner.dimension, inner.divisor * index.value, inner.size // index.value)


def _arranged(
    steps: list[Movement], digits: Sequence[_Digit], dims: Dims, result: Dims
) -> list[Movement] | None:
    """Steps from an array of these dimensions and digits to the result; None if there are none.

    Its digits must be all of the index in some dimensions of the result, which repeats the array
    in the others.
    """
    order = sorted(digits, key=lambda d: (d.dimension, -d.divisor))
    kept = sorted({d.dimension for d in digits})
    parts = {k: [d for d in order if d.dimension == k] for k in kept}
    for k, several in parts.items():
        ends = [d.divisor * d.size for d in several]
        if ends != [result[k], *(d.divisor for d in several[:-1])] or several[-1].divisor != 1:
            return None
    repeats = any(n > 1 and d not in kept for d, n in enumerate(result))
    target = tuple(result[k] for k in kept) if repeats else result
    if order != list(digits):
        moved = _transposed([[digits.index(d) for d in parts[k]] for k in kept], dims, target)
        if moved is None:
            return None
        steps, dims = [*steps, *moved], target
    if not repeats:
        return steps if dims == result else [*steps, Movement("reshape", result)]
    placed = _placed(dims, kept, result)
    if placed is None:
        steps, placed = [*steps, Movement("reshape", target)], tuple(kept)
    return [*steps, Movement("broadcast", result, Attributes(dimensions=placed))]


def _transposed(parts: Sequence[Sequence[int]], dims: Dims, target: Dims) -> list[Movement] | None:
    """A transpose to `target`, and a reshape before it if need be; None if that takes more.

    Args:
        parts: for each dimension of the target larger than one, which of the digits it consists of.
    """
    if any(list(p) != list(range(p[0], p[0] + len(p))) for p in parts):
        return None
    wide = [d for d, n in enumerate(target) if n != 1]
    units = [d for d, n in enumerate(target) if n == 1]
    before = [wide[k] for k in sorted(range(len(wide)), key=lambda k: parts[k][0])]
    if [n for n in dims if n != 1] == [target[d] for d in before] and dims.count(1) == len(units):
        following = {True: iter(units), False: iter(before)}
        before = [next(following[n == 1]) for n in dims]
    else:
        before += units
    split = tuple(target[d] for d in before)
    order = tuple(before.index(d) for d in range(len(target)))
    steps = [] if split == dims else [Movement("reshape", split)]
    return [*steps, Movement("transpose", target, Attributes(dimensions=order))]


def _placed(dims: Dims, kept: Sequence[int], result: Dims) -> Dims | None:
    """Where a broadcast puts the dimensions of an array: those larger than one to those `kept` of
    the result, the others to others of size one between them; None if there are too few."""
    placed: list[int] = []
    for n in dims:
        ahead = range(placed[-1] + 1 if placed else 0, len(result))
        fitting = [d for d in ahead if result[d] == n and (n == 1 or d in kept)]
        if not fitting:
            return None
        placed.append(fitting[0])
    return tuple(placed) if [d for d in placed if result[d] != 1] == kept else None
