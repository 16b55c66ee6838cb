"""Where a value is passed on as it is, so that both sides must agree on how it lies in memory.

    t = (f32[2,3]{0,1}) tuple(x)      x lies in {0,1}
    y = f32[2,3]{0,1} call(x), …      the callee's parameter lies as x does, its root in {0,1}

A layout is part of a value's type, and says nothing about its elements. Text may state others on
both sides of a boundary: the pass `stated-layouts` puts copies there, and all passes after it rely
on there being no difference (IR-9).
"""

from collections.abc import Iterator

from tfc.errors import VerificationError
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.ops.control import branches
from tfc.hlo.shape import AnyShape, TupleShape, lies_alike

Boundary = tuple[str, AnyShape, AnyShape]  # what is passed on, how it lies, how it should


def boundaries(x: Instruction) -> Iterator[Boundary]:
    """The values that an instruction passes on without code that could lay them out anew."""
    match x.opcode:
        case "tuple":
            assert isinstance(x.shape, TupleShape)
            for number, (operand, wanted) in enumerate(zip(x.operands, x.shape.elements)):
                yield f"operand {number}", operand.shape, wanted
        case "get-tuple-element":
            assert isinstance(x.operands[0].shape, TupleShape)
            yield "its result", x.shape, x.operands[0].shape.elements[x["index"]]
        case "opt-barrier":
            yield "its result", x.shape, x.operands[0].shape
        case "call":
            yield from _called(x, x["to_apply"])
        case "fusion":
            yield from _called(x, x["calls"])
        case "while":
            state = x.operands[0].shape
            yield "its result", x.shape, state
            yield "the parameter of its condition", x["condition"].parameters[0].shape, state
            yield "the parameter of its body", x["body"].parameters[0].shape, state
            yield "the result of its body", x["body"].root.shape, state
        case "conditional":
            for branch, operand in zip(branches(x), x.operands[1:]):
                yield f"the parameter of {branch.name}", branch.parameters[0].shape, operand.shape
                yield f"the result of {branch.name}", branch.root.shape, x.shape


def _called(x: Instruction, callee: Computation) -> Iterator[Boundary]:
    for number, (parameter, operand) in enumerate(zip(callee.parameters, x.operands)):
        yield f"parameter {number} of {callee.name}", parameter.shape, operand.shape
    yield "its result", x.shape, callee.root.shape


def verify_boundaries(module: Module, known: set[Computation]) -> None:
    """Check that values are passed on in the layout in which they are taken (IR-9).

    Args:
        known: computations found right before, which are not looked at; those found now enter it.

    Raises:
        VerificationError: names the instruction and both layouts.
    """
    for computation in module.computations:
        if computation in known:
            continue
        for x in computation.instructions:
            for what, got, wanted in boundaries(x):
                if not lies_alike(got, wanted):
                    raise VerificationError(
                        f"layouts: {x.name} ({x.opcode}) must pass values on as they lie: "
                        f"{what} must be {wanted}, got {got} (IR-9); "
                        "the pass stated-layouts inserts copies"
                    )
        known.add(computation)
