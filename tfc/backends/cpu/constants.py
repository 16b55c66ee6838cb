"""Constants that several programs share: each distinct one has one place."""

from bisect import bisect
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from types import MappingProxyType

from tfc.hlo.literal import Literal
from tfc.passes.memory.buffers import BufferAssignment, Slice
from tfc.passes.memory.packing import aligned


def with_shared_constants(plans: Sequence[BufferAssignment]) -> list[BufferAssignment]:
    """The same plans with one pool of constants, which each of them has all of.

    Constants of the same bytes lie in one place, whatever their shapes.
    """
    places: dict[bytes, int] = {}
    pool: list[tuple[int, Literal]] = []
    end, moves = 0, []
    for plan in plans:
        moved: dict[int, int] = {}
        for offset, literal in plan.constants:
            key = blake2b(literal.bytes.data, digest_size=32).digest()
            if key not in places:
                places[key] = end
                pool.append((end, literal))
                end += aligned(literal.bytes.size)
            moved[offset] = places[key]
        moves.append(moved)
    return [
        replace(
            plan,
            slices=MappingProxyType({
                x: tuple(_moved(piece, sorted(moved), moved) for piece in pieces)
                for x, pieces in plan.slices.items()
            }),
            constants=tuple(pool),
            constant_size=end,
        )
        for plan, moved in zip(plans, moves)
    ]  # fmt: skip


def _moved(piece: Slice, starts: Sequence[int], moved: dict[int, int]) -> Slice:
    """A piece of a constant, where that lies now."""
    if piece.space != "constant" or not piece.size:
        return piece
    start = starts[bisect(starts, piece.offset) - 1]
    return replace(piece, offset=moved[start] + piece.offset - start)
