"""topk as a sort of the elements with their positions, of which the first k are kept.

    t = (f32[k], s32[k]) topk(x), k=…     s = (s32[n], s32[n]) sort(keys of x, iota), dimensions={0}
                                          t = tuple(elements of slice(s#0), slice(s#1))

Floats are sorted as the integers that have the same order, so that every value has its place and
keeps its bits. A topk of few elements of long rows need not be a sort, where a backend has a kernel
that selects (KernelKinds.selections).
"""

from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import ELEMENT_TYPES, S32, ElementType, Shape, TupleShape
from tfc.passes.analysis.sort_keys import key_order


def expand_topk(x: Instruction) -> Instruction:
    """The sort, and the slices of its results in the layouts of the topk's."""
    (operand,) = x.operands
    dims, element_type = operand.array_shape.dims, operand.array_shape.element_type
    keys = _bits(operand, element_type) if element_type.is_float else operand
    positions = builder.iota(Shape(S32, dims), len(dims) - 1)
    both = builder.instruction(
        "sort", [keys, positions], dimensions=(len(dims) - 1,), is_stable=True,
        to_apply=key_order("GT" if x["largest"] else "LT", keys.array_shape.element_type),
    )  # fmt: skip
    bounds = (*((0, n, 1) for n in dims[:-1]), (0, x["k"], 1))
    values, indices = (
        builder.instruction(
            "slice", [builder.instruction("get-tuple-element", [both], index=i)], slice=bounds
        )
        for i in range(2)
    )
    if element_type.is_float:
        values = builder.instruction(
            "bitcast-convert", [_mirrored(values)],
            shape=values.array_shape.with_element_type(element_type),
        )  # fmt: skip
    assert isinstance(x.shape, TupleShape), "the rule for its shape says so"
    parts = [p.with_(shape=s) for p, s in zip((values, indices), x.shape.elements)]
    return builder.instruction("tuple", parts)


def _bits(operand: Instruction, element_type: ElementType) -> Instruction:
    """Integers in the order of the floats: the bits, those of negative numbers mirrored."""
    integer = ELEMENT_TYPES[f"s{element_type.bits}"]
    shape = operand.array_shape.with_element_type(integer)
    return _mirrored(builder.instruction("bitcast-convert", [operand], shape=shape))


def _mirrored(bits: Instruction) -> Instruction:
    """All bits but the sign flipped where it is set; its own inverse."""
    shape = bits.array_shape
    flip = builder.full((1 << (shape.element_type.bits - 1)) - 1, shape)
    negative = builder.compare("LT", bits, builder.full(0, shape))
    return builder.instruction("select", [negative, builder.binary("xor", bits, flip), bits])
