"""Functions that programs have in common, kept in a folder for the processes to come.

    name of a function ─► digest of the names in its file ─► the names, the object file

A file holds several functions, and is found by each of their names. Keeping them is on unless the
user says otherwise, so a folder that cannot be used is worth no word: code is made as without it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tfc.backends.cache.code_cache import CodeCache, text_key, versions
from tfc.backends.target import Target

_LIMIT = 256 << 20  # bytes


@dataclass(frozen=True)
class KeptParts:
    """The object files that earlier processes made for a target."""

    folder: Path
    target: Target

    def get(self, name: str) -> tuple[Sequence[str], bytes] | None:
        """The names of the functions of a file that has one of a name, and the file; or None."""
        place = self._cache.get(self._key("function", name))
        found = self._cache.get(place[0].decode()) if place else None
        return None if found is None else (found[0].decode().split("\n"), found[1])

    def put(self, files: Mapping[tuple[str, ...], bytes]) -> None:
        """Keep object files, by the names of their functions."""
        entries: dict[str, Sequence[bytes]] = {}
        for names, code in files.items():
            joined = "\n".join(names)
            place = self._key("file", joined)
            entries[place] = [joined.encode(), code]
            entries |= {self._key("function", name): [place.encode()] for name in names}
        self._cache.put_all(entries)

    def _key(self, what: str, name: str) -> str:
        return text_key(name, what, self.target, versions())

    @property
    def _cache(self) -> CodeCache:
        return CodeCache(self.folder, _LIMIT, warns=False)
