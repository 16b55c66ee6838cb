"""When values are needed: programs whose times are written down, and what may share memory."""

import pytest

from tfc.errors import InternalError
from tfc.hlo import parse
from tfc.passes.analysis.liveness import LiveIntervals, Liveness


def times(live: Liveness) -> dict[str, list[tuple[int, int]]]:
    """When each value is needed, by the name of what makes it."""
    return {owner.name: found.times for (owner, _), found in live.intervals.items()}


def copy_pairs(live: Liveness) -> set[tuple[str, str, int, int]]:
    return {(t.old[0].name, t.new[0].name, t.time, t.gain) for t in live.copy_pairs}


def test_steps_read_at_two_moments_and_write_at_the_second():
    live = Liveness(
        parse("""ENTRY main {
  p = f32[8] parameter(0)
  a = f32[8] exponential(p)
  b = f32[8] negate(a)
  c = f32[8] tanh(b)
  ROOT d = f32[8] add(a, c) }""")
    )
    # Steps are at 2, 4 …; the first is the parameter's, whose argument is there before.
    assert times(live) == {
        "p": [(1, 2), (3, 5)], "a": [(5, 11)], "b": [(7, 9)], "c": [(9, 11)], "d": [(11, 13)],
        "result": [(13, 14)],
    }  # fmt: skip
    # The argument is not donated; of a sum's operands both may be overwritten.
    assert copy_pairs(live) == {
        ("a", "b", 7, 0), ("b", "c", 9, 0), ("a", "d", 11, 0), ("c", "d", 11, 0),
        ("d", "result", 13, 32),
    }  # fmt: skip


def test_what_a_branch_reads_is_needed_there_and_nowhere_between():
    live = Liveness(
        parse("""less { p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT l = pred[] compare(p, q), direction=LT }
f { x = f32[8] parameter(0)
  a = f32[8] reverse(x), dimensions={0}
  ROOT b = f32[8] sort(a), dimensions={0}, to_apply=less }
g { y = f32[8] parameter(0)
  ROOT c = f32[8] reverse(y), dimensions={0} }
ENTRY main {
  t = pred[] parameter(0)
  x = f32[8] parameter(1)
  v = f32[8] tanh(x)
  ROOT r = f32[8] conditional(t, v, v), true_computation=f, false_computation=g }""")
    )
    found = times(live)
    (before, first, second), (inside,) = found["v"], found["b"]
    assert before[1] < first[0] < first[1] < second[0] < second[1]
    assert first[1] <= inside[0] < inside[1] < second[0]  # v is not needed while b is
    assert len(found["r"]) == 3  # in either branch, and after them


def test_a_loop_has_its_state_until_the_body_reads_it_last_and_again_from_the_end():
    live = Liveness(
        parse("""test { s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(9)
  ROOT c = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f32[8] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  h = f32[8] tanh(v)
  u = f32[8] reverse(h), dimensions={0}
  ROOT r = (s32[], f32[8]) tuple(j, u) }
ENTRY main {
  x = f32[8] parameter(0)
  z = s32[] constant(0)
  q = (s32[], f32[8]) tuple(z, x)
  w = (s32[], f32[8]) while(q), condition=test, body=body
  ROOT v = f32[8] get-tuple-element(w), index=1 }""")
    )
    state = [live.intervals[leaf].times for leaf in live.intervals if leaf[0].name == "w"]
    (h,), (u,) = times(live)["h"], times(live)["u"]
    _, ((_, read), (written, _)) = state
    assert read == h[0]  # tanh reads the state and may write over it
    assert read < u[0] < written == u[1]
    # To keep the vector in one place saves a copy each iteration, of which sixteen are assumed.
    assert {t[:2]: t[3] for t in copy_pairs(live)}["u", "w"] == 16 * 8 * 4


def test_an_interval_begins_where_a_value_is_written_and_ends_where_it_is_read_last():
    value = LiveIntervals()
    value.define(3)
    value.read(8)
    value.read(10)
    value.define(20)
    assert value.times == [(3, 10), (20, 21)]


def test_calls_and_shared_computations_are_refused():
    call = """f { x = f32[] parameter(0)
  ROOT y = f32[] negate(x) }
ENTRY main { x = f32[] parameter(0)
  p = pred[] parameter(1)
  ROOT r = f32[] WHAT }"""
    with pytest.raises(InternalError, match="r is a call: run inline first"):
        Liveness(parse(call.replace("WHAT", "call(x), to_apply=f")))
    both = "conditional(p, x, x), true_computation=f, false_computation=f"
    with pytest.raises(InternalError, match="f has two callers: run flatten first"):
        Liveness(parse(call.replace("WHAT", both)))
