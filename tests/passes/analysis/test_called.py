"""What instructions call: which computations are steps of a program, and how they change."""

from tfc.hlo import Module, parse, verify
from tfc.hlo.ir import Computation
from tfc.passes.analysis.called import (
    clone,
    control_callees,
    control_computations,
    decided,
    kernel_loop,
    map_some,
    run_walk,
)
from tfc.passes.rewriting.decisions import Taken

MODULE = parse("""add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
test { s = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(9)
  ROOT c = pred[] compare(i, n), direction=LT }
f { x = f32[] parameter(0)
  ROOT y = f32[] sine(x) }
g { x = f32[] parameter(0)
  ROOT y = f32[] negate(x) }
body { s = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  o = pred[] compare(j, one), direction=EQ
  y = f32[] conditional(o, x, x), true_computation=f, false_computation=g
  ROOT r = (s32[], f32[]) tuple(j, y) }
ENTRY main { v = f32[8] parameter(0)
  zero = f32[] constant(0)
  x = f32[] reduce(v, zero), dimensions={0}, to_apply=add
  z = s32[] constant(0)
  t = (s32[], f32[]) tuple(z, x)
  w = (s32[], f32[]) while(t), condition=test, body=body
  ROOT y = f32[] get-tuple-element(w), index=1 }""")


def named(name: str) -> Computation:
    (found,) = (c for c in MODULE.computations if c.name == name)
    return found


def test_loop_parts_and_branches_run_as_steps_and_reducers_do_not():
    assert {c.name for c in control_computations(MODULE)} == {"main", "test", "body", "f", "g"}
    assert [c.name for c in control_callees(MODULE.entry)] == ["test", "body"]
    assert [c.name for c in control_callees(named("body"))] == ["f", "g"]
    assert control_callees(named("f")) == []


def test_the_loop_of_a_computation_is_found():
    loop = kernel_loop(MODULE.entry)
    assert loop is not None
    assert loop.name == "w"
    assert kernel_loop(named("body")) is None


def test_decisions_about_steps_only_are_told():
    some = decided(MODULE, lambda c: [Taken("counted", c.name)])
    assert [d.where for d in some if isinstance(d, Taken)] == [
        c.name for c in MODULE.computations if c.name != "add"
    ]


def test_some_computations_are_changed_and_their_callers_see_it():
    changed = map_some(MODULE, {named("f")}, lambda _: named("g"))
    verify(changed)
    assert sorted(c.name for c in changed.computations) == ["add", "body", "g", "main", "test"]
    assert map_some(MODULE, {named("f")}, lambda c: c) is MODULE


def test_a_clone_shares_no_instruction():
    body = named("body")
    copy = clone(body, clone)
    assert not set(copy.instructions) & set(body.instructions)
    assert not set(copy.callees) & set(body.callees)
    assert str(copy) == str(body)
    verify(Module("copy", clone(MODULE.entry)))


def test_walks_go_into_what_they_yield_before_they_go_on_at_any_depth():
    order: list[int] = []

    def walk(depth: int):
        order.append(depth)
        if depth < 5_000:
            yield walk(depth + 1)
        order.append(-depth)

    run_walk(walk(1))
    assert order == [*range(1, 5_001), *(-n for n in range(5_000, 0, -1))]
