"""Expansion: operations that are composed of plainer ones, written out.

    before:  y = f32[8,4] batch-norm-inference(x, scale, offset, mean, variance), epsilon=0.001 …
    after:   the subtractions, products and broadcasts that it stands for

A row of the table gives an instruction of plain operations for one of the opcode. Backends then
need no code for the opcode, and the parts fuse with what is around them. The reference evaluator
has the operation's own meaning, which tests hold against its expansion.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from tfc.hlo import builder
from tfc.hlo.ir import Instruction, Module, map_computations, rebuild
from tfc.hlo.ops.indexed import takes_nothing
from tfc.hlo.ops.ragged_expansion import expand_ragged_dot
from tfc.hlo.shape import PRED
from tfc.passes.analysis.sort_keys import selects_few
from tfc.passes.expand import fft, normalization, random
from tfc.passes.expand.bitcast import expand_bitcast
from tfc.passes.expand.mapped import expand_map, expand_scan
from tfc.passes.expand.outside import RUNTIME
from tfc.passes.expand.sorting import expand_topk
from tfc.passes.expand.sums import expand_sum

Expansion = Callable[[Instruction], Instruction]

# What arithmetic on truth values is, as XLA has it.
OF_PRED = {"add": "or", "multiply": "and"}


def _gather(x: Instruction) -> Instruction:
    """gather(f32[0,2] a, i), slice_sizes={0,2} --> zeros; itself if there is something to take"""
    return builder.full(0, x.array_shape) if takes_nothing(x) else x


EXPANSIONS: dict[str, Expansion] = {
    "bitcast-convert": expand_bitcast,
    "batch-norm-training": normalization.training,
    "batch-norm-inference": normalization.inference,
    "batch-norm-grad": normalization.grad,
    "fft": fft.expand_fft,
    "gather": _gather,
    "reduce": expand_sum,
    "reduce-window": expand_sum,
    "rng": random.random_numbers,
    "rng-bit-generator": random.bit_generator,
    "map": expand_map,
    "scan": expand_scan,
    "ragged-dot": expand_ragged_dot,
    "topk": expand_topk,
    **RUNTIME,
}


def expand(instruction: Instruction) -> Instruction:
    """The instruction in plain operations; itself if it is one."""
    if instruction.opcode in OF_PRED and instruction.array_shape.element_type == PRED:
        return instruction.with_(opcode=OF_PRED[instruction.opcode])
    expansion = EXPANSIONS.get(instruction.opcode)
    return expansion(instruction) if expansion else instruction


@dataclass(frozen=True)
class Expand:
    """Replace each composite operation by the plain ones that it stands for.

    selections: leave the topks that a kernel computes without sorting all elements.
    takes_transform: whether to leave an fft of one dimension, which a kernel computes; those of
        several dimensions become such.
    """

    name: ClassVar[str] = "expand"
    selections: bool = False
    takes_transform: Callable[[Instruction], bool] | None = None

    def __call__(self, module: Module) -> Module:
        """The module without operations of the expansion table."""
        return map_computations(module, lambda c: rebuild(c, self._expand))

    def _expand(self, instruction: Instruction) -> Instruction:
        if instruction.opcode == "fft" and self.takes_transform is not None:
            return fft.by_dimensions(instruction, self.takes_transform)
        kept = self.selections and instruction.opcode == "topk" and selects_few(instruction)
        return instruction if kept else expand(instruction)
