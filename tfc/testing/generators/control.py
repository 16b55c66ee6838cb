"""Generators: tuples, calls, fusions, conditionals and loops."""

import numpy as np

from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.ops.elementwise.selection import COMPARISONS
from tfc.hlo.shape import PRED, S32, ElementType, Shape
from tfc.testing.generators.grower import ANY, Grower, generates
from tfc.testing.generators.values import random_array


@generates("tuple")
def _tuple(g: Grower) -> Instruction:
    elements = [g.operand(ANY) for _ in range(g.integer(1, 3))]
    made = g.add(builder.instruction("tuple", elements))
    if g.turned and g.integer(0, 1):
        made = g.add(builder.instruction("copy", [made]))
    return builder.instruction("get-tuple-element", [made], index=g.integer(0, len(elements) - 1))


def _function(g: Grower, shape: Shape) -> Computation:
    """x -> copy, reverse or x∘x of one shape."""
    x = builder.parameter(0, shape, "x")
    match g.integer(0, 2):
        case 0:
            result = builder.instruction("copy", [x])
        case 1:
            result = builder.instruction("reverse", [x], dimensions=tuple(range(shape.rank)))
        case _:
            opcode = "add" if shape.element_type.is_complex else "maximum"
            result = builder.instruction(opcode, [x, x])
    return Computation.make("function", [x], result)


@generates("call")
def _call(g: Grower) -> Instruction:
    x = g.operand(ANY)
    return builder.instruction("call", [x], to_apply=_function(g, x.array_shape))


@generates("fusion")
def _fusion(g: Grower) -> Instruction:
    x = g.operand(ANY)
    calls = _function(g, x.array_shape)
    return builder.instruction("fusion", [x], shape=x.shape, kind="kLoop", calls=calls)


@generates("conditional")
def _conditional(g: Grower) -> Instruction:
    x = g.operand(ANY)
    branches = [_function(g, x.array_shape) for _ in range(2)]
    if g.integer(0, 1):
        index = g.scalar(S32)
        return builder.instruction(
            "conditional", [index, x, x], branch_computations=tuple(branches)
        )
    return builder.instruction(
        "conditional", [g.scalar(PRED), x, x],
        true_computation=branches[0], false_computation=branches[1],
    )  # fmt: skip


_MOST_NESTED = 2


class _Body(Grower):
    """Makes the instructions of a loop's computation: its leaves are constants."""

    def __init__(self, g: Grower, state: Instruction, depth: int):
        super().__init__(g.draw, g.element_types, g.max_rank, g.zero, g.opcodes)
        self.depth = depth
        count = len(state.shape.elements)  # type: ignore[union-attr]
        for number in range(count):
            self.add(builder.instruction("get-tuple-element", [state], index=number))

    def leaf(self, shape: Shape) -> Instruction:
        """A constant of that shape."""
        rng = np.random.default_rng(self.integer(0, 99))
        return self.add(builder.constant(random_array(shape, rng, "whole")))

    def grow(self, most: int) -> None:
        """Make some instructions."""
        usable = [o for o in self.opcodes if o != "while" or self.depth < _MOST_NESTED]
        for _ in range(self.integer(0, most) if usable else 0):
            self.make(self.pick(usable))


def _goes_on(g: Grower, state: Instruction, depth: int) -> Computation:
    """A condition that is false after a few iterations, or earlier."""
    inside = _Body(g, state, depth)
    count, limit, counter, *_ = inside.pool
    few = builder.binary("minimum", limit, builder.constant(g.integer(0, 5), S32))
    test = builder.compare("LT", count, few)
    if g.integer(0, 1):
        end = _number(g, counter.array_shape.element_type)
        counts = builder.compare(g.pick(list(COMPARISONS)), counter, end)
        test = builder.binary("and", test, counts)
    if g.integer(0, 1):
        inside.grow(2)
        test = builder.binary("and", test, inside.scalar(PRED))
    return Computation.make("condition", [state], test)


def _number(g: Grower, element_type: ElementType) -> Instruction:
    """A small constant, or one that is nearly the least or greatest of an integer type."""
    number = g.integer(-3, 6) + g.pick((0, 0, *element_type.limits))
    return builder.constant(element_type.wrapped(number), element_type)


@generates("while")
def _while(g: Grower) -> Instruction:
    """A loop over two counters, a limit and some values, which become any of their shape.

    The first counter bounds the iterations; the other may wrap around.
    """
    depth = g.depth + 1 if isinstance(g, _Body) else 0
    start = _number(g, g.pick([t for t in g.element_types if t.is_integer] or [S32]))
    values = [g.scalar(S32), start, *(g.operand(ANY) for _ in range(g.integer(1, 4)))]
    init = builder.instruction("tuple", [builder.constant(0, S32), *values])
    state = builder.parameter(0, init.shape, "state")
    inside = _Body(g, state, depth)
    count, limit, counter, *_ = inside.pool
    inside.grow(5)
    step = builder.binary("add", count, builder.constant(1, S32))
    counted = builder.binary(
        g.pick(["add", "subtract"]), counter, _number(g, start.array_shape.element_type)
    )
    results = [step, g.pick([limit, inside.like(limit.array_shape)]), counted]
    results += [inside.like(v.array_shape) for v in values[2:]]
    body = Computation.make("body", [state], builder.instruction("tuple", results))
    test = _goes_on(g, builder.parameter(0, init.shape, "state"), depth)
    loop = g.add(builder.instruction("while", [init], condition=test, body=body))
    for number in range(1, len(values)):
        g.add(builder.instruction("get-tuple-element", [loop], index=number))
    return builder.instruction("get-tuple-element", [loop], index=len(values))
