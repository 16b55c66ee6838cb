"""Growing a random program: a pool of values, and instructions made over it.

A generator makes one instruction of an op over the pool; `@generates(opcode)` adds it to the table.
Elementwise ops without a row take operands of one shape.
"""

from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.hlo.op import OPS
from tfc.hlo.shape import ElementType, Shape
from tfc.testing.generators.values import Draw, random_array, sizes

ANY = frozenset({"pred", "signed", "unsigned", "float", "complex"})


class Grower:
    """Makes instructions over a pool of those made before.

    With `turned`, operands are at times temporaries that are transposed, with elementwise
    operations before and after: an op then finds its operands in orders that passes chose.

    Args:
        opcodes: what the bodies of loops are grown from.
    """

    def __init__(
        self,
        draw: Draw,
        element_types: Sequence[ElementType],
        max_rank: int,
        zero: bool,
        opcodes: Sequence[str] = ("add", "compare", "conditional", "copy", "reverse"),
        turned: bool = False,
    ):
        self.draw, self.element_types = draw, tuple(element_types)
        self.opcodes = tuple(opcodes)
        self.max_rank, self.zero, self.turned = max_rank, zero, turned
        self.pool: list[Instruction] = []
        self.parameters: list[Instruction] = []

    def integer(self, low: int, high: int) -> int:
        """A number from `low` to `high`, both included."""
        return self.draw(st.integers(low, high))

    def pick(self, items: Sequence[Any]) -> Any:
        """One of the items."""
        return self.draw(st.sampled_from(list(items)))

    def leaf(self, shape: Shape) -> Instruction:
        """A parameter, a constant or an iota of that shape."""
        choice = self.integer(0, 3)
        if choice == 0 and shape.rank and shape.element_type.kind != "pred":
            return self.add(builder.iota(shape, self.integer(0, shape.rank - 1)))
        if choice == 1:
            rng = np.random.default_rng(self.integer(0, 99))
            return self.add(builder.constant(random_array(shape, rng, "whole")))
        self.parameters.append(builder.parameter(len(self.parameters), shape))
        return self.add(self.parameters[-1])

    def add(self, made: Instruction) -> Instruction:
        """Put an instruction into the pool."""
        self.pool.append(made)
        return made

    def type_of(self, kinds: frozenset[str]) -> ElementType:
        """An element type of one of the kinds."""
        return self.pick([t for t in self.element_types if t.kind in kinds])

    def operand(self, kinds: frozenset[str], min_rank: int = 0) -> Instruction:
        """A value of one of those kinds: from the pool if there is one, or new."""
        found = [i for i in self.pool if isinstance(i.shape, Shape)
                 and i.shape.element_type.kind in kinds and i.shape.rank >= min_rank
                 and i.shape.size <= 256]  # fmt: skip
        if found and self.integer(0, 3):
            made = self.pick(found)
            return self._transposed(made.shape) if self._turns(made.shape) else made
        dims = st.lists(sizes(self.zero), min_size=min_rank, max_size=self.max_rank)
        shape = Shape(self.type_of(kinds), tuple(self.draw(dims)))
        return self._transposed(shape) if self._turns(shape) else self.leaf(shape)

    def like(self, shape: Shape) -> Instruction:
        """A value of that shape: from the pool if there is one, or new."""
        return self._transposed(shape) if self._turns(shape) else self._stored(shape)

    def _turns(self, shape: Shape) -> bool:
        return self.turned and shape.rank > 1 and self.integer(0, 1) == 1

    def _transposed(self, shape: Shape) -> Instruction:
        """A value of that shape that is the transpose of another; a temporary, most often."""
        order = self.pick(list(permutations(range(shape.rank)))[1:])
        dims = tuple(shape.dims[order.index(d)] for d in range(shape.rank))
        value = self._stored(Shape(shape.element_type, dims))
        if self.integer(0, 1):
            value = self.add(_opposite(value))
        value = self.add(builder.instruction("transpose", [value], dimensions=tuple(order)))
        return self.add(_opposite(value)) if self.integer(0, 2) else value

    def _stored(self, shape: Shape) -> Instruction:
        found = [i for i in self.pool if i.shape == shape]
        return self.pick(found) if found and self.integer(0, 3) else self.leaf(shape)

    def scalar(self, element_type: ElementType) -> Instruction:
        """A scalar value of that type."""
        return self.like(Shape(element_type))

    def some_dimensions(self, rank: int) -> tuple[int, ...]:
        """Any of the dimensions 0 … rank-1, ascending."""
        return tuple(d for d in range(rank) if self.integer(0, 1))

    def make(self, opcode: str) -> Instruction:
        """One instruction of an op over values of the pool, added to it."""
        generator = GENERATORS.get(opcode)
        if generator is not None:
            return self.add(generator(self))
        op = OPS[opcode]
        first = self.operand(op.domain or ANY)
        rest = [self.like(first.array_shape) for _ in range((op.arity or 1) - 1)]
        return self.add(builder.instruction(opcode, [first, *rest]))


def _opposite(value: Instruction) -> Instruction:
    """The negative of numbers, the complement of truth values."""
    is_pred = value.array_shape.element_type.kind == "pred"
    return builder.unary("not" if is_pred else "negate", value)


Generator = Callable[[Grower], Instruction]
GENERATORS: dict[str, Generator] = {}


def generates(opcode: str) -> Callable[[Generator], Generator]:
    """Add a function to the table of generators."""

    def add(function: Generator) -> Generator:
        GENERATORS[opcode] = function
        return function

    return add
