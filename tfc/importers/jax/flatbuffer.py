"""Reading FlatBuffers: tables of fields that lie anywhere in the file, found by offsets.

Every offset and length is checked before it is followed: a damaged file raises ModelFileError.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tfc.errors import ModelFileError

T = TypeVar("T")
_U32 = struct.Struct("<I")
_I32 = struct.Struct("<i")
_U16 = struct.Struct("<H")


@dataclass(frozen=True)
class Table:
    """A table in a file: its fields by their numbers, which the schema counts from 0.

    content: the whole file.
    place: where the table begins.
    name: of the file, for errors.
    """

    content: bytes
    place: int
    name: str

    @staticmethod
    def root(content: bytes, name: str) -> "Table":
        """The table that a file is.

        Raises:
            ModelFileError: the file is too short to be one.
        """
        start = Table(content, 0, name)
        return Table(content, start.number(_U32, 0), name)

    def number(self, kind: struct.Struct, place: int) -> int:
        """A number at a place of the file.

        Raises:
            ModelFileError: it lies outside of it.
        """
        if not 0 <= place <= len(self.content) - kind.size:
            raise ModelFileError(f"{self.name} is damaged: something lies outside of the file")
        return kind.unpack_from(self.content, place)[0]

    def _field(self, field: int) -> int:
        """The place of a field; 0 if the table lacks it."""
        fields = self.place - self.number(_I32, self.place)
        if 4 + 2 * field >= self.number(_U16, fields):
            return 0
        offset = self.number(_U16, fields + 4 + 2 * field)
        return self.place + offset if offset else 0

    def _target(self, place: int) -> int:
        return place + self.number(_U32, place)

    def small(self, field: int) -> int:
        """A field of one byte; 0 if it is absent."""
        place = self._field(field)
        return self.number(struct.Struct("<B"), place) if place else 0

    def table(self, field: int) -> "Table | None":
        """A field that is a table."""
        place = self._field(field)
        return Table(self.content, self._target(place), self.name) if place else None

    def data(self, field: int) -> bytes:
        """A field that is a vector of bytes, or a string."""
        place = self._field(field)
        return self._bytes(self._target(place)) if place else b""

    def numbers(self, field: int, kind: str) -> tuple[int, ...]:
        """A field that is a vector of numbers, of a kind as `struct` writes it."""
        number = struct.Struct(f"<{kind}")
        return self._vector(field, number.size, lambda place: self.number(number, place))

    def texts(self, field: int) -> tuple[str, ...]:
        """A field that is a vector of strings."""
        return self._vector(field, 4, lambda place: self.text_of(self._bytes(self._target(place))))

    def tables(self, field: int) -> tuple["Table", ...]:
        """A field that is a vector of tables."""
        return self._vector(
            field, 4, lambda place: Table(self.content, self._target(place), self.name)
        )

    def text_of(self, content: bytes) -> str:
        """A string.

        Raises:
            ModelFileError: it is none in UTF-8.
        """
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError:
            raise ModelFileError(f"{self.name} is damaged: a name in it is no text") from None

    def _bytes(self, place: int) -> bytes:
        return self.content[place + 4 : place + 4 + self._length(place, 1)]

    def _vector(self, field: int, size: int, read: Callable[[int], T]) -> tuple[T, ...]:
        place = self._field(field)
        if not place:
            return ()
        start = self._target(place)
        return tuple(read(start + 4 + size * n) for n in range(self._length(start, size)))

    def _length(self, place: int, size: int) -> int:
        """The length of a vector, all of which lies in the file."""
        length = self.number(_U32, place)
        if place + 4 + length * size > len(self.content):
            raise ModelFileError(f"{self.name} is damaged: a vector ends outside of the file")
        return length
