"""What an iteration keeps for its gradient, and what the gradient computes again.

    t = tanh(dot(x, w))      y = t * 2 + x         the gradient asks for t, 1 - t * t, y > 0
    kept: t, x                                     computed again from them: 1 - t * t, y > 0

Kept is what takes long to compute (products, reductions, exponentials, loops) and what is carried
from the iteration before. Cheap elementwise operations and moves of elements are done again if what
they are made of is kept anyway, or is no larger than they are: they become part of the kernels that
use them, and memory for all iterations is what a gradient of a loop waits for.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from tfc.hlo import builder
from tfc.hlo.ir import Instruction, has_side_effect, postorder
from tfc.hlo.loops.loop_state import elements
from tfc.hlo.op import op_named
from tfc.hlo.shape import Shape, TupleShape
from tfc.hlo.traits import Category, Cost

_MOST_SOURCES = 8  # of a value that is computed again

Known = Mapping[Instruction, Instruction]


class Residuals:
    """What to keep of an iteration so that some of its values can be computed again.

    kept: arrays of the iteration.
    """

    def __init__(
        self, wanted: Sequence[Instruction], is_free: Callable[[Instruction], bool]
    ) -> None:
        """Choose what to keep.

        Args:
            wanted: values of the iteration.
            is_free: whether a parameter of it can be had again for nothing.
        """
        self._parts: dict[Instruction, list[Instruction]] = {}
        leaves = [leaf for value in wanted for leaf in self._leaves(value)]
        order = postorder(leaves)
        fixed = {x: None for x in leaves if _is_costly(x) and not is_free(x)}
        sources: dict[Instruction, frozenset[Instruction]] = {}
        for x in order:
            if is_free(x):
                sources[x] = frozenset()
            elif _is_costly(x):
                sources[x] = frozenset([x])
            else:
                found = frozenset().union(*(sources[o] for o in x.operands))
                more = _bytes(s for s in found if s not in fixed)
                few = len(found) <= _MOST_SOURCES and more <= x.array_shape.byte_size
                sources[x] = found if few else frozenset([x])
        chosen = {s for leaf in leaves for s in sources[leaf]}
        self.kept = [x for x in order if x in chosen]

    def _leaves(self, value: Instruction) -> list[Instruction]:
        """The arrays of a value, which is a tuple where branches are given one."""
        if not isinstance(value.shape, TupleShape):
            return [value]
        if value not in self._parts:
            self._parts[value] = elements(value)
        return [leaf for part in self._parts[value] for leaf in self._leaves(part)]

    def again(self, wanted: Iterable[Instruction], known: Known) -> list[Instruction]:
        """Values of the iteration in another computation.

        Args:
            known: what `kept`, and what is free, is there.
        """
        new = dict(known)
        found = []
        for value in wanted:
            for leaf in self._leaves(value):
                _compute(leaf, new)
            found.append(self._packed(value, new))
        return found

    def _packed(self, value: Instruction, new: Known) -> Instruction:
        if value not in self._parts:
            return new[value]
        return builder.instruction("tuple", [self._packed(p, new) for p in self._parts[value]])


def _compute(value: Instruction, new: dict[Instruction, Instruction]) -> None:
    """Enter an instruction, and what it needs, into what is known."""
    stack = [value]
    while stack:
        x = stack[-1]
        missing = [] if x in new else [o for o in x.operands if o not in new]
        stack += missing
        if not missing:
            stack.pop()
            if x not in new:
                made = x.renewed(new)
                new[x] = made.with_() if made is x else made


def _is_costly(x: Instruction) -> bool:
    """True for what is better kept than computed again."""
    if x.opcode == "constant":
        return False
    if not isinstance(x.shape, Shape) or x.opcode == "parameter" or has_side_effect(x):
        return True
    op = op_named(x.opcode)
    if op.elementwise:
        return op.cost > Cost.MODERATE
    return op.category is not Category.MOVEMENT and x.opcode not in ("broadcast", "iota")


def _bytes(values: Iterable[Instruction]) -> int:
    return sum(v.array_shape.byte_size for v in values if isinstance(v.shape, Shape))
