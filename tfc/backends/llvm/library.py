"""Functions that programs have in common, as the object files that this process made of them.

    program 1: kernel │ tiles.5f… pack.08…        made together: one object file, which is kept
    program 2: kernel │ tiles.5f… tiles.c1…       tiles.5f… is there: the file above is linked, too

The tiles of products, packing and epilogues are the same in many programs, and what compiling takes
is mostly theirs. Their names say what is in them: the stem, and a digest of all that the code
depends on beside the target. An object file that a program links may hold functions that only
others call: a few kilobytes. No function is in two files, so any of them go together.
"""

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from tfc.backends.target import Target

_SHARED = re.compile(r"[A-Za-z_]+\.[0-9a-f]{16}")
_LIMIT = 32 << 20  # bytes


def is_shared(name: str) -> bool:
    """Whether a function's name says all that its code depends on beside the target."""
    return _SHARED.fullmatch(name) is not None


@dataclass
class Found:
    """The functions that there are for a target, at one time, and those that were wanted of them.

    objects: the object files that hold these.
    """

    _known: Mapping[str, bytes]
    objects: list[bytes] = field(default_factory=list)

    def has(self, name: str) -> bool:
        """Whether there is the function; its object file is needed then."""
        code = self._known.get(name)
        if code is not None and not any(code is known for known in self.objects):
            self.objects.append(code)
        return code is not None


class CodeLibrary:
    """What there is for each target; threads may use it at the same time."""

    def __init__(self, limit: int = _LIMIT):
        self._limit, self._bytes = limit, 0
        self._known: Mapping[Target, Mapping[str, bytes]] = MappingProxyType({})
        self._lock = threading.Lock()

    def look(self, target: Target) -> Found:
        """The functions for a target; those that are kept later are not seen."""
        return Found(self._known.get(target, MappingProxyType({})))

    def keep(self, target: Target, names: Sequence[str], code: bytes) -> None:
        """Keep an object file with these functions, unless one of them is there meanwhile."""
        with self._lock:
            if self._bytes + len(code) > self._limit:
                self._known, self._bytes = MappingProxyType({}), 0
            known = self._known.get(target, MappingProxyType({}))
            if not any(name in known for name in names):
                more = MappingProxyType({**known, **dict.fromkeys(names, code)})
                self._known = MappingProxyType({**self._known, target: more})
                self._bytes += len(code)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._known, self._bytes = MappingProxyType({}), 0


LIBRARY = CodeLibrary()
