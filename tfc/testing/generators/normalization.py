"""Generators: batch normalization."""

from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.elementwise.families import FLOAT
from tfc.hlo.shape import Shape
from tfc.testing.generators.grower import Grower, generates


def _tame(g: Grower, x: Instruction) -> Instruction:
    """Values in -1 … 1, and NaN: large ones overflow in f32, but not in f64, the reference."""
    ends = [builder.constant(v, x.array_shape.element_type) for v in (-1, 1)]
    return g.add(builder.instruction("clamp", [ends[0], x, ends[1]]))


def _batch_norm(g: Grower, opcode: str, vectors: int) -> Instruction:
    x = _tame(g, g.operand(FLOAT, min_rank=1))
    shape = x.array_shape
    feature = g.integer(0, shape.rank - 1)
    vector = Shape(shape.element_type, (shape.dims[feature],))
    operands = [x, *(_tame(g, g.like(vector)) for _ in range(vectors))]
    if vectors > 2:  # the last is a variance
        operands[-1] = g.add(builder.unary("abs", operands[-1]))
    if opcode == "batch-norm-grad":
        operands.append(_tame(g, g.like(shape)))
    return builder.instruction(opcode, operands, epsilon=0.5, feature_index=feature)


@generates("batch-norm-training")
def _training(g: Grower) -> Instruction:
    made = g.add(_batch_norm(g, "batch-norm-training", 2))
    return builder.instruction("get-tuple-element", [made], index=g.integer(0, 2))


@generates("batch-norm-inference")
def _inference(g: Grower) -> Instruction:
    return _batch_norm(g, "batch-norm-inference", 4)


@generates("batch-norm-grad")
def _grad(g: Grower) -> Instruction:
    made = g.add(_batch_norm(g, "batch-norm-grad", 3))
    return builder.instruction("get-tuple-element", [made], index=g.integer(0, 2))
