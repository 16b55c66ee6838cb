"""Batching of what talks to the world, of barriers, and of operations that are begun and ended.

What is begun and ended is done at once for a batch: a start gives (operands, result, contexts …),
of which its end takes the result.
"""

from tfc.frontend import operations as ops
from tfc.frontend.batching.choices import one_by_one
from tfc.frontend.batching.values import (
    Nest,
    Value,
    flags_for,
    flags_of,
    is_batched,
    pack,
    parts,
    shared,
    tensor_of,
    unpack,
)
from tfc.frontend.batching.walk import Batch, batches, refused
from tfc.frontend.sharding.boundaries import batched, is_boundary
from tfc.frontend.tensor import Tensor
from tfc.frontend.trace import refusal
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.outside.asynchronous import contexts
from tfc.hlo.ops.outside.custom_call import is_annotation
from tfc.hlo.shape import AnyShape, Shape, TupleShape
from tfc.runtime.functions import CallbackName


@batches("after-all", "partition-id", "replica-id")
def _never_batched(*_: object) -> Nest:
    raise AssertionError("tokens and numbers of devices are the same for all batch elements")


@batches("opt-barrier", "domain")
def _passed_on(_: Batch, x: Instruction, operand: Nest) -> Nest:
    made = ops.operation(x.opcode, pack(operand), **x.attributes)
    return unpack(made, flags_of(operand))


@batches("add-dependency")
def _dependency(_: Batch, __: Instruction, operand: Nest, token: Value) -> Nest:
    made = ops.operation("add-dependency", pack(operand), token.tensor)
    return unpack(made, flags_of(operand))


@batches("get-dimension-size")
def _dimension_size(_: Batch, x: Instruction, operand: Value) -> Nest:
    (dimension,) = x["dimensions"]
    return shared(ops.operation(x.opcode, operand.tensor, dimensions=(dimension + 1,)))


@batches("set-dimension-size")
def _set_size(batch: Batch, x: Instruction, operand: Value, size: Value) -> Nest:
    if size.batched:
        raise refusal(
            "vmap cannot map set-dimension-size with a size that differs by batch element: arrays "
            "have one size; mask what is beyond it with tfc.numpy.where"
        )
    (dimension,) = x["dimensions"]
    made = ops.operation(x.opcode, operand.tensor, size.tensor, dimensions=(dimension + 1,))
    return Value(made, True)


@batches("custom-call")
def _custom_call(batch: Batch, x: Instruction, *operands: Nest) -> Nest:
    """The target is opaque: it is called for each batch element in turn, unless it says more.

    Of what is the same for all it is called once, as in JAX.
    """
    if is_boundary(x):
        return Value(batched(tensor_of(operands[0]), x), True)
    if is_annotation(x):
        return operands[0]
    if not any(map(is_batched, operands)):
        return shared(ops.again(x, [pack(o) for o in operands]))
    target = x["custom_call_target"]
    if isinstance(target, CallbackName) and target.vmap_method in AT_ONCE:
        return _at_once(batch, x, target, operands)
    return one_by_one(batch, x, *operands)


AT_ONCE = ("expand_dims", "broadcast_all")


def _at_once(
    batch: Batch, x: Instruction, target: CallbackName, operands: tuple[Nest, ...]
) -> Nest:
    """One call of a Python function that takes the batch as a dimension more, in front."""
    tensors = []
    for operand in operands:
        value = tensor_of(operand)
        if target.vmap_method == "broadcast_all" or is_batched(operand):
            value = batch.stacked(operand)
        else:
            value = ops.reshape(value, (1, *value.shape))
        tensors.append(value)
    shape = batch.shape(x.shape, flags_for(x.shape, True))
    assert isinstance(shape, TupleShape), "callbacks give tuples"
    changes = {"custom_call_target": target.giving(shape.elements)}
    return batch.result(
        ops.operation(x.opcode, *tensors, shape=shape, **{**x.attributes, **changes})
    )


refused(
    "what is outside of the program is not mapped; transfer the whole batch outside of vmap",
    "infeed", "outfeed", "send", "send-done", "recv", "recv-done", shared_too=True,
)  # fmt: skip
refused(
    "map the synchronous operation, or begin and end this one outside of vmap",
    "all-reduce-start", "all-reduce-done", "all-gather-start", "all-gather-done",
    "collective-permute-start", "collective-permute-done",
)  # fmt: skip


@batches(
    "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute",
    "collective-broadcast",
)  # fmt: skip
def _collective(batch: Batch, x: Instruction, *operands: Nest) -> Nest:
    """What devices do together with an array, for all batch elements at once."""
    if not any(map(is_batched, operands)):
        return shared(ops.again(x, [pack(o) for o in operands]))
    attributes = dict(x.attributes)
    if dimensions := attributes.get("dimensions"):
        attributes["dimensions"] = tuple(d + 1 for d in dimensions)
    shape = batch.shape(x.shape, flags_for(x.shape, True))
    made = ops.operation(x.opcode, *map(batch.stacked, operands), shape=shape, **attributes)
    return batch.result(made)


@batches("async-start")
def _start(batch: Batch, x: Instruction, *operands: Nest) -> Nest:
    result = batch.run(x["calls"], operands)
    return operands, result, *(shared(_zeros(s)) for s in contexts(x))


@batches("copy-start")
def _copy_start(_: Batch, x: Instruction, operand: Nest) -> Nest:
    assert isinstance(x.shape, TupleShape), "(result, operand, context)"
    return operand, operand, shared(_zeros(x.shape.elements[2]))


def _zeros(shape: AnyShape) -> Tensor:
    """A context that nothing reads."""
    if isinstance(shape, TupleShape):
        return ops.make_tuple([_zeros(element) for element in shape.elements])
    if isinstance(shape, Shape):
        return ops.full(0, shape.dims, shape.element_type)
    return ops.operation("after-all")


@batches("async-update")
def _update(_: Batch, __: Instruction, started: Nest) -> Nest:
    return started


@batches("async-done")
def _done(_: Batch, __: Instruction, started: Nest) -> Nest:
    return parts(started)[1]


@batches("copy-done")
def _copy_done(_: Batch, __: Instruction, started: Nest) -> Nest:
    return parts(started)[0]
