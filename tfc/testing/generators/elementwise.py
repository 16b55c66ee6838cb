"""Generators: constants, iota, and elementwise operations with attributes or types of their own."""

from hypothesis import strategies as st

from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.hlo.op import OPS
from tfc.hlo.shape import ELEMENT_TYPES, F32, F64, PRED, S32, Shape
from tfc.testing.generators.grower import ANY, Grower, generates
from tfc.testing.generators.values import shapes, sizes


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


@generates("convert")
def _convert(g: Grower) -> Instruction:
    x = g.operand(ANY)
    return builder.instruction(
        "convert", [x], shape=x.array_shape.with_element_type(g.pick(g.element_types))
    )


@generates("bitcast-convert")
def _bitcast_convert(g: Grower) -> Instruction:
    first = g.type_of(ANY)
    plain = [t for t in g.element_types if t.kind not in ("pred", "complex")]
    second = g.pick(plain if first in plain else [first])
    wide, narrow = sorted((first, second), key=lambda t: -t.bits)
    dims = tuple(g.draw(st.lists(sizes(g.zero), max_size=max(g.max_rank - 1, 0))))
    parts = (wide.bits // narrow.bits,) if wide.bits > narrow.bits else ()
    shapes = Shape(wide, dims), Shape(narrow, dims + parts)
    source, target = shapes if g.integer(0, 1) else shapes[::-1]
    return builder.instruction("bitcast-convert", [g.like(source)], shape=target)


@generates("reduce-precision")
def _reduce_precision(g: Grower) -> Instruction:
    x = g.operand(frozenset({"float"}))
    exponent, mantissa = g.integer(1, 11), g.integer(0, 23)
    return builder.instruction(
        "reduce-precision", [x], exponent_bits=exponent, mantissa_bits=mantissa
    )


@generates("stochastic-convert")
def _stochastic_convert(g: Grower) -> Instruction:
    x = g.operand(frozenset({"float"}))
    shape = x.array_shape
    noise = g.like(shape.with_element_type(ELEMENT_TYPES[f"u{shape.element_type.bits}"]))
    to = g.pick([t for t in g.element_types if t.kind == "signed"] or [S32])
    return builder.instruction("stochastic-convert", [x, noise], shape=shape.with_element_type(to))


@generates("complex")
def _complex(g: Grower) -> Instruction:
    parts = [t.component for t in g.element_types if t.is_complex]
    shape = Shape(
        g.pick(parts or [F32, F64]), tuple(g.draw(st.lists(sizes(g.zero), max_size=g.max_rank)))
    )
    return builder.instruction("complex", [g.like(shape), g.like(shape)])
