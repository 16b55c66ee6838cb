"""Generators: sort and topk."""

from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import Shape
from tfc.testing.generators.grower import ANY, Grower, generates

_ORDERED = ANY - {"complex"}


def _comes_before(g: Grower, left: Instruction, right: Instruction) -> Instruction:
    """A strict order of two scalars: ascending or descending, NaN at one end."""
    direction = g.pick(["LT", "GT"])
    before = builder.compare(direction, left, right)
    if not left.array_shape.element_type.is_float:
        return before
    first, last = (left, right) if direction == "GT" else (right, left)
    is_nan, is_number = builder.compare("NE", first, first), builder.compare("EQ", last, last)
    return builder.binary("or", before, builder.binary("and", is_nan, is_number))


@generates("sort")
def _sort(g: Grower) -> Instruction:
    key = g.operand(_ORDERED, min_rank=2 if g.turned else 1)
    dims = key.array_shape.dims
    operands = [key]
    for _ in range(
        g.integer(1 if g.turned else 0, 2)
    ):  # what is sorted with the key, which may be the key again
        operands.append(g.like(Shape(g.type_of(ANY), dims)))
    if g.integer(0, 1):
        operands.reverse()
    types = [o.array_shape.element_type for o in operands for _side in range(2)]
    sides = [builder.parameter(i, Shape(t)) for i, t in enumerate(types)]
    at = 2 * operands.index(key)
    to_apply = Computation.make("before", sides, _comes_before(g, sides[at], sides[at + 1]))
    made = builder.instruction(
        "sort", operands, dimensions=(g.integer(0, len(dims) - 1),), is_stable=True,
        to_apply=to_apply,
    )  # fmt: skip
    return _element(g, made)


@generates("topk")
def _topk(g: Grower) -> Instruction:
    x = g.operand(_ORDERED, min_rank=1)
    size = x.array_shape.dims[-1]
    k = g.integer(0 if g.zero else min(size, 1), size)
    return _element(g, builder.instruction("topk", [x], k=k, largest=bool(g.integer(0, 1))))


def _element(g: Grower, made: Instruction) -> Instruction:
    """The array that an instruction gives, or one of its arrays."""
    if isinstance(made.shape, Shape):
        return made
    index = g.integer(0, len(made.shape.elements) - 1)
    return builder.instruction("get-tuple-element", [g.add(made)], index=index)
