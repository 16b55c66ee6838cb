"""Topological levels: what may be merged without a cycle, against a search of the whole graph."""

from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfc.hlo import builder, parse
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import F32, Shape
from tfc.passes.analysis.topological_levels import DEPENDENT, Levels


def graph(edges: list[tuple[int, int]], count: int) -> Computation:
    """A computation of `count` instructions in which each joins those that it has edges from."""
    made: list[Instruction] = [builder.parameter(0, Shape(F32, (1,)))]
    for n in range(1, count):
        operands = [made[a] for a, b in edges if b == n] or [made[0]]
        made.append(builder.instruction("concatenate", operands, dimensions=(0,)))
    return Computation.make("main", [made[0]], builder.instruction("tuple", made))


def is_acyclic(computation: Computation, groups: list[set[Instruction]]) -> bool:
    """Whether the computation with each group as one instruction has an order, by Python's own."""
    group_of: dict[Instruction, object] = {i: i for i in computation.instructions}
    for number, group in enumerate(groups):
        group_of.update((i, number) for i in group)
    before: dict[object, set[object]] = {g: set() for g in group_of.values()}
    for i in computation.instructions:
        for earlier in (*i.operands, *i.control_predecessors):
            if group_of[earlier] != group_of[i]:
                before[group_of[i]].add(group_of[earlier])
    for a, b in pairwise(computation.effects):
        before[group_of[b]].add(group_of[a])
    try:
        list(TopologicalSorter(before).static_order())
    except CycleError:
        return False
    return True


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_what_is_merged_has_an_order_and_what_is_refused_has_none(data: st.DataObject) -> None:
    count = data.draw(st.integers(3, 9))
    numbers = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    edges = data.draw(st.lists(numbers.filter(lambda e: e[0] < e[1]), max_size=14, unique=True))
    computation = graph(edges, count)
    nodes = [i for i in computation.instructions if i.opcode != "tuple"]
    levels, groups = Levels(computation), [{i} for i in computation.instructions]
    for _ in range(data.draw(st.integers(1, 6))):
        a, b = (data.draw(st.sampled_from(nodes)) for _ in range(2))
        one, other = (next(g for g in groups if x in g) for x in (a, b))
        if one is other:
            continue
        joined = [g for g in groups if g is not one and g is not other] + [one | other]
        reason = levels.merge(a, b)
        assert (reason is None) == is_acyclic(computation, joined)
        groups = joined if reason is None else groups
    place = {i: n for n, i in enumerate(levels.ordered(computation.instructions))}
    group_of = {i: g for g in groups for i in g}
    for i in nodes:
        assert all(place[o] < place[i] for o in i.operands if group_of[o] is not group_of[i])


TEXT = """ENTRY main {
  x = f32[8] parameter(0)
  a = f32[8] negate(x)
  first = f32[8] custom-call(a), custom_call_target="f", custom_call_has_side_effect=true
  second = f32[8] custom-call(x), custom_call_target="g", custom_call_has_side_effect=true
  b = f32[8] abs(second)
  c = f32[8] sqrt(x), control-predecessors={first}
  d = f32[8] sign(a)
  ROOT t = (f32[8], f32[8], f32[8]) tuple(b, c, d) }"""


@pytest.mark.parametrize(("pair", "reason"), [("ab", DEPENDENT), ("ac", DEPENDENT), ("ad", None)])
def test_effects_and_control_edges_are_paths_and_direct_edges_are_none(
    pair: str, reason: str | None
) -> None:
    computation = parse(TEXT).entry
    named = {i.name: i for i in computation.instructions}
    assert Levels(computation).merge(named[pair[0]], named[pair[1]]) == reason


def test_beyond_a_distance_the_answer_is_that_there_may_be_a_path() -> None:
    x = builder.parameter(0, Shape(F32))
    chains = []
    for _ in range(2):
        chains.append([x])
        for _ in range(700):
            chains[-1].append(builder.unary("negate", chains[-1][-1]))
    (_, low, *_, near), (_, *_, high) = chains
    computation = Computation.make("main", [x], builder.instruction("tuple", [near, high]))
    assert Levels(computation).merge(low, high) == DEPENDENT
    assert Levels(computation).merge(near, high) is None


def test_levels_of_a_wide_and_deep_computation() -> None:
    x = builder.parameter(0, Shape(F32, (4,)))
    columns: list[list[Instruction]] = [[x] for _ in range(3)]
    for _ in range(4):
        for column in columns:
            column.append(builder.unary("negate", column[-1]))
    root = builder.instruction("tuple", [c[-1] for c in columns])
    levels = Levels(Computation.make("main", [x], root))
    (_, a1, a2, a3, _), (_, b1, b2, b3, _), (_, c1, c2, *_) = columns
    assert levels.merge(a1, b2) is None
    assert levels.merge(a2, b1) == DEPENDENT  # b1, b2 and a1, a2
    assert levels.merge(a3, b2) == DEPENDENT  # a1, a2, a3
    assert levels.merge(a2, c2) is None
    assert levels.merge(b3, c1) is None
    assert levels.merge(b2, c2) == DEPENDENT  # b2, b3 and c1, c2, besides the direct edge a1, a2
