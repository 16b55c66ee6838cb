"""Panels: the form in which a tile's kernel reads the operands of a matrix product.

Lines (rows of the left operand, columns of the right) are grouped into panels of `width`; packed, a
panel holds its first element of every line, then its second element of every line, and so on:

    lines  a0 a1 a2 …        panel of width 3  a0 b0 c0 a1 b1 c1 a2 b2 c2 …
           b0 b1 b2 …
           c0 c1 c2 …
"""

from dataclasses import dataclass
from typing import Any

from tfc.backends.cpu.products.functions import call_part
from tfc.backends.mlir.vectors import (
    Position,
    Vectors,
    add,
    for_range,
    index_value,
    load,
    multiply,
    round_down,
    store,
)


@dataclass(frozen=True)
class Panels:
    """Lines of an operand in memory, in place or packed.

    Element p of line i of the panel that begins with line `first` is at
    position + first·panel_step + i·line_step + p·depth_step.
    """

    memory: Any
    position: Position
    panel_step: Position
    line_step: Position
    depth_step: Position

    def at(self, place: Position) -> Position:
        """Where the first line's element at a place of the depth is."""
        return add(self.position, multiply(place, self.depth_step))

    def panel(self, first: Position) -> "Panels":
        """The panel that begins with a line."""
        position = add(self.position, multiply(first, self.panel_step))
        return Panels(self.memory, position, self.panel_step, self.line_step, self.depth_step)


def in_place(memory: Any, position: Position, line_step: int, depth_step: int) -> Panels:
    """The lines of an operand as they lie."""
    return Panels(memory, position, line_step, line_step, depth_step)


def pack(
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
    """Copy lines into panels.

    Args:
        lines: the number of lines, a multiple of `width`.
        depth: the number of elements of each line.
        stored_width: the distance from one element of a line to the next in the packed panel;
            `width`, or more: then the rest is zero.
        memory, position: where to. A store may exceed a panel by less than a vector, into the
            place of the next panel or, after the last, into slack that must be there.
    """
    steps = [s if s == 1 else index_value(s) for s in (source.line_step, source.depth_step)]
    even = isinstance(depth, int) and depth % vectors.lanes == 0

    def copy(memories: list[Any], values: list[Position]) -> None:
        start, panel_step, line_step, depth_step, end, lines, depth = values
        lying = Panels(memories[0], start, panel_step, line_step, depth_step)
        packed = Panels(memories[1], end, depth, 1, stored_width)
        _copy(vectors, lying, packed, lines, depth, width, even)

    values = map(index_value, (source.position, source.panel_step))
    call_part(
        "pack",
        (vectors, width, stored_width, even),
        [source.memory, memory],
        [*values, *steps, *map(index_value, (position, lines, depth))],
        copy,
        any_size=True,
    )
    return Panels(memory, position, depth, 1, stored_width)


def _copy(
    vectors: Vectors, source: Panels, packed: Panels, lines: Position, depth: Position, width: int,
    even: bool,
) -> None:  # fmt: skip
    """Copy lines into panels; `even`: their depth is a multiple of a vector's length."""
    # Where a store spills over, the place must be written later: panel by panel, in order of depth.
    spills = packed.depth_step % vectors.lanes != 0
    if source.line_step == 1 and not spills:
        _copy_rows(vectors, source, packed, lines, depth, width)
        return

    def panel(first: Position, _: Any) -> None:
        start, end = source.panel(first), packed.panel(first)
        whole: Position = 0
        if source.line_step == 1:
            for_range(0, depth, 1, lambda p, _: _copy_element(vectors, start, end, p, width))
            whole = depth
        elif source.depth_step == 1 and vectors.lanes > 1:
            whole = depth if even else round_down(depth, vectors.lanes)
            _transpose(vectors, start, end, whole, width)
        if whole is not depth:
            _gather(vectors, start, end, whole, depth, width)

    for_range(0, lines, width, panel)


def _copy_rows(
    vectors: Vectors, source: Panels, target: Panels, lines: Position, depth: Position, width: int
) -> None:
    """Pack panels whose lines are neighbours in memory, one element of all lines at a time.

    That reads memory in long streams; panel by panel it would visit a page for every element.
    """

    def element(p: Position, _: Any) -> None:
        def panel(first: Position, _: Any) -> None:
            _copy_element(vectors, source.panel(first), target.panel(first), p, width)

        for_range(0, lines, width, panel)

    for_range(0, depth, 1, element)


def _copy_element(
    vectors: Vectors, source: Panels, target: Panels, p: Position, width: int
) -> None:
    """Copy element p of the lines of one panel, which are neighbours in memory."""
    start = add(source.position, multiply(p, source.depth_step))
    end = add(target.position, multiply(p, target.depth_step))
    for at in range(0, target.depth_step, vectors.lanes):
        values = vectors.load(source.memory, add(start, at), width - at)
        vectors.store(values, target.memory, add(end, at))


def _transpose(
    vectors: Vectors, source: Panels, target: Panels, depth: Position, width: int
) -> None:
    """Pack a panel whose lines are contiguous, a square block at a time."""
    lanes = vectors.lanes

    def block(p: Position, _: Any) -> None:
        blocks = []
        for at in range(0, target.depth_step, lanes):
            rows = []
            for i in range(at, at + lanes):
                start = add(source.position, p, multiply(i, source.line_step))
                inside = i < width
                rows.append(vectors.load(source.memory, start) if inside else vectors.zero())
            blocks.append(vectors.transpose(rows))
        for i in range(lanes):
            # In this order, because a store may spill over into the next element's place.
            end = add(target.position, multiply(add(p, i), target.depth_step))
            for number, columns in enumerate(blocks):
                vectors.store(columns[i], target.memory, add(end, number * lanes))

    for_range(0, depth, lanes, block)


def _gather(
    vectors: Vectors, source: Panels, target: Panels, first: Position, depth: Position, width: int
) -> None:
    """Pack elements `first` to `depth` of a panel one by one."""

    def element(p: Position, _: Any) -> None:
        start = add(source.position, multiply(p, source.depth_step))
        end = add(target.position, multiply(p, target.depth_step))

        def line(i: Position, _: Any) -> None:
            value = load(source.memory, add(start, multiply(i, source.line_step)))
            store(value, target.memory, add(end, i))

        if target.depth_step > width:
            # The last vector holds the padding; the lines in it are stored over the zeros.
            vectors.store(
                vectors.zero(), target.memory, add(end, target.depth_step - vectors.lanes)
            )
        for_range(0, width, 1, line)

    for_range(first, depth, 1, element)
