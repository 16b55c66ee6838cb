"""The state of loops by element: what depends on what, and a while stated over another state."""

from collections.abc import Sequence

import numpy as np
import pytest

from tfc.hlo import Module, builder, evaluate, parse, verify
from tfc.hlo.ir import Instruction
from tfc.hlo.loops.loop_state import (
    Loop,
    apply,
    dependences,
    element,
    elements,
    extended,
    is_from_nothing,
    loop_of,
    made_again,
    packed,
    repeated,
    restated,
    rewrite_each,
    used_elements,
)
from tfc.hlo.shape import F32, S32, Shape

STATE = "(s32[], f32[4], f32[4], f32[4])"
# i counts to 3, a becomes a + b * i, b stays, c becomes sine(a) and is not needed for a.
MODULE = parse(f"""test {{ s = {STATE} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT g = pred[] compare(i, n), direction=LT }}
body {{ s = {STATE} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  a = f32[4] get-tuple-element(s), index=1
  b = f32[4] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  f = f32[] convert(i)
  m = f32[4] broadcast(f), dimensions={{}}
  p = f32[4] multiply(b, m)
  d = f32[4] add(a, p)
  e = f32[4] sine(a)
  ROOT r = {STATE} tuple(j, d, b, e) }}
ENTRY main {{ x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  z = s32[] constant(0)
  t = {STATE} tuple(z, x, y, x)
  w = {STATE} while(t), condition=test, body=body
  ROOT v = f32[4] get-tuple-element(w), index=1 }}""")
WHILE = MODULE.entry.root.operands[0]


def the_loop() -> Loop:
    loop = loop_of(WHILE)
    assert loop is not None
    return loop


def values(module: Module) -> np.ndarray:
    verify(module)
    x, y = np.arange(4, dtype=np.float32), np.array([1, -2, 0.5, 3], np.float32)
    return np.asarray(evaluate(module, x, y))


def replaced(change) -> np.ndarray:
    """What the program computes with its while changed."""
    return values(rewrite_each(MODULE, "while", lambda loop, _: change(loop)))


def test_elements_of_a_tuple_that_is_there_are_its_operands():
    parts = [builder.constant(n, S32) for n in range(3)]
    whole = builder.instruction("tuple", parts)
    assert elements(whole) == parts == [element(whole, n) for n in range(3)]
    assert packed(parts[0].shape, parts[:1]) is parts[0]
    assert packed(whole.shape, parts).shape == whole.shape


def test_what_elements_depend_on():
    results, effects = dependences(WHILE["body"])
    assert (results, effects) == ([0b0001, 0b0111, 0b0100, 0b0010], 0)
    loop = the_loop()
    assert loop.invariant == [False, False, True, False]
    # The condition needs i; what c depends on needs all but c.
    assert loop.needed(0) == 0b0001
    assert loop.needed(0b0010) == loop.needed(0b0110) == 0b0111
    assert loop.needed(0b1000) == 0b1111


def test_used_elements_are_those_that_somebody_takes():
    assert used_elements(MODULE.entry, WHILE) == {1}
    assert used_elements(MODULE.entry, WHILE.operands[0]) == {0, 1, 2, 3}


@pytest.mark.parametrize("layout", ["{0,1}", "{1,0}"])
def test_a_loop_is_of_arrays_in_one_layout(layout: str):
    text = f"""test {{ s = (s32[], f32[2,2]{{0,1}}) parameter(0)
  ROOT c = pred[] constant(false) }}
body {{ s = (s32[], f32[2,2]{layout}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  a = f32[2,2]{layout} get-tuple-element(s), index=1
  ROOT r = (s32[], f32[2,2]{layout}) tuple(i, a) }}
ENTRY main {{ t = (s32[], f32[2,2]{{0,1}}) parameter(0)
  ROOT w = (s32[], f32[2,2]{{0,1}}) while(t), condition=test, body=body }}"""
    assert (loop_of(parse(text).entry.root) is not None) == (layout == "{0,1}")


def test_a_body_is_put_in_the_place_of_its_call():
    loop = the_loop()
    x = loop.inits[1]
    applied = apply(loop.body, loop.inits, lambda old, _: x if old.name == "p" else None)
    i, a, b, c = applied.results
    assert [i.opcode, a.opcode, c.opcode] == ["add", "add", "sine"]
    assert a.operands == (x, x)
    assert b is loop.inits[2]
    assert applied.effects == ()


@pytest.mark.parametrize("times", [0, 1, 3])
def test_iterations_beside_a_loop_are_what_it_computes(times: int):
    np.testing.assert_array_equal(
        replaced(lambda loop: repeated(loop, times)),
        values(parse(str(MODULE).replace("constant(3)", f"constant({times})"))),
    )


def test_a_while_over_fewer_elements_in_another_order():
    def change(loop: Instruction) -> Instruction:
        inits = elements(loop.operands[0])

        def view(parts: Sequence[Instruction]) -> list[Instruction]:
            b, a, i = parts
            return [i, a, b, a]  # what c is does not matter to the others

        made = restated(
            loop, [inits[2], inits[1], inits[0]], view,
            lambda applied, _: [applied.results[n] for n in (2, 1, 0)],
        )  # fmt: skip
        assert len(made.shape.elements) == 3  # type: ignore[union-attr]
        return packed(loop.shape, view(elements(made)))

    np.testing.assert_array_equal(replaced(change), values(MODULE))


def test_a_while_with_a_further_element_that_stands_for_something():
    def change(loop: Instruction) -> Instruction:
        found = loop_of(loop)
        assert found is not None
        twice = builder.binary("add", found.inits[2], found.inits[2])
        return extended(
            found, [twice], lambda parts: lambda old, _: parts[0] if old.name == "p" else None
        )

    x, y = np.arange(4, dtype=np.float32), np.array([1, -2, 0.5, 3], np.float32)
    np.testing.assert_array_equal(replaced(change), x + 3 * (y + y))


def test_what_is_made_from_nothing_is_made_again():
    one = builder.constant(1, F32)
    ones = builder.broadcast(one, (4,), ())
    x = builder.parameter(0, Shape(F32))
    assert all(map(is_from_nothing, (one, ones, builder.iota(Shape(S32, (4,)), 0))))
    assert not is_from_nothing(x)
    assert not is_from_nothing(builder.broadcast(x, (4,), ()))
    again = made_again(ones)
    assert again is not ones
    assert again.operands[0] is not one
    assert again.operands[0]["literal"] == one["literal"]
    assert made_again(x) is x


def test_a_replacement_of_another_layout_is_not_taken():
    module = rewrite_each(MODULE, "while", lambda loop, _: loop.operands[0].operands[0])
    assert module is MODULE
