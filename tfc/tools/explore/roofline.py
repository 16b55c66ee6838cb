"""The roofline: operations a second over operations a byte, below what the machine can do.

FLOP/s ▲        ________ most arithmetic
       │      ╱   ●
       │    ╱  ● kernels
       │  ╱ what memory brings
       └────────────────────► operations a byte
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log2

from tfc.tools.pictures.svg import document, element, quantity, text
from tfc.tools.profiling import Peaks

_WIDTH, _HEIGHT = 620.0, 360.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 96.0, 34.0, 46.0
_LEAST_SPAN = 6.0  # powers of two, of each axis
BODY = "roofline-body"  # the id by which other pictures show it again


@dataclass(frozen=True)
class Point:
    """A kernel: how many operations a byte, how many a second, and its part of the time."""

    name: str
    category: str
    intensity: float
    rate: float
    share: float

    @property
    def is_drawn(self) -> bool:
        """True if it computes at all: a kernel that only moves bytes has no place here."""
        return self.intensity > 0 and self.rate > 0


class Roofline:
    """The chart of some kernels."""

    def __init__(self, points: Sequence[Point], peaks: Peaks):
        self.points = [p for p in points if p.is_drawn]
        self.peaks = peaks
        slowest = peaks.levels[-1].bytes_per_second
        ridge = peaks.flops[32] / slowest
        self.x = _range([p.intensity for p in self.points] + [ridge / 4, 2 * ridge])
        self.y = _range([p.rate for p in self.points] + [1.2 * max(peaks.flops.values())])

    def svg(self) -> str:
        """The chart of all kernels."""
        body = [element("g", *self._axes(), *self._roofs(), *map(self._dot, self.points), id=BODY)]
        return self._document(body, "Roofline of all kernels")

    def svg_of(self, point: Point) -> str:
        """The same chart with one kernel marked; it needs the chart of all on the same page."""
        body = [element("use", href=f"#{BODY}", class_="dimmed")]
        if point.is_drawn:
            body += [self._dot(point), self._ring(point)]
        else:
            note = "no arithmetic: it has no place in the chart"
            body.append(text(_LEFT + 10, _TOP + 16, note, class_="soft"))
        return self._document(body, f"{point.name} on the roofline")

    def _document(self, body: Sequence[str], title: str) -> str:
        description = f"Operations a second over operations a byte; {self.peaks}"
        return document(body, _WIDTH, _HEIGHT, title, description, False, "roofline")

    def _place(self, intensity: float, rate: float) -> tuple[float, float]:
        (x0, x1), (y0, y1) = self.x, self.y
        x = _LEFT + (_WIDTH - _LEFT - _RIGHT) * (log2(intensity) - x0) / (x1 - x0)
        y = _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * (log2(rate) - y0) / (y1 - y0)
        return x, y

    def _axes(self) -> list[str]:
        made = []
        bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
        for power in range(int(self.x[0]), int(self.x[1]) + 1, _step(self.x)):
            x, _ = self._place(2.0**power, 2.0 ** self.y[0])
            made.append(element("line", x1=x, x2=x, y1=_TOP, y2=bottom, class_="grid"))
            label = f"{2**power}" if power >= 0 else f"1/{2**-power}"
            made.append(text(x, bottom + 16, label, text_anchor="middle", class_="soft"))
        for rate in _round_numbers(2.0 ** self.y[0], 2.0 ** self.y[1]):
            _, y = self._place(2.0 ** self.x[0], rate)
            made.append(element("line", x1=_LEFT, x2=right, y1=y, y2=y, class_="grid"))
            made.append(text(_LEFT - 7, y + 4, quantity(rate), text_anchor="end", class_="soft"))
        middle = (_LEFT + right) / 2
        made.append(text(middle, bottom + 36, "operations a byte", text_anchor="middle"))
        made.append(text(8, 18, "operations a second"))
        return made

    def _roofs(self) -> list[str]:
        made = []
        end = 2.0 ** self.x[1]
        for bits, flops in self.peaks.flops.items():
            made.append(self._line((end / 2**40, flops), (end, flops), "roof"))
            x, y = self._place(end, flops)
            made.append(text(x + 6, y + 4, f"f{bits} {quantity(flops)}", class_="soft"))
        most, labelled = max(self.peaks.flops.values()), 0.0
        for level in self.peaks.levels:
            ridge = most / level.bytes_per_second
            start = 2.0 ** self.x[0]
            low = start * level.bytes_per_second
            made.append(self._line((start, low), (ridge, most), "roof"))
            x, y = self._place(start, max(low, 2.0 ** self.y[0]))
            label = f"{level.name} {level.bytes_per_second / 1e9:.3g} GB/s"
            labelled = max(min(y - 5, _HEIGHT - _BOTTOM - 18), labelled + 12)  # one below another
            made.append(text(x + 5, labelled, label, class_="soft roof-label"))
        return made

    def _line(self, start: tuple[float, float], end: tuple[float, float], class_: str) -> str:
        """A line, cut off where it leaves the chart at the left, or below."""
        (x1, y1), (x2, y2) = start, end
        least_x, least_y = 2.0 ** self.x[0], 2.0 ** self.y[0]
        if y1 < least_y and y2 > y1:  # sloped lines have slope 1 in these scales
            x1, y1 = x1 * least_y / y1, least_y
        x1 = max(x1, least_x)
        (a, b), (c, d) = self._place(x1, y1), self._place(x2, y2)
        return element("line", x1=a, y1=b, x2=c, y2=d, class_=class_)

    def _dot(self, point: Point) -> str:
        x, y = self._place(point.intensity, point.rate)
        hint = (
            f"{point.name}: {quantity(point.rate)} operations a second, "
            f"{point.intensity:.3g} a byte, {point.share:.1%} of the time"
        )
        return element(
            "circle", element("title", escape(hint)), cx=x, cy=y, r=4 + 9 * point.share**0.5,
            fill=f"var(--{point.category})", class_="kernel",
        )  # fmt: skip

    def _ring(self, point: Point) -> str:
        x, y = self._place(point.intensity, point.rate)
        return element("circle", cx=x, cy=y, r=9 + 9 * point.share**0.5, class_="ring")


def _range(values: Sequence[float]) -> tuple[float, float]:
    """Whole powers of two around the values."""
    low, high = floor(log2(min(values))), floor(log2(max(values))) + 1
    return float(low), max(float(high), low + _LEAST_SPAN)


def _round_numbers(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, 20 … between two numbers."""
    found = [m * 10.0**e for e in range(15) for m in (1, 2, 5)]
    return [n for n in found if low <= n <= high]


def _step(span: tuple[float, float]) -> int:
    return max(1, int((span[1] - span[0]) / 8))
