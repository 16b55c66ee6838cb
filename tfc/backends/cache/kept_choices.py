"""Choices of schedules that were measured on this machine, kept beside its machine code.

One entry of the code cache for each kernel: the text of an alternative. An entry that is damaged,
or names an alternative that there no longer is, is none.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from tfc.backends.cache.code_cache import CodeCache, text_key
from tfc.options import Options


class KeptChoices:
    """The choices for a machine in a folder; what was read once stays as it was.

    Args:
        machine: all about the machine that decides which schedule is best.
    """

    def __init__(self, folder: Path, machine: str):
        self._cache, self._machine = CodeCache(folder), machine
        self._known: dict[str, str | None] = {}

    @property
    def used(self) -> tuple[tuple[str, str], ...]:
        """The choices that were found so far."""
        return tuple(sorted((a, text) for a, text in self._known.items() if text is not None))

    def answer(self, about: str, texts: Callable[[], Sequence[str]]) -> str | None:
        """What was kept for a kernel."""
        if about not in self._known:
            found = self._cache.get(self._key(about))
            self._known[about] = found[0].decode() if found else None
        return self._known[about]

    def keep(self, about: str, text: str) -> None:
        """Keep the text of an alternative for a kernel, in place of an earlier one."""
        self._cache.put(self._key(about), [text.encode()])
        self._known[about] = text

    def _key(self, about: str) -> str:
        return text_key(about, "choice", self._machine)


def kept_choices(options: Options, machine: str) -> KeptChoices | None:
    """The choices that are kept for a machine; None if there is no folder for them."""
    return KeptChoices(Path(options.cache_dir), machine) if options.cache_dir else None
