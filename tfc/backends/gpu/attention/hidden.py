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
    x, at = _before(attention.logits, attention.logits_index)
    if x.opcode != "select":
        return None
    chosen, _, other = x.operands
    other, _ = _before(other, at)
    if other.opcode != "constant" or other.array_shape.rank or chosen.array_shape.rank == 0:
        return None
    for test, where in _conjuncts(chosen, at):
        last = _last_visible(test, where, attention.sizes["j"])
        if last is not None:
            return Hidden(last, float(other["literal"].array), test)
    return None


def _before(x: Instruction, at: Indices) -> tuple[Instruction, Indices]:
    """What only moves on the way to a value, and where it has the element there."""
    while x.opcode in MOVES:
        x, at = moved_back(x, at)
    return x, at


def _conjuncts(x: Instruction, at: Indices) -> Iterator[tuple[Instruction, Indices]]:
    stack = [(x, at)]
    while stack:
        x, at = _before(*stack.pop())
        if x.opcode == "and":
            stack += [(o, at) for o in x.operands]
        else:
            yield x, at


def _last_visible(test: Instruction, at: Indices, keys: int) -> Index | None:
    """The last key for which a comparison holds, if it holds for all before."""
    if test.opcode != "compare" or test["direction"] not in ("LE", "LT", "GE", "GT"):
        return None
    left, right = (_number(o, at) for o in test.operands)
    if left is None or right is None:
        return None
    if test["direction"] in ("GE", "GT"):
        left, right = right, left
    # left <= right, where left is the key and something known
    last = variable("j", keys) + right - left
    last = last if test["direction"] in ("LE", "GE") else last - 1
    return last if _rises(last) else None


def _number(x: Instruction, at: Indices) -> Index | None:
    """An integer that is made of places, as an expression."""
    x, at = _before(x, at)
    if not x.array_shape.element_type.is_integer:
        return None
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
            return not _has_row(index)


def _has_row(index: Index) -> bool:
    parts = [*index.terms, *([index.left] if index.left is not None else [])]
    return index.name == "r" or any(_has_row(p) for p in parts)
