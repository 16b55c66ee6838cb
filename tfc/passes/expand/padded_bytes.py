"""Convolutions of integers whose padding is not 0: the padding is put into the array."""

from dataclasses import replace

from tfc.hlo import builder
from tfc.hlo.attributes.convolution_dimensions import ConvolutionDimensionNumbers
from tfc.hlo.attributes.window import Window
from tfc.hlo.ir import Instruction


def pad_around(
    x: Instruction, labels: ConvolutionDimensionNumbers, window: Window, value: Instruction
) -> tuple[Instruction, Window]:
    """What a convolution slides over with a value in the place of its padding, and its window then.

    Dilation of the array puts padding between its elements.
    """
    rank = x.array_shape.rank
    padding = [(0, 0, 0)] * rank
    plain = []
    for dimension, d in zip(labels.lhs[2:], window.dimensions):
        padding[dimension] = (d.low, d.high, d.base_dilation - 1)
        plain.append(replace(d, low=0, high=0, base_dilation=1))
    window = Window(tuple(plain))
    if not any(any(p) for p in padding):
        return x, window
    return builder.instruction("pad", [x, value], padding=tuple(padding)), window


def with_features_in_fours(
    x: Instruction, kernel: Instruction, labels: ConvolutionDimensionNumbers, value: Instruction
) -> tuple[Instruction, Instruction]:
    """The array with further features of a value, and the kernel with zeros for these."""
    more = -x.array_shape.dims[labels.lhs[1]] % 4
    made = []
    zero = builder.constant(0, kernel.array_shape.element_type)
    for array, dimension, filled in ((x, labels.lhs[1], value), (kernel, labels.rhs[1], zero)):
        padding = [(0, more if d == dimension else 0, 0) for d in range(array.array_shape.rank)]
        made.append(builder.instruction("pad", [array, filled], padding=tuple(padding)))
    return made[0], made[1]
