"""Reverse mode over a computation: forward values, then cotangents from the root to the parameters.

The rules are in vjp.py. A rule takes the cotangent of an instruction's result, the result and the
operands, all as Tensors of the current trace, and gives the operands' cotangents. The cotangent of
a tuple is a list with one entry for each element; None stands for zero everywhere.
"""

from collections.abc import Callable, Sequence

from tfc.errors import TraceError, UnsupportedError
from tfc.frontend import operations as ops
from tfc.frontend.tensor import Tensor
from tfc.frontend.trace import blame
from tfc.hlo.evaluation.scalar_computations import over_arrays
from tfc.hlo.ir import Computation, Instruction, inline, rebuild
from tfc.hlo.op import OPS
from tfc.hlo.shape import AnyShape, Shape, leaves

Cotangent = Tensor | list["Cotangent"] | None
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
    """The computation with what it calls put in its place, so that rules see plain ops."""

    def expand(instruction: Instruction) -> Instruction:
        if instruction.opcode == "map":
            results = over_arrays(inline_calls(instruction["to_apply"]), instruction.operands)
            return instruction if results is None else results[0]
        if instruction.opcode not in ("call", "fusion"):
            return instruction
        (called,) = instruction.called_computations
        return inline(inline_calls(called), instruction.operands)

    return rebuild(computation, expand)


def forward(computation: Computation, arguments: Sequence[Tensor]) -> Values:
    """The instructions of a computation, rebuilt in the current trace for these arguments."""
    values = dict(zip(computation.parameters, map(ops.adopt, arguments)))
    for old in computation.instructions:
        if old not in values:
            values[old] = again(old, values)
    return values


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
        rule = RULES.get(instruction.opcode)
        if rule is None:
            raise UnsupportedError(f"{instruction.opcode} has no gradient in this version")
        with blame(instruction.metadata):
            parts = rule(here, values[instruction], *(values[o] for o in instruction.operands))
            for operand, part in zip(instruction.operands, parts):
                if operand in active:
                    found[operand] = added(found.get(operand), part)
    return [found.get(parameter) for parameter in wanted]


def is_differentiable(shape: AnyShape) -> bool:
    """True if a value of the shape holds floats, real or complex."""
    return any(leaf.element_type.kind in ("float", "complex") for leaf in leaves(shape))


def _active(computation: Computation, wanted: Sequence[Instruction]) -> set[Instruction]:
    """The instructions that depend on the wanted parameters through floats."""
    active = {p for p in wanted if is_differentiable(p.shape)}
    for instruction in computation.instructions:
        depends = any(o in active for o in instruction.operands)
        if depends and is_differentiable(instruction.shape):
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
