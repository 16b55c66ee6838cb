"""A small FileCheck: does a text contain what the CHECK lines of a test file say, in order?

    // CHECK: x          x occurs after what was matched last
    // CHECK-NEXT: x     … on the very next line      // CHECK-SAME: x   … on the same line
    // CHECK-NOT: x      x does not occur before the next match (or the end)
    // CHECK-LABEL: x    x occurs; the checks that follow look no further than the next label

Any run of blanks matches any other. {{regex}} matches a regular expression, [[NAME:regex]] names
what it matches, and [[NAME]] is that text again.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_DIRECTIVE = re.compile(r"//\s*CHECK(-NEXT|-SAME|-NOT|-LABEL)?:[ \t]*(.*?)[ \t]*$")
_PART = re.compile(r"\{\{(.+?)\}\}(?!\})|\[\[([A-Za-z_]\w*)(?::(.+?))?\]\](?!\])")


@dataclass(frozen=True)
class Directive:
    """One CHECK line: its kind ("", "NEXT", "SAME", "NOT", "LABEL"), pattern and line number."""

    kind: str
    pattern: str
    line: int


def directives(source: str) -> list[Directive]:
    """The CHECK lines of a test file."""
    found = ((n, _DIRECTIVE.search(line)) for n, line in enumerate(source.split("\n"), 1))
    return [Directive((m[1] or "").lstrip("-"), m[2], n) for n, m in found if m]


def escape(line: str) -> str:
    """The pattern that matches a line as it stands."""
    return re.sub(r"\{\{|\[\[", lambda m: "{{" + re.escape(m[0]) + "}}", line)


def check(text: str, source: str) -> None:
    """Check a text against the CHECK lines in `source`.

    Raises:
        AssertionError: a line does not match; shows which, and the text from where it was sought.
    """
    text = re.sub(r"[ \t]+", " ", text)
    groups: list[list[Directive]] = [[]]
    for directive in directives(source):
        if directive.kind == "LABEL":
            groups.append([])
        groups[-1].append(directive)
    names: dict[str, str] = {}
    starts, position = [0], 0
    for group in groups[1:]:
        match = _search(group[0], names, text, position, len(text))
        starts.append(match.start())
        position = match.end()
    for group, start, end in zip(groups, starts, [*starts[1:], len(text)]):
        _check_group(group, names, text, start, end)


def _check_group(
    group: list[Directive], names: dict[str, str], text: str, start: int, end: int
) -> None:
    position, absent = start, []
    for directive in group:
        if directive.kind == "NOT":
            absent.append(directive)
            continue
        limit = end
        if directive.kind in ("NEXT", "SAME"):
            line_end = text.find("\n", position, end)
            if directive.kind == "NEXT":
                _require(line_end >= 0, directive, text, position)
                begin, line_end = line_end + 1, text.find("\n", line_end + 1, end)
            else:
                begin = position
            limit = line_end if line_end >= 0 else end
        else:
            begin = position
        match = _search(directive, names, text, begin, limit)
        _check_absent(absent, names, text, position, match.start())
        names.update({k: v for k, v in match.groupdict().items() if v is not None})
        position, absent = match.end(), []
    _check_absent(absent, names, text, position, end)


def _check_absent(
    absent: list[Directive], names: dict[str, str], text: str, start: int, end: int
) -> None:
    for directive in absent:
        match = _compile(directive.pattern, names).search(text, start, end)
        assert match is None, f"line {directive.line}: CHECK-NOT found: {match[0]}\nin:\n{text}"


def _search(
    directive: Directive, names: dict[str, str], text: str, start: int, end: int
) -> re.Match[str]:
    match = _compile(directive.pattern, names).search(text, start, end)
    _require(match is not None, directive, text, start)
    assert match is not None
    return match


def _require(condition: bool, directive: Directive, text: str, start: int) -> None:
    kind = f"CHECK-{directive.kind}" if directive.kind else "CHECK"
    assert condition, (
        f"line {directive.line}: {kind}: {directive.pattern}\nnot found after:\n"
        f"{text[:start]}\n>>> from here:\n{text[start:]}"
    )


def _compile(pattern: str, names: dict[str, str]) -> re.Pattern[str]:
    return re.compile("".join(_parts(re.sub(r"[ \t]+", " ", pattern), names)))


def _parts(pattern: str, names: dict[str, str]) -> Iterator[str]:
    position = 0
    for match in _PART.finditer(pattern):
        yield re.escape(pattern[position : match.start()])
        regex, name, named = match.groups()
        if regex is not None:
            yield f"(?:{regex})"
        elif named is not None:
            yield f"(?P<{name}>{named})"
        else:
            assert name in names or f"[[{name}:" in pattern, f"[[{name}]] is used but never defined"
            yield re.escape(names[name]) if name in names else f"(?P={name})"
        position = match.end()
    yield re.escape(pattern[position:])
