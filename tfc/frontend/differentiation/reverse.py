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
from tfc.frontend.tensor import Tensor
from tfc.frontend.trace import blame, inner_trace
from tfc.hlo.evaluation.scalar_computations import over_arrays
from tfc.hlo.ir import Computation, Instruction, inline, rebuild
from tfc.hlo.op import OPS
from tfc.hlo.shape import AnyShape, Shape, leaves

Cotangent = Flow
Rule = Callable[..., Sequence[Cotangent]]
Values = dict[Instruction, Tensor]  # what each instruction became

RULES: dict[str, Rule] = {}
NONDIFFERENTIABLE: set[str] = set()  # ops whose rule lets nothing flow


def vjp(*opcodes: str) -> Callable[[Rule], Rule]:
    """Enter a function as the gradient rule of the ops named."""

    def enter(rule: Rule) -> Rule:
        for opcode in opcodes:
            assert opcode not in RULES, f"{opcode} has two gradient rules"
            RULES[opcode] = rule
        return rule

    return enter


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


class Called(Tensor):
    """What a marked call gave, with what its rule needs to go back."""

    __slots__ = ("note", "residuals")

    def __init__(self, result: Tensor, residuals: Sequence[Tensor], note: Any):
        super().__init__(result.instruction, result.trace)
        self.residuals, self.note = residuals, note


def forward(
    computation: Computation, arguments: Sequence[Tensor], known: Values | None = None
) -> Values:
    """The instructions of a computation, rebuilt in the current trace for these arguments.

    Marked calls become what their rules say, for `backward`.

    Args:
        known: what some of the instructions are already.
    """
    values = {**dict(zip(computation.parameters, map(ops.adopt, arguments))), **(known or {})}
    for old in computation.instructions:
        if old not in values:
            values[old] = again(old, values) if rule_of(old) is None else _called(old, values)
    return values


def _called(old: Instruction, values: Values) -> Called:
    rule = rule_of(old)
    assert rule is not None, "only marked calls are asked for"
    return Called(*rule.forward(old, [values[o] for o in old.operands]))


def again(old: Instruction, values: Values) -> Tensor:
    """An instruction in the current trace, over what its operands became."""
    operands = tuple(ops.adopt(values[o]).instruction for o in old.operands)
    same = all(a is b for a, b in zip(operands, old.operands))
    return ops.wrap(old if same else old.with_(operands=operands))


def backward(
    computation: Computation,
    values: Values,
    cotangent: Cotangent,
    wanted: Sequence[Instruction],
) -> list[Cotangent]:
    """The cotangents of parameters, given that of the root.

    Args:
        values: what `forward` gave.
        wanted: the parameters asked for; what does not depend on them costs nothing.

    Raises:
        TraceError: an op on the way cannot be differentiated.
        UnsupportedError: an op on the way has no rule.
    """
    active = _active(computation, wanted)
    found: dict[Instruction, Cotangent] = {computation.root: cotangent}
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
    rule = RULES.get(instruction.opcode)
    if rule is None:
        raise UnsupportedError(f"{instruction.opcode} has no gradient in this version")
    return rule(g, values[instruction], *(values[o] for o in instruction.operands))


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
    values = forward(computation, [*map(zeros, shapes), *captured])
    given = computation.parameters[: len(shapes)]
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


def _active(computation: Computation, wanted: Sequence[Instruction]) -> set[Instruction]:
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
        return ops.operation("add", x, y)
    assert isinstance(x, list), "cotangents of one value agree in form"
    assert isinstance(y, list), "cotangents of one value agree in form"
    return [added(a, b) for a, b in zip(x, y)]


def zeros(shape: Shape) -> Tensor:
    """A cotangent of zeros."""
    return ops.full(0, shape.dims, shape.element_type)
