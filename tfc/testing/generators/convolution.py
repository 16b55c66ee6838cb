"""Generators: convolution."""

from dataclasses import replace

from hypothesis import strategies as st

from tfc.hlo import builder
from tfc.hlo.attributes.convolution_dimensions import ConvolutionDimensionNumbers
from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import F32, S32, Shape
from tfc.testing.generators.grower import ANY, Grower, generates
from tfc.testing.generators.values import sizes


def window_dimension(g: Grower, size: int) -> WindowDimension:
    """A dimension of a window over `size` elements; each number is plain more often than not."""
    plain = [g.integer(0, 2) > 0 for _ in range(4)]
    low, high = (0, 0) if plain[0] else (g.integer(-2, 3), g.integer(-2, 3))
    made = WindowDimension(
        size=g.integer(1, 3),
        stride=1 if plain[1] else g.integer(2, 3),
        low=low,
        base_dilation=1 if plain[2] else g.integer(2, 3),
        window_dilation=1 if plain[3] else g.integer(2, 3),
        reversal=g.integer(0, 3) == 0,
    )
    return replace(made, high=max(high, -made.padded(size)))  # no more is removed than there is


@generates("convolution")
def _convolution(g: Grower) -> Instruction:
    if g.integer(0, 1):
        lhs = g.operand(ANY, min_rank=2)
    else:
        dims = [g.draw(sizes(g.zero)) for _ in range(g.integer(2, 4))]
        lhs = g.leaf(Shape(g.type_of(ANY), tuple(dims)))
    shape = lhs.array_shape
    roles = range(shape.rank)
    labels = ConvolutionDimensionNumbers(*(tuple(g.draw(st.permutations(roles))) for _ in "lro"))
    batch, features, *spatial = (shape.dims[d] for d in labels.lhs)
    groups = g.pick([1, *(n for n in (2, 3, features) if n and features % n == 0)])
    batch_groups = g.pick([1, *(n for n in (2, batch) if n and batch % n == 0)])
    batch_groups = batch_groups if groups == 1 else 1
    window = Window(tuple(window_dimension(g, n) for n in spatial))
    outputs = g.draw(sizes(g.zero)) * groups * batch_groups
    kernel = [0] * shape.rank
    for d, n in zip(labels.rhs, (outputs, features // groups, *window.size)):
        kernel[d] = n
    result = None
    wider = {"f16": F32, "bf16": F32, "s8": S32, "u8": S32}.get(shape.element_type.name)
    if wider in g.element_types and g.integer(0, 1):
        result = Shape(wider)  # only its element type counts
    return builder.instruction(
        "convolution", [lhs, g.like(Shape(shape.element_type, tuple(kernel)))], shape=result,
        window=window, dim_labels=labels, feature_group_count=groups,
        batch_group_count=batch_groups,
    )  # fmt: skip
