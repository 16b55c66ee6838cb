"""A run as tables: the same in a terminal and in docs/performance.md."""

from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from benchmarks.results import OWN, XLA, Measured, Row, Run

_UNITS = {"GFLOP/s": 1e9, "GOP/s": 1e9, "GB/s": 1e9}


@dataclass(frozen=True)
class Cell:
    """The text of a cell, and what it says: an aim is reached, or missed; or neither."""

    text: str
    reached: bool | None = None


@dataclass(frozen=True)
class Sheet:
    """A table: the first column names the rows, which stand in families."""

    title: str
    columns: list[str]
    rows: list[tuple[str, str, list[Cell]]]  # family, name, cells


def sheets(run: Run) -> list[Sheet]:
    """The tables of a run: ratios, times, costs, and what failed."""
    made = [_ratios(run), _times(run), _costs(run), _failures(run)]
    return [sheet for sheet in made if sheet.rows]


def _peers(run: Run) -> list[str]:
    return [name for name in run.versions if name != OWN]


def _rows(run: Run, cells: Callable[[Row], list[Cell]]) -> list[tuple[str, str, list[Cell]]]:
    return [(row.family, row.name, cells(row)) for row in run.rows]


def _ratios(run: Run) -> Sheet:
    peers = _peers(run)

    def cells(row: Row) -> list[Cell]:
        own = row.peers.get(OWN)
        missed = row.missed(run.limits)
        rate, share, best = row.rate(), row.share(run.limits), row.ratio("best")
        return [
            Cell(duration(own.median) if isinstance(own, Measured) else _short(own)),
            Cell(f"{rate / _UNITS[row.unit]:.3g} {row.unit}" if rate else ""),
            Cell(f"{share:.0%}" if share else "", _verdict(row, "share", missed)),
            *(_ratio(row, name, missed) for name in peers),
            Cell(f"{best:.2f} {row.best_peer()}" if best else "", _verdict(row, "best", missed)),
            Cell(", ".join(_aim(name, aim) for name, aim in row.aims.items())),
        ]

    columns = [OWN, "rate", "of limit", *(f"{p} ÷ {OWN}" for p in peers), "best ÷ tfc", "aim"]
    return Sheet("How many times faster tfc is", columns, _rows(run, cells))


def _verdict(row: Row, aim: str, missed: list[str]) -> bool | None:
    return None if aim not in row.aims else aim not in missed


def _ratio(row: Row, name: str, missed: list[str]) -> Cell:
    ratio = row.ratio(name)
    if ratio is None:
        other = row.peers.get(name)
        return Cell(_short(other) if isinstance(other, str) else "")
    return Cell(f"{ratio:.2f}", _verdict(row, name, missed))


def _short(outcome: Measured | str | None) -> str:
    """Why nothing was measured, in a word; the reasons have a table of their own."""
    return outcome.split(":")[0] if isinstance(outcome, str) else ""


def _aim(name: str, aim: float) -> str:
    return f"{aim:.0%} of limit" if name == "share" else f"{name} {aim:g}"


def _times(run: Run) -> Sheet:
    libraries = [OWN, *_peers(run)]

    def cells(row: Row) -> list[Cell]:
        measured = row.measured()
        return [Cell(_time(m) if (m := measured.get(n)) else "") for n in libraries]

    title = "Times: median (least) × the slowest process's median ÷ the fastest one's"
    several = any(len(m.medians) > 1 for row in run.rows for m in row.measured().values())
    return Sheet(title if several else "Times: median (least)", libraries, _rows(run, cells))


def _time(measured: Measured) -> str:
    text = f"{duration(measured.median)} ({duration(measured.least)})"
    return f"{text} × {measured.spread:.2f}" if len(measured.medians) > 1 else text


def _costs(run: Run) -> Sheet:
    def known(field: str) -> list[str]:
        """The libraries of which some row has this."""
        measured = [(n, m) for row in run.rows for n, m in row.measured().items()]
        found = {n for n, m in measured if getattr(m, field) is not None}
        return [n for n in run.versions if n in found]

    compiling, sized = known("compile_seconds"), known("memory_bytes")

    def cells(row: Row) -> list[Cell]:
        measured = row.measured()
        seconds = [m.compile_seconds if (m := measured.get(n)) else None for n in compiling]
        sizes = [m.memory_bytes if (m := measured.get(n)) else None for n in sized]
        return [
            *(Cell("" if s is None else duration(s)) for s in seconds),
            *(Cell("" if s is None else f"{s / 2**20:.1f}") for s in sizes),
        ]

    columns = [f"{n} compiles" for n in compiling] + [f"{n} MiB" for n in sized]
    return Sheet("Compilation and memory", columns, _rows(run, cells))


def _failures(run: Run) -> Sheet:
    found = [
        (row.family, f"{row.name}: {name}", [Cell(outcome.removeprefix("failed: "))])
        for row in run.rows
        for name, outcome in row.peers.items()
        if isinstance(outcome, str) and outcome.startswith("failed")
    ]
    return Sheet("What failed", ["reason"], found)


def duration(seconds: float) -> str:
    """A time with three digits and its unit."""
    for factor, unit in ((1e6, "µs"), (1e3, "ms"), (1, "s")):
        # Rounded first, so that there is no 1e+03 µs.
        if unit == "s" or float(f"{seconds * factor:.3g}") < 1000:
            return f"{seconds * factor:.3g} {unit}"
    raise AssertionError


def summary(run: Run) -> list[str]:
    """The means and the limits, in sentences."""
    lines = []
    for peer, aim in (("best", 1.0), (XLA, 2.0)):
        mean = run.mean(peer)
        if mean is not None:
            title = "the best peer of each row" if peer == "best" else f"{peer} (XLA)"
            lines.append(f"Geometric mean against {title}: {mean[0]:.2f} over {mean[1]} rows "
                         f"(aim {aim:.1f}).")  # fmt: skip
    unmeasured = sum(OWN not in row.measured() for row in run.rows)
    if unmeasured:
        lines.append(f"{unmeasured} rows could not be measured with tfc and are in no mean.")
    named = {"fma32": "{:.1f} GFLOP/s in f32", "fma64": "{:.1f} GFLOP/s in f64",
             "dot16": "{:.1f} GFLOP/s in dot products of bf16",
             "dot8": "{:.1f} GOP/s in dot products of s8",
             "read": "read {:.1f} GB/s", "copy": "copy {:.1f} GB/s",
             "stream": "stream {:.1f} GB/s"}  # fmt: skip
    limits = ", ".join(t.format(run.limits[n] / 1e9) for n, t in named.items() if n in run.limits)
    cores = "one core" if run.threads == 1 else f"{run.threads} cores"
    if limits:
        lines.append(f"Limits of {cores}, measured in the same run: {limits}.")
    absent = [name for name, version in run.versions.items() if not version]
    if absent:
        lines.append(f"Not installed: {', '.join(absent)}.")
    return lines


def print_run(console: Console, run: Run) -> None:
    """Print the tables of a run."""
    for sheet in sheets(run):
        table = Table(title=sheet.title, header_style="bold", title_justify="left")
        table.add_column("")
        for column in sheet.columns:
            # Figures stand below each other; a sentence begins at the left.
            table.add_column(column, justify="right" if len(sheet.columns) > 1 else "left")
        family = ""
        for group, name, cells in sheet.rows:
            if group != family:
                family = group
                table.add_row(f"[cyan]{family}[/cyan]")
            table.add_row(f"  {name}", *map(_coloured, cells))
        console.print(table)
    for line in summary(run):
        console.print(line)


def _coloured(cell: Cell) -> str:
    text = cell.text.replace("[", "\\[")
    if cell.reached is None:
        return text
    return f"[{'green' if cell.reached else 'red'}]{text}[/]"
