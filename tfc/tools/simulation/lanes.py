"""The clocks of all devices at once, and what has happened on them: events and sums.

Each device has three lanes, on which one thing happens after the other: kernels, in program order;
collectives and messages, in the order in which they begin; copies that run beside kernels.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

import numpy as np

from tfc.tools.simulation.network import Traffic

KERNELS, NETWORK, COPIES = 0, 1, 2  # the lanes: rows of `times`
LANES = ("kernels", "network", "copies")
_MOST_EVENTS = 50_000
_MOST_KEPT = 10_000_000  # numbers in all events: 80 MB
BUSY, SENDING, EXPOSED = 0, 1, 2  # rows of `sums`


@dataclass(frozen=True)
class Event:
    """What happens on a lane of the devices: f64[devices] seconds; where begin is NaN, nothing.

    kind: "kernel", "collective", "wait", "copy" or "loop".
    """

    name: str
    kind: str
    lane: int
    begin: np.ndarray
    end: np.ndarray
    about: dict[str, Hashable] = field(default_factory=dict)


class Lanes:
    """The state of a simulation.

    times: f64[lanes, devices]: when each lane is free. sums: f64[3, devices]: seconds in kernels,
    with messages under way, and waiting for these with no kernel running.
    runs: how often each kernel or collective has run, by what it is; seconds: in all.
    moved: how often each collective's traffic was sent.
    """

    def __init__(self, devices: int):
        self.devices = devices
        self.times = np.zeros((3, devices))
        self.sums = np.zeros((3, devices))
        self.runs: dict[Hashable, float] = {}
        self.events: list[Event] = []
        self.left_out = 0
        self._kept = 0
        self.traffic: dict[Hashable, Traffic] = {}

    def count(self, key: Hashable, times: float = 1.0) -> None:
        """Note that something has run so often."""
        self.runs[key] = self.runs.get(key, 0.0) + times

    def run(self, name: str, seconds: float, lane: int, about: dict[str, Hashable]) -> None:
        """A kernel, or a copy beside kernels, on all devices."""
        begin = np.maximum(self.times[lane], self.times[KERNELS])
        end = begin + seconds
        self.times[lane] = end
        if lane == KERNELS:
            self.sums[BUSY] += seconds
        self.record(Event(name, "kernel" if lane == KERNELS else "copy", lane, begin, end, about))

    def wait(self, name: str, until: np.ndarray, exposed: bool = True) -> None:
        """Kernels go on when something has ended, on devices where that is later."""
        now = self.times[KERNELS]
        late = until > now
        if not late.any():
            return
        if exposed:
            self.sums[EXPOSED] += np.where(late, until - now, 0.0)
        begin = np.where(late, now, np.nan)
        self.record(Event(f"wait for {name}", "wait", KERNELS, begin, until))
        self.times[KERNELS] = np.maximum(now, until)

    def record(self, event: Event) -> None:
        """Keep an event for the trace, unless there are very many."""
        begin, end = _compact(event.begin), _compact(event.end)
        self._kept += (begin.strides[0] + end.strides[0]) // 8 * self.devices
        if len(self.events) < _MOST_EVENTS and self._kept < _MOST_KEPT:
            self.events.append(replace(event, begin=begin, end=end))
        else:
            self.left_out += 1

    def snapshot(self) -> "Snapshot":
        """What `restore` and `repeat` need."""
        return Snapshot(self.times.copy(), self.sums.copy(), dict(self.runs), len(self.events))

    def restore(self, then: "Snapshot") -> None:
        """Be as it was."""
        self.times, self.sums = then.times.copy(), then.sums.copy()
        self.runs = dict(then.runs)
        del self.events[then.events :]

    def regular(self, then: "Snapshot") -> float | None:
        """The seconds since then, if all lanes of all devices are to each other as they were."""
        later, before = (np.maximum(times, times[KERNELS]) for times in (self.times, then.times))
        passed = later - before
        first = float(passed[0, 0])
        close = np.abs(passed - first).max() <= 1e-9 * max(first, 1e-12)
        return first if close else None

    def repeat(self, then: "Snapshot", seconds: float, times: int, name: str) -> None:
        """What has happened since then happens so often again, in so many seconds each."""
        begin = self.times[KERNELS].copy()
        self.times = np.maximum(self.times, self.times[KERNELS]) + seconds * times
        self.sums += (self.sums - then.sums) * times
        for key, count in self.runs.items():
            self.runs[key] = count + (count - then.runs.get(key, 0.0)) * times
        if seconds * times > 0:
            self.record(Event(name, "loop", KERNELS, begin, self.times[KERNELS].copy()))


@dataclass(frozen=True)
class Snapshot:
    """The state of lanes at one moment."""

    times: np.ndarray
    sums: np.ndarray
    runs: dict[Hashable, float]
    events: int


def _compact(times: np.ndarray) -> np.ndarray:
    """The same, as one number where all devices have the same time."""
    alike = len(times) > 1 and bool((times == times[0]).all())
    return np.broadcast_to(times[0].copy(), times.shape) if alike else times
