"""A picture of memory over time: rectangles from first to last step, from offset to end.

address ▲  ┌────── a ──────┐┌── c ──┐    ─ ─ ─ the peak
        │  └───────────────┘└───────┘    ····· the most that is alive at one step
        │      ┌── b ──┐                 what is alive at each step, as a line
        └──────────────────────► step
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from tfc.tools.pictures.svg import CATEGORIES, bytes_text, clipped, document, element, text, ticks

_WIDTH, _HEIGHT = 1000.0, 560.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 84.0, 24.0, 62.0, 84.0
_MOST_DRAWN = 3000
_HEADROOM = 1.06  # above the peak
_FREE_STEPS = 0.9  # of a step: what lives for one step is drawn that wide, with a gap


@dataclass(frozen=True)
class LiveBuffer:
    """A piece of an arena, in use from step `first` to step `last`, both included.

    name: of the instruction whose value it holds, or that uses it as scratch memory.
    category: one of svg.CATEGORIES.
    """

    name: str
    category: str
    offset: int
    size: int
    first: int
    last: int


def alive(buffers: Sequence[LiveBuffer]) -> list[tuple[int, int]]:
    """(step, bytes in use from it on) wherever that changes."""
    change: dict[int, int] = {}
    for buffer in buffers:
        change[buffer.first] = change.get(buffer.first, 0) + buffer.size
        change[buffer.last + 1] = change.get(buffer.last + 1, 0) - buffer.size
    found, total = [], 0
    for step in sorted(change):
        total += change[step]
        found.append((step, total))
    return found


def arena_svg(
    buffers: Sequence[LiveBuffer],
    size: int,
    lower_bound: int,
    name: str = "",
    standalone: bool = True,
) -> str:
    """The picture as SVG.

    Args:
        size: the bytes of the arena.
        lower_bound: the most bytes alive at one step.
        standalone: see svg.document.
    """
    first = min((b.first for b in buffers), default=0)
    last = max((b.last for b in buffers), default=first)
    scale = _Scale(first, last + 1, max(size, 1) * _HEADROOM)
    drawn = sorted(buffers, key=lambda b: -b.size * (b.last - b.first + 1))[:_MOST_DRAWN]
    ratio = f", {size / lower_bound:.3g} × the live-set bound" if lower_bound else ""
    left_out = len(buffers) - len(drawn)
    headline = f"Arena of {name}" if name else "Arena"
    facts = f"{bytes_text(size)} for {len(buffers)} buffers{ratio}" + (
        f"; the {left_out} smallest are not drawn" if left_out else ""
    )
    body = [
        text(_LEFT, 26, headline, class_="title"),
        text(_LEFT, 45, facts, class_="soft"),
        *_axes(scale),
        *(_rectangle(b, scale) for b in drawn),
        _alive_line(buffers, scale),
        *_limits(scale, size, lower_bound),
        *_legend(drawn),
    ]
    return document(body, _WIDTH, _HEIGHT, headline, facts, standalone)


@dataclass(frozen=True)
class _Scale:
    """From steps and bytes to places."""

    first: int
    end: int
    bytes: float

    def x(self, step: float) -> float:
        share = (step - self.first) / (self.end - self.first)
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * share

    def y(self, address: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * address / self.bytes


def _axes(scale: _Scale) -> list[str]:
    bottom, right = scale.y(0), _WIDTH - _RIGHT
    made = []
    for address in ticks(scale.bytes, 9, base=2):
        y = scale.y(address)
        made.append(element("line", x1=_LEFT, x2=right, y1=y, y2=y, class_="grid"))
        made.append(text(_LEFT - 8, y + 4, bytes_text(address), text_anchor="end", class_="soft"))
    for step in (t for t in ticks(scale.end, 12) if t >= scale.first):
        made.append(
            text(scale.x(step), bottom + 17, f"{step:g}", text_anchor="middle", class_="soft")
        )
    made.append(text((_LEFT + right) / 2, bottom + 35, "step of the program", text_anchor="middle"))
    middle = (_TOP + bottom) / 2
    turned = f"rotate(-90 16 {middle:g})"
    made.append(text(16, middle, "address in the arena", text_anchor="middle", transform=turned))
    return made


def _rectangle(buffer: LiveBuffer, scale: _Scale) -> str:
    x, end = scale.x(buffer.first), scale.x(buffer.last + _FREE_STEPS)
    y = scale.y(buffer.offset + buffer.size)
    width, height = max(end - x, 0.75), max(scale.y(buffer.offset) - y, 0.5)
    hint = (
        f"{buffer.name}: {bytes_text(buffer.size)} at {buffer.offset}, "
        f"steps {buffer.first} to {buffer.last}"
    )
    box = element(
        "rect", x=x, y=y, width=width, height=height, fill=f"var(--{buffer.category})",
        stroke="var(--paper)", stroke_width=min(1.0, height / 4), rx=min(2.0, height / 4),
    )  # fmt: skip
    return element(
        "g", element("title", escape(hint)), box, _label(buffer.name, x, y, width, height)
    )


def _label(name: str, x: float, y: float, width: float, height: float) -> str:
    """The name inside a rectangle, upright where there is more room; nothing if there is none."""
    upright = width < 40 and height > 2 * width
    along, across = (height, width) if upright else (width, height)
    label = clipped(name, along - 8) if across >= 13 else ""
    if not label:
        return ""
    if not upright:
        return text(x + 4, y + height / 2 + 4, label)
    place = x + width / 2 + 4, y + height - 5
    return text(*place, label, transform=f"rotate(-90 {place[0]:.1f} {place[1]:.1f})")


def _alive_line(buffers: Sequence[LiveBuffer], scale: _Scale) -> str:
    """How much is in use at each step."""
    points, before = [f"{scale.x(scale.first):.1f},{scale.y(0):.1f}"], 0
    for step, total in alive(buffers):
        points += [f"{scale.x(step):.1f},{scale.y(n):.1f}" for n in (before, total)]
        before = total
    return element(
        "polyline", element("title", "bytes in use"), points=" ".join(points), fill="none",
        stroke="var(--ink)", stroke_width=1.25, stroke_opacity=0.75,
    )  # fmt: skip


def _limits(scale: _Scale, size: int, lower_bound: int) -> list[str]:
    right, made = _WIDTH - _RIGHT, []
    for what, value, colour, dashes, x, anchor in (
        ("peak", size, "var(--bad)", "6 4", right, "end"),
        ("live-set bound", lower_bound, "var(--good)", "2 4", _LEFT + 4, "start"),
    ):
        y = scale.y(value)
        made.append(
            element("line", x1=_LEFT, x2=right, y1=y, y2=y, stroke=colour, stroke_width=1.5,
                    stroke_dasharray=dashes)
        )  # fmt: skip
        label = f"{what} {bytes_text(value)}"
        made.append(text(x, y - 5, label, text_anchor=anchor, style=f"fill:{colour}"))
    return made


def _legend(buffers: Sequence[LiveBuffer]) -> list[str]:
    used = {b.category for b in buffers}
    made, x, y = [], _LEFT, _HEIGHT - 18
    for category in CATEGORIES:
        if category in used:
            made.append(
                element("rect", x=x, y=y - 10, width=12, height=12, rx=2, fill=f"var(--{category})")
            )
            made.append(text(x + 17, y, category, class_="soft"))
            x += 34 + 7 * len(category)
    made.append(element("line", x1=x, x2=x + 14, y1=y - 4, y2=y - 4, stroke="var(--ink)"))
    made.append(text(x + 19, y, "in use", class_="soft"))
    return made
