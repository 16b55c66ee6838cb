"""Forward mode over a computation: values and tangents together, from the parameters to the root.

    d = push(computation, [x], [dx])       d.values[root], d.tangents[root]

Tangents have the form of cotangents: a Tensor, a list for a tuple, None for zero everywhere. How
they pass through an op is found in this order (marked calls have rules of their own):

1. a row in PUSHED: (instruction, operands, tangents) -> (value, tangent), for ops whose value and
   tangent are best computed by one op, as control flow's are;
2. a row in JVP_RULES: (value, operands, tangents) -> tangent;
3. the gradient rule of an elementwise op, each of whose results depends on one element of each
   operand, so that a tangent takes the way of a cotangent;
4. the gradient rule of any other op, transposed: it is linear in the cotangent, so what it does is
   traced and walked backwards, with the tangents as cotangents.

So an op that has a gradient has a tangent; rows are for those that 3 and 4 serve badly.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tfc.errors import UnsupportedError
from tfc.frontend import operations as ops
from tfc.frontend.differentiation.reverse import (
    NONDIFFERENTIABLE,
    RULES,
    Cotangent,
    Values,
    added,
    is_differentiable,
    transposed,
    zeros,
)
from tfc.frontend.marked import rule_of
from tfc.frontend.rule_tables import entering
from tfc.frontend.tensor import Tensor
from tfc.frontend.trace import blame
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.op import op_named
from tfc.hlo.shape import AnyShape, Shape

Tangent = Cotangent
JvpRule = Callable[[Tensor, Sequence[Tensor], Sequence[Tangent]], Tangent]
PushRule = Callable[[Instruction, Sequence[Tensor], Sequence[Tangent]], tuple[Tensor, Tangent]]

JVP_RULES: dict[str, JvpRule] = {}
PUSHED: dict[str, PushRule] = {}


# Enters a function as the tangent rule of the ops named.
jvp = entering(JVP_RULES, "tangent rules")
# Enters a function as what computes value and tangent of the ops named.
pushed = entering(PUSHED, "rules of value and tangent")


@dataclass
class Duals:
    """The values of a computation's instructions, and the tangents of those that have one."""

    values: Values
    tangents: dict[Instruction, Tangent] = field(default_factory=dict)


def push(
    computation: Computation, arguments: Sequence[Tensor], tangents: Sequence[Tangent]
) -> Duals:
    """The values of a computation and their tangents, in the current trace.

    Args:
        computation: what `inline_calls` gave.
        tangents: one for each parameter.

    Raises:
        TraceError: an op on the way cannot be differentiated.
        UnsupportedError: an op on the way has no rule.
    """
    duals = Duals(dict(zip(computation.parameters, map(ops.adopt, arguments))))
    duals.tangents = dict(zip(computation.parameters, tangents))
    needed = _needed(computation)
    for old in computation.instructions:
        if old not in duals.values:
            _push_one(old, duals, old in needed)
    return duals


def _push_one(old: Instruction, duals: Duals, is_needed: bool) -> None:
    """Compute one instruction's value, and its tangent if something flows and it is needed."""
    values, operands = duals.values, [duals.values[o] for o in old.operands]
    tangents = [duals.tangents.get(o) for o in old.operands]
    flows = is_needed and any(t is not None for t in tangents)
    marked = rule_of(old)
    if flows and marked is not None:
        values[old], duals.tangents[old] = marked.push(old, operands, tangents)
        return
    with blame(old.metadata):
        if flows and old.opcode in PUSHED:
            values[old], duals.tangents[old] = PUSHED[old.opcode](old, operands, tangents)
            return
        values[old] = ops.again(old, operands)
        if flows:
            duals.tangents[old] = tangent_of(values[old], operands, tangents)


def _needed(computation: Computation) -> set[Instruction]:
    """The instructions of which floats reach the root through ops that have a derivative."""
    needed = {computation.root}
    for instruction in reversed(computation.instructions):
        if not is_differentiable(instruction.shape):
            needed.discard(instruction)
        elif instruction in needed and instruction.opcode not in NONDIFFERENTIABLE:
            needed.update(instruction.operands)
    return needed


def tangent_of(y: Tensor, operands: Sequence[Tensor], tangents: Sequence[Tangent]) -> Tangent:
    """The tangent of an op's result, by the table."""
    opcode = y.instruction.opcode
    if opcode in NONDIFFERENTIABLE:
        return None
    if opcode in JVP_RULES:
        return JVP_RULES[opcode](y, operands, tangents)
    if opcode not in RULES:
        raise UnsupportedError(f"{opcode} has no derivative in this version")
    if op_named(opcode).elementwise and all(
        t is None or o.instruction.shape == y.instruction.shape for o, t in zip(operands, tangents)
    ):
        return _elementwise(y, operands, tangents)
    return transposed_rule(y, operands, tangents)


def _elementwise(y: Tensor, operands: Sequence[Tensor], tangents: Sequence[Tangent]) -> Tangent:
    """The sum of what each operand's tangent becomes by its own part of the gradient rule."""
    rule, total = RULES[y.instruction.opcode], None
    for number, tangent in enumerate(tangents):
        if tangent is not None:
            total = added(total, rule(tangent, y, *operands)[number])
    return total


def transposed_rule(y: Tensor, operands: Sequence[Tensor], tangents: Sequence[Tangent]) -> Tangent:
    """The tangent of an op's result by its gradient rule.

    The rule gives Jᵀ g for a cotangent g; walked backwards with tangents t in the place of its
    results, it gives (Jᵀ)ᵀ t.
    """
    shape, rule = y.instruction.shape, RULES[y.instruction.opcode]
    found = transposed(
        lambda given: rule(with_leaves(given, shape), y, *operands),
        list(float_leaves(shape)),
        tangents,
    )
    return with_leaves(found, shape)


def float_leaves(shape: AnyShape) -> Iterator[Shape]:
    """The shapes of the arrays of floats in a value."""
    if isinstance(shape, Shape):
        if is_differentiable(shape):
            yield shape
        return
    for element in shape.elements:
        yield from float_leaves(element)


def leaves_of(tangent: Tangent, shape: AnyShape) -> list[Tensor]:
    """The tangent of each array of floats in a value of a shape, zeros where none flows."""
    if isinstance(shape, Shape):
        if not is_differentiable(shape):
            return []
        return [tangent if isinstance(tangent, Tensor) else zeros(shape)]
    parts = tangent if isinstance(tangent, list) else [None] * len(shape.elements)
    return [leaf for part, s in zip(parts, shape.elements) for leaf in leaves_of(part, s)]


def with_leaves(made: Iterable[Tangent], shape: AnyShape) -> Tangent:
    """The tangent, or cotangent, of a value of a shape from those of its arrays of floats."""
    return _take_leaves(iter(made), shape)


def _take_leaves(made: Iterator[Tangent], shape: AnyShape) -> Tangent:
    if isinstance(shape, Shape):
        return next(made) if is_differentiable(shape) else None
    return [_take_leaves(made, element) for element in shape.elements]
