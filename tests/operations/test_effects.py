"""Effects: what talks to the world runs once each, in the order of the text, whatever passes do.

Each program notes the numbers that it passes to a registered function; the evaluator and compiled
code must note the same.
"""

import numpy as np
import pytest

import tfc
from tfc.hlo import evaluate, parse
from tfc.hlo.ir import Module
from tfc.passes import Dce, default_pipeline

NOTED: list[float] = []


@pytest.fixture(autouse=True)
def note():
    """Registers `note`, which remembers its argument and returns it."""

    def remember(x, *_):
        NOTED.append(float(x))
        return x

    tfc.register_custom_call("note", remember)
    NOTED.clear()


def effect(name: str, operand: str, dependency: str = "") -> str:
    more = f", {dependency}" if dependency else ""
    return (f"{name} = f32[] custom-call({operand}{more}), custom_call_target=\"note\", "
            "custom_call_has_side_effect=true\n")  # fmt: skip


X = "x = f32[] parameter(0)\n"


def assert_noted(module: Module, expected: list[float], *arguments: float) -> None:
    """Both ways of running a module note the expected numbers, and give the same result."""
    arrays = [np.float32(a) for a in arguments]
    value = evaluate(module, *arrays)
    assert expected == NOTED
    NOTED.clear()
    results = tfc.compile(module)(*arrays)
    assert expected == NOTED
    np.testing.assert_array_equal(results[0], value if not isinstance(value, tuple) else value[0])


def test_effects_that_nothing_uses_are_kept_in_order():
    text = X + effect("a", "x") + "n = f32[] negate(x)\n" + effect("b", "n")
    module = parse(text + effect("c", "x") + "ROOT r = f32[] add(x, x)")
    assert_noted(module, [2, -2, 2], 2)
    assert len(Dce()(module).entry.instructions) == len(module.entry.instructions)


def test_calls_without_effects_are_dropped_and_merged():
    call = 'custom-call(x), custom_call_target="note"\n'
    module = parse(X + f"a = f32[] {call}b = f32[] {call}c = f32[] {call}ROOT r = add(a, b)")
    tfc.compile(module)(np.float32(1))
    assert NOTED == [1]


def test_equal_effects_are_not_merged():
    module = parse(X + effect("a", "x") + effect("b", "x") + "ROOT r = f32[] add(a, b)")
    assert_noted(module, [3, 3], 3)


def test_effects_on_constants_are_not_folded():
    text = "z = f32[] constant(5)\n" + effect("a", "z") + "ROOT r = f32[] add(z, z)"
    assert_noted(parse(text), [5])


def test_effects_of_inlined_calls_run_once_for_each_call():
    """… though neither the callee's root nor the caller's depends on them."""
    callee = f"f {{ y = f32[] parameter(0)\n{effect('a', 'y')}ROOT r = f32[] add(y, y) }}\n"
    body = "b = f32[] call(x), to_apply=f\n" + effect("m", "b") + "c = f32[] call(b), to_apply=f\n"
    module = parse(f"{callee}ENTRY e {{ {X}{body}ROOT r = f32[] negate(x) }}")
    assert_noted(module, [1, 2, 2], 1)


def test_effects_in_calls_within_calls():
    inner = f"f {{ y = f32[] parameter(0)\n{effect('a', 'y')}ROOT n = f32[] negate(y) }}\n"
    outer = "g { y = f32[] parameter(0)\nROOT c = f32[] call(y), to_apply=f }\n"
    main = f"ENTRY e {{ {X}c = f32[] call(x), to_apply=g\nROOT s = f32[] sine(x) }}"
    module = parse(inner + outer + main)
    assert_noted(module, [7], 7)


LOOP = """
condition {{
  s = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  c = f32[] convert(i)
  {in_condition}
  n = s32[] constant({count})
  ROOT lt = pred[] compare(i, n), direction=LT
}}
body {{
  s = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f32[] get-tuple-element(s), index=1
  {in_body}
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT t = (s32[], f32[]) tuple(j, v)
}}
ENTRY e {{
  x = f32[] parameter(0)
  zero = s32[] constant(0)
  s = (s32[], f32[]) tuple(zero, x)
  w = (s32[], f32[]) while(s), condition=condition, body=body
  {after}
  ROOT r = f32[] negate(x)
}}
"""


@pytest.mark.parametrize("count", [0, 3])
def test_effects_in_a_loop_whose_value_nothing_uses(count: int):
    text = LOOP.format(count=count, in_condition=effect("a", "c"), in_body=effect("b", "v"),
                       after=effect("d", "x"))  # fmt: skip
    loop = [n for i in range(count) for n in (i, 9)]
    assert_noted(parse(text), [*loop, count, 9], 9)


def test_effects_in_the_condition_of_a_loop_that_never_runs():
    text = LOOP.format(count=0, in_condition=effect("a", "c"), in_body="", after="")
    text = text.replace(
        "ROOT lt = pred[] compare(i, n), direction=LT", "ROOT no = pred[] constant(false)"
    )
    assert_noted(parse(text), [0], 1)


def test_effects_in_branches():
    def branch(name: str, operand: str) -> str:
        body = f"y = f32[] parameter(0)\nn = f32[] negate(y)\n{effect('a', operand)}"
        return f"{name} {{ {body}ROOT r = f32[] add(y, y) }}\n"

    known = "p = pred[] constant(false)\n"
    unknown = "z = f32[] constant(0)\np = pred[] compare(x, z), direction=LT\n"
    for test in (known, unknown):
        text = f"{branch('f', 'y')}{branch('g', 'n')}ENTRY e {{ {X}{test}"
        text += "c = f32[] conditional(p, x, x), true_computation=f, false_computation=g\n"
        NOTED.clear()
        assert_noted(parse(text + effect("b", "x") + "ROOT r = f32[] negate(x) }"), [-4, 4], 4)


def test_a_branch_shared_by_two_conditionals_runs_for_both():
    text = f"f {{ y = f32[] parameter(0)\n{effect('a', 'y')}ROOT r = f32[] add(y, y) }}\n"
    text += f"ENTRY e {{ {X}z = f32[] constant(0)\np = pred[] compare(x, z), direction=LT\n"
    text += "c = f32[] conditional(p, x, x), true_computation=f, false_computation=f\n"
    text += "ROOT d = f32[] conditional(p, x, c), true_computation=f, false_computation=f }"
    assert_noted(parse(text), [1, 2], 1)


def test_what_fuses_around_effects_does_not_move_them():
    """Producers and consumers of effects fuse; the effects stay steps, each once."""
    text = X + "a = f32[] add(x, x)\nb = f32[] negate(a)\n" + effect("c", "b")
    text += "d = f32[] add(c, a)\n" + effect("e", "d", "c") + "f = f32[] multiply(e, d)\n"
    text += effect("g", "f") + "ROOT r = f32[] add(f, b)"
    assert_noted(parse(text), [-6, 0, 0], 3)


def test_optimised_modules_keep_the_order_of_effects():
    text = X + "".join(effect(f"a{n}", f"a{n - 1}" if n % 3 else "x") for n in range(12))
    module = default_pipeline().run(parse(text + "ROOT r = f32[] negate(x)"))
    names = [i.name for i in module.entry.instructions if i.opcode == "custom-call"]
    assert names == [f"a{n}" for n in range(12)]


def test_an_exception_ends_loops_and_nothing_is_called_after_it():
    def fail(x):
        NOTED.append(float(x))
        raise KeyError("no more")

    tfc.register_custom_call("fail", fail)
    text = LOOP.format(count=1000000000, in_condition=effect("a", "c"), after=effect("d", "x"),
                       in_body=effect("b", "v").replace('"note"', '"fail"'))  # fmt: skip
    exe = tfc.compile(parse(text))
    for _ in range(2):
        NOTED.clear()
        with pytest.raises(KeyError, match="no more"):
            exe(np.float32(9))
        assert NOTED == [0, 9]


def test_effects_inside_kernels_are_refused():
    text = "f { a = f32[] parameter(0)\nb = f32[] parameter(1)\n" + effect("c", "a")
    text += "ROOT r = f32[] add(c, b) }\nENTRY e { x = f32[3] parameter(0)\nz = f32[] constant(0)\n"
    module = parse(text + "ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=f }")
    with pytest.raises(tfc.errors.UnsupportedError, match="custom-call"):
        tfc.compile(module)
