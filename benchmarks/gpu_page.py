"""Results of benchmarks on a GPU as lines of text, and as a page."""

from typing import Any

_TITLES = {"tfc": "tfc", "torch": "PyTorch", "jax": "JAX", "compiled": "torch.compile"}


def row_text(row: dict[str, Any], copied: float) -> str:
    """A row in a line: tfc's time, what that is of the limit, and the others' beside it."""
    seconds = row["seconds"]
    parts = [f"{row['group']}: {row['name']}"]
    parts += [f"{_TITLES[n]} {_time(s)}" for n, s in seconds.items()]
    own = seconds.get("tfc")
    if own:
        parts.append(_rate(row, own, copied))
        parts += [f"{s / own:.2f} × {_TITLES[n]}" for n, s in seconds.items() if n != "tfc"]
    parts += [f"{_TITLES[n]}: {why}" for n, why in row["problems"].items()]
    if row["fault"]:
        parts.append(f"WRONG: {row['fault']}")
    return " │ ".join(part for part in parts if part)


def page(results: dict[str, Any]) -> str:
    """The page: a table for each group."""
    copied = results["copy"]
    lines = [
        "# GPU performance",
        "",
        f"One run of `python benchmarks/gpu.py` on one {results['device']}, which copies memory "
        f"at {copied / 1e9:.0f} GB/s, read and written. Times are of a call, in turns with the "
        "others; factors are the others' time over tfc's: above 1 tfc takes less.",
    ]
    for group in dict.fromkeys(row["group"] for row in results["rows"]):
        rows = [row for row in results["rows"] if row["group"] == group]
        names = [n for n in _TITLES if n != "tfc" and any(n in r["seconds"] for r in rows)]
        head = ["case", "tfc", "rate", *(_TITLES[n] for n in names)]
        lines += ["", f"## {group}", "", _line(head), _line(["---"] * len(head))]
        lines += [_line([row["name"], *_cells(row, names, copied)]) for row in rows]
    return "\n".join([*lines, ""])


def _cells(row: dict[str, Any], names: list[str], copied: float) -> list[str]:
    own = row["seconds"].get("tfc")
    if own is None:
        return [row["problems"].get("tfc", "not run"), "", *("" for _ in names)]
    cells = [_time(own) + (" (wrong)" if row["fault"] else ""), _rate(row, own, copied)]
    for name in names:
        other = row["seconds"].get(name)
        cells.append("" if other is None else f"{_time(other)} ({other / own:.2f} ×)")
    return cells


def _rate(row: dict[str, Any], seconds: float, copied: float) -> str:
    if row["flops"]:
        return f"{row['flops'] / seconds / 1e12:.1f} TFLOP/s"
    if row["bytes"]:
        rate = row["bytes"] / seconds
        return f"{rate / 1e9:.0f} GB/s, {rate / copied:.0%} of copying"
    return ""


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3f} ms" if seconds >= 1e-4 else f"{seconds * 1e6:.2f} µs"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
