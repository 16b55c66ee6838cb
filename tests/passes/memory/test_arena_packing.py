"""Offsets of blocks: exact for a few, and what no machine can address is refused."""

import pytest

from tfc.errors import OutOfMemoryError
from tfc.passes.memory.packing import Block, Packing, aligned, lower_bound, pack


def test_sizes_are_whole_cache_lines():
    assert [aligned(size) for size in (0, 1, 64, 65)] == [0, 64, 64, 128]


def test_nothing_takes_no_memory():
    assert pack([]) == Packing((), 0, 0)


def test_blocks_that_follow_one_another_share_a_place():
    assert pack([Block(100, 0, 1), Block(128, 2, 3), Block(1, 4, 9)]) == Packing(
        (0, 0, 0), 128, 128
    )


def test_a_block_goes_into_the_smallest_gap_that_holds_it():
    # Two gaps open at time 2, of 192 and of 64 bytes.
    blocks = [Block(192, 0, 1), Block(64, 0, 9), Block(64, 0, 1), Block(64, 0, 9), Block(64, 2, 9)]
    packing = pack(blocks)
    assert packing.size == packing.lower_bound == 384
    gaps = {packing.offsets[0] + n for n in (0, 64, 128)} | {packing.offsets[2]}
    assert packing.offsets[4] in gaps


def test_blocks_are_needed_at_both_ends_of_their_time():
    assert lower_bound([Block(64, 0, 3), Block(64, 3, 5)]) == 128
    assert lower_bound([Block(64, 0, 3), Block(64, 4, 5)]) == 64


def test_more_than_a_machine_can_address_is_refused():
    with pytest.raises(OutOfMemoryError, match="more than any machine can address"):
        pack([Block(1 << 61, 0, 1), Block(1 << 61, 0, 1)])
