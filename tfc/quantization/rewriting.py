"""Products in float become products of 8-bit integers between conversions.

    y = f32[8,16] dot(x, w)            q = u8[8,64] convert(clamp(0, round(x·(1/s)) + z, 255))
                               -->     t = s32[8,16] dot(q, s8[64,16] constant)
                                       y = f32[8,16] convert(t - z·Σ constant)·(s·weight scales)

Padding of a convolution is 0, which z stands for: where z is not 0, the padding is put around the
integers first. What follows is elementwise, as is what makes the integers of the next layer, so
that both become part of the product's kernel.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tfc.hlo import builder
from tfc.hlo.ir import (
    Attributes,
    Computation,
    Instruction,
    callees_first,
    remake,
    retarget,
)
from tfc.hlo.ops.convolution import convolution_window
from tfc.hlo.shape import F32, S32, Shape
from tfc.passes.analysis.products import channel_dimensions, summed_dimensions
from tfc.passes.expand.padded_bytes import pad_around
from tfc.quantization.affine import Affine, symmetric_weights
from tfc.quantization.products import Product

# A product over renewed operands -> what stands in its place.
Form = Callable[[Instruction], Instruction]


@dataclass(frozen=True)
class Weight:
    """The weight of a product as integers, and the scales of the result's channels.

    places: which dimensions of the result the scales have.
    """

    integers: np.ndarray
    scales: np.ndarray
    places: tuple[int, ...]
    summed: tuple[int, ...]


def quantized_weight(product: Product, number: int, *, per_channel: bool) -> Weight:
    """An operand of a product, which is a constant, as integers.

    Raises:
        TfcError: an element is NaN or infinite.
    """
    value, instruction = product.weights[number], product.instruction
    assert value is not None, "the operand is a weight"
    summed = summed_dimensions(instruction, number)
    integers, scales = symmetric_weights(value, summed, per_channel=per_channel)
    return Weight(integers, scales, channel_dimensions(instruction, number), summed)


def rewritten(entry: Computation, forms: Mapping[Instruction, Form]) -> Computation:
    """A computation with other forms of some products, its own and those in what it calls."""
    done: dict[Computation, Computation] = {}
    for computation in callees_first(entry):
        new: dict[Instruction, Instruction] = {}
        for old in computation.instructions:
            made = retarget(old.renewed(new), done.__getitem__)
            new[old] = forms[old](made) if old in forms else made
        same = all(old is made for old, made in new.items())
        done[computation] = computation if same else remake(computation, new)
    return done[entry]


class Integers:
    """The integers of activations, made once for all products that take them."""

    def __init__(self) -> None:
        self._made: dict[tuple[Instruction, Affine], Instruction] = {}

    def of(self, x: Instruction, affine: Affine) -> Instruction:
        """An array as integers."""
        if (x, affine) not in self._made:
            self._made[x, affine] = _integers(x, affine)
        return self._made[x, affine]


def _integers(x: Instruction, affine: Affine) -> Instruction:
    wide = builder.convert(x, F32)
    steps = builder.binary("multiply", wide, builder.constant(affine.inverse))
    rounded = builder.unary("round-nearest-even", steps)
    if affine.zero_point:
        zero = builder.constant(np.float32(affine.zero_point))
        rounded = builder.binary("add", rounded, zero)
    low, high = (builder.full(v, rounded.array_shape) for v in map(np.float32, affine.limits))
    bounded = builder.instruction("clamp", [low, rounded, high])
    return builder.convert(bounded, affine.element_type)


def integer_product(
    x: Instruction, operands: Sequence[Affine | Weight], integers: Integers
) -> Instruction:
    """A product by way of integers.

    Args:
        operands: for each operand, how it is integers. A zero point is 0 where the other operand is
            no weight.
    """
    given = [
        builder.constant(o.integers) if isinstance(o, Weight) else integers.of(x.operands[n], o)
        for n, o in enumerate(operands)
    ]
    shape = Shape(S32, x.array_shape.dims)
    attributes = dict(x.attributes.with_(operand_precision=None, algorithm=None))
    first = operands[0]
    if x.opcode == "convolution" and isinstance(first, Affine) and first.zero_point:
        window = convolution_window(x.attributes)
        zero = builder.constant(first.zero_point, first.element_type)
        given[0], attributes["window"] = pad_around(given[0], x["dim_labels"], window, zero)
    total = Instruction(x.opcode, tuple(given), shape, Attributes(attributes), x.name, x.metadata)
    scale: Instruction | None = None
    for affine, other in zip(operands, operands[::-1]):
        if isinstance(affine, Affine) and isinstance(other, Weight) and affine.zero_point:
            sums = other.integers.astype(np.int32).sum(axis=other.summed, dtype=np.int32)
            shift = _along(sums * np.int32(affine.zero_point), shape.dims, other.places)
            total = builder.binary("subtract", total, shift)
    channels = next((o for o in operands if isinstance(o, Weight)), None)
    step = np.prod(np.asarray([o.scale for o in operands if isinstance(o, Affine)], np.float32))
    if channels is None:
        scale = builder.full(step, shape.with_element_type(F32))
    else:
        places = channels.places if channels.scales.ndim else ()
        scale = _along(channels.scales * step, shape.dims, places)
    real = builder.binary("multiply", builder.convert(total, F32), scale)
    return builder.convert(real, x.array_shape.element_type)


def _along(value: np.ndarray, dims: Sequence[int], places: Sequence[int]) -> Instruction:
    """A constant that is repeated over the other dimensions of a result."""
    return builder.broadcast(builder.constant(value), dims, places)
