"""Batching of reductions, windows, sorting, maps and scans: their computations stay as they are."""

from dataclasses import replace

from tfc.frontend import operations as ops
from tfc.frontend.batching.choices import one_by_one
from tfc.frontend.batching.movement import moved
from tfc.frontend.batching.values import Nest, Value, flags_for, is_batched, shared
from tfc.frontend.batching.walk import Batch, batches
from tfc.frontend.tensor import Tensor
from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.op import OPS
from tfc.hlo.ops.windows import window_of
from tfc.hlo.shape import Shape


def _fold(computation: Computation) -> str | None:
    """The op that a computation of two scalars folds by, or None for another computation."""
    root = computation.root
    plain = OPS[root.opcode].folds and len(computation.parameters) == 2
    return root.opcode if plain and set(root.operands) == set(computation.parameters) else None


def _with_inits(batch: Batch, x: Instruction, computation: Computation, *operands: Value) -> Nest:
    """What begins with an init value, the last operand, that differs by element.

    It begins with what leaves every value as it is, and the init value is combined with its result.
    """
    opcode = _fold(computation) if isinstance(x.shape, Shape) else None
    # An infinite complex number times one has a part that is NaN.
    if opcode is None or x.array_shape.element_type.is_complex:
        return one_by_one(batch, x, *operands)
    element_type = x.array_shape.element_type
    neutral = OPS[opcode].neutral
    assert neutral is not None, "what folds has a neutral value"
    begin = shared(ops.constant(neutral(element_type), element_type))
    plain = batch.stacked(batch.instruction(x, [*operands[:-1], begin]))
    init = ops.broadcast(operands[-1].tensor, plain.shape, (0,))
    return Value(ops.operation(opcode, init, plain), True)


def _stacked(batch: Batch, operands: tuple[Value, ...], count: int) -> list[Tensor]:
    """The first `count` operands for the whole batch, the others as they are."""
    return [*map(batch.stacked, operands[:count]), *(o.tensor for o in operands[count:])]


@batches("reduce")
def _reduce(batch: Batch, x: Instruction, *operands: Value) -> Nest:
    count, computation = len(operands) // 2, x["to_apply"]
    if any(map(is_batched, operands[count:])):
        return _with_inits(batch, x, computation, *operands)
    made = ops.operation(
        "reduce", *_stacked(batch, operands, count), to_apply=computation,
        dimensions=moved(x["dimensions"]),
    )  # fmt: skip
    return batch.result(made)


def _window(x: Instruction) -> Window:
    """The window, which takes one batch element at a time."""
    return replace(window_of(x), dimensions=(WindowDimension(1), *window_of(x).dimensions))


@batches("reduce-window")
def _reduce_window(batch: Batch, x: Instruction, *operands: Value) -> Nest:
    count, computation = len(operands) // 2, x["to_apply"]
    if any(map(is_batched, operands[count:])):
        return _with_inits(batch, x, computation, *operands)
    made = ops.operation(
        "reduce-window", *_stacked(batch, operands, count), to_apply=computation, window=_window(x)
    )
    return batch.result(made)


@batches("select-and-scatter")
def _select_and_scatter(batch: Batch, x: Instruction, *operands: Value) -> Nest:
    if operands[2].batched:
        return _with_inits(batch, x, x["scatter"], *operands)
    made = ops.operation(
        "select-and-scatter", *_stacked(batch, operands, 2),
        **{**x.attributes, "window": _window(x)},
    )  # fmt: skip
    return Value(made, True)


@batches("sort")
def _sort(batch: Batch, x: Instruction, *operands: Value) -> Nest:
    stacked = _stacked(batch, operands, len(operands))
    attributes = {**x.attributes, "dimensions": moved(x["dimensions"])}
    return batch.result(ops.operation("sort", *stacked, **attributes))


@batches("topk")
def _topk(batch: Batch, x: Instruction, operand: Value) -> Nest:
    return batch.result(ops.operation("topk", operand.tensor, **x.attributes))


@batches("map")
def _map(batch: Batch, x: Instruction, *operands: Value) -> Nest:
    stacked = _stacked(batch, operands, len(operands))
    dimensions = tuple(range(x.array_shape.rank + 1))
    made = ops.operation("map", *stacked, to_apply=x["to_apply"], dimensions=dimensions)
    return Value(made, True)


@batches("scan")
def _scan(batch: Batch, x: Instruction, *operands: Value) -> Nest:
    """One scan whose steps are those of the whole batch; all that it carries is batched."""
    step = x["to_apply"]
    given = [flags_for(p.shape, True) for p in step.parameters]
    computation, _ = batch.computation(step, given, flags_for(step.root.shape, True))
    stacked = _stacked(batch, operands, len(operands))
    changes = {"dimensions": moved(x["dimensions"]), "to_apply": computation}
    return batch.result(ops.operation("scan", *stacked, **{**x.attributes, **changes}))
