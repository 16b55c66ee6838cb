"""The report: a table of times and ratios."""

from collections.abc import Sequence
from typing import Protocol

from rich.console import Console
from rich.table import Table


class Timing(Protocol):
    """Seconds for one call."""

    @property
    def median(self) -> float:
        """The median of the samples."""
        ...

    @property
    def least(self) -> float:
        """The least of the samples."""
        ...


class Row(Protocol):
    """One case's measurements, by library."""

    group: str
    name: str
    unit: str
    work: float

    @property
    def seconds(self) -> dict[str, Timing]:
        """The timings by the name of the library."""
        ...


def print_report(console: Console, rows: Sequence[Row], peak: float, threads: int) -> None:
    """Print one line a row; ratios compare medians and say how many times faster tfc is."""
    has_jax = any("JAX" in row.seconds for row in rows)
    table = Table(title=f"{threads} thread(s); median (least)", header_style="bold")
    table.add_column("case")
    libraries = ["tfc", "NumPy", *(["JAX"] if has_jax else [])]
    for name in (*libraries, "tfc achieves", *(f"vs {name}" for name in libraries[1:])):
        table.add_column(name, justify="right", no_wrap=True)
    group = ""
    for row in rows:
        if row.group != group:
            group = row.group
            table.add_row(f"[cyan]{group}[/cyan]")
        times = [_time(row.seconds.get(name)) for name in libraries]
        ratios = [_ratio(row.seconds, name) for name in libraries[1:]]
        table.add_row(f"  {row.name}", *times, _rate(row, peak), *ratios)
    console.print(table)
    console.print(f"peak of one core, measured with fused multiply-adds: {peak:.0f} GFLOP/s (f32)")
    if not has_jax:
        console.print("JAX is not installed, so its column is left out: pip install 'tfc[bench]'")


def _time(timing: Timing | None) -> str:
    if timing is None:
        return ""
    for factor, unit in ((1e6, "µs"), (1e3, "ms"), (1, "s")):
        if timing.median * factor < 1000 or unit == "s":
            return f"{timing.median * factor:.3g} ({timing.least * factor:.3g}) {unit}"
    return ""


def _rate(row: Row, peak: float) -> str:
    if not row.unit:
        return ""
    rate = row.work / row.seconds["tfc"].median
    share = f" ({rate / peak:.0%} of peak)" if row.unit == "GFLOP/s" else ""
    return f"{rate:.3g} {row.unit}{share}"


def _ratio(seconds: dict[str, Timing], name: str) -> str:
    if name not in seconds:
        return ""
    ratio = seconds[name].median / seconds["tfc"].median
    colour = "green" if ratio >= 1 else "red"
    return f"[{colour}]{ratio:.2f}×[/{colour}]"
