"""Scheduling: lower peaks, the same values, effects in their order, and little time."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tfc.hlo import Module, builder, evaluate, parse, verify
from tfc.hlo.ir import Computation, has_side_effect
from tfc.hlo.shape import F32, S32, Shape
from tfc.passes import default_pipeline
from tfc.passes.expand.inline import Flatten, Inline
from tfc.passes.memory.buffers import assign_buffers
from tfc.passes.memory.copies import Copies
from tfc.passes.memory.execution_graph import (
    Steps,
    earliest_first,
    most_freed_first,
    most_needed_first,
)
from tfc.passes.memory.schedule import Schedule
from tfc.passes.rewriting.decisions import Taken
from tfc.testing import arguments_for, modules

FAN = """
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
ENTRY main { x = f32[1000] parameter(0)
  z = f32[] constant(0)
  a = f32[1000] reverse(x), dimensions={0}
  b = f32[1000] exponential(x)
  c = f32[1000] tanh(x)
  d = f32[] reduce(a, z), dimensions={0}, to_apply=add
  e = f32[] reduce(b, z), dimensions={0}, to_apply=add
  f = f32[] reduce(c, z), dimensions={0}, to_apply=add
  g = f32[] add(d, e)
  ROOT h = f32[] add(g, f) }
"""


def test_producers_wait_for_their_consumers() -> None:
    module = parse(FAN)
    result = Schedule()(module)
    verify(result)
    assert assign_buffers(module).arena_size > 3 * 4000
    assert assign_buffers(result).arena_size < 4000 + 1000
    assert Schedule()(result) is result
    assert Schedule().explain(module) == (Taken("12004 -> 4008 bytes at one time", "main"),)


def test_what_is_read_is_read_before_it_is_written_over() -> None:
    module = parse(
        """
        ENTRY main { p = f32[8,4] parameter(0)
          u = f32[1,4] parameter(1)
          z = s32[] constant(0)
          x = f32[8,4] exponential(p)
          n = f32[8,4] dynamic-update-slice(x, u, z, z)
          y = f32[8,4] reverse(x), dimensions={0}
          ROOT t = (f32[8,4], f32[8,4]) tuple(n, y) }
        """
    )
    result = Schedule()(module)
    order = [i.name for i in result.entry.instructions]
    assert order.index("y") < order.index("n")
    slices = assign_buffers(result).slices
    root = result.entry.root
    assert slices[root.operands[0]] == slices[root.operands[0].operands[0]]


def test_effects_and_control_predecessors_keep_their_order() -> None:
    module = parse(
        """
        ENTRY main { x = f32[4] parameter(0)
          t = token[] after-all()
          a = token[] outfeed(x, t), outfeed_shape=f32[4]
          b = f32[4] exponential(x)
          c = f32[4] negate(x), control-predecessors={b}
          d = token[] outfeed(b, a), outfeed_shape=f32[4]
          ROOT e = f32[4] add(c, b) }
        """
    )
    steps = Steps(module.entry, {}, {})
    for make in (earliest_first, most_needed_first, most_freed_first):
        order = [steps.instructions[n].name for n in make(steps)]
        assert order.index("a") < order.index("d")
        assert order.index("b") < order.index("c")


@given(modules(20, element_types=(F32, S32)))
def test_random_modules_compute_the_same_in_no_more_memory(module: Module) -> None:
    for each in (Inline(), Flatten(), Copies()):
        module = each(module)
    result = Schedule()(module)
    verify(result)
    names = [[i.name for i in m.entry.instructions if has_side_effect(i)] for m in (module, result)]
    assert names[0] == names[1]
    arguments = arguments_for(module, np.random.default_rng(0), "whole")
    expected, got = evaluate(module, *arguments), evaluate(result, *arguments)
    for a, b in zip(flat(expected), flat(got), strict=True):
        np.testing.assert_array_equal(a, b)
    assign_buffers(result)


def flat(value):
    return [leaf for v in value for leaf in flat(v)] if isinstance(value, tuple) else [value]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30))
def test_every_order_is_of_all_steps_and_keeps_the_edges(pairs: list[tuple[int, int]]) -> None:
    values = [builder.parameter(0, Shape(F32, (3,)))]
    for a, b in pairs:
        values.append(builder.binary("add", values[-1 - a % len(values)],
                                     values[-1 - b % len(values)]))  # fmt: skip
    root = builder.instruction("tuple", values[-3:])
    steps = Steps(Computation.make("main", values[:1], root), {}, {})
    for make in (earliest_first, most_needed_first, most_freed_first):
        order = make(steps)
        assert sorted(order) == list(range(len(steps.instructions)))
        place = {n: at for at, n in enumerate(order)}
        assert all(place[b] < place[n] for n, before in enumerate(steps.before) for b in before)


def test_ten_thousand_instructions_are_scheduled() -> None:
    rng = np.random.default_rng(0)
    values = [builder.parameter(0, Shape(F32, (256,)))]
    for a, b in rng.integers(1, 100, (10_000, 2)):
        values.append(builder.binary("add", values[-min(a, len(values))],
                                     values[-min(b, len(values))]))  # fmt: skip
    root = builder.instruction("tuple", values[-20:])
    module = Module("m", Computation.make("main", values[:1], root))
    assert assign_buffers(Schedule()(module)).arena_size < assign_buffers(module).arena_size


def test_it_is_the_last_to_make_computations() -> None:
    assert [p.name for p in default_pipeline().passes][-1] == "schedule"
