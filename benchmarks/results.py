"""What a run found, as values that go to a JSON file and come back the same."""

import json
import math
import statistics
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.protocol import BenchmarkError

OWN = "tfc"
XLA = "JAX"


@dataclass(frozen=True)
class Measured:
    """Seconds of one call, or of one compilation in a row that measures this.

    medians: of the samples of each process. A program may be fast in one process and slow in the
        next, by where its code and stack lie; within a process all samples tell the same.
    least: of all samples.
    compile_seconds: of the first compilation; None if the library has none.
    memory_bytes: what the first call needed beside its arguments; None if the system does not tell.
    """

    medians: list[float]
    least: float
    compile_seconds: float | None = None
    memory_bytes: int | None = None

    @property
    def median(self) -> float:
        """That of the processes' medians."""
        return statistics.median(self.medians)

    @property
    def spread(self) -> float:
        """The slowest process's median divided by the fastest one's."""
        return max(self.medians) / min(self.medians)

    def joined(self, other: "Measured") -> "Measured":
        """These samples and those of other processes."""
        return Measured(
            self.medians + other.medians,
            min(self.least, other.least),
            _least(self.compile_seconds, other.compile_seconds),
            _least(self.memory_bytes, other.memory_bytes),
        )


def _least(first: Any, second: Any) -> Any:
    """The smaller number of two that may be None."""
    return min((n for n in (first, second) if n is not None), default=None)


@dataclass(frozen=True)
class Row:
    """One case.

    amount, unit, limit: the work of a call, see `case.Work`; nothing if only the time matters.
    aims: see `case.Case`.
    peers: what was measured of each library, or why it was not; the libraries that the case is
        not stated for are absent.
    """

    family: str
    name: str
    amount: float
    unit: str
    limit: str
    aims: dict[str, float]
    peers: dict[str, Measured | str]

    def joined(self, other: "Row") -> "Row":
        """This row with the samples of other processes; who failed once has failed."""
        peers: dict[str, Measured | str] = {}
        for name, mine in self.peers.items():
            theirs = other.peers.get(name)
            if theirs is None:
                peers[name] = mine
            elif isinstance(mine, Measured):
                peers[name] = mine.joined(theirs) if isinstance(theirs, Measured) else theirs
            else:
                peers[name] = mine
        return replace(self, peers=peers)

    def contenders(self, far: float) -> list[str]:
        """tfc and the peers that took less than `far` times as long as the best of them."""
        times = {name: m.median for name, m in self.measured().items()}
        best = min((t for name, t in times.items() if name != OWN), default=0.0)
        return [name for name, t in times.items() if name == OWN or t < far * best]

    def measured(self) -> dict[str, Measured]:
        """The libraries that could be measured."""
        return {name: m for name, m in self.peers.items() if isinstance(m, Measured)}

    def ratio(self, peer: str) -> float | None:
        """How many times faster tfc is than a peer, or than the best of them: "best"."""
        times = {name: m.median for name, m in self.measured().items()}
        own = times.pop(OWN, None)
        other = min(times.values(), default=None) if peer == "best" else times.get(peer)
        return None if own is None or other is None else other / own

    def best_peer(self) -> str:
        """The fastest library beside tfc; "" if none was measured."""
        times = {name: m.median for name, m in self.measured().items() if name != OWN}
        return min(times, key=times.__getitem__, default="")

    def rate(self) -> float | None:
        """What tfc does of the work in a second."""
        own = self.measured().get(OWN)
        return self.amount / own.median if own and self.unit else None

    def share(self, limits: dict[str, float]) -> float | None:
        """The rate as a share of the machine's limit."""
        rate, limit = self.rate(), limits.get(self.limit)
        return None if rate is None or limit is None else rate / limit

    def missed(self, limits: dict[str, float]) -> list[str]:
        """The names of the aims that were measured and are not reached."""
        found = {name: self.share(limits) if name == "share" else self.ratio(name)
                 for name in self.aims}  # fmt: skip
        return [name for name, value in found.items() if value and value < self.aims[name]]


@dataclass(frozen=True)
class Run:
    """All rows of a run, and where it was.

    machine: the properties of the machine by name.
    versions: of each library that was asked for; "" if it is not installed.
    limits: operations or bytes a second, see limits.py.
    """

    machine: dict[str, str]
    versions: dict[str, str]
    threads: int
    quick: bool
    limits: dict[str, float]
    rows: list[Row]

    def mean(self, peer: str) -> tuple[float, int] | None:
        """The geometric mean of the ratios to a peer, or to the best; and of how many rows."""
        ratios = [r for row in self.rows if (r := row.ratio(peer)) is not None]
        if not ratios:
            return None
        return math.exp(sum(map(math.log, ratios)) / len(ratios)), len(ratios)

    def save(self, path: Path) -> None:
        """Write the run as JSON."""
        path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n", "utf-8")


def load(path: Path) -> Run:
    """A run that was saved.

    Raises:
        OSError: the file cannot be read.
        BenchmarkError: it holds no run.
    """
    try:
        data = json.loads(path.read_text("utf-8"))
        return Run(**{**data, "rows": list(_rows(data["rows"]))})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BenchmarkError(f"{path} holds no run: {error}") from None


def _rows(rows: Iterable[dict[str, Any]]) -> Iterable[Row]:
    for row in rows:
        peers = {n: p if isinstance(p, str) else Measured(**p) for n, p in row["peers"].items()}
        yield Row(**{**row, "peers": peers})
