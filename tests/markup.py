"""Reading HTML and SVG in tests: strictly, so that a forgotten end tag or quote is found."""

import re
from html.parser import HTMLParser

VOID = frozenset({"meta", "br", "hr", "input", "link", "img"})


class Markup(HTMLParser):
    """A document whose tags are closed in order; `elements` lists (tag, attributes)."""

    def __init__(self, content: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(content)
        self.close()
        assert not self._open, f"not closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {k: v or "" for k, v in attrs}))
        assert len({k for k, _ in attrs}) == len(attrs), f"{tag} has an attribute twice"
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {k: v or "" for k, v in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> ends nothing"
        assert self._open[-1] == tag, f"</{tag}> ends {self._open[-1]}"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def all(self, tag: str = "", class_: str = "") -> list[dict[str, str]]:
        """The attributes of the elements of a tag and a class."""
        return [
            found
            for name, found in self.elements
            if name == (tag or name) and (not class_ or class_ in found.get("class", "").split())
        ]


def external_references(content: str) -> list[str]:
    """What the document would fetch from elsewhere."""
    links = re.findall(r"""(?:src|href|action)\s*=\s*["']?([^"'\s>]+)""", content)
    links += re.findall(r"url\(([^)]*)\)|@import\s*(\S+)", content)
    flat = [part for link in links for part in ([link] if isinstance(link, str) else link) if part]
    return [link for link in flat if not link.startswith("#")]
