"""An ONNX file without its weights, which are read one by one: no two copies of them are made.

    model ─ graph ─ initializer ─ raw_data: 4 MB     -->     raw_data: a mark, and the 4 MB beside

Protobuf's parser needs a whole file in memory, and makes a copy of all that it holds. So the bytes
of large tensors are cut out first, along the few paths on which they lie, and each is read to where
it stays. A mark begins with a number drawn for this one reading, which no file can have.
"""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_LEAST = 4096  # bytes that are worth cutting out
_MOST_DEPTH = 100  # as deep as protobuf's parser goes
_MOST_FIELDS = 1 << 20  # of a file with more, nothing is cut out
_WINDOW = 1 << 16
_MOST_READ = 1 << 30  # bytes in one call of the system
# By message and number of a field: the message in the field; "bytes" for what is cut out.
_PATHS: dict[str, dict[int, str]] = {
    "Model": {7: "Graph"},
    "Graph": {1: "Node", 5: "Tensor"},
    "Node": {5: "Attribute"},
    "Attribute": {5: "Tensor", 6: "Graph"},
    "Tensor": {9: "bytes"},
}
_BYTES = 2  # the wire type of what has a length
_FIXED = {1: 8, 5: 4}  # the sizes of those that have one


class Source:
    """The bytes of a model: a file's, or those in memory.

    size: how many there are.
    """

    def __init__(self, content: bytes | None, descriptor: int = -1):
        self._content, self._descriptor = content, descriptor
        self.size = os.fstat(descriptor).st_size if content is None else len(content)

    def read(self, start: int, length: int) -> bytes:
        """Some of the bytes; fewer where the source ends.

        Raises:
            OSError: they cannot be read.
        """
        if self._content is not None:
            return self._content[start : start + length]
        if length <= _MOST_READ:
            return os.pread(self._descriptor, length, start)
        ends = range(start, start + length, _MOST_READ)
        return b"".join(self.read(at, min(_MOST_READ, start + length - at)) for at in ends)


@contextmanager
def opened(path: Any) -> Iterator[Source]:
    """The bytes of a file, to be read meanwhile; all at once from what is no regular file.

    Raises:
        OSError: it cannot be read.
    """
    with open(path, "rb") as file:
        is_regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        yield Source(None, file.fileno()) if is_regular else Source(file.read())


class Weights:
    """What was cut out of a model, by marks."""

    def __init__(self, source: Source):
        self._source = source
        self._number = os.urandom(16)
        self._places: list[tuple[int, int]] = []

    def skeleton(self) -> bytes:
        """The model with marks in place of large weights.

        A file that is damaged, or has too many fields, comes as it is, for the parser to judge.
        """
        try:
            parts = [*_Scan(self._source, self._mark).parts("Model", 0, self._source.size, 0)]
        except _UnreadableError:
            self._places.clear()
            return self._source.read(0, self._source.size)
        return b"".join(parts)

    def resolved(self, data: bytes) -> bytes:
        """The bytes of a tensor: what was cut out if they are a mark."""
        if len(data) != 24 or not data.startswith(self._number):
            return data
        return self._source.read(*self._places[int.from_bytes(data[16:], "little")])

    def _mark(self, start: int, length: int) -> bytes:
        self._places.append((start, length))
        return self._number + (len(self._places) - 1).to_bytes(8, "little")


class _UnreadableError(Exception):
    """The bytes are no message, or too long a one."""


class _Scan:
    """Goes through messages, field by field; what lies in long ones is not read."""

    def __init__(self, source: Source, cut: Callable[[int, int], bytes]):
        self._source, self._cut = source, cut
        self._window, self._begin = b"", 0
        self._fields = 0

    def parts(self, kind: str, start: int, end: int, depth: int) -> Iterator[bytes]:
        """A message's bytes, with marks in it."""
        paths, kept, at = _PATHS[kind], start, start
        while at < end:
            self._fields += 1
            if self._fields > _MOST_FIELDS:
                raise _UnreadableError
            tag, inside = self._varint(at)
            number, wire = tag >> 3, tag & 7
            if wire == _BYTES:
                length, inside = self._varint(inside)
                after = inside + length
                into = paths.get(number)
                if into and length >= _LEAST and depth < _MOST_DEPTH and after <= end:
                    yield self._source.read(kept, at - kept)
                    kept = after
                    if into == "bytes":
                        made = [self._cut(inside, length)]
                    else:
                        made = [*self.parts(into, inside, after, depth + 1)]
                    yield _number(tag) + _number(sum(map(len, made)))
                    yield from made
            elif wire:
                if wire not in _FIXED:
                    raise _UnreadableError
                after = inside + _FIXED[wire]
            else:
                after = self._varint(inside)[1]
            at = after
        if at != end:
            raise _UnreadableError
        yield self._source.read(kept, end - kept)

    def _varint(self, at: int) -> tuple[int, int]:
        """A number in groups of seven bits, the lowest first, and where it ends."""
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte(at)
            value |= (byte & 127) << shift
            at += 1
            if byte < 128:
                return value, at
        raise _UnreadableError

    def _byte(self, at: int) -> int:
        place = at - self._begin
        if not 0 <= place < len(self._window):
            self._window, self._begin, place = self._source.read(at, _WINDOW), at, 0
            if not self._window:
                raise _UnreadableError
        return self._window[place]


def _number(value: int) -> bytes:
    """A number in groups of seven bits."""
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])
