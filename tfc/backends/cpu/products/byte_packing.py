"""Panels of words, packed from lines of bytes: four neighbours along the depth become one word.

lines  a0 a1 a2 …        panel of width 3  a0a1a2a3 b0b1b2b3 c0c1c2c3 a4a5a6a7 …
       b0 b1 b2 …
       c0 c1 c2 …
"""

from typing import Any

from tfc.backends.cpu.products.functions import call_part
from tfc.backends.cpu.products.packing import Panels
from tfc.backends.cpu.products.word_tiles import word
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.vectors import Position, Vectors, add, for_range, index_value, multiply
from tfc.hlo.shape import U8


def pack_bytes(
    vectors: Vectors,
    source: Panels,
    lines: Position,
    depth: Position,
    width: int,
    memory: Any,
    position: Position,
    *,
    stored_width: int,
) -> Panels:
    """Copy lines of bytes, which are neighbours in memory, into panels of words.

    Args:
        vectors: of words.
        lines: the number of lines, a multiple of `width`.
        depth: the number of words of each line.
        stored_width: the distance from one word of a line to the next in the packed panel, whole
            vectors: beyond `width` there is zero.
        memory, position: where to; memory of words.
    """

    def copy(memories: list[Any], values: list[Position]) -> None:
        start, step, end, lines, depth = values

        def panel(first: Position, _: Any) -> None:
            into = add(end, multiply(first, depth))

            def element(p: Position, _: Any) -> None:
                at = add(start, first, multiply(multiply(p, 4), step))
                to = add(into, multiply(p, stored_width))
                for k in range(0, stored_width, vectors.lanes):
                    made = _words(vectors, memories[0], add(at, k), step, width - k)
                    vectors.store(made, memories[1], add(to, k))

            for_range(0, depth, 1, element)

        for_range(0, lines, width, panel)

    values = map(index_value, (source.position, source.depth_step, position, lines, depth))
    call_part(
        "pack_bytes", (vectors, width, stored_width), [source.memory, memory], [*values], copy,
        any_size=True,
    )  # fmt: skip
    return Panels(memory, position, depth, 1, stored_width)


def _words(vectors: Vectors, memory: Any, at: Position, step: Position, count: int) -> Any:
    """A vector of words of the bytes at a position, and three steps on; zeros beyond a count."""
    made: Any = None
    for place in range(4):
        loaded = Vectors(U8, vectors.lanes).load(memory, add(at, multiply(place, step)), count)
        wide = arith.extui(vectors.type, loaded)
        shifted = arith.shli(wide, vectors.broadcast(word(8 * place)))
        made = shifted if made is None else arith.ori(made, shifted)
    return made
