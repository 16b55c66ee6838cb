"""Generators: tuples, calls, fusions, conditionals and loops."""

from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import PRED, S32, Shape
from tfc.testing.grower import ANY, Grower, generates


@generates("tuple")
def _tuple(g: Grower) -> Instruction:
    elements = [g.operand(ANY) for _ in range(g.integer(1, 3))]
    made = g.add(builder.instruction("tuple", elements))
    return builder.instruction("get-tuple-element", [made], index=g.integer(0, len(elements) - 1))


def _function(g: Grower, shape: Shape) -> Computation:
    """x -> copy, reverse or x∘x of one shape."""
    x = builder.parameter(0, shape, "x")
    match g.integer(0, 2):
        case 0:
            result = builder.instruction("copy", [x])
        case 1:
            result = builder.instruction("reverse", [x], dimensions=tuple(range(shape.rank)))
        case _:
            result = builder.instruction("maximum", [x, x])
    return Computation.make("function", [x], result)


@generates("call")
def _call(g: Grower) -> Instruction:
    x = g.operand(ANY)
    return builder.instruction("call", [x], to_apply=_function(g, x.array_shape))


@generates("fusion")
def _fusion(g: Grower) -> Instruction:
    x = g.operand(ANY)
    calls = _function(g, x.array_shape)
    return builder.instruction("fusion", [x], shape=x.shape, kind="kLoop", calls=calls)


@generates("conditional")
def _conditional(g: Grower) -> Instruction:
    x = g.operand(ANY)
    branches = [_function(g, x.array_shape) for _ in range(2)]
    if g.integer(0, 1):
        index = g.scalar(S32)
        return builder.instruction(
            "conditional", [index, x, x], branch_computations=tuple(branches)
        )
    return builder.instruction(
        "conditional", [g.scalar(PRED), x, x],
        true_computation=branches[0], false_computation=branches[1],
    )  # fmt: skip


@generates("while")
def _while(g: Grower) -> Instruction:
    x = g.operand(ANY)
    zero = builder.constant(0, S32)
    init = builder.instruction("tuple", [zero, x])
    state = builder.parameter(0, init.shape, "state")
    count, value = (builder.instruction("get-tuple-element", [state], index=i) for i in range(2))
    test = builder.compare("LT", count, builder.constant(g.integer(0, 3), S32))
    step = builder.binary("add", count, builder.constant(1, S32))
    called = builder.instruction("call", [value], to_apply=_function(g, x.array_shape))
    body = Computation.make("body", [state], builder.instruction("tuple", [step, called]))
    loop = builder.instruction(
        "while", [init], condition=Computation.make("condition", [state], test), body=body
    )
    return builder.instruction("get-tuple-element", [loop], index=1)
