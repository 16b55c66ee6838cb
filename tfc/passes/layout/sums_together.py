"""Lay operands of products out so that what is summed lies together, where kernels are faster then.

    w = s8[64,96] parameter(1)                w = s8[64,96] parameter(1)
                                              t = s8[64,96]{0,1} copy(w)
    c = s32[64,96] convert(w)         -->     c = s32[64,96]{0,1} convert(t)
    d = s32[32,96] dot(x, c)                  d = s32[32,96] dot(x, c)

Which products those are the target says. A copy becomes part of what makes the operand, if a loop
does, and a constant is laid out anew while the program is compiled. Of convolutions it is the
kernel alone that is copied, with its input features side by side.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from tfc.hlo.ir import Computation, Instruction, Module, remake
from tfc.passes.analysis.aliases import before_bitcasts
from tfc.passes.analysis.called import control_computations, map_some
from tfc.passes.analysis.dimension_orders import Order, settled
from tfc.passes.analysis.fusible import is_loop
from tfc.passes.analysis.products import canonical_labels, dot_groups, group_stride
from tfc.passes.layout.layout_choice import shape_in

# How often an element is multiplied at least where a copy is worth it: one that a loop makes on its
# way or the compiler knows; and, for each byte that it has, one of what is in memory already.
_LEAST, _LEAST_READ = 64, 256


@dataclass(frozen=True)
class SumsTogether:
    """Copy operands of products that the target multiplies faster with sums side by side.

    wants: whether it does so with a product whose operands have been copied.
    """

    name: ClassVar[str] = "sums-together"
    wants: Callable[[Instruction], bool] = lambda _: False

    def __call__(self, module: Module) -> Module:
        """The module in which such operands lie so."""
        return map_some(module, control_computations(module), self._laid)

    def _laid(self, computation: Computation) -> Computation:
        new: dict[Instruction, Instruction] = {}
        copies: dict[tuple[Instruction, Order], Instruction] = {}

        def laid(x: Instruction, order: Order) -> Instruction:
            """x in an order of dimensions; what widens it widens a copy."""
            if (x, order) not in copies:
                shape = shape_in(x.array_shape, order)
                if _widens(x):
                    made = x.with_(operands=(laid(x.operands[0], order),), shape=shape)
                else:
                    made = Instruction("copy", (new[x],), shape, name="copy", metadata=x.metadata)
                copies[x, order] = made
            return copies[x, order]

        for old in computation.instructions:
            new[old] = old.renewed(new)
            orders = dict(_orders(old))
            if orders and self.wants(_with_orders(old, orders)):
                operands = (
                    laid(x, orders[n]) if n in orders else new[x]
                    for n, x in enumerate(old.operands)
                )  # fmt: skip
                new[old] = old.with_(operands=tuple(operands))
        return remake(computation, new) if copies else computation


def _with_orders(product: Instruction, orders: dict[int, Order]) -> Instruction:
    """The product with its operands laid out in orders of dimensions."""
    operands = (
        x.with_(shape=shape_in(x.array_shape, orders[n])) if n in orders else x
        for n, x in enumerate(product.operands)
    )
    return product.with_(operands=tuple(operands))


def _orders(product: Instruction) -> Iterator[tuple[int, Order]]:
    """(number of an operand, the order of dimensions that it is to have)."""
    for number, outer, inner, times in _sides(product):
        operand = product.operands[number]
        if group_stride(operand.array_shape, inner) != 1 and times >= _least(operand):
            yield number, settled(operand.array_shape.dims, reversed((*outer, *inner)))


def _sides(product: Instruction) -> Iterator[tuple[int, Sequence[int], Sequence[int], int]]:
    """(number of an operand, the dimensions that are not summed, those that are, and how often each
    element is multiplied)."""
    if product.opcode == "dot":
        (lhs, (batch, rows, sums)), (rhs, (rhs_batch, rhs_sums, columns)), _ = dot_groups(product)
        yield 0, (*batch, *rows), sums, prod(rhs.dims[d] for d in columns)
        yield 1, (*rhs_batch, *columns), rhs_sums, prod(lhs.dims[d] for d in rows)
    elif product.opcode == "convolution":
        places = product["dim_labels"].spatial  # how many
        if product["dim_labels"] == canonical_labels(places):
            last, result = places + 1, product.array_shape
            yield 1, (*range(places), last), (last - 1,), prod(result.dims[:-1])


def _least(operand: Instruction) -> int:
    """How often an element is multiplied at least.

    What makes wider numbers becomes part of a product or of a kernel of rows more often than a loop
    of its own, and these lay out nothing otherwise.
    """
    while _widens(operand):
        operand = operand.operands[0]
    source, size = before_bitcasts(operand), -(-operand.array_shape.element_type.bits // 8)
    is_made = source.opcode == "constant" or (size == 1 and is_loop(source))
    return _LEAST if is_made else _LEAST_READ * size


def _widens(x: Instruction) -> bool:
    """Whether an instruction makes numbers of more bits of others."""
    if x.opcode != "convert":
        return False
    narrow, wide = (i.array_shape.element_type for i in (x.operands[0], x))
    return narrow.bits < wide.bits
