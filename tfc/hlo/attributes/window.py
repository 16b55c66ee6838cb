"""Windows that slide over an array, in reduce-window, select-and-scatter and convolution.

As text, `size=3x3 stride=2x2 pad=1_1x-1_0 lhs_dilate=1x2 rhs_dilate=2x1 rhs_reversal=1x0` between
braces: one number for each dimension, and only the fields that some dimension does not leave at
their defaults.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfc.hlo.lexer import Lexer
from tfc.hlo.op import require


@dataclass(frozen=True)
class WindowDimension:
    """How a window lies along one dimension.

    size: the number of elements that the window takes.
    stride: how far neighbouring windows are apart.
    low, high: the padding at the two ends; negative padding removes elements.
    base_dilation: how far the array's elements are moved apart; padding lies in the gaps.
    window_dilation: how far the window's elements are apart.
    reversal: the window's elements are taken in the opposite order (convolution).
    """

    size: int
    stride: int = 1
    low: int = 0
    high: int = 0
    base_dilation: int = 1
    window_dilation: int = 1
    reversal: bool = False

    @property
    def extent(self) -> int:
        """From the window's first element to its last, both included."""
        return (self.size - 1) * self.window_dilation + 1

    def place(self, at: Any, k: Any) -> Any:
        """Where element `k` of window `at` is in the array, if it is inside and in no gap.

        Both may be numbers or Index expressions.
        """
        return (at * self.stride + k * self.window_dilation - self.low) // self.base_dilation

    def reach(self, count: int) -> tuple[int, int]:
        """The least and the greatest place, before dilation, that an element of a window has.

        Args:
            count: the number of windows.
        """
        return -self.low, (count - 1) * self.stride + self.extent - 1 - self.low

    def dilated(self, size: int) -> int:
        """The size of an array's dimension after dilation."""
        return (size - 1) * self.base_dilation + 1 if size else 0

    def padded(self, size: int) -> int:
        """The size of an array's dimension after dilation and padding; negative if impossible."""
        return self.dilated(size) + self.low + self.high

    def count(self, size: int) -> int:
        """The number of windows that fit into a dimension of the array (RW-1)."""
        room = self.padded(size) - self.extent
        return room // self.stride + 1 if room >= 0 else 0

    def transposed(self, size: int, count: int) -> "WindowDimension":
        """The window that finds, from each element of the array, the windows that it was in.

        Window o has element k at i where o*stride + k*window_dilation - low = i*base_dilation.
        Taken from i, with k counted from the other end, that is a window again, with stride and
        base dilation in each other's place.

        Args:
            size: the array's size.
            count: the number of windows.
        """
        low = self.extent - 1 - self.low
        needed = (size - 1) * self.base_dilation + self.extent
        there = (count - 1) * self.stride + 1
        return WindowDimension(
            self.size, self.base_dilation, low, needed - low - there, self.stride,
            self.window_dilation,
        )  # fmt: skip

    def meeting(self, size: int, count: int, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Which of `count` windows have their element `k` in an array of that size, and where."""
        place = np.arange(count) * self.stride + k * self.window_dilation - self.low
        inside, gap = np.divmod(place, self.base_dilation)
        valid = (gap == 0) & (inside >= 0) & (inside < size)
        return np.flatnonzero(valid), inside[valid]


_PLAIN = WindowDimension(1)


@dataclass(frozen=True)
class Window:
    """A window, one WindowDimension for each dimension that it slides along."""

    dimensions: tuple[WindowDimension, ...] = ()

    @property
    def size(self) -> tuple[int, ...]:
        """The sizes of all dimensions."""
        return tuple(d.size for d in self.dimensions)

    def cumulative(self, sizes: Sequence[int]) -> tuple[int, bool] | None:
        """(dimension, reverse) if each window holds all elements up to its own along one dimension.

        In reverse it holds its own and all after it. None for any other window.
        """
        wide = [(d, n, w) for d, (n, w) in enumerate(zip(sizes, self.dimensions)) if w != _PLAIN]
        if len(wide) != 1:
            return None
        dimension, n, w = wide[0]
        for reverse, low, high in ((False, n - 1, 0), (True, 0, n - 1)):
            if n > 1 and w == WindowDimension(n, low=low, high=high):
                return dimension, reverse
        return None

    def counts(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """The number of windows along each dimension of an array of these sizes."""
        return tuple(d.count(n) for d, n in zip(self.dimensions, sizes, strict=True))


def require_window(op: str, window: Window, sizes: Sequence[int]) -> None:
    """Check a window over dimensions of these sizes, as every op does that has one.

    Raises:
        ShapeError: it has another rank, numbers that are not positive, or removes too much.
    """
    require(
        len(window.dimensions) == len(sizes),
        op, f"a window of {len(sizes)} dimensions", len(window.dimensions),
    )  # fmt: skip
    for d, n in zip(window.dimensions, sizes):
        positive = min(d.size, d.stride, d.base_dilation, d.window_dilation) > 0
        require(
            positive, op, "window sizes, strides and dilations of 1 or more", print_window(window)
        )
        require(
            d.padded(n) >= 0, op, "window padding that removes no more than there is",
            f"{d.low}_{d.high} for {n} elements",
        )  # fmt: skip


@dataclass(frozen=True)
class _Field:
    """One field of the text: the attributes that it holds, how one dimension prints and reads."""

    names: tuple[str, ...]
    pattern: str
    print: Callable[[WindowDimension], str]


def _number(name: str, pattern: str = r"-?\d{1,18}") -> _Field:
    return _Field((name,), pattern, lambda d: str(int(getattr(d, name))))


_PADDING = _Field(("low", "high"), r"-?\d{1,18}_-?\d{1,18}", lambda d: f"{d.low}_{d.high}")


# fmt: off
_FIELDS = {
    "size":         _number("size"),
    "stride":       _number("stride"),
    "pad":          _PADDING,
    "lhs_dilate":   _number("base_dilation"),
    "rhs_dilate":   _number("window_dilation"),
    "rhs_reversal": _number("reversal", "[01]"),
}
# fmt: on


def print_window(window: Window) -> str:
    """The text form, braces included."""
    parts = [
        f"{name}=" + "x".join(map(field.print, window.dimensions))
        for name, field in _FIELDS.items()
        if any(getattr(d, n) != getattr(_PLAIN, n) for d in window.dimensions for n in field.names)
        or (name == "size" and window.dimensions)
    ]
    return "{" + " ".join(parts) + "}"


def parse_window(lexer: Lexer) -> Window:
    """The window at the lexer's current token, in any order of the fields.

    Raises:
        ParseError: a field is unknown, repeated or malformed, or their lengths differ.
    """
    start = lexer.start
    if not lexer.is_symbol("{"):
        lexer.expected("a window such as {size=3x3 stride=2x2}")
    columns: dict[str, list[tuple[int, ...]]] = {}
    for part in lexer.raw()[1:-1].split():
        name, _, value = part.partition("=")
        field = _FIELDS.get(name)
        if field is None or name in columns:
            problem = "is repeated" if field else f"is none of {', '.join(_FIELDS)}"
            lexer.error(f"the window's field '{name[:40]}' {problem}", start)
        if not re.fullmatch(f"{field.pattern}(?:x{field.pattern})*", value):
            lexer.error(f"the window's {name} cannot be '{value[:40]}'", start)
        columns[name] = [tuple(map(int, text.split("_"))) for text in value.split("x")]
    if len({len(column) for column in columns.values()}) > 1 or (columns and "size" not in columns):
        lexer.error("a window has a size and as many of everything else as of sizes", start)
    return Window(tuple(_dimension(columns, d) for d in range(len(columns.get("size", ())))))


def _dimension(columns: dict[str, list[tuple[int, ...]]], number: int) -> WindowDimension:
    values: dict[str, Any] = {}
    for name, column in columns.items():
        values.update(zip(_FIELDS[name].names, column[number]))
    if "reversal" in values:
        values["reversal"] = bool(values["reversal"])
    return WindowDimension(**values)
