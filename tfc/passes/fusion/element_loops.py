"""Loops that make each element by itself become one kernel each, whose threads take all turns.

    t = (s32[], f32[4096]) tuple(zero, x)          whole { p = f32[4096] parameter(0)
    w = … while(t), condition=c, body=b     -->            t = (s32[], f32[4096]) tuple(z, p)
    y = f32[4096] get-tuple-element(w), index=1            w = … while(t), condition=c, body=b
                                                           v = f32[4096] get-tuple-element(w), …
                                                           ROOT r = (f32[4096]) tuple(v) }
                                                   f = (f32[4096]) fusion(x), kind=kCustom, …

As steps of the program each turn reads and writes the whole state, and is launched. Scalars that
are wanted after a loop with arrays are a kernel of their own, of one thread: among many, one would
write what others still read. A loop stays as it is, with a reason, if a turn has anything that is
not made element by element (products, sums along rows), or an element is made of others. It is done
before anything is fused, so that a turn is seen in its parts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from tfc.hlo.ir import Instruction, Module
from tfc.passes.analysis.called import control_computations
from tfc.passes.analysis.loops.element_loops import ElementLoop, element_loop
from tfc.passes.fusion.loop_kernels import with_loop_kernels
from tfc.passes.rewriting.decisions import Decisions, Refused, Taken, label


@dataclass(frozen=True)
class ElementLoops:
    """Make a kernel of each loop that makes its elements each by itself."""

    name: ClassVar[str] = "element-loops"

    def __call__(self, module: Module) -> Module:
        """The module with fusions of kind kCustom in the place of such loops."""
        taken = {x: _Groups(found) for x, found in _found(module) if not isinstance(found, str)}
        return with_loop_kernels(module, taken, _is_made_inside)

    def explain(self, module: Module) -> Decisions:
        """The loops that become kernels, and why others do not."""
        return tuple(
            Refused.of(loop, found) if isinstance(found, str) else Taken("one kernel", label(loop))
            for loop, found in _found(module)
        )


def _found(module: Module) -> Iterator[tuple[Instruction, ElementLoop | str]]:
    control = control_computations(module)
    for computation in module.computations:
        if computation in control:
            for instruction in computation.instructions:
                if instruction.opcode == "while":
                    yield instruction, element_loop(instruction)


@dataclass(frozen=True)
class _Groups:
    """Which elements that a loop ends with one kernel gives: arrays, and scalars apart."""

    found: ElementLoop

    def __call__(self, ended: Sequence[int]) -> Sequence[Sequence[int]]:
        shared = [n for n in ended if self.found.is_shared(n)]
        return [g for g in ([n for n in ended if n not in shared], shared) if g]


def _is_made_inside(init: Instruction) -> bool:
    """True for a number, or an array of one number throughout."""
    source = init.operands[0] if init.opcode == "broadcast" else init
    return source.opcode == "constant" and source["literal"].is_splat()
