"""Batching of linear algebra, Fourier transforms, batch normalization and random numbers."""

from tfc.frontend import operations as ops
from tfc.frontend.batching.choices import one_by_one
from tfc.frontend.batching.products import fold, unfold
from tfc.frontend.batching.values import Nest, Value, is_batched
from tfc.frontend.batching.walk import Batch, batches
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import Shape


@batches("cholesky", "fft")
def _of_last_dimensions(_: Batch, x: Instruction, operand: Value) -> Nest:
    return Value(ops.operation(x.opcode, operand.tensor, **x.attributes), True)


@batches("triangular-solve")
def _triangular_solve(batch: Batch, x: Instruction, matrix: Value, right: Value) -> Nest:
    """One solve; if all have the same matrix, the batch is one of more right-hand sides."""
    if matrix.batched:
        stacked = [matrix.tensor, batch.stacked(right)]
        return Value(ops.operation(x.opcode, *stacked, **x.attributes), True)
    columns = x.array_shape.rank - (1 if x.attributes.get("left_side") else 2)
    folded = fold(right.tensor, columns, 1)
    solved = ops.operation(x.opcode, matrix.tensor, folded, **x.attributes)
    return Value(unfold(solved, columns, batch.size, 1), True)


@batches("batch-norm-training", "batch-norm-inference", "batch-norm-grad")
def _batch_norm(batch: Batch, x: Instruction, *operands: Value) -> Nest:
    """One normalization: what a feature is to one element, it is to the batch with the element."""
    feature, size = x["feature_index"], batch.size
    folded = [
        fold(batch.stacked(operand), feature if old.array_shape.rank > 1 else 0, 1)
        for operand, old in zip(operands, x.operands)
    ]
    made = ops.operation(x.opcode, *folded, **x.attributes)
    if isinstance(x.shape, Shape):
        return Value(unfold(made, feature, size, 1), True)
    result, *vectors = ops.elements(made)
    unfolded = [unfold(result, feature, size, 1), *(unfold(v, 0, size, 1) for v in vectors)]
    return tuple(Value(u, True) for u in unfolded)


@batches("rng-bit-generator", "rng-get-and-update-state")
def _one_by_one(batch: Batch, x: Instruction, *operands: Nest) -> Nest:
    return one_by_one(batch, x, *operands)


@batches("rng")
def _rng(batch: Batch, x: Instruction, *operands: Value) -> Nest:
    """Numbers of their own for each batch element."""
    if any(map(is_batched, operands)):
        return one_by_one(batch, x, *operands)
    shape = Shape(x.array_shape.element_type, (batch.size, *x.array_shape.dims))
    drawn = ops.operation("rng", *(o.tensor for o in operands), shape=shape, **x.attributes)
    return Value(drawn, True)
