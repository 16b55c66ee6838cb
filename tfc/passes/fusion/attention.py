"""Fuse two products around a softmax into one kernel, which has no array of all scores.

    s = f32[2,9,9] dot(q, k)                   attention { s = dot(p0, p1)
    w = f32[2,9,9] … softmax(s)                            w = … softmax(s)
    y = f32[2,9,4] dot(w, v)          -->                  ROOT y = f32[2,9,4] dot(w, p2) }
                                               y = f32[2,9,4] fusion(q, k, v), kind=kCustom

What is computed of a score before the softmax, a scale, a bias, a mask, goes inside as far as it is
cheap or of the size of the scores; other arrays are read. So do the ways on which queries, keys and
values come and results go, as long as they only rearrange elements.

Refused, with the reason: weights or scores that are read elsewhere, too, as gradients do, and what
the target has no code for. Does nothing where it has none at all.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import Shape
from tfc.passes.analysis.aliases import is_alias
from tfc.passes.analysis.attention import MOVES, Attention, attention_at, is_widening
from tfc.passes.analysis.fusible import is_cheap, is_elementwise, is_loop, is_scalar_constant
from tfc.passes.fusion.engine import FusionPass, Kernel, Kernels, too_much

_FREE = (*MOVES, "constant", "iota")
_MOST = 256  # instructions of a kernel


@dataclass(frozen=True)
class AttentionFusion(FusionPass):
    """Form the fusions in every computation that runs as steps.

    takes: whether the target has code for an attention.
    """

    name: ClassVar[str] = "attention"
    takes: Callable[[Attention], bool] = field(default_factory=lambda: lambda attention: True)

    def plan(self, computation: Computation) -> Kernels:
        """The kernels, and what was refused."""
        plan = _Plan(computation)
        for mixed in computation.instructions:
            attention = attention_at(mixed)
            if attention is None:
                continue
            if self.takes(attention):
                plan.form(attention)
            else:
                plan.refuse(attention.scores, "the target has no code for such attention", mixed)
        return plan


class _Plan(Kernels):
    """The kernels of one computation.

    formed: their results, which others read from memory.
    """

    def __init__(self, computation: Computation):
        super().__init__(computation)
        self.formed: set[Instruction] = set()

    def form(self, attention: Attention) -> None:
        """Make a kernel of an attention, unless what is inside is read elsewhere."""
        root = self._finished(attention.mixed)
        dependent = self._dependent(attention.scores, root)
        found = self._members(attention, root, dependent)
        members = dict.fromkeys(sorted(found, key=self.position.__getitem__))
        for member in members:
            if member in dependent and member is not root and self.is_read_outside(member, members):
                self.refuse(member, "it is used elsewhere, too", root)
                return
        if len(members) > _MOST:
            self.refuse(attention.scores, too_much(_MOST), root)
            return
        self.kernels.append(Kernel("kCustom", tuple(members), (root,), "attention"))
        self.formed.add(root)

    def _finished(self, mixed: Instruction) -> Instruction:
        """The last of what only rearranges or converts the result, where it costs code."""
        root = last = mixed
        while last is not self.computation.root:
            users = self.computation.users[last]
            if len(users) != 1 or users[0].opcode not in ("reshape", "transpose", "convert"):
                break
            last = users[0]
            root = root if is_alias(last) else last
        return root

    def _dependent(self, scores: Instruction, root: Instruction) -> set[Instruction]:
        """The scores, and what is computed of them before the root."""
        found = {scores}
        between = slice(self.position[scores], self.position[root] + 1)
        for x in self.computation.instructions[between]:
            if any(o in found for o in x.operands):
                found.add(x)
        return found

    def _members(
        self, attention: Attention, root: Instruction, dependent: set[Instruction]
    ) -> set[Instruction]:
        """What is computed inside."""
        size = attention.logits.array_shape.size
        members: set[Instruction] = set()
        stack = [root]
        while stack:
            x = stack.pop()
            inside = x in dependent or (x not in self.formed and _goes_inside(x, size))
            if inside and x not in members:
                members.add(x)
                stack += x.operands
        for product in (attention.scores, attention.mixed):
            for operand in product.operands:
                members.update(_rearranging(operand, dependent | self.formed))
        return members


def _goes_inside(x: Instruction, size: int) -> bool:
    """True for what is not worth memory: cheap, or of the size of the scores."""
    if not isinstance(x.shape, Shape) or not (is_loop(x) or is_scalar_constant(x)):
        return False
    return x.array_shape.size >= size or x.opcode in _FREE or (is_elementwise(x) and is_cheap(x))


def _rearranging(x: Instruction, stops: set[Instruction]) -> Iterator[Instruction]:
    """What only widens or moves elements before a product."""
    while x not in stops and (x.opcode in MOVES or is_widening(x)):
        yield x
        x = x.operands[0]
