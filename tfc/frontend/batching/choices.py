"""Choosing whole values for each batch element, and doing one batch element after the other."""

from collections.abc import Iterator
from typing import Any

from tfc.frontend import operations as ops
from tfc.frontend.batching.values import Nest, Value, pack, parts, shared
from tfc.frontend.batching.walk import Batch
from tfc.frontend.control.emission import at, with_at
from tfc.frontend.control.loops import while_loop
from tfc.frontend.tensor import Tensor
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import S64, AnyShape, Shape, TupleShape, leaves


def choose(batch: Batch, pred: Value, on_true: Nest, on_false: Nest) -> Nest:
    """For each batch element `on_true` where `pred`, a scalar, holds, else `on_false`.

    Parts that are the same in both stay as they are; so do tokens.
    """
    if isinstance(on_true, Value) and isinstance(on_false, Value):
        shape = on_true.tensor.instruction.shape
        if on_true.tensor.instruction is on_false.tensor.instruction:
            return on_true
        if isinstance(shape, Shape):
            return _selected(batch, pred, on_true, on_false)
        if not isinstance(shape, TupleShape):
            return on_true
    each = zip(parts(on_true), parts(on_false))
    return tuple(choose(batch, pred, t, f) for t, f in each)


def _selected(batch: Batch, pred: Value, on_true: Value, on_false: Value) -> Value:
    """The same for arrays."""
    left, right, chosen = (batch.stacked(v) for v in (on_true, on_false, pred))
    if left.ndim > 1:
        chosen = ops.broadcast(chosen, left.shape, (0,))
    return Value(ops.select(chosen, left, right), True)


def one_by_one(batch: Batch, x: Instruction, *operands: Nest) -> Nest:
    """The rule of any op at all: a loop that runs the instruction for each batch element in turn.

    counter, results = while(counter < n): results[counter] = x(operands[counter] …)
    """
    shapes = list(leaves(x.shape))
    stacks = [ops.full(0, (batch.size, *s.dims), s.element_type) for s in shapes]

    def step(state: Any) -> Any:
        number, *filled = state
        made = ops.again(x, [pack(_element(o, number)) for o in operands])
        found = _arrays(made)
        return number + 1, *(with_at(t, number, f) for t, f in zip(filled, found))

    init = (ops.constant(0, S64), *stacks)
    filled = while_loop(lambda state: state[0] < batch.size, step, init)[1:]
    return _nested(x.shape, iter(filled))


def _element(value: Nest, number: Tensor) -> Nest:
    """What one batch element has of a value."""
    if isinstance(value, tuple):
        return tuple(_element(part, number) for part in value)
    if not value.batched:
        return value
    return shared(at(value.tensor, number))


def _arrays(tensor: Tensor) -> list[Tensor]:
    """The arrays in a value, depth first."""
    shape = tensor.instruction.shape
    if isinstance(shape, TupleShape):
        return [array for element in ops.elements(tensor) for array in _arrays(element)]
    return [tensor] if isinstance(shape, Shape) else []


def _nested(shape: AnyShape, arrays: Iterator[Tensor]) -> Nest:
    """The value of that shape with the arrays in their places."""
    if isinstance(shape, TupleShape):
        return tuple(_nested(element, arrays) for element in shape.elements)
    if isinstance(shape, Shape):
        return Value(next(arrays), True)
    return shared(ops.operation("after-all"))
