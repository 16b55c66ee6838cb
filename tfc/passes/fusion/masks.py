"""Ask what was clipped where it was clipped, rather than what it was before.

    p = pred[8] compare(x, c), direction=LE      p = pred[8] compare(x, c), direction=LE
    y = f32[8] select(p, c, x)                   y = f32[8] select(p, c, x)
    d = f32[8] dot(y, …)                  -->    d = f32[8] dot(y, …)
    g = f32[8] select(p, c, h)                   q = pred[8] compare(y, c), direction=LE
                                                 g = f32[8] select(q, c, h)

p and q are the same for all numbers, and for NaN. So of a relu and its gradient y alone is in
memory, which is there in any case where a product reads it: neither x nor p.
"""

from collections import ChainMap
from dataclasses import dataclass
from typing import ClassVar

from tfc.hlo.ir import Computation, Instruction, Module, remake
from tfc.passes.analysis.called import control_computations, map_some
from tfc.passes.analysis.fusible import is_loop, is_scalar_constant, is_widening

# The comparisons that say where something is clipped: whether a select takes the bound where they
# hold; and those that tell it of a maximum or minimum.
_OF_SELECTS = {"LE": True, "GE": True, "GT": False, "LT": False}
_OF_EXTREMES = {"maximum": ("GT", "LE"), "minimum": ("LT", "GE")}


@dataclass(frozen=True)
class Masks:
    """Compare what was clipped, rather than what it was before, where that tells the same."""

    name: ClassVar[str] = "masks"

    def __call__(self, module: Module) -> Module:
        """The module in which what is in memory in any case is compared."""
        return map_some(module, control_computations(module), _asking)


def _asking(computation: Computation) -> Computation:
    asked = {p: y for y in computation.instructions for p in _told_by(computation, y)}
    if not asked:
        return computation
    new: dict[Instruction, Instruction] = {}
    for old in computation.instructions:
        again = {}
        for p in old.operands:
            y = asked.get(p)
            if y is not None and y in new and old is not y:
                again[p] = p.with_(operands=(new[y], new[p.operands[1]]))
        new[old] = old.renewed(ChainMap(again, new))
    return remake(computation, new)


def _told_by(computation: Computation, y: Instruction) -> list[Instruction]:
    """The comparisons that a clipped value is asked for: none if it may be in no memory."""
    x = _clipped(y)
    if x is None or not _is_in_memory(computation, y):
        return []
    return [
        p for p in dict.fromkeys(computation.users[x])
        if p.opcode == "compare" and p.operands[0] is x and _tells(y, p)
        and any(u is not y for u in computation.users[p])
    ]  # fmt: skip


def _is_in_memory(computation: Computation, y: Instruction) -> bool:
    """Whether a value is in memory in any case: something reads it, or a wider form of it, that is
    no loop."""
    users = computation.users[y]
    return y is computation.root or any(
        not is_loop(u) or (is_widening(u) and _is_in_memory(computation, u)) for u in users
    )


def _clipped(y: Instruction) -> Instruction | None:
    """What an instruction clips, if it does."""
    if y.opcode in _OF_EXTREMES:
        return y.operands[0]
    if y.opcode == "select" and y.operands[0].opcode == "compare":
        return y.operands[0].operands[0]
    return None


def _tells(y: Instruction, p: Instruction) -> bool:
    """Whether a comparison of what y clips is that of y."""
    x, bound = p.operands
    if not _is_number(bound):
        return False
    if y.opcode in _OF_EXTREMES:  # of zeros with different signs they take either
        own = p["direction"] in _OF_EXTREMES[y.opcode] and "type" not in p.attributes
        return own and y.operands == (x, bound)
    takes_bound = _OF_SELECTS.get(p["direction"])
    chosen, *values = y.operands
    return (
        takes_bound is not None
        and chosen.attributes == p.attributes
        and chosen.operands == p.operands
        and tuple(values) == ((bound, x) if takes_bound else (x, bound))
    )


def _is_number(bound: Instruction) -> bool:
    """Whether all elements are one number that is not NaN."""
    scalar = bound.operands[0] if bound.opcode == "broadcast" else bound
    if not is_scalar_constant(scalar):
        return False
    value = scalar["literal"].array
    return bool((value == value).all())
