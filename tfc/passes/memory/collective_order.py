"""Order collectives by when their operands are there.

    h = f32[8] tanh(dot(x, v))                    b = f32[8] all-reduce(gradient of w)
    a = f32[8] all-reduce(gradient of v)    -->   a = f32[8] all-reduce(gradient of v)
    b = f32[8] all-reduce(gradient of w)

Effects run in the order of the text, and so would a gradient's sums: those of the first layer,
which can be made last, first of all. Collectives that follow each other may change places, as all
devices run the same program; no other effect moves. What an operand needs is counted in
instructions, so the order depends on the program alone: all of a job must have one, whatever
processor each is on.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import ClassVar

from tfc.hlo.attributes.replica_groups import is_collective
from tfc.hlo.ir import Computation, Instruction, Module, map_computations, postorder


@dataclass(frozen=True)
class CollectiveOrder:
    """Put collectives with nothing but collectives between them into the order of readiness."""

    name: ClassVar[str] = "collective-order"
    idempotent: ClassVar[bool] = True

    def __call__(self, module: Module) -> Module:
        """The module in another order."""
        return map_computations(module, _ordered)


def _ordered(computation: Computation) -> Computation:
    effects = computation.effects
    if sum(map(is_collective, effects)) < 2:
        return computation
    needed = _needed(computation)
    order = list(_by_readiness(effects, needed))
    if order == [*effects]:
        return computation
    instructions = postorder([*computation.parameters, *order, computation.root])
    return replace(computation, instructions=tuple(instructions))


def _by_readiness(
    effects: tuple[Instruction, ...], needed: dict[Instruction, int]
) -> Iterator[Instruction]:
    for are_collectives, run in groupby(effects, is_collective):
        yield from sorted(run, key=needed.__getitem__ if are_collectives else lambda _: 0)


def _needed(computation: Computation) -> dict[Instruction, int]:
    """For each instruction how many others it depends on; more than any that it depends on."""
    sets: dict[Instruction, int] = {}  # bit n stands for the n-th instruction
    for number, x in enumerate(computation.instructions):
        found = 1 << number
        for other in (*x.operands, *x.control_predecessors):
            found |= sets[other]
        sets[x] = found
    return {x: found.bit_count() for x, found in sets.items()}
