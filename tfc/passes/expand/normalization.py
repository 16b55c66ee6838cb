"""Batch normalization in plain operations: sums over all dimensions but the features', and
arithmetic on the operand with the vectors of features repeated along it.

    y = f32[8,4] batch-norm-inference(x, scale, offset, mean, variance), epsilon=…, feature_index=1
      --> y = scale * (x - mean) / sqrt(variance + epsilon) + offset

The variance is the mean of the squared distances from the mean, not a difference of means, which
would lose the digits of data far from zero. f16 and bf16 are computed in f32.
"""

from collections.abc import Sequence

import numpy as np

from tfc.hlo import builder
from tfc.hlo.builder import binary, unary
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import F32, F64


class _Features:
    """The operands of a batch normalization, wide, and how features relate to the whole array."""

    def __init__(self, x: Instruction):
        self.narrow = x.operands[0].array_shape
        self.type = F64 if self.narrow.element_type == F64 else F32
        self.dims, self.feature = self.narrow.dims, x["feature_index"]
        self.operands = [builder.convert(o, self.type) for o in x.operands]
        self.vector = self.operands[1].array_shape
        self.epsilon = self.like_vector(np.float32(x["epsilon"]))
        self.count = self.like_vector(self.narrow.size // max(self.dims[self.feature], 1))

    def like_vector(self, value: object) -> Instruction:
        """A vector of features with the same value everywhere."""
        return builder.full(value, self.vector)

    def spread(self, vector: Instruction) -> Instruction:
        """A vector of features in the operand's shape."""
        return builder.broadcast(vector, self.dims, (self.feature,))

    def sum(self, array: Instruction) -> Instruction:
        """The sum for each feature."""
        others = [d for d in range(len(self.dims)) if d != self.feature]
        add = builder.scalar_computation("add", self.type)
        return builder.reduce(array, builder.constant(0, self.type), others, add)

    def mean(self, array: Instruction) -> Instruction:
        """The mean for each feature."""
        return binary("divide", self.sum(array), self.count)

    def centred(self, mean: Instruction) -> Instruction:
        """The operand's distances from the mean."""
        return binary("subtract", self.operands[0], self.spread(mean))

    def deviation(self, variance: Instruction) -> Instruction:
        """sqrt(variance + epsilon)"""
        return unary("sqrt", binary("add", variance, self.epsilon))

    def normalized(
        self, scale: Instruction, offset: Instruction, centred: Instruction, variance: Instruction
    ) -> Instruction:
        """scale * (x - mean) / sqrt(variance + epsilon) + offset"""
        scaled = binary("multiply", self.spread(scale), centred)
        quotient = binary("divide", scaled, self.spread(self.deviation(variance)))
        return binary("add", quotient, self.spread(offset))

    def results(self, values: Sequence[Instruction]) -> Instruction:
        """The tuple of results in the operand's own type."""
        narrow = [builder.convert(v, self.narrow.element_type) for v in values]
        return builder.instruction("tuple", narrow)


def training(x: Instruction) -> Instruction:
    """The expansion of batch-norm-training: (normalized, mean, variance)."""
    f = _Features(x)
    operand, scale, offset = f.operands
    mean = f.mean(operand)
    centred = f.centred(mean)
    variance = f.mean(binary("multiply", centred, centred))
    return f.results([f.normalized(scale, offset, centred, variance), mean, variance])


def inference(x: Instruction) -> Instruction:
    """The expansion of batch-norm-inference."""
    f = _Features(x)
    _, scale, offset, mean, variance = f.operands
    result = f.normalized(scale, offset, f.centred(mean), variance)
    return builder.convert(result, f.narrow.element_type)


def grad(x: Instruction) -> Instruction:
    """The expansion of batch-norm-grad: the gradients of operand, scale and offset (BNG-2)."""
    f = _Features(x)
    _, scale, mean, variance, grad_output = f.operands
    centred, deviation = f.centred(mean), f.deviation(variance)
    scaled = binary("divide", centred, f.spread(deviation))
    grad_scale = f.sum(binary("multiply", grad_output, scaled))
    # (x - mean) * coefficient of the formula: its factor 1/(variance + epsilon) is split.
    slope = binary("multiply", scaled, f.spread(binary("divide", grad_scale, f.count)))
    moved = binary("subtract", grad_output, f.spread(f.mean(grad_output)))
    factor = f.spread(binary("divide", scale, deviation))
    grad_operand = binary("multiply", factor, binary("subtract", moved, slope))
    return f.results([grad_operand, grad_scale, f.sum(grad_output)])
