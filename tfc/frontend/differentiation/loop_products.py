"""Sums of products over the iterations of a loop, as one product after it.

    dw = dw + dot(transpose(x_k), g_k)  in iteration k    -->    gs[k] = g_k  in iteration k
                                                                 dw + dot(xs, gs)  after the loop

The gradient by weights adds a product of few rows in each iteration, for which all of the sum is
read and written. The factors are smaller, and one of them lies stacked already as a rule: it was
kept, or is a slice of an array. It does not pay, and the product stays in the loop, if the factors
to be stacked are larger than the sum, or take more memory than `_MOST_BYTES` and all that is kept.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tfc.frontend import operations as ops
from tfc.frontend.precision import kept_precision
from tfc.frontend.tensor import Tensor
from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.contraction import dot_dimensions

_MOST_BYTES = 1 << 26


@dataclass(frozen=True)
class Product:
    """A dot in the way back through an iteration, and what becomes of it before it is added.

    moves: transposes, reshapes and conversions, the last one first.
    """

    dot: Instruction
    moves: tuple[Instruction, ...]

    def over_all(self, lhs: Tensor, rhs: Tensor) -> Tensor:
        """The sum over all iterations, given the factors of each stacked."""
        lhs_batch, lhs_contracting, rhs_batch, rhs_contracting = (
            [d + 1 for d in dims] for dims in dot_dimensions(self.dot.attributes)
        )
        made = ops.dot(
            lhs,
            rhs,
            ([0, *lhs_contracting], [0, *rhs_contracting]),
            (lhs_batch, rhs_batch),
            self.dot.array_shape.element_type,
            **kept_precision(self.dot),
        )
        for move in reversed(self.moves):
            made = ops.wrap(move.with_(operands=(made.instruction,)))
        return made


@dataclass
class Products:
    """Which products are taken out of a loop.

    lies: the stack of a value of the way back, if there is one.
    count: the number of iterations.
    kept_bytes: what is kept for the way back.
    stacked: the factors that are to be stacked for it.
    """

    lies: Callable[[Instruction], Tensor | None]
    count: int
    kept_bytes: int
    stacked: list[Instruction] = field(default_factory=list)
    taken: list[list[Product]] = field(default_factory=list)

    def without(self, total: Instruction, begun: Instruction) -> Instruction:
        """What is left of a sum that begins with `begun` when products are taken out of it."""
        terms, base = [], total
        while base is not begun and base.opcode == "add":
            terms.append(base.operands[1])
            base = base.operands[0]
        found = {term: self._product(term) for term in terms}
        self.taken.append([p for p in found.values() if p is not None])
        if not self.taken[-1]:
            return total
        for term in reversed(terms):
            if found[term] is None:
                base = builder.instruction("add", [base, term])
        return base

    def _product(self, term: Instruction) -> Product | None:
        """The product that a term is, its factors entered into `stacked`; None if it stays."""
        moves, dot = [], term
        while dot.opcode in ("transpose", "reshape", "convert"):
            moves.append(dot)
            dot = dot.operands[0]
        if dot.opcode != "dot" or self.count < 2:
            return None
        known = set(self.stacked)
        more = [o for o in dict.fromkeys(dot.operands) if o not in known and self.lies(o) is None]
        size = sum(o.array_shape.byte_size for o in more)
        all_bytes = self.count * sum(o.array_shape.byte_size for o in (*self.stacked, *more))
        if size >= dot.array_shape.byte_size or all_bytes > max(_MOST_BYTES, self.kept_bytes):
            return None
        self.stacked += more
        return Product(dot, tuple(moves))

    def sums(self, stacks: Sequence[Tensor]) -> list[list[Tensor]]:
        """For each sum the products over all iterations that were taken out of it."""
        made = dict(zip(self.stacked, stacks))

        def factor(x: Instruction) -> Tensor:
            found = made[x] if x in made else self.lies(x)
            assert found is not None, "a product is only taken out if its factors are stacked"
            return found

        return [[p.over_all(*map(factor, p.dot.operands)) for p in taken] for taken in self.taken]
