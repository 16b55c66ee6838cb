"""Each invariant of the IR that the verifier checks, broken once; what parsing cannot produce."""

from typing import Any

import pytest
from hypothesis import given

from tfc.errors import VerificationError
from tfc.hlo import builder, verify
from tfc.hlo.ir import Attributes, Computation, Instruction, Module
from tfc.hlo.shape import F32, S32, Layout, Shape, TupleShape
from tfc.testing import ELEMENT_TYPES, modules

X = builder.parameter(0, Shape(F32, (2, 3)), "x")
Y = builder.unary("negate", X)


def module(instructions: list[Instruction], root: Instruction, parameters: Any = (X,)) -> Module:
    return Module("m", Computation("main", tuple(parameters), tuple(instructions), root))


@given(modules(element_types=ELEMENT_TYPES))
def test_random_modules_verify(made: Module):
    verify(made)


CALLEE = Computation.make("callee", [X], Y)
CALL = Instruction("call", (X,), X.shape, Attributes(to_apply=CALLEE), "c")
P1 = builder.parameter(1, Shape(F32), "p1")

# For each id the ways to break it, and the whole message.
BROKEN = [
    (module([Y, X], Y),
     "order: negate (negate) must come after its operands, got x not before it (IR-1)"),
    (module([X, Y, Y], Y), "order: negate (negate) must be there once, got it twice (IR-1)"),
    (module([X], Y),
     "order: negate (negate) must be in the body of main, as its root, got it nowhere (IR-1)"),
    (module([Y.with_(operands=()), X], Y),
     "order: negate (negate) must be in the body of main, as its root, got it nowhere (IR-1)"),
    (module([X, Y], Y, ()),
     "parameters: x (parameter) must be among the parameters of main, got 0 others (IR-2)"),
    (module([X, Y], Y, (Y,)),
     "parameters: negate (negate) must be parameter 0 of main, got none (IR-2)"),
    (module([X, Y], Y, (X, X)),
     "parameters: x (parameter) must be parameter 1 of main, got parameter 0 (IR-2)"),
    (module([P1], P1, (P1,)),
     "parameters: p1 (parameter) must be parameter 0 of main, got parameter 1 (IR-2)"),
    (module([X, Y], Y, (X, P1)),
     "parameters: p1 (parameter) must be in the body of main, too, got it nowhere (IR-2)"),
]  # fmt: skip


@pytest.mark.parametrize(("broken", "message"), BROKEN)
def test_structure(broken: Module, message: str):
    with pytest.raises(VerificationError) as caught:
        verify(broken)
    assert str(caught.value) == message


PAD = builder.instruction("pad", [X, builder.constant(0, F32)], padding=((0, 1, 0), (0, 0, 0)))
FUSION = Instruction("fusion", (X,), X.shape, Attributes(kind="kLoop", calls=CALLEE), "f")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Y.with_(operands=(X, X)), "operands: negate (negate) takes 1 operand, got 2 (IR-3)"),
        (Y.with_(operands=()), "operands: negate (negate) takes 1 operand, got 0 (IR-3)"),
        (Y.with_(attributes=Attributes(dimensions=(0,))),
         "attributes: negate (negate) has the attributes [], got ['dimensions'] (IR-4)"),
        (Y.with_(opcode="transpose"),
         "attributes: negate (transpose) must have the attribute dimensions, got [] (IR-4)"),
        (Y.with_(opcode="transpose", attributes=Attributes(dimensions=[1, 0])),
         "values: negate (transpose) must have dimensions of the kind ints, got [1, 0] (IR-5)"),
        (Y.with_(opcode="transpose", attributes=Attributes(dimensions=(1, 0.0))),
         "values: negate (transpose) must have dimensions of the kind ints, got (1, 0.0) (IR-5)"),
        (PAD.with_(attributes=Attributes(padding=((0, 1), (0, 0)))),
         "values: pad (pad) must have padding of the kind padding, got ((0, 1), (0, 0)) (IR-5)"),
        (CALL.with_(attributes=Attributes(to_apply="callee")),
         "values: c (call) must have to_apply of the kind computation, got 'callee' (IR-5)"),
        (CALL.with_(attributes=Attributes(to_apply=CALLEE, is_composite=1)),
         "values: c (call) must have is_composite of the kind bool, got 1 (IR-5)"),
        (FUSION.with_(attributes=Attributes(kind="kLop", calls=CALLEE)),
         "values: f (fusion) must have kind one of kLoop, kInput, kOutput, kCustom, got kLop "
         "(IR-5)"),
        (Y.with_(shape=Shape(F32, (3, 2))),
         "shape: negate (negate) must be f32[2,3] by its operands, got f32[3,2] (IR-6)"),
        (Y.with_(shape=Shape(S32, (2, 3))),
         "shape: negate (negate) must be f32[2,3] by its operands, got s32[2,3] (IR-6)"),
        (Y.with_(shape=TupleShape((X.shape,))),
         "shape: negate (negate) must be f32[2,3] by its operands, got (f32[2,3]) (IR-6)"),
        (CALL.with_(shape=Shape(F32)),
         "shape: c (call) must be f32[2,3] by its operands, got f32[] (IR-6)"),
        (Y.with_(shape=Shape(F32, (2, 3), Layout((1, 0), (4, 4)))),
         "layout: negate (negate) must not be padded: only arguments outside a module may be, "
         "got f32[2,3]{1,0} of widths [4, 4] (IR-7)"),
    ],
)  # fmt: skip
def test_instruction(wrong: Instruction, message: str):
    with pytest.raises(VerificationError) as caught:
        verify(module([X, *PAD.operands[1:], wrong], wrong))
    assert str(caught.value) == message


def test_a_computation_that_calls_back_is_refused():
    """Immutable values cannot form a cycle; this one is forced."""
    entry = Computation.make("main", [X], CALL)
    attributes = Attributes(to_apply=entry)
    object.__setattr__(CALL, "attributes", attributes)
    try:
        with pytest.raises(VerificationError, match=r"do not call back, got main \(IR-8\)"):
            verify(Module("m", entry))
    finally:
        object.__setattr__(CALL, "attributes", Attributes(to_apply=CALLEE))


def test_signatures_of_called_computations_are_checked():
    two = Instruction("call", (X, X), X.shape, Attributes(to_apply=CALLEE), "c")
    with pytest.raises(VerificationError, match=r"shape: c: call requires arguments f32\[2,3\]"):
        verify(module([X, two], two))


def test_shape_rules_are_checked_again():
    wrong = Instruction("transpose", (X,), Shape(F32, (2, 2)), Attributes(dimensions=(0, 0)), "t")
    with pytest.raises(VerificationError, match=r"shape: t: transpose requires permutation .*TR-1"):
        verify(module([X, wrong], wrong))


def test_called_computations_are_verified_too():
    wrong = Computation("wrong", (X,), (Y, X), Y)
    call = Instruction("call", (X,), X.shape, Attributes(to_apply=wrong), "c")
    with pytest.raises(
        VerificationError, match="must come after its operands, got x not before it"
    ):
        verify(module([X, call], call))


def test_a_layout_may_differ_from_what_inference_gives():
    other = Y.with_(shape=Shape(F32, (2, 3), Layout((0, 1))))
    verify(module([X, other], other))
