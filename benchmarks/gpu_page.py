"""Results of benchmarks on a GPU as lines of text, and as a page."""

from typing import Any

_TITLES = {"tfc": "tfc", "torch": "PyTorch", "jax": "JAX", "compiled": "torch.compile",
           "triton": "Triton"}  # fmt: skip
_HALVES = "bfloat16", "float16", "bf16", "forward", "gradient"  # how cases of 16 bits begin


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
    copied, fastest = results["copy"], _fastest(results["rows"])
    lines = [
        "# GPU performance",
        "",
        f"One run of `python benchmarks/gpu.py` on one {results['device']}, which copies memory "
        f"at {copied / 1e9:.0f} GB/s, read and written. "
        + f"The fastest product of 16 bits here did {fastest / 1e12:.0f} TFLOP/s. "
        * bool(fastest)
        + "Times are of a call, in turns with the others; factors are the others' time over "
        "tfc's: above 1 tfc takes less.",
    ]
    for group in dict.fromkeys(row["group"] for row in results["rows"]):
        rows = [row for row in results["rows"] if row["group"] == group]
        names = [n for n in _TITLES if n != "tfc" and any(n in r["seconds"] for r in rows)]
        head = ["case", "tfc", "rate", *(_TITLES[n] for n in names)]
        lines += ["", f"## {group}", "", _line(head), _line(["---"] * len(head))]
        lines += [_line([row["name"], *_cells(row, names, copied, fastest)]) for row in rows]
    lines += _first_calls(results["rows"])
    return "\n".join([*lines, ""])


def _fastest(rows: list[dict[str, Any]]) -> float:
    """The most operations a second of all products of 16 bits; 0 if there are none."""
    products = [r for r in rows if r["group"] == "gemm" and r["name"].startswith(_HALVES)]
    return max((r["flops"] / s for r in products for s in r["seconds"].values()), default=0.0)


def _first_calls(rows: list[dict[str, Any]]) -> list[str]:
    """A table of what first calls take."""
    names = [n for n in _TITLES if any(n in row["first"] for row in rows)]
    if not names:
        return []
    lines = [
        "", "## first calls", "",
        "From data on the host to the first result: tfc loads a program that was compiled before, "
        "the others compile, or load their own.", "",
        _line(["case", *(_TITLES[n] for n in names)]), _line(["---"] * (len(names) + 1)),
    ]  # fmt: skip
    for row in rows:
        cells = [_time(row["first"][n]) if n in row["first"] else "" for n in names]
        lines.append(_line([f"{row['group']}: {row['name']}", *cells]))
    return lines


def _cells(row: dict[str, Any], names: list[str], copied: float, fastest: float) -> list[str]:
    own = row["seconds"].get("tfc")
    if own is None:
        return [row["problems"].get("tfc", "not run"), "", *("" for _ in names)]
    rate = _rate(row, own, copied)
    if row["flops"] and fastest and row["name"].startswith(_HALVES):
        rate += f", {row['flops'] / own / fastest:.0%}"
    cells = [_time(own) + (" (wrong)" if row["fault"] else ""), rate]
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
