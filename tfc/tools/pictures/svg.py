"""SVG as text: elements, number and byte texts, and the colours that all pictures share.

Colours are CSS variables with a value for light and one for dark, so that a picture looks right
by itself and inside a page that has the same `STYLE`.
"""

from collections.abc import Iterable
from html import escape
from math import log10

FONT = "ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"

# What things are, in the order of legends, and their colours: (light, dark).
# fmt: off
CATEGORIES: dict[str, tuple[str, str]] = {
    "parameter":   ("#c9d3df", "#3d4a5c"),
    "constant":    ("#e3ddd0", "#4d473b"),
    "elementwise": ("#a9cdf4", "#23527f"),
    "movement":    ("#aee0cf", "#1f5c4b"),
    "reduction":   ("#cfc2f3", "#4c3d86"),
    "product":     ("#fbc78f", "#87501a"),
    "control":     ("#f6b9cd", "#7c2f4d"),
    "other":       ("#d9d9d9", "#4f4f4f"),
    "copy":        ("#f4a9a0", "#8a3229"),
    "scratch":     ("#ece29b", "#615716"),
}
_INKS = {
    "paper": ("#ffffff", "#14181d"), "panel": ("#f5f7f9", "#1b2027"),
    "ink":   ("#1d2733", "#e6ebf1"), "soft":  ("#5d6b7a", "#9aa8b7"),
    "line":  ("#d5dce4", "#333c47"), "accent": ("#1663c7", "#6cb0ff"),
    "bad":   ("#c0392b", "#ff8a7a"), "good":  ("#1d7a46", "#63d297"),
    "edge":  ("#8b99a8", "#66747f"),
}
# fmt: on


def _variables(which: int) -> str:
    return "".join(f"--{name}:{pair[which]};" for name, pair in {**_INKS, **CATEGORIES}.items())


STYLE = (
    f":root{{color-scheme:light dark;{_variables(0)}}}"
    f"@media(prefers-color-scheme:dark){{:root{{{_variables(1)}}}}}"
    f"text{{font-family:{FONT};fill:var(--ink);font-size:12px}}"
    ".soft{fill:var(--soft)}.grid{stroke:var(--line);stroke-width:1}"
    ".title{font-size:15px;font-weight:600}"
)


def element(name: str, *children: str, **attributes: object) -> str:
    """An element; `class_` means class, and an underscore in a name a hyphen.

    Children are markup; attributes are plain text, and those that are None are left out.
    """
    stated = "".join(
        f' {key.strip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = "".join(children)
    return f"<{name}{stated}>{inside}</{name}>" if inside else f"<{name}{stated}/>"


def text(x: float, y: float, content: str, **attributes: object) -> str:
    """Text at a place."""
    return element("text", escape(content), x=x, y=y, **attributes)


def document(
    body: Iterable[str],
    width: float,
    height: float,
    title: str,
    description: str = "",
    standalone: bool = True,
    class_: str | None = None,
) -> str:
    """An SVG with a title and a description for those who hear it rather than see it.

    Args:
        standalone: with its own style; inside a page, the page has `STYLE`.
    """
    style = element("style", STYLE) if standalone else ""
    background = element("rect", width=width, height=height, fill="var(--paper)")
    return element(
        "svg",
        element("title", escape(title)),
        element("desc", escape(description)) if description else "",
        style,
        background if standalone else "",
        *body,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_value(width)} {_value(height)}",
        width=width,
        height=height,
        role="img",
        class_=class_,
    )


def bytes_text(count: float) -> str:
    """A number of bytes: 512 B, 1.5 KiB, 3 MiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.3g} {unit}" if count < 999.5 else f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.3g} TiB"


def quantity(value: float) -> str:
    """A number with the prefix of its magnitude: 950, 12.3k, 4.56M, 7.89G."""
    for prefix in ("", "k", "M", "G"):
        if abs(value) < 999.5:
            return f"{value:.3g}{prefix}"
        value /= 1000
    return f"{value:.3g}T"


def clipped(content: str, width: float, per_character: float = 6.4) -> str:
    """The text, or as much of it as fits into a width, or nothing."""
    room = int(width / per_character)
    if len(content) <= room:
        return content
    return content[: room - 1] + "…" if room > 3 else ""


def ticks(end: float, count: int, base: int = 10) -> list[float]:
    """Round numbers from 0 to `end`, about as many as wanted; powers of two where base is 2."""
    if end <= 0:
        return [0.0]
    step = 1.0
    if base == 2:
        while end / step > count:
            step *= 2
    else:
        step = 10.0 ** int(log10(end) + 1)
        while end / step < count / 2 and step > 1:
            step /= 2 if str(step)[0] != "5" else 2.5
    return [n * step for n in range(int(end / step) + 1)]


def _value(value: object) -> str:
    return (
        f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else escape(str(value))
    )
