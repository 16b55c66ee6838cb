"""Batching of structure and control: tuples, calls, conditionals, loops.

A computation that is called is batched for what it is given. Where a condition differs by batch
element, both branches run and each element takes what is its own; a loop then runs until it is
over for all, and leaves those alone for which it is.
"""

from collections.abc import Sequence
from typing import Any

from tfc.frontend import operations as ops
from tfc.frontend.batching.choices import choose
from tfc.frontend.batching.marked_calls import BatchedRule
from tfc.frontend.batching.values import (
    Flags,
    Nest,
    Value,
    any_of,
    either,
    flags_for,
    flags_of,
    pack,
    parts,
    unpack,
)
from tfc.frontend.batching.walk import Batch, batches
from tfc.frontend.control.emission import choosing
from tfc.frontend.marked import marked, rule_of
from tfc.frontend.tensor import Tensor
from tfc.frontend.trace import Trace, emit, refusal
from tfc.hlo.ir import Computation, Instruction, has_side_effect
from tfc.hlo.ops.control import branches
from tfc.hlo.shape import S32, TupleShape


@batches("parameter", "constant", "iota")
def _without_operands(*_: Any) -> Nest:
    raise AssertionError("what has no operands is the same for all batch elements")


@batches("tuple")
def _tuple(_: Batch, __: Instruction, *operands: Nest) -> Nest:
    return operands


@batches("get-tuple-element")
def _element(_: Batch, x: Instruction, operand: Nest) -> Nest:
    return parts(operand)[x["index"]]


@batches("call", "fusion")
def _call(batch: Batch, x: Instruction, *operands: Nest) -> Nest:
    """A call of the computation for the whole batch. Its annotations, and its rule, go along."""
    (called,), given = x.called_computations, [flags_of(o) for o in operands]
    rule = rule_of(x)
    apart = rule is not None and not rule.of_any_computation
    wanted = flags_for(x.shape, True) if apart else None
    computation, flags = batch.computation(called, given, wanted)
    if rule is not None:
        batched = BatchedRule(rule, x, batch.size, given) if apart else rule
        computation = marked(computation, batched)
    given_now = [ops.adopt(pack(o)).instruction for o in operands]
    made = emit("call", given_now, to_apply=computation)
    return unpack(ops.wrap(made.with_(annotations=x.annotations)), flags)


@batches("conditional")
def _conditional(batch: Batch, x: Instruction, selector: Value, *operands: Nest) -> Nest:
    if selector.batched:
        return _each_branch(batch, x, selector, operands)
    given, called = [flags_of(o) for o in operands], branches(x)
    flags: Flags = flags_for(x.shape, False)
    for branch, of_operand in zip(called, given):
        flags = either(flags, batch.computation(branch, [of_operand])[1])
    made = [batch.computation(b, [f], flags)[0] for b, f in zip(called, given)]
    return unpack(choosing(x, selector.tensor, list(map(pack, operands)), made), flags)


def _refuse_effects(x: Instruction, what: str) -> None:
    """Check that an instruction of which some elements take no part has no effects.

    Raises:
        TraceError: it has.
    """
    if has_side_effect(x):
        raise refusal(
            f"vmap cannot map a {x.opcode} with effects whose {what} differs by batch element, as "
            "it is executed for all of them; move what has effects (custom calls, feeds, rng) out "
            "of it"
        )


def _each_branch(batch: Batch, x: Instruction, selector: Value, operands: Sequence[Nest]) -> Nest:
    """Both branches, or all of them; each batch element takes what its own selector says."""
    _refuse_effects(x, "predicate")
    results = [batch.run(b, [o]) for b, o in zip(branches(x), operands)]
    if "branch_computations" not in x.attributes:
        return choose(batch, selector, *results)
    chosen = results[-1]  # an index out of range takes the last branch, too
    for number, result in enumerate(results[:-1]):
        here = ops.compare("EQ", selector.tensor, ops.full(number, (batch.size,), S32))
        chosen = choose(batch, Value(here, True), result, chosen)
    return chosen


@batches("while")
def _while(batch: Batch, x: Instruction, state: Nest) -> Nest:
    """A loop over the batch's state: what of it is batched is the least that the body keeps so."""
    condition, body = x["condition"], x["body"]
    changed = _changed(body)
    flags = flags_of(state)
    while True:
        test = batch.computation(condition, [flags])[1]
        grown = either(flags, batch.computation(body, [flags])[1])
        if any_of(test):
            grown = either(grown, changed)
        if grown == flags:
            break
        flags = grown
    state = batch.raised(state, flags)
    if any_of(test):
        return _masked(batch, x, state, flags)
    made = ops.operation(
        "while", pack(state),
        condition=batch.computation(condition, [flags])[0],
        body=batch.computation(body, [flags], flags)[0],
    )  # fmt: skip
    return unpack(made, flags)


def _changed(body: Computation) -> Flags:
    """What of a loop's state the body changes: not what it passes on as it is, such as captures."""
    (state,), root = body.parameters, body.root
    if root is state:
        return flags_for(state.shape, False)
    if not isinstance(state.shape, TupleShape) or root.opcode != "tuple":
        return flags_for(state.shape, True)
    kept = [
        o.opcode == "get-tuple-element" and o.operands[0] is state and o["index"] == n
        for n, o in enumerate(root.operands)
    ]
    return tuple(flags_for(s, not k) for s, k in zip(state.shape.elements, kept))


def _masked(batch: Batch, x: Instruction, state: Nest, flags: Flags) -> Nest:
    """A loop whose condition differs by batch element.

    It carries, beside the state, for which elements it goes on. For the others the state stays, so
    that their condition stays false.
    """
    _refuse_effects(x, "condition")
    condition, body = x["condition"], x["body"]
    operand = pack((_goes_on(batch, condition, state), state))
    shape = operand.instruction.shape
    carried: Flags = (True, flags)

    test = Trace(condition.name)
    with test:
        goes_on = ops.elements(ops.wrap(test.parameter(shape, "state")))[0]
        any_of_them = ops.reduce(goes_on, "or", False, [0]).instruction
    step = Trace(body.name)
    with step:
        given = unpack(ops.wrap(step.parameter(shape, "state")), carried)
        mask, before = parts(given)
        assert isinstance(mask, Value), "the mask is an array"
        after = choose(batch, mask, batch.raised(batch.run(body, [before]), flags), before)
        after = batch.raised(after, flags)
        root = pack((_goes_on(batch, condition, after), after)).instruction
    made = ops.operation(
        "while", operand, condition=test.computation(any_of_them), body=step.computation(root)
    )
    return unpack(_second(made), flags)


def _goes_on(batch: Batch, condition: Computation, state: Nest) -> Value:
    return Value(batch.stacked(batch.run(condition, [state])), True)


def _second(pair: Tensor) -> Tensor:
    return ops.elements(pair)[1]
