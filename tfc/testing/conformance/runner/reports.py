"""What a run of a pack found, as JSON and as text; both are whole at any time."""

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

OUTCOMES = ("passed", "wrong", "unsteady", "failed", "hung")
_LISTED = 60  # programs in the text


class ConformanceReport:
    """The rows of a run: each has a program's name, kind, outcome, and why if it did not pass."""

    def __init__(self, about: dict):
        self.about: dict[str, Any] = dict(about)
        self.rows: list[dict[str, Any]] = []
        self.sanitizer: dict[str, Any] = {}
        self.seconds = 0.0
        self.wanted = 0

    @property
    def counts(self) -> "Counter[str]":
        """How many programs had each outcome."""
        return Counter(row["outcome"] for row in self.rows)

    @property
    def bad(self) -> "list[dict[str, Any]]":
        """The rows of what did not pass."""
        return [row for row in self.rows if row["outcome"] != "passed"]

    def by_kind(self) -> "dict[str, Counter[str]]":
        """How many programs of each kind had each outcome."""
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for row in self.rows:
            found[row["kind"]][row["outcome"]] += 1
        return dict(sorted(found.items()))

    def accuracy(self) -> "dict[str, dict[str, Any]]":
        """The largest differences in units in the last place, by operation and type."""
        found: dict[str, dict[str, Any]] = {}
        for row in self.rows:
            for units in row.get("units", ()):
                held = found.setdefault(row["measured"], {"programs": 0, "expected": 0.0})
                held["programs"] += 1
                for what in ("expected", "interpreted"):
                    if what in units and units[what] >= held.get(what, 0.0):
                        held[what] = units[what]
                        held[f"{what}_in"] = row["name"]
        return dict(sorted(found.items()))

    def as_json(self) -> str:
        """All of it."""
        whole = {
            **self.about, "seconds": round(self.seconds, 2), "wanted": self.wanted,
            "counts": dict(self.counts),
            "by_kind": {k: dict(c) for k, c in self.by_kind().items()},
            "accuracy": self.accuracy(), "sanitizer": self.sanitizer, "bad": self.bad,
            "passed": [[r["name"], r["variant"], r["load"], r["run"]] for r in self.rows
                       if r["outcome"] == "passed"],
        }  # fmt: skip
        return json.dumps(whole, indent=None, separators=(",", ":"))

    def as_text(self) -> str:
        """A table by kind, then what did not pass, then accuracy and what sanitizers said."""
        lines = [f"{k}: {v}" for k, v in self.about.items()]
        lines += ["", f"{'kind':22}" + "".join(f"{o:>10}" for o in OUTCOMES)]
        for kind, counts in (*self.by_kind().items(), ("all", self.counts)):
            lines.append(f"{kind:22}" + "".join(f"{counts[o] or '':>10}" for o in OUTCOMES))
        lines += ["", self.summary()]
        for row in self.bad[:_LISTED]:
            lines.append(f"{row['outcome']}: {row['name']} ({row['variant']})")
            lines += [f"    {text}" for text in _reasons(row)]
        if len(self.bad) > _LISTED:
            lines.append(f"… and {len(self.bad) - _LISTED} more in the JSON file")
        if self.accuracy():
            lines += ["", f"{'units in the last place':40}{'expected':>12}{'interpreted':>12}"]
        for name, found in self.accuracy().items():
            own = f"{found['interpreted']:12.3g}" if "interpreted" in found else ""
            lines.append(f"{name:40}{found['expected']:12.3g}{own}")
        for tool, found in self.sanitizer.items():
            lines += ["", f"{tool}: {found['summary']}", *found["said"][:_LISTED]]
        return "\n".join(lines) + "\n"

    def summary(self) -> str:
        """One line."""
        counts = self.counts
        said = ", ".join(f"{counts[o]} {o}" for o in OUTCOMES if counts[o]) or "none"
        left = self.wanted - len(self.rows)
        rest = f"; time was up before {left} more" if left else ""
        return f"{len(self.rows)} programs in {self.seconds:.1f} s: {said}{rest}"

    def write(self, path: Path) -> None:
        """Write both beside each other: `path` and the same with .txt at its end."""
        path.parent.mkdir(parents=True, exist_ok=True)
        for target, text in ((path, self.as_json()), (path.with_suffix(".txt"), self.as_text())):
            beside = target.with_name(f".{target.name}.part")
            beside.write_text(text, encoding="utf-8")
            beside.replace(target)


def _reasons(row: "dict[str, Any]") -> "list[str]":
    said = [str(row["why"])] if "why" in row else []
    for wrong in row.get("wrong", ()):
        first = wrong["first"][0]
        said.append(
            f"result {wrong['result']}: {wrong['wrong']} of {wrong['of']} wrong, by "
            f"{wrong['largest']} at most; at {first['at']} {first['got']} for {first['wanted']}"
        )
    return said
