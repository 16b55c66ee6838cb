"""Remove instructions whose value nobody uses.

    x = f32[8] parameter(0)                x = f32[8] parameter(0)
    u = f32[8] exponential(x)      -->     ROOT n = f32[8] negate(x)
    ROOT n = f32[8] negate(x)

Does nothing when the root needs every instruction; parameters and effects always stay.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

from tfc.hlo.ir import Computation, Module, map_computations, postorder


@dataclass(frozen=True)
class Dce:
    """Remove unused instructions from every computation, and computations that nothing calls."""

    name: ClassVar[str] = "dce"

    def __call__(self, module: Module) -> Module:
        """The module without unused instructions."""
        return map_computations(module, _remove_unused)


def _remove_unused(computation: Computation) -> Computation:
    needed = set(postorder([*computation.parameters, *computation.effects, computation.root]))
    if len(needed) == len(computation.instructions):
        return computation
    kept = tuple(i for i in computation.instructions if i in needed)
    return replace(computation, instructions=kept)
