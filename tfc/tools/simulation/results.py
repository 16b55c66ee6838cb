"""What a simulation found: as a text, as JSON, as a trace."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from tfc.tools.simulation.lanes import BUSY, EXPOSED, KERNELS, SENDING, Lanes
from tfc.tools.simulation.memory import Memory
from tfc.tools.simulation.mesh import DeviceMesh
from tfc.tools.simulation.network import Network, Traffic, pairs_of
from tfc.tools.simulation.speeds import Speeds
from tfc.tools.simulation.timeline import Noted

_MOST_PAIRS = 20_000  # in JSON


@dataclass(frozen=True)
class Step:
    """A kernel, a collective or a copy beside kernels: how often it ran, and seconds in all.

    seconds: those on the device where it took longest.
    """

    name: str
    kind: str
    opcode: str
    runs: float
    seconds: float


@dataclass(frozen=True)
class Class:
    """Devices on which the same happens at the same times."""

    devices: tuple[int, ...]

    def __str__(self) -> str:
        ranges: list[list[int]] = []
        for device in self.devices:
            if ranges and ranges[-1][1] == device - 1:
                ranges[-1][1] = device
            else:
                ranges.append([device, device])
        return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


@dataclass(frozen=True)
class Simulation:
    """One run of a program on the devices of a mesh.

    passes: whose passes made its kernels; "none" if it was taken as it is.
    traffic: the bytes from device to device.
    """

    name: str
    mesh: DeviceMesh
    speeds: Speeds
    passes: str
    lanes: Lanes = field(repr=False)
    steps: tuple[Step, ...] = field(repr=False)
    traffic: Traffic = field(repr=False)
    memory: Memory = field(repr=False)
    noted: Noted = field(repr=False)
    network: Network = field(repr=False)

    @property
    def device_seconds(self) -> np.ndarray:
        """f64[devices]: when the last thing on each device has ended."""
        return self.lanes.times.max(0)

    @property
    def seconds(self) -> float:
        """When the last device has ended."""
        return float(self.device_seconds.max())

    @property
    def kernel_seconds(self) -> float:
        """In kernels, on the device where that is most."""
        return float(self.lanes.sums[BUSY].max())

    @property
    def collective_seconds(self) -> float:
        """With collectives or messages under way, on the device where that is most."""
        return float(self.lanes.sums[SENDING].max())

    @property
    def exposed_seconds(self) -> float:
        """Waiting for these and for other devices, with no kernel running, where that is most."""
        return float(self.lanes.sums[EXPOSED].max())

    @property
    def fits(self) -> bool:
        """Whether a device has the memory, as far as the table says."""
        return self.memory.total <= self.speeds.capacity

    def link_bytes(self) -> dict[str, float]:
        """The bytes that all devices send, by the name of the link."""
        found: dict[str, float] = {}
        if len(self.traffic.keys):
            numbers = self.network.link_numbers(*pairs_of(self.traffic))
            for number in np.unique(numbers):
                name = self.network.link(int(number)).name
                sent = float(self.traffic.sizes[numbers == number].sum())
                found[name] = found.get(name, 0.0) + sent
        return found

    @cached_property
    def classes(self) -> tuple[Class, ...]:
        """The devices, those together on which the same happens at the same times."""
        ids = np.zeros(self.mesh.size, np.int64)
        vectors = [self.lanes.times[KERNELS], *(v for e in self.lanes.events
                   for v in (e.begin, e.end) if v.strides[0])]  # fmt: skip
        for vector in vectors:
            _, own = np.unique(np.nan_to_num(vector, nan=-1.0), return_inverse=True)
            _, ids = np.unique(ids * (own.max() + 1) + own, return_inverse=True)
            if ids.max() == self.mesh.size - 1:
                break
        order = np.argsort(ids, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(ids[order])) + 1)
        return tuple(sorted((Class(tuple(p.tolist())) for p in parts), key=lambda c: c.devices))

    def to_json(self) -> str:
        """All figures but the events."""
        return json.dumps(self._document(), indent=1)

    def _document(self) -> dict[str, Any]:
        sources, targets = pairs_of(self.traffic)
        few = len(sources) <= _MOST_PAIRS
        count = self.mesh.size
        ports = (
            np.bincount(ends, self.traffic.sizes, count).tolist() for ends in (sources, targets)
        )
        seconds, sizes = self.device_seconds, self.traffic.sizes
        return {
            "module": self.name,
            "mesh": dict(zip(self.mesh.names, self.mesh.sizes)),
            "speeds": self.speeds.name,
            "passes": self.passes,
            "seconds": self.seconds,
            "kernel_seconds": self.kernel_seconds,
            "collective_seconds": self.collective_seconds,
            "exposed_seconds": self.exposed_seconds,
            "memory": {
                "arguments": self.memory.arguments,
                "constants": self.memory.constants,
                "temporaries": self.memory.temporaries,
                "total": self.memory.total,
                "capacity": None if self.speeds.capacity == inf else self.speeds.capacity,
            },
            "devices": [
                {
                    "devices": list(c.devices),
                    "seconds": float(seconds[c.devices[0]]),
                    "kernel_seconds": float(self.lanes.sums[BUSY, c.devices[0]]),
                    "collective_seconds": float(self.lanes.sums[SENDING, c.devices[0]]),
                    "exposed_seconds": float(self.lanes.sums[EXPOSED, c.devices[0]]),
                }
                for c in self.classes
            ],
            "steps": [
                {"name": s.name, "kind": s.kind, "opcode": s.opcode, "runs": s.runs,
                 "seconds": s.seconds, "algorithm": self.noted.algorithms.get(s.name)}
                for s in self.steps
            ],
            "links": self.link_bytes(),
            "sent": next(ports),
            "received": next(ports),
            # Of very many pairs, what each device sends and receives says enough.
            "pairs": [
                {"source": a, "target": b, "bytes": size}
                for a, b, size in zip(sources.tolist(), targets.tolist(), sizes.tolist())
            ] if few else None,
            "assumed": {"trips": self.noted.trips, "branches": self.noted.branches},
        }  # fmt: skip

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        share = self.exposed_seconds / self.seconds if self.seconds else 0.0
        yield f"{self.name} on {self.mesh} ({self.mesh.size} devices) of {self.speeds.name}"
        yield f"time         {_time(self.seconds)}"
        yield f"kernels      {_time(self.kernel_seconds)}"
        yield f"collectives  {_time(self.collective_seconds)}, {_time(self.exposed_seconds)} " \
              f"not hidden ({share:.1%} of the time)"  # fmt: skip
        limit = "" if self.fits else f", more than the {_size(self.speeds.capacity)} of a device"
        yield (
            f"memory       {_size(self.memory.total)} on each device: arguments "
            f"{_size(self.memory.arguments)}, constants {_size(self.memory.constants)}, "
            f"values {_size(self.memory.temporaries)}{limit}"
        )
        for name, sent in self.link_bytes().items():
            yield f"over {name}: {_size(sent)} in all, {_size(sent / self.mesh.size)} a device"
        for name, count in self.noted.trips.items():
            yield f"assumed: {name} runs {count} times"
        for name, branch in self.noted.branches.items():
            yield f"assumed: {name} takes its longest branch, {branch}"


def _time(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3f} {unit}"
    return f"{seconds / 1e-9:.3f} ns" if seconds else "0 s"


def _size(count: float) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.2f} {unit}"
    return f"{count:.0f} B"
