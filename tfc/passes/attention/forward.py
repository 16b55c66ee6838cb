"""Attention: two products around a softmax along the keys, found from the second one.

    scores  = dot(query, key)                       [batch, rows, keys], in any order of dimensions
    logits  = what is computed of each score        scaled, with a bias, masked
    weights = exp(logits - max) / sum of these      along the keys
    mixed   = dot(weights, value)                   [batch, rows, width]

Everything is told as indices of the variables

    b  the pair of matrices     r  the row of the scores, a query     j  the key
    p  the number along which queries and keys are multiplied         d  along the values

which transposes and reshapes on the way only rearrange. Query heads that share the key's and the
value's are rows of one pair of matrices, or a broadcast of these, as the program has it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from tfc.hlo.index_maps import Index, delinearize, linearize, variable
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.op import op_named
from tfc.hlo.ops.contraction import dot_dimensions, free_dimensions
from tfc.hlo.shape import BF16, F16, F32, Shape
from tfc.passes.analysis.fusible import is_elementwise, is_loop
from tfc.passes.analysis.products import moved_index
from tfc.passes.rewriting.replacing import reducer

Indices = tuple[Index, ...]
REARRANGING = ("reshape", "transpose", "copy")
MOVES = (*REARRANGING, "broadcast")
"""What has each of its elements from one place of its operand."""

_MOST = 128  # instructions between both products


@dataclass(frozen=True)
class Factor:
    """What a product multiplies: `value`'s elements at an index, once they are converted."""

    value: Instruction
    index: Indices


@dataclass(frozen=True)
class Attention:
    """What an attention consists of.

    scores, mixed: the products.
    sizes: of b, r, j, p and d.
    query, key, value: what they multiply, before conversions that only widen.
    weights: the weights that are multiplied, before such conversions.
    logits_index, mixed_index: where the logits have the element (b, r, j), and `mixed` (b, r, d).
    """

    scores: Instruction
    logits: Instruction
    weights: Instruction
    mixed: Instruction
    sizes: Mapping[str, int]
    query: Factor
    key: Factor
    value: Factor
    logits_index: Indices
    mixed_index: Indices


class Side(NamedTuple):
    """An operand of a dot, which one it is, and the numbers of its dimensions."""

    number: int
    operand: Instruction
    batch: Sequence[int]
    free: Sequence[int]
    summed: Sequence[int]

    def size(self, dimensions: Sequence[int]) -> int:
        """The elements along some of its dimensions."""
        return prod(self.operand.array_shape.dims[d] for d in dimensions)

    def split(self, name: str, dimensions: Sequence[int]) -> Indices:
        """A variable that goes along some of its dimensions, as an index in each."""
        dims = [self.operand.array_shape.dims[d] for d in dimensions]
        return delinearize(variable(name, prod(dims)), dims)

    def place(self, batch: Indices, free: Indices, summed: Indices) -> Indices:
        """An index in the operand."""
        at = dict(zip((*self.batch, *self.free, *self.summed), (*batch, *free, *summed)))
        return tuple(at[d] for d in range(len(at)))


def attention_in(computation: Computation) -> Attention | None:
    """The attention that a kernel computes, if it does."""
    dots = [x for x in computation.instructions if x.opcode == "dot"]
    return attention_at(dots[1]) if len(dots) == 2 else None


def attention_at(mixed: Instruction) -> Attention | None:
    """The attention whose second product is `mixed`; None if it is no such product."""
    if mixed.opcode != "dot":
        return None
    sides = sides_of(mixed)
    for weights, values in (sides, sides[::-1]):
        trail, divided = trail_to(weights.operand, ("convert", *REARRANGING))
        logits = _softmaxed(divided)
        if logits is None:
            continue
        found = _between(logits)
        if found is not None:
            return _attention(mixed, (weights, values), [divided, *trail[::-1]], logits, *found)
    return None


def sides_of(dot: Instruction) -> tuple[Side, Side]:
    """Both operands of a product."""
    lhs_batch, lhs_summed, rhs_batch, rhs_summed = dot_dimensions(dot.attributes)
    lhs, rhs = dot.operands
    return (
        Side(0, lhs, lhs_batch, _free(lhs, lhs_batch, lhs_summed), lhs_summed),
        Side(1, rhs, rhs_batch, _free(rhs, rhs_batch, rhs_summed), rhs_summed),
    )


def _free(operand: Instruction, batch: Sequence[int], summed: Sequence[int]) -> Sequence[int]:
    return free_dimensions(operand.array_shape.rank, batch, summed)


def trail_to(x: Instruction, opcodes: Sequence[str]) -> tuple[list[Instruction], Instruction]:
    """The instructions of these opcodes from x on towards what they begin with, and that."""
    trail = []
    while x.opcode in opcodes and (x.opcode != "convert" or _is_float_conversion(x)):
        trail.append(x)
        x = x.operands[0]
    return trail, x


def _is_float_conversion(x: Instruction) -> bool:
    kinds = (x.array_shape.element_type, x.operands[0].array_shape.element_type)
    return all(k.is_float and k.bits <= 32 for k in kinds)


# --- The softmax ----------------------------------------------------------------------------------


def _softmaxed(weights: Instruction) -> Instruction | None:
    """The logits, if the weights are their softmax."""
    if weights.opcode != "divide":
        return None
    scaled, total = (_plain(x) for x in weights.operands)
    if scaled.opcode != "exponential":
        return None
    shifted = _plain(scaled.operands[0])
    if shifted.opcode != "subtract" or not _is_reduction(total, scaled, "add", 0.0):
        return None
    logits, largest = shifted.operands
    if not _is_reduction(_plain(largest), _plain(logits), "maximum", -float("inf")):
        return None
    same = _reduction_of(_plain(largest)), _reduction_of(total)
    return logits if same[0]["dimensions"] == same[1]["dimensions"] else None


def _plain(x: Instruction) -> Instruction:
    """What a value was before it was converted from float to float."""
    return trail_to(x, ("convert",))[1]


def _reduction_of(spread: Instruction) -> Instruction:
    """What a broadcast along rows has for each of them."""
    return _plain(spread.operands[0])


def _is_reduction(spread: Instruction, of: Instruction, opcode: str, start: float) -> bool:
    """Whether a value is a broadcast of the reduction of `of`, back along what was reduced."""
    if spread.opcode != "broadcast":
        return False
    reduced = _reduction_of(spread)
    if reduced.opcode != "reduce" or len(reduced.operands) != 2:
        return False
    array, init = reduced.operands
    kept = [d for d in range(array.array_shape.rank) if d not in reduced["dimensions"]]
    return (
        _plain(array) is of
        and spread.array_shape.dims == array.array_shape.dims
        and list(spread["dimensions"]) == kept
        and reducer(reduced["to_apply"]) == opcode
        and init.opcode == "constant"
        and float(init["literal"].array) == start
    )


# --- Between the scores and the logits ------------------------------------------------------------


def _between(logits: Instruction) -> tuple[Instruction, list[Instruction]] | None:
    """(scores, what lies on ways from them to the logits, in order); None if there is no such dot.

    Of several, as where a bias is a product, too, the last one counts.
    """
    size = logits.array_shape.size
    order = list(_loops_before(logits))
    for scores in reversed([x for x in order if x.opcode == "dot" and x.array_shape.size == size]):
        dependent, path = {scores}, []
        for x in order:
            if x is not scores and any(o in dependent for o in x.operands):
                dependent.add(x)
                path.append(x)
        if len(path) <= _MOST and all(keeps_places(x, size) for x in path):
            return scores, path
    return None


def keeps_places(x: Instruction, size: int) -> bool:
    """Whether each element of an array of a size is made of one place of such arrays."""
    return x.array_shape.size == size and (is_elementwise(x) or x.opcode in REARRANGING)


def _loops_before(last: Instruction) -> Iterator[Instruction]:
    """Operands first: what is computed element by element, and what that begins with."""
    done: set[Instruction] = set()
    stack = [last]
    while stack:
        x = stack[-1]
        waiting = [o for o in x.operands if o not in done] if _is_array_loop(x) else []
        if waiting:
            stack += waiting
            continue
        stack.pop()
        if x not in done:
            done.add(x)
            yield x


def _is_array_loop(x: Instruction) -> bool:
    return isinstance(x.shape, Shape) and is_loop(x)


# --- Indices --------------------------------------------------------------------------------------


def _attention(
    mixed: Instruction,
    sides: tuple[Side, Side],
    weighing: list[Instruction],
    logits: Instruction,
    scores: Instruction,
    path: list[Instruction],
) -> Attention | None:
    """The attention of these parts, if its indices fit.

    Args:
        sides: of the weights and the values.
        weighing: from the quotient that is a weight to the operand of `mixed`.
    """
    weights, values = sides
    reduced = _reduction_of(_plain(weighing[0].operands[1]))["dimensions"]
    left, right = sides_of(scores)
    for query, key in ((left, right), (right, left)):
        batch, products = query.split("b", query.batch), query.split("p", query.summed)
        rows, keys = query.split("r", query.free), key.split("j", key.free)
        lines = (*rows, *keys) if query is left else (*keys, *rows)
        logits_at = _moved((*batch, *lines), path)
        if not goes_along("j", [logits_at[d] for d in reduced], logits.array_shape, reduced):
            continue
        if "j" in names_in(i for d, i in enumerate(logits_at) if d not in reduced):
            continue
        at = _moved(logits_at, weighing[1:])
        inner, outer, summed = (
            tuple(at[d] for d in group) for group in (weights.batch, weights.free, weights.summed)
        )
        if "j" in names_in((*inner, *outer)) or "r" in names_in((*inner, *summed)):
            continue
        width = values.split("d", values.free)
        found = (*outer, *width) if weights.number == 0 else (*width, *outer)
        sizes = {"b": query.size(query.batch), "r": query.size(query.free),
                 "j": key.size(key.free), "p": query.size(query.summed),
                 "d": values.size(values.free)}  # fmt: skip
        return Attention(
            scores, logits, narrowest(weighing), mixed, sizes,
            factor_of(query.operand, query.place(batch, rows, products)),
            factor_of(key.operand, key.place(batch, keys, products)),
            factor_of(values.operand, values.place(inner, width, summed)),
            logits_at, (*inner, *found),
        )  # fmt: skip
    return None


def _moved(index: Indices, path: Sequence[Instruction]) -> Indices:
    """Where the last value of a path has what was at an index before it."""
    for x in path:
        index = moved_index(x, index)
    return index


def goes_along(name: str, index: Sequence[Index], shape: Shape, dimensions: Sequence[int]) -> bool:
    """Whether the dimensions, one after the other, are what a variable counts."""
    dims = [shape.dims[d] for d in dimensions]
    return linearize(index, dims) == variable(name, prod(dims))


def names_in(indices: Iterable[Index]) -> set[str]:
    """The variables in expressions."""
    found: set[str] = set()
    stack = list(indices)
    while stack:
        node = stack.pop()
        found |= {node.name} if node.kind == "variable" else set()
        stack += [*node.terms, *([node.left] if node.left is not None else [])]
    return found


def narrowest(trail: Sequence[Instruction]) -> Instruction:
    """Of a value and what it is converted to, the one of the fewest bits; of several the first."""
    return min(trail, key=lambda x: x.array_shape.element_type.bits)


def factor_of(operand: Instruction, index: Indices) -> Factor:
    """What an operand is a rearrangement of, before it is only widened."""
    x = operand
    while x.opcode in MOVES or is_widening(x):
        x, index = (x.operands[0], index) if x.opcode == "convert" else moved_back(x, index)
    return Factor(x, index)


def moved_back(x: Instruction, index: Indices) -> tuple[Instruction, Indices]:
    """The operand of one of `MOVES`, or of a slice, and where it has the element that is at an
    index in x."""
    index_map = op_named(x.opcode).index_map
    assert index_map is not None
    (piece,) = index_map(x, index)
    return x.operands[piece.operand], tuple(piece.index)


def read_from(factor: Factor) -> tuple[Instruction, Indices]:
    """What a factor's elements are read from, and where: a slice is a part of another array."""
    x, index = factor.value, factor.index
    while x.opcode == "slice" or x.opcode in MOVES:
        x, index = moved_back(x, index)
    return x, index


def is_widening(x: Instruction) -> bool:
    """Whether a value is another one in a type that holds all values of that."""
    if x.opcode != "convert":
        return False
    wide, narrow = x.array_shape.element_type, x.operands[0].array_shape.element_type
    exact = (narrow, wide) in ((F16, F32), (BF16, F32))
    return exact or narrow == wide
