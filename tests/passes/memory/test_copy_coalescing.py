"""Which values become one buffer, from when they are needed and where they meet."""

from tfc.hlo import builder
from tfc.hlo.shape import F32, Shape
from tfc.passes.analysis.aliases import Leaf
from tfc.passes.analysis.liveness import CopyPair, LiveIntervals
from tfc.passes.memory.copy_coalescing import SharedBuffer, share

A, B, C, D = LEAVES = tuple((builder.parameter(n, Shape(F32, (8,))), 0) for n in range(4))


def needed(*times: list[tuple[int, int]]) -> dict[Leaf, LiveIntervals]:
    return {leaf: LiveIntervals(list(each)) for leaf, each in zip(LEAVES, times)}


def together(buffers: dict[Leaf, SharedBuffer]) -> set[frozenset[int]]:
    """The values in each buffer, as numbers."""
    return {frozenset(map(LEAVES.index, b.values)) for b in buffers.values()}


def test_values_that_meet_where_one_becomes_the_other_are_one_buffer():
    times = needed([(1, 5)], [(5, 9)])
    assert together(share(times, [CopyPair(A, B, 5, 0)], {})) == {frozenset({0, 1})}
    assert together(share(times, [], {})) == {frozenset({0}), frozenset({1})}
    assert together(share(times, [CopyPair(A, B, 7, 0)], {})) == {frozenset({0}), frozenset({1})}


def test_values_that_are_needed_together_are_apart():
    times = needed([(1, 6)], [(5, 9)])
    assert len(together(share(times, [CopyPair(A, B, 5, 0)], {}))) == 2
    elsewhere = needed([(1, 5), (20, 30)], [(5, 9), (25, 26)])
    assert len(together(share(elsewhere, [CopyPair(A, B, 5, 0)], {}))) == 2


def test_the_copy_of_most_bytes_is_saved_where_not_all_can_be():
    times = needed([(1, 5)], [(1, 5)], [(5, 9)])
    for gains, kept in (((8, 4), {0, 2}), ((4, 8), {1, 2})):
        copy_pairs = [CopyPair(A, C, 5, gains[0]), CopyPair(B, C, 5, gains[1])]
        assert frozenset(kept) in together(share(times, copy_pairs, {}))


def test_places_that_are_given_are_kept_and_passed_on():
    times = needed([(1, 5)], [(5, 9)], [(9, 12)])
    copy_pairs = [CopyPair(A, B, 5, 0), CopyPair(B, C, 9, 0)]
    found = share(times, copy_pairs, {A: "argument", C: "result"})
    assert together(found) == {frozenset({0, 1}), frozenset({2})}
    assert (found[B].place, found[C].place) == ("argument", "result")


def test_a_chain_is_one_buffer_with_one_interval():
    times = needed([(1, 5)], [(5, 9)], [(9, 12)], [(14, 15)])
    found = share(times, [CopyPair(A, B, 5, 0), CopyPair(B, C, 9, 0)], {}, [(A, D)])
    buffer = found[A]
    assert all(found[leaf] is buffer for leaf in LEAVES)
    assert (buffer.first, buffer.last) == (1, 15)
    assert buffer.joined() == [(1, 12), (14, 15)]
