"""Loops as HLO: a `while` over a tuple, made of functions from the elements of its state."""

from collections.abc import Callable, Sequence
from typing import Any

from tfc.frontend import operations as ops
from tfc.frontend.tensor import Tensor
from tfc.frontend.trace import Trace
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import S32, TupleShape

Elements = list[Tensor]
Step = Callable[[Tensor, Elements], Elements]


def while_of(
    state: Sequence[Tensor],
    test: Callable[[Elements], Tensor],
    step: Callable[[Elements], Elements],
    name: str = "while",
) -> Elements:
    """The state after a loop.

    Args:
        state: what its elements begin with: arrays.
        test: elements → whether to go on. Neither function sees any other Tensor.
        step: elements → the elements after an iteration.
    """
    shape = tuple_shape(state)
    condition = over_tuple(f"{name}_condition", shape, test)
    body = over_tuple(f"{name}_body", shape, lambda parts: ops.make_tuple(step(parts)))
    looped = ops.operation("while", ops.make_tuple(state), condition=condition, body=body)
    return ops.elements(looped)


def tuple_shape(elements: Sequence[Tensor]) -> TupleShape:
    """The shape of a tuple of these elements."""
    return TupleShape(tuple(e.instruction.shape for e in elements))


def over_tuple(name: str, shape: TupleShape, function: Callable[[Elements], Tensor]) -> Computation:
    """The computation of one tuple that a function of its elements is; it sees no other Tensor."""
    trace = Trace(name)
    with trace:
        parts = ops.elements(ops.wrap(trace.parameter(shape, "state")))
        root = ops.adopt(function(parts)).instruction
    return trace.computation(root)


def counted(
    count: int, state: Sequence[Tensor], step: Step, name: str, backwards: bool = False
) -> Elements:
    """The state after a number of iterations; the step is also given which one it is, as s32.

    Args:
        count: at least 1.
        backwards: the iterations are numbered from count - 1 down to 0.
    """
    first, last, by = (count - 1, 0, -1) if backwards else (0, count - 1, 1)

    def test(parts: Elements) -> Tensor:
        return ops.compare("GE" if backwards else "LE", parts[0], ops.constant(last, S32))

    def advance(parts: Elements) -> Elements:
        number, *others = parts
        return [ops.operation("add", number, ops.constant(by, S32)), *step(number, others)]

    return while_of([ops.constant(first, S32), *state], test, advance, name)[1:]


def choosing(
    old: Instruction,
    selector: Tensor,
    operands: Sequence[Tensor],
    computations: Sequence[Computation],
) -> Tensor:
    """The conditional that chooses as another does, between other branches of other operands."""
    attributes: dict[str, Any] = dict(zip(("true_computation", "false_computation"), computations))
    if "branch_computations" in old.attributes:
        attributes = {"branch_computations": tuple(computations)}
    return ops.operation("conditional", selector, *operands, **attributes)


def at(array: Tensor, number: Tensor) -> Tensor:
    """The slice of an array at a place along its first dimension, without that dimension."""
    starts = [number, *[ops.constant(0, number.array_shape.element_type)] * (array.ndim - 1)]
    cut = ops.dynamic_slice(array, starts, (1, *array.shape[1:]))
    return ops.reshape(cut, array.shape[1:])


def with_at(array: Tensor, number: Tensor, value: Tensor) -> Tensor:
    """The array with the slice at a place along its first dimension replaced."""
    starts = [number, *[ops.constant(0, number.array_shape.element_type)] * (array.ndim - 1)]
    return ops.dynamic_update_slice(array, ops.reshape(value, (1, *value.shape)), starts)
