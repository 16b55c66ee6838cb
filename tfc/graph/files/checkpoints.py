"""Checkpoints: arrays by name, in TensorFlow's format V2.

prefix.index                  a table: "" -> BundleHeaderProto, name -> BundleEntryProto
prefix.data-00000-of-00001    the arrays' bytes, little-endian, where the entries say
"""

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from tfc.files import write_files
from tfc.graph import errors
from tfc.graph.files.crc import masked
from tfc.graph.files.messages import content_of, message, parsed
from tfc.graph.files.slices import extents, key_of, place_of
from tfc.graph.files.table import number_at, table_from_bytes, table_to_bytes
from tfc.graph.files.tensors import shape_from_proto, shape_to_proto
from tfc.graph.types.dtypes import DType, as_dtype
from tfc.graph.types.shapes import TensorShape

_BUNDLE_VERSION = 1
_MOST_SHARDS = 100_000


def write_checkpoint(prefix: Any, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays: both files appear whole, or neither."""
    header = message("BundleHeaderProto", num_shards=1)
    header.version.producer = _BUNDLE_VERSION
    entries = {b"": header.SerializeToString()}
    data = bytearray()
    for name in sorted(arrays):
        array = np.asarray(arrays[name])
        content = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"))).tobytes()
        entry = message(
            "BundleEntryProto",
            dtype=as_dtype(array.dtype).number,
            shape=shape_to_proto(TensorShape(array.shape)),
            offset=len(data),
            size=len(content),
            crc32c=masked(content),
        )
        entries[name.encode()] = entry.SerializeToString()
        data += content
    write_files(
        (Path(f"{prefix}.data-00000-of-00001"), bytes(data)),
        (Path(f"{prefix}.index"), table_to_bytes(entries)),
    )


class CheckpointReader:
    """The arrays of a checkpoint, read when they are asked for."""

    def __init__(self, prefix: Any):
        """Read the index.

        Raises:
            NotFoundError: there is none. DataLossError: it is damaged.
        """
        self._prefix = str(prefix)
        source = f"{prefix}.index"
        table = table_from_bytes(content_of(source), source)
        if b"" not in table:
            raise errors.DataLossError(None, None, f"{source} is damaged: it has no header")
        header = parsed("BundleHeaderProto", table.pop(b""), source)
        if header.endianness:
            raise errors.UnimplementedError(None, None, f"{source}: its numbers are big-endian")
        if not 0 < header.num_shards <= _MOST_SHARDS:
            raise errors.DataLossError(
                None, None, f"{source} is damaged: it says {header.num_shards} files of data"
            )
        self._shards = header.num_shards
        self._entries: dict[str, Any] = {}
        self._parts: dict[bytes, Any] = {}  # of partitioned variables
        for key, value in table.items():
            entry = parsed("BundleEntryProto", value, source)
            if key[:1] == b"\0":
                self._parts[key] = entry
            else:
                self._entries[key.decode(errors="replace")] = entry

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """The shape of each array, by name."""
        return {name: list(_shape(entry, name)) for name, entry in self._entries.items()}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """The dtype of each array, by name."""
        return {name: _dtype(entry, name) for name, entry in self._entries.items()}

    def has_tensor(self, tensor_str: str) -> bool:
        """Whether there is an array of a name."""
        return tensor_str in self._entries

    def debug_string(self) -> bytes:
        """A line an array: name, dtype and shape."""
        lines = [
            f"{name} (DT_{_dtype(entry, name).name.upper()}) {list(_shape(entry, name))}"
            for name, entry in sorted(self._entries.items())
        ]
        return "\n".join(lines).encode()

    def get_tensor(self, tensor_str: str) -> np.ndarray:
        """An array.

        Raises:
            NotFoundError: there is none of this name, or its file of data is missing.
            DataLossError: its bytes are not as many as its shape says, or not those written.
        """
        entry = self._entries.get(tensor_str)
        if entry is None:
            raise errors.NotFoundError(
                None, None, f"Key {tensor_str} not found in checkpoint {self._prefix}"
            )
        return self._joined(entry, tensor_str) if entry.slices else self._array(entry, tensor_str)

    def _joined(self, entry: Any, name: str) -> np.ndarray:
        """A partitioned variable, of its parts."""
        dtype, shape = _dtype(entry, name), _shape(entry, name)
        listed = [(part, self._parts.get(key_of(name, part)))
                  for part in map(extents, entry.slices)]  # fmt: skip
        held = sum(prod(_shape(found, name)) for _, found in listed if found is not None)
        if any(found is None for _, found in listed) or held != prod(shape):
            raise _damaged(name, "it lacks parts of a partitioned variable")
        whole = np.zeros(shape, dtype.dtype)
        for part, found in listed:
            array = self._array(found, name)
            place = place_of(part)
            if len(part) != len(shape) or whole[place].shape != array.shape:
                raise _damaged(name, f"a part of shape {array.shape} does not lie in {shape}")
            whole[place] = array
        return whole

    def _array(self, entry: Any, tensor_str: str) -> np.ndarray:
        """What an entry holds."""
        dtype, shape = _dtype(entry, tensor_str), _shape(entry, tensor_str)
        if dtype.name != "string" and prod(shape) * dtype.size != entry.size:
            raise _damaged(tensor_str, f"{entry.size} bytes are none of shape {shape}")
        content = self._bytes(entry, tensor_str)
        if dtype.name == "string":
            return _texts(content, shape, tensor_str)
        if masked(content) != entry.crc32c:
            raise _damaged(tensor_str, "the checksum of its bytes is another")
        stored = np.frombuffer(content, dtype.dtype.newbyteorder("<"))
        return stored.astype(dtype.dtype).reshape(shape)

    def _bytes(self, entry: Any, name: str) -> bytes:
        path = Path(f"{self._prefix}.data-{entry.shard_id:05d}-of-{self._shards:05d}")
        if not 0 <= entry.shard_id < self._shards or entry.offset < 0 or entry.size < 0:
            raise _damaged(name, "its place is none")
        try:
            with path.open("rb") as file:
                file.seek(0, 2)
                if entry.offset + entry.size > file.tell():
                    raise _damaged(name, f"{path} ends before it")
                file.seek(entry.offset)
                return file.read(entry.size)
        except OSError as error:
            raise errors.NotFoundError(None, None, f"{path}: {error.strerror or error}") from None


def _dtype(entry: Any, name: str) -> DType:
    try:
        return as_dtype(entry.dtype)
    except TypeError:
        raise _damaged(name, f"there is no type number {entry.dtype}") from None


def _shape(entry: Any, name: str) -> tuple[int, ...]:
    try:
        return shape_from_proto(entry.shape).known()
    except ValueError:
        raise _damaged(name, "its shape is none") from None


def _texts(content: bytes, shape: tuple[int, ...], name: str) -> np.ndarray:
    """An array of texts: their lengths, a checksum, and then the texts."""
    if prod(shape) > len(content):
        raise _damaged(name, "it has fewer bytes than texts")
    lengths, place = [], 0
    for _ in range(prod(shape)):
        length, place = number_at(content, place, name)
        lengths.append(length)
    place += 4
    if place + sum(lengths) != len(content):
        raise _damaged(name, "the lengths of its texts are not those of its bytes")
    made = np.empty(len(lengths), object)
    for number, length in enumerate(lengths):
        made[number] = content[place : place + length]
        place += length
    return made.reshape(shape)


def _damaged(name: str, why: str) -> errors.DataLossError:
    return errors.DataLossError(None, None, f"{name} is damaged in the checkpoint: {why}")
