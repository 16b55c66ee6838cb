"""The gradients of what talks to the world: most of it has none, and says what to do instead.

Collectives are linear functions of what all devices have, transposed:

    y = all-reduce(x), add      dx = all-reduce(dy), add
    y = all-gather(x)           dx = reduce-scatter(dy), add       and the other way round
    y = all-to-all(x)           dx = all-to-all(dy)
    y = collective-permute(x)   dx = collective-permute(dy), each pair the other way round

Each device's value is a variable of its own: boundaries.py says what that makes of whole arrays.
"""

from collections.abc import Sequence

from tfc.errors import TraceError
from tfc.frontend import operations as ops
from tfc.frontend.differentiation.forward import Tangent, jvp, transposed_rule
from tfc.frontend.differentiation.jvp import applied
from tfc.frontend.differentiation.reverse import (
    Cotangent,
    is_differentiable,
    nondifferentiable,
    refused,
    vjp,
    zeros,
)
from tfc.frontend.differentiation.vjp import reducer
from tfc.frontend.sharding.boundaries import is_boundary, pulled_back
from tfc.frontend.tensor import Tensor
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import TupleShape
from tfc.runtime.functions import callback_title, is_callback

nondifferentiable("after-all", "partition-id", "replica-id", "get-dimension-size")


@vjp("opt-barrier", "add-dependency", "domain", "set-dimension-size")
def _passed_on(g: Tensor, _: Tensor, *operands: Tensor) -> list[Cotangent]:
    return [g, *[None] * (len(operands) - 1)]


refused(
    "what is outside of the program is not differentiated; pass what it transfers as arguments",
    "infeed", "outfeed", "send", "send-done", "recv", "recv-done",
)  # fmt: skip


@vjp("custom-call")
def _custom_call(g: Tensor, y: Tensor, *_: Tensor) -> list[Cotangent]:
    if is_boundary(y.instruction):
        return [pulled_back(g, y.instruction)]
    target = y.instruction["custom_call_target"]
    if is_callback(target):
        raise TraceError(
            f"{callback_title(target)} has no derivative: give it one by tfc.custom_jvp or "
            "tfc.custom_vjp, or by the argument grad of tfc.py_func"
        )
    raise TraceError(
        "custom-call has no gradient: its target is opaque (CC-3); differentiate what is around it"
    )


refused(
    "differentiate the synchronous operation instead",
    "async-start", "async-update", "async-done", "copy-start", "copy-done", "all-reduce-start",
    "all-reduce-done", "all-gather-start", "all-gather-done", "collective-permute-start",
    "collective-permute-done",
)  # fmt: skip


def _parts(g: Cotangent, operands: Sequence[Tensor]) -> list[Tensor]:
    """The cotangent of each of a collective's results, of which there is one for each operand."""
    found = g if isinstance(g, list) else [g]
    return [
        part if isinstance(part, Tensor) else zeros(o.array_shape)
        for part, o in zip(found, operands, strict=True)
    ]


def _again(x: Instruction, operand: Tensor, **changes: object) -> Tensor:
    """A collective among the same devices on one array."""
    return ops.operation(x.opcode, operand, **{**x.attributes, **changes})


@vjp("all-reduce")
def _all_reduce(g: Cotangent, y: Tensor, *operands: Tensor) -> list[Cotangent]:
    x = y.instruction
    kind = reducer(x["to_apply"])
    results = [y] if len(operands) == 1 else ops.elements(y)
    parts = zip(_parts(g, operands), results, operands)
    if kind == "add":
        return [_again(x, part) for part, _, _ in parts]
    if kind not in ("maximum", "minimum"):
        raise TraceError(f"an all-reduce has a gradient with add, maximum and minimum, got {kind}")
    found: list[Cotangent] = []
    for part, result, operand in parts:
        add = ops.scalar_computation("add", operand.array_shape.element_type)
        has_it = ops.convert(ops.compare("EQ", operand, result), operand.array_shape.element_type)
        total, count = (_again(x, v, to_apply=add) for v in (part, has_it))
        share = ops.operation("divide", total, count)
        found.append(ops.operation("multiply", has_it, share))
    return found


@vjp("all-gather")
def _all_gather(g: Cotangent, y: Tensor, *operands: Tensor) -> list[Cotangent]:
    x = y.instruction
    return [
        ops.operation(
            "reduce-scatter", part, shape=operand.array_shape,
            to_apply=ops.scalar_computation("add", operand.array_shape.element_type),
            **x.attributes,
        )
        for part, operand in zip(_results(g, y, operands), operands)
    ]  # fmt: skip


@vjp("reduce-scatter")
def _reduce_scatter(g: Cotangent, y: Tensor, *operands: Tensor) -> list[Cotangent]:
    x = y.instruction
    if (kind := reducer(x["to_apply"])) != "add":
        raise TraceError(f"a reduce-scatter has a gradient with add only, got {kind}")
    attributes = x.attributes.with_(to_apply=None)
    return [
        ops.operation("all-gather", part, shape=operand.array_shape, **attributes)
        for part, operand in zip(_results(g, y, operands), operands)
    ]


def _results(g: Cotangent, y: Tensor, operands: Sequence[Tensor]) -> list[Tensor]:
    """The cotangents of results whose shapes are not those of the operands."""
    return _parts(g, [y] if len(operands) == 1 else ops.elements(y))


@vjp("all-to-all")
def _all_to_all(g: Cotangent, y: Tensor, *operands: Tensor) -> list[Cotangent]:
    x = y.instruction
    if "dimensions" in x.attributes:
        return [_again(x, _parts(g, operands)[0])]
    made = ops.operation(x.opcode, *_parts(g, operands), **x.attributes)
    return list(ops.elements(made))


@vjp("collective-permute")
def _permute(g: Cotangent, y: Tensor, *operands: Tensor) -> list[Cotangent]:
    x = y.instruction
    back = tuple((target, source) for source, target in x["source_target_pairs"])
    return [_again(x, part, source_target_pairs=back) for part in _parts(g, operands)]


refused("compute what is broadcast on each device", "collective-broadcast")


@jvp("all-gather", "all-to-all", "collective-permute")
def _linear(y: Tensor, operands: Sequence[Tensor], tangents: Sequence[Tangent]) -> Tangent:
    given = [t if isinstance(t, Tensor) else zeros(o.array_shape)
             for o, t in zip(operands, tangents)]  # fmt: skip
    made = applied(y, given)
    if not isinstance(y.instruction.shape, TupleShape):
        return made
    return [t if is_differentiable(t.instruction.shape) else None for t in ops.elements(made)]


@jvp("all-reduce", "reduce-scatter")
def _reduced(y: Tensor, operands: Sequence[Tensor], tangents: Sequence[Tangent]) -> Tangent:
    rule = _linear if reducer(y.instruction["to_apply"]) == "add" else transposed_rule
    return rule(y, operands, tangents)


@jvp("custom-call")
def _boundary(y: Tensor, operands: Sequence[Tensor], tangents: Sequence[Tangent]) -> Tangent:
    rule = _linear if is_boundary(y.instruction) else transposed_rule
    return rule(y, operands, tangents)
