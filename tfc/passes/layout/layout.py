"""Assign layouts: the order in memory of every value, so that transposes and copies disappear.

    c = f32[8,54,54,64] convolution(x, k)           c = f32[8,54,54,64]{3,2,1,0} convolution(x, k)
    t = f32[8,64,54,54] transpose(c)          -->   t = f32[8,64,54,54]{1,3,2,0} transpose(c)
    r = f32[8,64,54,54] maximum(t, zeros)           r = f32[8,64,54,54]{1,3,2,0} maximum(t, zeros)
    u = f32[8,54,54,64] transpose(r)                u = f32[8,54,54,64]{3,2,1,0} transpose(r)

Neither transpose moves a byte, so no code runs for them (aliases.is_bitcast). What the target's
dots and convolutions take is asked of it; layout_choice.py says how orders are found. Where a user
needs another order than its operand has, a `copy` is inserted; constants are re-laid instead.

Parameters and results of the entry, the state of loops, what branches take and give, and operands
and results of calls, collectives and whatever else has one form keep their layouts. Does nothing to
a computation without transposes in which all is row-major.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import ClassVar

from tfc.errors import InternalError
from tfc.hlo.ir import Computation, Instruction, Module, remake
from tfc.hlo.op import op_named
from tfc.hlo.shape import AnyShape, Shape, leaves
from tfc.passes.analysis.aliases import is_bitcast
from tfc.passes.analysis.called import control_computations, decided, map_some
from tfc.passes.analysis.dimension_orders import (
    Order,
    backward,
    forward,
    is_alike,
    order_of,
    row_major,
)
from tfc.passes.analysis.products import has_one_stride_a_direction
from tfc.passes.expand.dots import swapped
from tfc.passes.layout.layout_choice import REMADE, Choice, Takes, shape_in
from tfc.passes.rewriting.decisions import Decision, Decisions, Refused, Taken, label


@dataclass(frozen=True)
class Layouts:
    """Choose the layouts of values that are neither given nor returned.

    takes: what the target says of its dots and convolutions (layout_choice.Takes).
    """

    name: ClassVar[str] = "layout"
    takes: Takes = field(default_factory=lambda: has_one_stride_a_direction)

    def __call__(self, module: Module) -> Module:
        """The module with layouts assigned."""
        return map_some(module, control_computations(module), self._assign)

    def explain(self, module: Module) -> Decisions:
        """The copies that the layouts need, and the transposes that move bytes or none."""
        return decided(module, self._decisions)

    def _decisions(self, computation: Computation) -> Iterator[Decision]:
        laying = _Laying(computation, self.takes)
        after = laying.apply()
        yield from laying.copies
        for x in after.instructions:
            if x.opcode == "transpose" and is_bitcast(x):
                yield Taken(f"a transpose to {x.shape} that moves no byte", label(x))
            elif x.opcode == "transpose":
                yield Refused.of(x, f"a transpose to {x.shape} moves bytes")

    def _assign(self, computation: Computation) -> Computation:
        return _Laying(computation, self.takes).apply()


class _Laying:
    """Gives a computation's values the layouts that are chosen for them."""

    def __init__(self, computation: Computation, takes: Takes):
        self.computation, self.takes = computation, takes
        self.copies: list[Taken] = []
        self.new: dict[Instruction, Instruction] = {}
        self._laid: dict[tuple[Instruction, Order], Instruction] = {}

    def apply(self) -> Computation:
        """The computation with layouts; itself if they are as they were."""
        if not _may_gain(self.computation):
            return self.computation
        self.choice = Choice(self.computation, self.takes)
        for x in self.computation.instructions:
            self.new[x] = self._renewed(x)
        if all(a is b for a, b in self.new.items()):
            return self.computation
        root = self.computation.root
        if isinstance(root.shape, Shape):
            self.new[root] = self._in(root, order_of(root.shape))
        return remake(self.computation, self.new)

    def _renewed(self, x: Instruction) -> Instruction:
        order = self.choice.orders.get(x)
        if order is None:
            return self._with(x, self._operands(x, None), x.shape)
        if x in self.choice.asked:
            return self._asked(x, order)
        if x.opcode == "reshape":
            return self._reshape(x, order)
        return self._with(x, self._operands(x, order), shape_in(x.array_shape, order))

    def _reshape(self, x: Instruction, order: Order) -> Instruction:
        """A reshape after a copy if it then moves nothing, else before one, else by itself."""
        (operand,) = x.operands
        wanted, bitcast = backward(x, 0, order), forward(x, 0, self.choice.orders[operand])
        inner = self.new[operand] if wanted is None else self._in(operand, wanted)
        if wanted is not None or bitcast is None:
            return self._with(x, (inner,), shape_in(x.array_shape, order))
        return self._copy(self._with(x, (inner,), shape_in(x.array_shape, bitcast)), order)

    def _with(
        self, x: Instruction, operands: tuple[Instruction, ...], shape: AnyShape
    ) -> Instruction:
        """The instruction on new operands, in another layout; itself if both are as they were."""
        before = tuple(self.new.get(p, p) for p in x.control_predecessors)
        same = all(
            a is b for a, b in zip((*operands, *before), (*x.operands, *x.control_predecessors))
        )
        if same and shape == x.shape:
            return x
        return replace(x, operands=operands, shape=shape, control_predecessors=before)

    def _operands(self, x: Instruction, order: Order | None) -> tuple[Instruction, ...]:
        """The operands in the orders in which the instruction reads them."""
        operands = []
        for k, o in enumerate(x.operands):
            wanted = self.choice.demand(x, k) if o in self.choice.orders else None
            if wanted is None and order is not None and _is_walked(x, k):
                wanted = backward(x, k, order)
            operands.append(self.new[o] if wanted is None else self._in(o, wanted))
        return tuple(operands)

    def _asked(self, x: Instruction, order: Order) -> Instruction:
        """A dot or convolution, as few bytes of its operands re-laid as may be."""
        orders = tuple(self.choice.orders[o] for o in x.operands)
        plain = tuple(row_major(o.array_shape.rank) for o in x.operands)
        numbers = range(len(x.operands))
        subsets = [set(s) for size in range(3) for s in combinations(numbers, size)]
        subsets.sort(key=lambda s: sum(x.operands[k].array_shape.byte_size for k in s))
        for subset in subsets:
            wanted = tuple(plain[k] if k in subset else orders[k] for k in numbers)
            fits = self.choice.fitting(x, wanted, order)
            if fits is not None:
                operands = tuple(self._in(o, w) for o, w in zip(x.operands, wanted))
                if fits.opcode == "transpose":
                    return swapped(x.with_(operands=operands, shape=fits.shape))
                return self._with(x, operands, fits.shape)
        raise InternalError(f"{x.name} was given an order that its kernel does not take")

    def _in(self, x: Instruction, order: Order) -> Instruction:
        """What stands for an instruction, in an order."""
        made = self.new[x]
        if self.choice.orders[x] == order:
            return made
        if (x, order) not in self._laid:
            self._laid[x, order] = self._copy(made, order)
        return self._laid[x, order]

    def _copy(self, x: Instruction, order: Order) -> Instruction:
        shape = shape_in(x.array_shape, order)
        if x.opcode in REMADE:
            return x.with_(shape=shape)
        self.copies.append(Taken(f"copy to {shape}, {shape.byte_size} bytes", label(x)))
        return Instruction("copy", (x,), shape, name="copy", metadata=x.metadata)


def _may_gain(computation: Computation) -> bool:
    """True if some value is transposed, or lies otherwise than row-major."""
    return any(
        x.opcode == "transpose" or any(not s.has_default_layout for s in leaves(x.shape))
        for x in computation.instructions
    )


def _is_walked(x: Instruction, number: int) -> bool:
    """True if a kernel best reads an operand in the order in which it walks over its result."""
    windows = x.opcode in ("reduce-window", "select-and-scatter", "sort")
    return is_alike(x, number) and (windows or op_named(x.opcode).elementwise)
