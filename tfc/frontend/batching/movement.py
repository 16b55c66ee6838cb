"""Batching of data movement whose places are known: the batch is one more dimension, the first."""

from collections.abc import Sequence

from tfc.frontend import operations as ops
from tfc.frontend.batching.choices import choose
from tfc.frontend.batching.values import Nest, Value
from tfc.frontend.batching.walk import Batch, batches, elementwise
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import PRED, Shape


def moved(dimensions: Sequence[int]) -> tuple[int, ...]:
    """Dimensions of one element as those of the batch."""
    return tuple(d + 1 for d in dimensions)


@batches("broadcast")
def _broadcast(batch: Batch, x: Instruction, operand: Value) -> Nest:
    dimensions = x.attributes.get("dimensions", ())
    dims = (batch.size, *x.array_shape.dims)
    return Value(ops.broadcast(operand.tensor, dims, (0, *moved(dimensions))), True)


@batches("reshape")
def _reshape(batch: Batch, x: Instruction, operand: Value) -> Nest:
    return Value(ops.reshape(operand.tensor, (batch.size, *x.array_shape.dims)), True)


@batches("transpose")
def _transpose(_: Batch, x: Instruction, operand: Value) -> Nest:
    return Value(ops.transpose(operand.tensor, (0, *moved(x["dimensions"]))), True)


@batches("reverse")
def _reverse(_: Batch, x: Instruction, operand: Value) -> Nest:
    return Value(ops.reverse(operand.tensor, moved(x["dimensions"])), True)


@batches("slice")
def _slice(batch: Batch, x: Instruction, operand: Value) -> Nest:
    return Value(ops.slice_(operand.tensor, ((0, batch.size, 1), *x["slice"])), True)


@batches("concatenate")
def _concatenate(batch: Batch, x: Instruction, *operands: Value) -> Nest:
    stacked = [batch.stacked(o) for o in operands]
    return Value(ops.concatenate(stacked, x["dimensions"][0] + 1), True)


@batches("pad")
def _pad(batch: Batch, x: Instruction, operand: Value, value: Value) -> Nest:
    padding = ((0, 0, 0), *x["padding"])
    stacked = batch.stacked(operand)
    if not value.batched:
        return Value(ops.pad(stacked, value.tensor, padding), True)
    # The padding differs: it is what a mask, padded likewise, leaves out.
    inside = ops.pad(ops.full(True, stacked.shape, PRED), ops.constant(False), padding)
    zero = ops.constant(0, stacked.array_shape.element_type)
    spread = ops.broadcast(value.tensor, inside.shape, (0,))
    return Value(ops.select(inside, ops.pad(stacked, zero, padding), spread), True)


@batches("copy")
def _copy(_: Batch, __: Instruction, operand: Nest) -> Nest:
    return operand


@batches("bitcast-convert")
def _bitcast_convert(batch: Batch, x: Instruction, operand: Value) -> Nest:
    # Between widths a scalar becomes an array: no scalar here goes for all elements of the result.
    shape = Shape(x.array_shape.element_type, (batch.size, *x.array_shape.dims))
    return Value(ops.operation("bitcast-convert", operand.tensor, shape=shape), True)


@batches("select")
def _select(batch: Batch, x: Instruction, pred: Value, on_true: Nest, on_false: Nest) -> Nest:
    if isinstance(x.shape, Shape):
        return elementwise(batch, x, pred, on_true, on_false)
    return choose(batch, pred, on_true, on_false)
