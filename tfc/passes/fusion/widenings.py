"""Let each reader widen floats for itself, so that they are in memory as narrow as they are.

    w = f32[8] convert(x)                    v = f32[8] convert(x)
    s = f32[] reduce(w, zero)       -->      s = f32[] reduce(v, zero)
    y = f32[8] multiply(w, a)                w = f32[8] convert(x)
                                             y = f32[8] multiply(w, a)

With one reader each, a conversion goes into the kernel of its reader, whatever that is: what is in
memory is x. Does nothing to conversions with one reader.
"""

from collections import ChainMap
from dataclasses import dataclass
from typing import ClassVar

from tfc.hlo.ir import Computation, Instruction, Module, remake
from tfc.passes.analysis.called import control_computations, map_some
from tfc.passes.analysis.fusible import is_widening


@dataclass(frozen=True)
class Widenings:
    """Copy conversions that widen floats for each of their readers."""

    name: ClassVar[str] = "widenings"

    def __call__(self, module: Module) -> Module:
        """The module in which each of them has one reader."""
        return map_some(module, control_computations(module), _parted)


def _parted(computation: Computation) -> Computation:
    users = computation.users
    shared = {x for x in computation.instructions if is_widening(x) and len(set(users[x])) > 1}
    if not shared:
        return computation
    new: dict[Instruction, Instruction] = {}
    taken: set[Instruction] = set()
    for old in computation.instructions:
        again = {o: new[o].with_() for o in old.operands if o in taken}
        taken.update(o for o in old.operands if o in shared)
        new[old] = old.renewed(ChainMap(again, new))
    return remake(computation, new)
