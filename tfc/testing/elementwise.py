"""Generators: constants, iota, and elementwise operations with attributes or types of their own."""

from collections.abc import Callable

from hypothesis import strategies as st

from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.hlo.op import OPS
from tfc.hlo.shape import F32, F64, PRED, ElementType, Shape
from tfc.testing.grower import ANY, Grower, generates
from tfc.testing.values import shapes, sizes


@generates("constant")
def _constant(g: Grower) -> Instruction:
    return g.leaf(g.draw(shapes(g.element_types, g.max_rank, g.zero)))


@generates("iota")
def _iota(g: Grower) -> Instruction:
    dims = g.draw(st.lists(sizes(g.zero), min_size=1, max_size=max(g.max_rank, 1)))
    shape = Shape(g.type_of(ANY - {"pred"}), tuple(dims))
    return builder.iota(shape, g.integer(0, shape.rank - 1))


@generates("compare")
def _compare(g: Grower) -> Instruction:
    first = g.operand(ANY)
    ordered = [] if first.array_shape.element_type.is_complex else ["GE", "GT", "LE", "LT"]
    direction = g.pick(["EQ", "NE", *ordered])
    return builder.compare(direction, first, g.like(first.array_shape))


@generates("select")
def _select(g: Grower) -> Instruction:
    first = g.operand(ANY)
    dims = first.array_shape.dims if g.integer(0, 1) else ()
    pred = g.like(Shape(PRED, dims))
    return builder.instruction("select", [pred, first, g.like(first.array_shape)])


@generates("clamp")
def _clamp(g: Grower) -> Instruction:
    middle = g.operand(OPS["clamp"].domain)
    shape = middle.array_shape
    ends = [g.like(shape if g.integer(0, 1) else Shape(shape.element_type))
            for _ in range(2)]  # fmt: skip
    return builder.instruction("clamp", [ends[0], middle, ends[1]])


def _retype(g: Grower, opcode: str, to: Callable[[ElementType, ElementType], bool]) -> Instruction:
    x = g.operand(ANY)
    shape = x.array_shape
    target = g.pick([t for t in g.element_types if to(shape.element_type, t)])
    return builder.instruction(opcode, [x], shape=Shape(target, shape.dims))


@generates("convert")
def _convert(g: Grower) -> Instruction:
    return _retype(g, "convert", lambda a, b: b.is_complex or not a.is_complex)


@generates("complex")
def _complex(g: Grower) -> Instruction:
    parts = [t.component for t in g.element_types if t.is_complex]
    shape = Shape(
        g.pick(parts or [F32, F64]), tuple(g.draw(st.lists(sizes(g.zero), max_size=g.max_rank)))
    )
    return builder.instruction("complex", [g.like(shape), g.like(shape)])


@generates("bitcast-convert")
def _bitcast_convert(g: Grower) -> Instruction:
    return _retype(
        g,
        "bitcast-convert",
        lambda a, b: a == b or (a.bits == b.bits and not {"pred", "complex"} & {a.kind, b.kind}),
    )
