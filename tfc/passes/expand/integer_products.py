"""Products of 8-bit integers that are less their zero points, or scaled, become products of bytes.

    a = f32[8,64] multiply(convert(s32 subtract(convert(u8 q), z)), s)      -- dequantized
    b = f32[64,16] multiply(convert(s8 w), t)
    d = f32[8,16] dot(a, b)                                            -->
    p = s32[8,16] dot(convert(u8 q), convert(s8 w))
    d = f32[8,16] multiply(convert(subtract(p, z · Σ w)), s · t)

The sums of integers are exact, where those of floats are rounded after each product: the result is
within the rounding of a sum in f32 in any order, which every dot allows, and is no less accurate.
Sums of s32, as those of MatMulInteger and QLinearConv, stay the same bit for bit, as both sides are
computed modulo 2^32. What is rounded to integers afterwards is the same, but where it is a tie
within that rounding, and there it is one step away.

Features of a convolution that do not come in fours are padded by zero points, and so is its array.
Does nothing where a scale differs along a sum, where sums in s32 could overflow, where a zero point
of a convolution's kernel is not 0, and to convolutions whose features all stay apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar

import numpy as np

from tfc.hlo import builder
from tfc.hlo.ir import Attributes, Computation, Instruction, Module, map_computations, remake
from tfc.hlo.ops.convolution import convolution_window, group_counts
from tfc.hlo.shape import F32, S8, S32, U8, Shape
from tfc.passes.analysis.known_values import known_instructions, known_value
from tfc.passes.analysis.products import PRODUCTS, channel_dimensions, summed_dimensions
from tfc.passes.expand.padded_bytes import pad_around, with_features_in_fours

_LARGEST_SUM = (1 << 31) // (255 * 255)  # products of two bytes that s32 holds
_FEWEST_FEATURES = 3


@dataclass(frozen=True)
class IntegerProducts:
    """Make products of dequantized operands products of bytes."""

    name: ClassVar[str] = "integer-products"

    def __call__(self, module: Module) -> Module:
        """The module with products of bytes."""
        return map_computations(module, _rewritten)


def _rewritten(computation: Computation) -> Computation:
    if not any(x.opcode in PRODUCTS for x in computation.instructions):
        return computation
    forms = _Forms(computation)
    new: dict[Instruction, Instruction] = {}
    differs = False
    for old in computation.instructions:
        made = old.renewed(new)
        if old.opcode in PRODUCTS:
            made = forms.of_bytes(made) or made
        differs = differs or made is not old
        new[old] = made
    return remake(computation, new) if differs else computation


@dataclass(frozen=True)
class Spread:
    """A small array that is repeated over others' dimensions: `dimensions` says where its own are.

    value: its elements, where they are known.
    """

    array: Instruction
    dimensions: tuple[int, ...]
    value: np.ndarray | None

    @property
    def is_zero(self) -> bool:
        """Whether all elements are known to be 0."""
        return self.value is not None and not self.value.any()

    @property
    def is_number(self) -> bool:
        """Whether it is one known number."""
        return self.value is not None and not self.dimensions

    def transposed(self, order: Sequence[int]) -> "Spread":
        """As it is for the array with its dimensions in another order."""
        return replace(self, dimensions=tuple(list(order).index(d) for d in self.dimensions))


@dataclass(frozen=True)
class Factor:
    """An operand as (integers - zero) · scale; zero and scale may be absent."""

    integers: Instruction
    zero: Spread | None = None
    scale: Spread | None = None

    def transposed(self, x: Instruction) -> "Factor":
        """That of a transpose of it."""
        order = x["dimensions"]
        made = builder.instruction("transpose", [self.integers], dimensions=order)
        zero, scale = (s and s.transposed(order) for s in (self.zero, self.scale))
        return Factor(made, zero, scale)

    def reshaped(self, dims: Sequence[int]) -> "Factor | None":
        """That of a reshape of it, if zero and scale are numbers."""
        if any(s is not None and s.dimensions for s in (self.zero, self.scale)):
            return None
        return replace(self, integers=builder.reshape(self.integers, dims))


class _Forms:
    """What the values of a computation are in terms of 8-bit integers."""

    def __init__(self, computation: Computation):
        self.known = known_instructions(computation)

    def _spread(self, x: Instruction) -> Spread | None:
        """A value as a small array that is repeated."""
        if x.opcode != "broadcast":
            if x.array_shape.rank:
                return None
            return Spread(x, (), known_value(x, self.known))
        inner, value = x.operands[0], known_value(x.operands[0], self.known)
        wide = [d for d, n in enumerate(inner.array_shape.dims) if n != 1]
        sizes = [inner.array_shape.dims[d] for d in wide]
        value = None if value is None else value.reshape(sizes)
        places = tuple(x["dimensions"][d] for d in wide)
        return Spread(builder.reshape(inner, sizes), places, value)

    def factor(self, x: Instruction) -> Factor | None:
        """An operand of a product in terms of integers."""
        if x.opcode == "transpose":
            found = self.factor(x.operands[0])
            return found and found.transposed(x)
        if x.opcode == "reshape":
            found = self.factor(x.operands[0])
            return found and found.reshaped(x.array_shape.dims)
        scale = None
        if x.opcode == "multiply" and x.array_shape.element_type == F32:
            scale = self._spread(x.operands[1])
            if scale is None:
                return None
            x = x.operands[0]
        if x.opcode == "convert" and x.array_shape.element_type == F32:
            if scale is None:
                return None
            x = x.operands[0]
        zero = None
        if x.opcode == "subtract" and x.array_shape.element_type == S32:
            zero = self._spread(x.operands[1])
            if zero is None:
                return None
            x = x.operands[0]
        if x.opcode == "convert" and x.array_shape.element_type == S32:
            x = x.operands[0]
        if x.array_shape.element_type not in (S8, U8):
            return None
        return Factor(x, None if zero is None or zero.is_zero else zero, scale)

    def of_bytes(self, x: Instruction) -> Instruction | None:
        """A product as one of bytes, or None."""
        if x.array_shape.element_type not in (F32, S32) or not x.array_shape.size:
            return None
        lhs, rhs = map(self.factor, x.operands)
        if lhs is None or rhs is None or (lhs.scale is None) != (rhs.scale is None):
            return None
        if (lhs.scale is None) != (x.array_shape.element_type == S32):
            return None  # sums of another type than these operands give
        if x.opcode == "convolution":
            return self._convolution(x, lhs, rhs)
        return None if _is_of_bytes(x) else self._dot(x, lhs, rhs)

    def _fits(self, x: Instruction, lhs: Factor, rhs: Factor) -> bool:
        """Whether zeros and scales are the same along sums, and sums in s32 cannot overflow."""
        for number, factor in enumerate((lhs, rhs)):
            summed = summed_dimensions(x, number)
            for spread in (factor.zero, factor.scale):
                if spread and any(d in summed for d in spread.dimensions):
                    return False
        shape = x.operands[1].array_shape
        depth = prod(shape.dims[d] for d in summed_dimensions(x, 1))
        return lhs.scale is None or depth <= _LARGEST_SUM

    def _dot(self, x: Instruction, lhs: Factor, rhs: Factor) -> Instruction | None:
        if not self._fits(x, lhs, rhs):
            return None
        total = _product(x, [lhs.integers, rhs.integers], x.attributes)
        factors = (lhs, rhs)
        for number, factor in enumerate(factors):
            other = factors[1 - number]
            if factor.zero is not None:
                shift = self._times_sums(x, number, factor.zero, 1 - number, other)
                total = builder.binary("subtract", total, shift)
        return _scaled(x, total, factors)

    def _times_sums(
        self, x: Instruction, number: int, zero: Spread, other: int, factor: Factor
    ) -> Instruction:
        """A zero point times the sums of the other operand; of the left one, less its zero points.

        (a - y)(b - z) = ab - y(b - z) - za, so that y meets what is left of the right operand.
        """
        summed, dims = summed_dimensions(x, other), x.array_shape.dims
        value = known_value(factor.integers, self.known)
        less = factor.zero if number == 0 else None
        count = prod(factor.integers.array_shape.dims[d] for d in summed)
        if value is not None and zero.is_number and less is None:
            return self._known_shift(x, other, value, zero)
        if value is not None:
            sums = builder.constant(value.astype(np.int32).sum(axis=summed, dtype=np.int32))
        else:
            add = builder.scalar_computation("add", S32)
            wide, init = builder.convert(factor.integers, S32), builder.constant(0, S32)
            sums = builder.reduce(wide, init, summed, add)
        made = builder.broadcast(sums, dims, channel_dimensions(x, other))
        if less is not None:
            each = builder.binary("multiply", less.array, builder.constant(count, S32))
            made = builder.binary("subtract", made, _placed(x, other, replace(less, array=each)))
        return builder.binary("multiply", made, _placed(x, number, zero))

    def _known_shift(
        self, x: Instruction, other: int, value: np.ndarray, zero: Spread
    ) -> Instruction:
        """A zero point that is a number, times sums of constants."""
        assert zero.value is not None, "it is known"
        sums = value.astype(np.int64).sum(axis=summed_dimensions(x, other)) * int(zero.value)
        wrapped = builder.constant(sums.astype(np.int32))
        return builder.broadcast(wrapped, x.array_shape.dims, channel_dimensions(x, other))

    def _convolution(self, x: Instruction, lhs: Factor, rhs: Factor) -> Instruction | None:
        groups, batch_groups = group_counts(x.attributes)
        features = x.operands[1].array_shape.dims[x["dim_labels"].rhs[1]]
        if batch_groups > 1 or rhs.zero is not None or not self._fits(x, lhs, rhs):
            return None
        if features < _FEWEST_FEATURES or (features % 4 and groups > 1):
            return None
        if _is_of_bytes(x) and features % 4 == 0:
            return None
        kernel = known_value(rhs.integers, self.known)
        if lhs.zero is not None and (kernel is None or lhs.zero.array.array_shape.rank):
            return None
        given, window = lhs.integers, convolution_window(x.attributes)
        zero = builder.constant(0, given.array_shape.element_type)
        if lhs.zero is not None:
            zero = builder.convert(lhs.zero.array, given.array_shape.element_type)
            given, window = pad_around(given, x["dim_labels"], window, zero)
        weights = rhs.integers
        if features % 4:
            given, weights = with_features_in_fours(given, weights, x["dim_labels"], zero)
        total = _product(x, [given, weights], x.attributes.with_(window=window))
        if lhs.zero is not None:
            shift = self._times_sums(x, 0, lhs.zero, 1, rhs)
            total = builder.binary("subtract", total, shift)
        return _scaled(x, total, (lhs, rhs))


def _is_of_bytes(x: Instruction) -> bool:
    """Whether a product multiplies bytes as it is."""
    narrow = [o.operands[0] if o.opcode == "convert" else o for o in x.operands]
    return all(o.array_shape.element_type in (S8, U8) for o in narrow)


def _product(x: Instruction, given: Sequence[Instruction], attributes: Attributes) -> Instruction:
    plain = attributes.with_(operand_precision=None, algorithm=None)
    return Instruction(x.opcode, tuple(given), Shape(S32, x.array_shape.dims), plain, x.name,
                       x.metadata)  # fmt: skip


def _placed(x: Instruction, number: int, spread: Spread) -> Instruction:
    """What is repeated over an operand, as it is over the product."""
    places: tuple[int, ...] = ()
    if spread.dimensions:
        summed = summed_dimensions(x, number)
        rank = x.operands[number].array_shape.rank
        kept = [d for d in range(rank) if d not in summed]
        channels = channel_dimensions(x, number)
        places = tuple(channels[kept.index(d)] for d in spread.dimensions)
    return builder.broadcast(spread.array, x.array_shape.dims, places)


def _scaled(x: Instruction, total: Instruction, factors: Sequence[Factor]) -> Instruction:
    """Sums of integers as what the product is: floats if its operands were scaled."""
    scales = [(n, f.scale) for n, f in enumerate(factors) if f.scale is not None]
    if not scales:
        return total
    made = builder.convert(total, F32)
    known = [s.value for _, s in scales]
    (first, left), (second, right) = scales
    if known[0] is not None and known[1] is not None and 1 in (known[0].size, known[1].size):
        number, spread = (second, right) if known[0].size == 1 else (first, left)
        single = known[0 if known[0].size == 1 else 1]
        assert spread.value is not None, "it is known"
        assert single is not None, "it is known"
        scale = replace(spread, array=builder.constant(spread.value * single.reshape(())))
        return builder.binary("multiply", made, _placed(x, number, scale))
    for number, spread in scales:
        made = builder.binary("multiply", made, _placed(x, number, spread))
    return made
