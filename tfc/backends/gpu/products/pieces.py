"""Where the pieces of tiles come from: copied as they lie, or made from elements.

Both fill a stage in two steps, so that what is on the way arrives while the stage before is
multiplied: `fetch` begins, and `put` stores what had to pass through registers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tfc.backends.gpu.assembly import index
from tfc.backends.gpu.matrices import PIECE, TileForm, copy_async, store_shared
from tfc.backends.mlir.arithmetic.value import Scalar, bitcast, minimum, resize
from tfc.backends.mlir.vectors import add, index_value
from tfc.hlo.shape import ELEMENT_TYPES, U32, ElementType

# (line of the matrix, place along the line), of type index -> (the address in global memory, an
# i64, and how many of the 16 bytes from there on are wanted: the others are zeros).
PieceAt = Callable[[Any, Any], tuple[Any, Scalar]]
# The same for one element, which is zero where the matrix has none.
ElementAt = Callable[[Any, Any], Scalar]


@dataclass(frozen=True)
class Share:
    """What one thread brings of a tile.

    form: of the tile.
    thread: the number of the thread in its block, one of `threads`.
    lines_first: whether neighbouring threads bring pieces of neighbouring lines, not of one.
    """

    form: TileForm
    thread: Scalar
    threads: int
    lines_first: bool = False

    def pieces(self, parts: int = 1) -> list[tuple[Scalar, Scalar, Scalar]]:
        """(line, piece, part) of each of the thread's pieces, or of the parts that each is in."""
        form, found = self.form, []
        count = form.lines * form.pieces * parts
        assert count % self.threads == 0, "each thread brings as many"
        for number in range(count // self.threads):
            n = self.thread + number * self.threads
            if self.lines_first:
                found.append((n % form.lines, n / form.lines / parts, n / form.lines % parts))
            else:
                found.append((n / parts / form.pieces, n / parts % form.pieces, n % parts))
        return found


class Source(Protocol):
    """What fills tiles with the pieces of a matrix."""

    def fetch(self, share: Share, to: Scalar, line: Any, place: Any) -> list[Any]:
        """Begin to bring the tile that begins at a line, and at a place along the lines.

        Args:
            to: the address of the tile in shared memory.
            line, place: of type index, in elements.

        Returns:
            What is in registers.
        """
        ...

    def put(self, share: Share, to: Scalar, values: Sequence[Any]) -> None:
        """Store what is in registers."""
        ...


@dataclass(frozen=True)
class Copied:
    """Pieces that lie in global memory as they are wanted, copied in steps of `width` bytes.

    element_bytes: bytes of an element.
    """

    at: PieceAt
    element_bytes: int
    width: int = PIECE

    def fetch(self, share: Share, to: Scalar, line: Any, place: Any) -> list[Any]:
        """Begin the copies; nothing is in registers."""
        elements = self.width // self.element_bytes
        each = PIECE // self.element_bytes
        for own_line, piece, part in share.pieces(PIECE // self.width):
            own = piece * each + part * elements if self.width < PIECE else piece * each
            address, count = self.at(add(line, index(own_line)), add(place, index(own)))
            target = to + share.form.place(own_line, piece)
            if self.width < PIECE:
                target = target + part * self.width
            copy_async(target, address, self.width, minimum(count, self.width))
        return []

    def put(self, share: Share, to: Scalar, values: Sequence[Any]) -> None:
        """Nothing is left to do."""


@dataclass(frozen=True)
class Computed:
    """Pieces whose elements are made one by one, and pass through registers.

    Neighbouring threads make neighbouring words of a line, as what these are made of lies so; or,
    where lines come first, whole pieces of neighbouring lines.
    """

    at: ElementAt
    element_type: ElementType

    def _parts(self, share: Share) -> int:
        """The parts that a piece is made in."""
        return 1 if share.lines_first else PIECE * 8 // max(self.element_type.bits, 32)

    def fetch(self, share: Share, to: Scalar, line: Any, place: Any) -> list[Any]:
        """The elements of all parts, in words of 32 bits."""
        words: list[Any] = []
        parts, each = self._parts(share), PIECE * 8 // self.element_type.bits
        for own_line, piece, part in share.pieces(parts):
            at, start = add(line, index(own_line)), piece * each + part * (each // parts)
            first = add(place, index(start))
            elements = [self.at(at, add(first, index_value(n))) for n in range(each // parts)]
            words += packed(elements)
        return words

    def put(self, share: Share, to: Scalar, values: Sequence[Any]) -> None:
        """Store the words."""
        parts = self._parts(share)
        count = PIECE // 4 // parts
        for number, (line, piece, part) in enumerate(share.pieces(parts)):
            target = to + share.form.place(line, piece) + part * (PIECE // parts)
            store_shared(target, values[count * number : count * (number + 1)])


def packed(elements: Sequence[Scalar]) -> list[Any]:
    """Elements that lie one after the other, as words of 32 bits."""
    bits = elements[0].element_type.bits
    plain = ELEMENT_TYPES[f"u{bits}"]
    numbers = [Scalar(bitcast(e, plain).value, plain) for e in elements]
    if bits == 64:
        return [resize(x >> s, U32).value for x in numbers for s in (0, 32)]
    words, each = [], 32 // bits
    for first in range(0, len(numbers), each):
        word = resize(numbers[first], U32)
        for place in range(1, each):
            word = word | resize(numbers[first + place], U32) << (place * bits)
        words.append(word.value)
    return words
