"""Reverse mode over a computation: forward values, then cotangents from the root to the parameters.

The rules are in vjp.py. A rule takes the cotangent of an instruction's result, the result and the
operands, all as Tensors of the current trace, and gives the operands' cotangents. The cotangent of
a tuple is a list with one entry for each element; None stands for zero everywhere.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tfc.errors import TraceError, UnsupportedError
from tfc.frontend import operations as ops
from tfc.frontend.marked import Flow, rule_of
from tfc.frontend.rule_tables import entering
from tfc.frontend.tensor import Tensor
from tfc.frontend.trace import blame, inner_trace
from tfc.hlo import builder
from tfc.hlo.evaluation.scalar_computations import over_arrays
from tfc.hlo.ir import Computation, Instruction, inline, rebuild
from tfc.hlo.loops.loop_state import apply
from tfc.hlo.op import OPS
from tfc.hlo.shape import AnyShape, Shape, TupleShape, leaves

Cotangent = Flow
Rule = Callable[..., Sequence[Cotangent]]
Values = dict[Instruction, Tensor]  # what each instruction became
# (instruction, operands, which elements of the operands flow) → the value; None to rebuild it as is
Keeping = Callable[[Instruction, Sequence[Tensor], Sequence[bool]], "Kept | None"]

RULES: dict[str, Rule] = {}
KEEPING: dict[str, Keeping] = {}
NONDIFFERENTIABLE: set[str] = set()  # ops whose rule lets nothing flow


class Kept(Tensor):
    """A value that was rebuilt together with what its gradient needs.

    rule: how cotangents flow back through it.
    """

    __slots__ = ("rule",)

    def __init__(self, result: Tensor, rule: Rule):
        super().__init__(result.instruction, result.home)
        self.rule = rule


# Enters a function that rebuilds an op together with what its gradient will need.
keeping = entering(KEEPING, "rules of what to keep")
# Enters a function as the gradient rule of the ops named.
vjp = entering(RULES, "gradient rules")


def nondifferentiable(*opcodes: str) -> None:
    """List ops whose derivative is zero or does not exist: nothing flows back through them."""
    NONDIFFERENTIABLE.update(opcodes)
    vjp(*opcodes)(lambda _, __, *operands: [None] * len(operands))


def refused(advice: str, *opcodes: str) -> None:
    """List ops that cannot be differentiated, with what to do instead."""

    def refuse(_: Tensor, y: Tensor, *__: Tensor) -> list[Cotangent]:
        raise TraceError(f"{y.instruction.opcode} has no gradient: {advice}")

    vjp(*opcodes)(refuse)


def missing_rules() -> list[str]:
    """For each op of the registry that has no rule, the sentence to act on."""
    return [
        f"{name} has no gradient: add a rule in frontend/differentiation/vjp.py "
        "or list it as nondifferentiable."
        for name in OPS
        if name not in RULES
    ]


def inline_calls(computation: Computation) -> Computation:
    """The computation with what it calls put in its place, so that rules see plain ops.

    Marked calls, which have rules of their own, stay.
    """

    def expand(instruction: Instruction) -> Instruction:
        if instruction.opcode == "map":
            results = over_arrays(inline_calls(instruction["to_apply"]), instruction.operands)
            return instruction if results is None else results[0]
        if instruction.opcode not in ("call", "fusion") or rule_of(instruction) is not None:
            return instruction
        (called,) = instruction.called_computations
        return inline(inline_calls(called), instruction.operands)

    return rebuild(computation, expand)


def on_elements(computation: Computation) -> Computation:
    """A computation of one value as one of that value's elements, which gives those of its result.

    What it calls is put in its place. A value that is no tuple is its only element.
    """
    (operand,) = computation.parameters
    shapes = operand.shape.elements if isinstance(operand.shape, TupleShape) else (operand.shape,)
    parameters = [builder.parameter(k, s, f"state_{k}") for k, s in enumerate(shapes)]
    made = apply(inline_calls(computation), parameters)
    root = builder.instruction("tuple", made.results)
    return Computation.make(computation.name, parameters, root, made.effects)


class Called(Tensor):
    """What a marked call gave, with what its rule needs to go back."""

    __slots__ = ("note", "residuals")

    def __init__(self, result: Tensor, residuals: Sequence[Tensor], note: Any):
        super().__init__(result.instruction, result.home)
        self.residuals, self.note = residuals, note


def forward(
    computation: Computation,
    arguments: Sequence[Tensor],
    wanted: Sequence[Instruction] = (),
    known: Values | None = None,
) -> Values:
    """The instructions of a computation, rebuilt in the current trace for these arguments.

    Marked calls become what their rules say, for `backward`.

    Args:
        wanted: the parameters by which a gradient will be asked for, so that loops on the way keep
            what it needs; else they run again for it.
        known: what some of the instructions are already.
    """
    values = {**dict(zip(computation.parameters, map(ops.adopt, arguments))), **(known or {})}
    active = active_in(computation, wanted) if wanted else set()
    for old in computation.instructions:
        if old in values:
            continue
        operands, made = [values[o] for o in old.operands], None
        if rule_of(old) is not None:
            made = _called(old, values)
        elif old in active and old.opcode in KEEPING:
            with blame(old.metadata):
                made = KEEPING[old.opcode](old, operands, _active_elements(old, active))
        elif old.opcode == "get-tuple-element":
            made = _element(old, operands)
        values[old] = ops.again(old, operands) if made is None else made
    return values


def _called(old: Instruction, values: Values) -> Called:
    rule = rule_of(old)
    assert rule is not None, "only marked calls are asked for"
    return Called(*rule.forward(old, [values[o] for o in old.operands]))


def _element(old: Instruction, operands: Sequence[Tensor]) -> Tensor | None:
    """An element of a tuple that is there is that element; None of another tuple."""
    if operands[0].instruction.opcode != "tuple":
        return None
    return ops.wrap(operands[0].instruction.operands[old["index"]])


def _active_elements(instruction: Instruction, active: set[Instruction]) -> list[bool]:
    """For each operand, or each element of one that is a tuple, whether the gradient needs it."""
    found = []
    for operand in instruction.operands:
        parts = operand.operands if operand.opcode == "tuple" else None
        if parts is None and isinstance(operand.shape, TupleShape):
            found += [operand in active] * len(operand.shape.elements)
        else:
            found += [part in active for part in parts or (operand,)]
    return found


def backward(
    computation: Computation,
    values: Values,
    cotangent: Cotangent,
    wanted: Sequence[Instruction],
    begun: Sequence[Cotangent] = (),
) -> list[Cotangent]:
    """The cotangents of parameters, given that of the root.

    Args:
        values: what `forward` gave.
        wanted: the parameters asked for; what does not depend on them costs nothing.
        begun: what to add the cotangent of each of `wanted` to.

    Raises:
        TraceError: an op on the way cannot be differentiated.
        UnsupportedError: an op on the way has no rule.
    """
    active = active_in(computation, wanted)
    found: dict[Instruction, Cotangent] = dict(zip(wanted, begun))
    found[computation.root] = added(found.get(computation.root), cotangent)
    for instruction in reversed(computation.instructions):
        here = found.get(instruction)
        if here is None or instruction not in active or instruction.opcode == "parameter":
            continue
        with blame(instruction.metadata):
            parts = _pulled(instruction, values, here, active)
            for operand, part in zip(instruction.operands, parts):
                if operand in active:
                    found[operand] = added(found.get(operand), part)
    return [found.get(parameter) for parameter in wanted]


def _pulled(
    instruction: Instruction, values: Values, g: Cotangent, active: set[Instruction]
) -> Sequence[Cotangent]:
    """The cotangents of an instruction's operands, by the table or by the rule of a marked call."""
    marked = rule_of(instruction)
    if marked is not None:
        y = values[instruction]
        y = y if isinstance(y, Called) else _called(instruction, values)
        assert isinstance(g, list), "a marked call gives a tuple"
        flags = [o in active for o in instruction.operands]
        return marked.backward(instruction, y.residuals, y.note, g, flags)
    y = values[instruction]
    if instruction.opcode == "get-tuple-element":
        y = Tensor(instruction, y.home)  # `forward` may have taken the element itself
    rule = y.rule if isinstance(y, Kept) else RULES.get(instruction.opcode)
    if rule is None:
        raise UnsupportedError(f"{instruction.opcode} has no gradient in this version")
    return rule(g, y, *(values[o] for o in instruction.operands))


def transposed(
    function: Callable[[list[Tensor]], Sequence[Cotangent]],
    shapes: Sequence[Shape],
    cotangents: Sequence[Cotangent],
) -> list[Cotangent]:
    """The cotangents of what a linear function takes, given those of what it gives.

    Args:
        function: linear; what else it uses is of the current trace, and constant to it.
        shapes: of the arrays that it takes, a list of them.
    """
    trace = inner_trace("linear")
    with trace:
        made = function([ops.wrap(trace.parameter(s)) for s in shapes])
        pairs = [pair for part, g in zip(made, cotangents) for pair in _paired(part, g)]
        root = ops.make_tuple([part for part, _ in pairs]).instruction
    computation = inline_calls(trace.computation(root))
    captured = [ops.wrap(c) for c in trace.captures]
    # A linear function's transpose does not depend on where it is taken: at zero.
    given = computation.parameters[: len(shapes)]
    values = forward(computation, [*map(zeros, shapes), *captured], given)
    return backward(computation, values, [g for _, g in pairs], given)


def _paired(part: Cotangent, g: Cotangent) -> Iterator[tuple[Tensor, Tensor]]:
    """The arrays of a value of which the other has one in the same place, too."""
    if isinstance(part, Tensor) and isinstance(g, Tensor):
        yield part, g
    elif isinstance(part, list) and isinstance(g, list):
        for a, b in zip(part, g):
            yield from _paired(a, b)


def is_differentiable(shape: AnyShape) -> bool:
    """True if a value of the shape holds floats, real or complex."""
    return any(leaf.element_type.kind in ("float", "complex") for leaf in leaves(shape))


def active_in(computation: Computation, wanted: Sequence[Instruction]) -> set[Instruction]:
    """The instructions that depend on the wanted parameters through floats."""
    active = {p for p in wanted if is_differentiable(p.shape)}
    for instruction in computation.instructions:
        depends = any(o in active for o in instruction.operands)
        flows = depends and instruction.opcode not in NONDIFFERENTIABLE
        if flows and is_differentiable(instruction.shape):
            active.add(instruction)
    return active


def added(x: Cotangent, y: Cotangent) -> Cotangent:
    """The sum of two cotangents, or tangents, of one value."""
    if x is None or y is None:
        return y if x is None else x
    if isinstance(x, Tensor) and isinstance(y, Tensor):
        return _add_part(x, y)
    assert isinstance(x, list), "cotangents of one value agree in form"
    assert isinstance(y, list), "cotangents of one value agree in form"
    return [added(a, b) for a, b in zip(x, y)]


def _add_part(x: Tensor, y: Tensor) -> Tensor:
    """x + y; where y is zero but for one part of it, only that part of x changes.

        x + dynamic-update-slice(zeros, g, i)
        --> dynamic-update-slice(x, dynamic-slice(x, i) + g, i)

    A loop that adds up the cotangents of an array's slices so takes
    no longer for an iteration than a slice takes.
    """
    made = y.instruction
    if made.opcode != "dynamic-update-slice" or not _is_zero(made.operands[0]):
        return ops.operation("add", x, y)
    update, *starts = (Tensor(o, y.home) for o in made.operands[1:])
    here = ops.dynamic_slice(x, starts, update.shape)
    return ops.dynamic_update_slice(x, ops.operation("add", here, update), starts)


def _is_zero(value: Instruction) -> bool:
    scalar = value.operands[0] if value.opcode == "broadcast" else value
    if scalar.opcode != "constant":
        return False
    literal = scalar["literal"]
    return literal.is_splat() and not literal.array.reshape(-1)[0]


def zeros(shape: Shape) -> Tensor:
    """A cotangent of zeros."""
    return ops.full(0, shape.dims, shape.element_type)
