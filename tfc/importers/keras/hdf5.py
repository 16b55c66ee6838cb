"""What an HDF5 file has, told by a process that no file can keep waiting or end for others.

It is run as a script, by `weights.py`, and imports nothing of tfc. A request is a line of JSON and
the file's bytes; a reply is a line of JSON and the arrays' bytes, one after the other.
"""

import json
import math
import os
import sys
import threading
from contextlib import suppress
from importlib import import_module
from typing import Any, BinaryIO

IDLE_SECONDS = 60
SPARE = 1 << 26  # bytes of arrays that any file may have
RATIO = 16  # and how much larger than the file they may be
SPARE_MEMORY = 4 << 30  # of the process, beside what a file may need
MOST_OBJECTS = 1 << 18
MOST_DEPTH = 64
SKIPPED = ("optimizer", "optimizer_weights", "_optimizer")  # of training alone
KINDS = "biufcV"


class Refused(Exception):
    """Why a file is not read, as the end of a sentence."""


class Contents:
    """Goes through one file."""

    def __init__(self, h5py: Any, size: int):
        self.h5py, self.left = h5py, SPARE + RATIO * size
        self.attributes: dict[str, dict[str, Any]] = {}
        self.arrays: list[dict[str, Any]] = []
        self.parts: list[bytes] = []
        self._groups: set[Any] = set()
        self._objects = 0

    def read(self, file: Any) -> None:
        """Go through all groups, each once.

        Raises:
            Refused: it is larger or deeper than a model can be, or refers to other files.
        """
        pending = [("", file, 0)]
        while pending:
            path, group, depth = pending.pop()
            if group.id in self._groups or depth > MOST_DEPTH:
                raise Refused("nests groups without end")
            self._groups.add(group.id)
            self.attributes[path] = self._described(group)
            for name in group:
                self._objects += 1
                if self._objects > MOST_OBJECTS:
                    raise Refused(f"has more than {MOST_OBJECTS} objects")
                if not path and name in SKIPPED:
                    continue
                if not isinstance(group.get(name, getlink=True), self.h5py.HardLink):
                    raise Refused(f"has a link to elsewhere, '{path}/{name}'")
                item = group[name]
                inner = f"{path}/{name}" if path else name
                if isinstance(item, self.h5py.Group):
                    pending.append((inner, item, depth + 1))
                elif isinstance(item, self.h5py.Dataset):
                    self._array(inner, item)

    def _array(self, path: str, item: Any) -> None:
        if item.is_virtual or item.external:
            raise Refused(f"keeps the array '{path}' in another file")
        if item.shape is None or item.dtype.kind not in KINDS or item.dtype.hasobject:
            return
        self.left -= item.nbytes
        if self.left < 0:
            raise Refused("has arrays that are much larger than the file")
        content = item[()].tobytes() if item.shape == () else item[...].tobytes()
        kind = item.dtype
        if item.attrs.get("dtype") in ("bfloat16", b"bfloat16") or kind.kind == "V":
            name = "bfloat16" if kind.itemsize == 2 else ""
        else:
            name = kind.str
        self.arrays.append({"path": path, "dtype": name, "shape": list(item.shape)})
        self.parts.append(content)

    def _described(self, group: Any) -> dict[str, Any]:
        """The attributes that are text or lists of it."""
        found = {}
        for name in group.attrs:
            described = group.attrs.get_id(name)
            if math.prod(described.shape) * described.dtype.itemsize > SPARE:
                raise Refused(f"has an attribute '{name}' that is too large")
            value = group.attrs[name]
            if isinstance(value, (str, bytes)):
                found[name] = text(value)
            elif getattr(value, "dtype", None) is not None and value.dtype.kind in "SUO":
                items = value.reshape(-1).tolist()
                if all(isinstance(v, (str, bytes)) for v in items):
                    found[name] = [text(v) for v in items] if value.shape else text(items[0])
        return found


def text(value: str | bytes) -> str:
    """Text that may be in bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def answer(h5py: Any, content: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """The reply for a file: what it has, or why it is refused."""
    contents = Contents(h5py, len(content))
    try:
        with h5py.File(h5py.h5f.open_file_image(content), "r") as file:
            contents.read(file)
    except Refused as error:
        return {"refused": str(error)}, []
    except MemoryError:
        return {"refused": "needs more memory than there is"}, []
    except Exception as error:  # h5py's errors are of many classes
        reason = (str(error).strip() or type(error).__name__).partition("\n")[0]
        return {"refused": f"is damaged: {reason}"}, []
    return {"arrays": contents.arrays, "attributes": contents.attributes}, contents.parts


def limit_memory(size: int) -> None:
    """Let the process fail to get memory before the machine runs out of it, where systems can."""
    with suppress(ImportError, OSError, ValueError):
        resource = import_module("resource")
        most = SPARE_MEMORY + 4 * RATIO * size
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def read_request(requests: BinaryIO) -> bytes | None:
    """The next file; None at the end. A process that nobody asks anything for long ends."""
    idle = threading.Timer(IDLE_SECONDS, os._exit, (0,))
    idle.daemon = True
    idle.start()
    line = requests.readline()
    idle.cancel()
    return requests.read(json.loads(line)["bytes"]) if line else None


def main() -> None:
    """Answer requests until there are no more."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed is no reply
    h5py = import_module("h5py")
    while (content := read_request(sys.stdin.buffer)) is not None:
        limit_memory(len(content))
        reply, parts = answer(h5py, content)
        reply["bytes"] = sum(map(len, parts))
        replies.write(json.dumps(reply).encode() + b"\n")
        for part in parts:
            replies.write(part)
        replies.flush()


if __name__ == "__main__":
    main()
