"""The difference of two texts as coloured lines of HTML."""

from collections import Counter
from collections.abc import Iterator
from difflib import unified_diff
from html import escape

_MOST_COMPARED = 6000  # lines of both: beyond, finding what moved takes too long
_MOST_SHOWN = 2000
_KINDS = {"+": "add", "-": "del", "@": "hunk"}


def diff_html(before: str, after: str) -> str:
    """The lines that changed, with some around them."""
    old, new = before.split("\n"), after.split("\n")
    lines = list(_changes(old, new))
    shown = "".join(
        f'<span class="{_KINDS.get(line[:1], "same")}">{escape(line) or " "}\n</span>'
        for line in lines[:_MOST_SHOWN]
    )
    rest = len(lines) - _MOST_SHOWN
    note = f'<span class="hunk">… {rest} more lines\n</span>' if rest > 0 else ""
    return f'<pre class="diff">{shown}{note}</pre>'


def _changes(old: list[str], new: list[str]) -> Iterator[str]:
    if len(old) + len(new) <= _MOST_COMPARED:
        yield from list(unified_diff(old, new, lineterm="", n=3))[2:]
        return
    gone, come = Counter(old), Counter(new)
    yield "@@ a large module: the lines that are gone, then those that are new @@"
    yield from (f"-{line}" for line in (gone - come).elements())
    yield from (f"+{line}" for line in (come - gone).elements())
