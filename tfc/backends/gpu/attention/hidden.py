"""Keys that a mask hides from a query and all before it: tiles of nothing else need not be read.

    logits = select(key <= query, x, low)

A hidden key's weight is exp(low - max), which is 0 once the row's maximum is far enough above low.
So a block goes along the keys that one of its rows may see, and then asks all rows: unless each of
them is far enough above, as one that sees nothing is not, it goes on through the others.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tfc.hlo.index_maps import Index, constant, variable
from tfc.hlo.ir import Instruction
from tfc.passes.attention.forward import MOVES, Attention, moved_back

Indices = tuple[Index, ...]
FAR = 105.0
"""exp(-FAR) is 0 in f32, and more than that: less than half of the smallest number."""


@dataclass(frozen=True)
class Hidden:
    """Keys beyond `last`, which depends on the row and does not fall, have the logit `low`.

    test: what is true up to there.
    """

    last: Index
    low: float
    test: Instruction


def hidden_keys(attention: Attention) -> Hidden | None:
    """What is hidden from all rows up to one; None if nothing is known to be."""
    x, at = before(attention.logits, attention.logits_index)
    if x.opcode != "select":
        return None
    chosen, _, other = x.operands
    other, _ = before(other, at)
    if other.opcode != "constant" or other.array_shape.rank or chosen.array_shape.rank == 0:
        return None
    for test, where in conjuncts(chosen, at):
        bound = bound_of(test, where, attention.sizes["j"])
        if bound is not None and bound.is_last:
            return Hidden(bound.key, float(other["literal"].array), test)
    return None


@dataclass(frozen=True)
class Bound:
    """The last key for which a test may hold, or the first one, for each row; it does not fall."""

    key: Index
    is_last: bool


def before(x: Instruction, at: Indices) -> tuple[Instruction, Indices]:
    """What only moves on the way to a value, and where it has the element there."""
    while x.opcode in MOVES:
        x, at = moved_back(x, at)
    return x, at


def conjuncts(x: Instruction, at: Indices) -> Iterator[tuple[Instruction, Indices]]:
    """The tests that must all hold, and where each has the element there."""
    stack = [(x, at)]
    while stack:
        x, at = before(*stack.pop())
        if x.opcode == "and":
            stack += [(o, at) for o in x.operands]
        else:
            yield x, at


def bound_of(test: Instruction, at: Indices, keys: int) -> Bound | None:
    """The bound of the keys for which a comparison holds, if it is one."""
    if test.opcode != "compare" or test["direction"] not in ("LE", "LT", "GE", "GT"):
        return None
    left, right = (_number(o, at) for o in test.operands)
    if left is None or right is None:
        return None
    if test["direction"] in ("GE", "GT"):
        left, right = right, left
    # left <= right, where one of them is the key and something known
    key, inside = variable("j", keys), 1 if test["direction"] in ("LT", "GT") else 0
    found = (Bound(key + right - left - inside, True), Bound(key + left - right + inside, False))
    return next((bound for bound in found if _rises(bound.key)), None)


def _number(x: Instruction, at: Indices) -> Index | None:
    """An integer that is made of places, as an expression."""
    x, at = before(x, at)
    if not x.array_shape.element_type.is_integer:
        return None
    found = _expression(x, at)
    low, high = x.array_shape.element_type.limits
    # What does not fit its type is another number in the program.
    return found if found is not None and low <= found.low and found.high <= high else None


def _expression(x: Instruction, at: Indices) -> Index | None:
    match x.opcode:
        case "iota":
            return at[x["iota_dimension"]]
        case "constant" if not x.array_shape.rank:
            return constant(int(x["literal"].array))
        case "convert":
            return _number(x.operands[0], at)
        case "add" | "subtract":
            left, right = (_number(o, at) for o in x.operands)
            if left is None or right is None:
                return None
            return left + right if x.opcode == "add" else left - right
    return None


def _rises(index: Index) -> bool:
    """Whether an expression never falls where the row rises, and does not depend on the key."""
    match index.kind:
        case "variable":
            return index.name != "j"
        case "constant":
            return True
        case "add":
            return all(_rises(t) for t in index.terms)
        case "mul":
            return index.value > 0 and index.left is not None and _rises(index.left)
        case "floordiv":
            return index.left is not None and _rises(index.left)
        case _:
            return not has_row(index)


def has_row(index: Index) -> bool:
    """Whether an expression depends on the row."""
    parts = [*index.terms, *([index.left] if index.left is not None else [])]
    return index.name == "r" or any(has_row(p) for p in parts)
