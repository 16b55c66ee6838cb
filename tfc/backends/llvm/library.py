"""Functions that programs have in common, as the object files that this process made of them.

    program 1: kernel │ tiles.5f… pack.08…        made together: one object file, which is kept
    program 2: kernel │ tiles.5f… tiles.c1…       tiles.5f… is there: the file above is linked, too

The tiles of products, packing and epilogues are the same in many programs, and what compiling takes
is mostly theirs. Their names say what is in them: the stem, and a digest of all that the code
depends on beside the target. An object file that a program links may hold functions that only
others call: a few kilobytes. No function is in two files, so any of them go together.

Files of earlier processes may be kept somewhere, by the names of their functions.
"""

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from tfc.backends.target import Target

_SHARED = re.compile(r"[A-Za-z_]+\.[0-9a-f]{16}")
_LIMIT = 32 << 20  # bytes


def is_shared(name: str) -> bool:
    """Whether a function's name says all that its code depends on beside the target."""
    return _SHARED.fullmatch(name) is not None


# The names of the functions of a file in which there is one of a name, and the file.
Kept = Callable[[str], tuple[Sequence[str], bytes] | None]


@dataclass
class Found:
    """The functions that there are for a target, at one time, and those that were wanted of them.

    objects: the object files that hold these.
    taken: of those that were kept, the names of the functions and the file.
    """

    _known: dict[str, bytes]
    _kept: Kept | None = None
    objects: list[bytes] = field(default_factory=list)
    taken: list[tuple[Sequence[str], bytes]] = field(default_factory=list)
    _absent: set[str] = field(default_factory=set)

    def has(self, name: str) -> bool:
        """Whether there is the function; its object file is needed then."""
        if name not in self._known and self._kept is not None:
            self._take(self._kept(name))
        code = self._known.get(name)
        if code is None:
            self._absent.add(name)
        elif not any(code is known for known in self.objects):
            self.objects.append(code)
        return code is not None

    def _take(self, found: tuple[Sequence[str], bytes] | None) -> None:
        """Know the functions of a file, unless one of them is in another that is known.

        Nor may it have one that was looked for in vain: another process has written the file since,
        and here the function is about to be made.
        """
        if found is None or any(n in self._known or n in self._absent for n in found[0]):
            return
        self._known.update(dict.fromkeys(*found))
        self.taken.append(found)


class CodeLibrary:
    """What there is for each target; threads may use it at the same time."""

    def __init__(self, limit: int = _LIMIT):
        self._limit, self._bytes = limit, 0
        self._known: Mapping[Target, Mapping[str, bytes]] = MappingProxyType({})
        self._lock = threading.Lock()

    def look(self, target: Target, kept: Kept | None = None) -> Found:
        """The functions for a target; those that others add later are not seen.

        Args:
            kept: asked for functions that there are not.
        """
        return Found(dict(self._known.get(target, {})), kept)

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
