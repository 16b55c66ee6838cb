"""topk as a sort of the elements with their positions, of which the first k are kept.

    t = (f32[k], s32[k]) topk(x), k=…     s = (s32[n], s32[n]) sort(keys of x, iota), dimensions={0}
                                          t = tuple(elements of slice(s#0), slice(s#1))

Floats are sorted as the integers that have the same order, so that every value has its place and
keeps its bits. A topk of few elements of long rows need not be a sort, where a backend has a kernel
that selects (KernelKinds.selections).
"""

from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import ELEMENT_TYPES, S32, ElementType, Shape, TupleShape

# A selection gathers at least so many elements before it sorts, and twice as many as it keeps.
FEWEST_GATHERED = 256


def gathered(x: Instruction) -> int:
    """How many elements a topk that selects gathers before it keeps the first k of them."""
    return max(2 * x["k"], FEWEST_GATHERED)


def selects_few(x: Instruction) -> bool:
    """True if a topk is better computed by selecting than by sorting all elements."""
    operand = x.operands[0].array_shape
    # The NaN of some floats of 8 bits has no place in their total order.
    is_narrow_float = operand.element_type.is_float and operand.element_type.bits == 8
    return not is_narrow_float and x["k"] > 0 and operand.dims[-1] >= 2 * gathered(x)


def selection_order(x: Instruction) -> Computation:
    """(value, value, position, position) -> whether a topk takes the first value before the second.

    Floats are compared by their total order.
    """
    direction = "GT" if x["largest"] else "LT"
    return _comparator(direction, x.operands[0].array_shape.element_type)


def expand_topk(x: Instruction) -> Instruction:
    """The sort, and the slices of its results in the layouts of the topk's."""
    (operand,) = x.operands
    dims, element_type = operand.array_shape.dims, operand.array_shape.element_type
    keys = _bits(operand, element_type) if element_type.is_float else operand
    positions = builder.iota(Shape(S32, dims), len(dims) - 1)
    both = builder.instruction(
        "sort", [keys, positions], dimensions=(len(dims) - 1,), is_stable=True,
        to_apply=_comparator("GT" if x["largest"] else "LT", keys.array_shape.element_type),
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


def _comparator(direction: str, element_type: ElementType) -> Computation:
    """(key, key, position, position) -> whether the first key comes before the second."""
    types = (element_type, element_type, S32, S32)
    sides = [builder.parameter(i, Shape(t)) for i, t in enumerate(types)]
    before = builder.compare(direction, sides[0], sides[1])
    if element_type.is_float:
        before = builder.instruction("compare", sides[:2], direction=direction, type="TOTALORDER")
    return Computation.make("before", sides, before)
