"""Each invariant of the IR that the verifier checks, broken once; what parsing cannot produce."""

from typing import Any

import pytest
from hypothesis import given

from tfc.errors import VerificationError
from tfc.hlo import builder, verify
from tfc.hlo.ir import Attributes, Computation, Instruction, Module
from tfc.hlo.shape import F32, S32, Layout, Shape
from tfc.testing import ELEMENT_TYPES, modules

X = builder.parameter(0, Shape(F32, (2, 3)), "x")
Y = builder.unary("negate", X)


def module(instructions: list[Instruction], root: Instruction, parameters: Any = (X,)) -> Module:
    return Module("m", Computation("main", tuple(parameters), tuple(instructions), root))


@given(modules(element_types=ELEMENT_TYPES))
def test_random_modules_verify(made: Module):
    verify(made)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (module([Y, X], Y), "order: negate .negate. uses x before it is made"),
        (module([X, Y, Y], Y), "order: negate .negate. appears twice"),
        (module([X], Y), "order: negate .negate. is the root but not in the body"),
        (module([X, Y], Y, ()), "parameters: x .parameter. is not a declared parameter of main"),
        (module([X, Y], Y, (Y,)), "parameters: negate .negate. must be parameter 0 of main"),
    ],
)
def test_structure(broken: Module, message: str):
    with pytest.raises(VerificationError, match=message):
        verify(broken)


def test_parameters_are_numbered_in_their_order():
    p0, p1 = (builder.parameter(i, Shape(F32)) for i in range(2))
    with pytest.raises(VerificationError, match="must be parameter 0 of main"):
        verify(module([p0, p1], p0, (p1, p0)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"operands": (X, X)}, "arity: negate .negate. takes 1 operands, got 2"),
        ({"attributes": Attributes(dimensions=(0,))},
         "attributes: negate .negate. has an attribute dimensions that negate does not know"),
        ({"opcode": "transpose"}, "attributes: negate .transpose. lacks the attribute dimensions"),
        ({"shape": Shape(F32, (3, 2))},
         r"shape: negate .negate. is f32\[3,2\] but its operands give f32\[2,3\]"),
        ({"shape": Shape(S32, (2, 3))}, r"is s32\[2,3\] but its operands give f32\[2,3\]"),
        ({"shape": Shape(F32, (2, 3), Layout((1, 0), (4, 4)))}, "has a padded layout"),
    ],
)  # fmt: skip
def test_instruction(change: dict[str, Any], message: str):
    wrong = Y.with_(**change)
    with pytest.raises(VerificationError, match=message):
        verify(module([X, wrong], wrong))


def test_shape_rules_are_checked_again():
    wrong = Instruction("transpose", (X,), Shape(F32, (2, 2)), Attributes(dimensions=(0, 0)), "t")
    with pytest.raises(VerificationError, match=r"shape: t: transpose requires permutation .*TR-1"):
        verify(module([X, wrong], wrong))


def test_called_computations_are_verified_too():
    wrong = Computation("wrong", (X,), (Y, X), Y)
    call = Instruction("call", (X,), X.shape, Attributes(to_apply=wrong), "c")
    with pytest.raises(VerificationError, match="uses x before it is made"):
        verify(module([X, call], call))


def test_a_layout_may_differ_from_what_inference_gives():
    other = Y.with_(shape=Shape(F32, (2, 3), Layout((0, 1))))
    verify(module([X, other], other))
