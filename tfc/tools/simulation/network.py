"""Which link joins two devices, and how long the messages of a collective take on their links.

A device sends what it has for one round over its link one message after the other, and receives
likewise; both at one time. So a round takes the latency, and the bytes that the busiest device
sends or receives by the bandwidth. Links are those of devices to the network, which itself is
taken to have capacity for them all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tfc.errors import TfcError
from tfc.tools.simulation.algorithms import Rounds, offered, rounds_of
from tfc.tools.simulation.mesh import DeviceMesh
from tfc.tools.simulation.speeds import Link, Speeds

_BITS = 16  # of the number of a device


@dataclass(frozen=True)
class Traffic:
    """Bytes between pairs of devices: `keys` are source << 16 | target, each once."""

    keys: np.ndarray
    sizes: np.ndarray


@dataclass(frozen=True)
class Exchange:
    """One collective among groups of devices.

    seconds: f64[groups], from when the last of a group has come.
    """

    algorithm: str
    seconds: np.ndarray
    traffic: Traffic


@dataclass(frozen=True)
class _Messages:
    sources: np.ndarray
    targets: np.ndarray
    sizes: np.ndarray
    count: int


class Network:
    """The links of a mesh."""

    def __init__(self, mesh: DeviceMesh, speeds: Speeds):
        self.mesh, self._speeds = mesh, speeds
        for link in speeds.links:
            if link.axis and link.axis not in mesh.names:
                listed = ", ".join(mesh.names)
                raise TfcError(
                    f"the link {link.name} is of an axis '{link.axis}', and the mesh has {listed}"
                )
        self._known: dict[tuple[str, float, Sequence[Sequence[int]]], Exchange] = {}

    def link_numbers(self, sources: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Which of the table's links joins each source with its target, by number.

        Raises:
            TfcError: none does.
        """
        found = np.full(len(sources), -1)
        differs = self.mesh.coordinates[sources] != self.mesh.coordinates[targets]
        for number, link in enumerate(self._speeds.links):
            joins = found < 0
            if link.axis:
                axis = self.mesh.names.index(link.axis)
                joins &= differs[:, axis] & (differs.sum(1) == 1)
            if link.devices is not None:
                joins &= sources // link.devices == targets // link.devices
            found[joins] = number
        if (found < 0).any():
            first = int(np.argmax(found < 0))
            raise TfcError(
                f"the speeds of {self._speeds.name} have no link between the devices "
                f"{sources[first]} and {targets[first]}"
            )
        return found

    def link(self, number: int) -> Link:
        """A link of the table."""
        return self._speeds.links[number]

    def exchange(self, kind: str, size: float, groups: Sequence[Sequence[int]]) -> Exchange:
        """A collective of so many bytes among groups, by the table's algorithm for it.

        Raises:
            TfcError: there is no such algorithm, or no link.
        """
        key = kind, size, groups
        if key not in self._known:
            self._known[key] = self._exchange(kind, size, groups)
        return self._known[key]

    def _exchange(self, kind: str, size: float, groups: Sequence[Sequence[int]]) -> Exchange:
        wanted = self._speeds.algorithms.get(kind, "fastest")
        largest = max((len(g) for g in groups), default=1)
        names = [wanted] if wanted != "fastest" else [
            name for name in offered(kind) if name != "direct" or largest <= 64
        ]  # fmt: skip
        found = [self._by(name, kind, size, groups) for name in names]
        best = min(found, key=lambda made: made[0].max(initial=0.0))
        seconds, messages, algorithm = best
        return Exchange(algorithm, seconds, _traffic(messages))

    def _by(
        self, algorithm: str, kind: str, size: float, groups: Sequence[Sequence[int]]
    ) -> tuple[np.ndarray, list[_Messages], str]:
        """The seconds of each group, and all messages."""
        seconds = np.zeros(len(groups))
        messages: list[_Messages] = []
        for members in {len(g) for g in groups}:
            chosen = [n for n, g in enumerate(groups) if len(g) == members]
            devices = np.array([groups[n] for n in chosen], np.int64)
            block = self._block(devices) if algorithm == "hierarchical" else 1
            rounds = rounds_of(kind, algorithm, members, size, block)
            made = _between(rounds, devices)
            messages += made
            seconds[chosen] = sum(
                (m.count * self._round_seconds(m)[devices].max(1) for m in made),
                np.zeros(len(chosen)),
            )
        return seconds, messages, algorithm

    def _block(self, devices: np.ndarray) -> int:
        """How many neighbours in each group the same link joins, as that of the first two."""
        count = devices.shape[1]
        best = 1
        for block in (b for b in range(2, count) if count % b == 0):
            rows = devices.reshape(-1, block)
            sources = np.repeat(rows[:, :1], block - 1, axis=1).ravel()
            numbers = self.link_numbers(sources, rows[:, 1:].ravel())
            if (numbers != numbers[0]).any():
                break
            best = block
        return best

    def _round_seconds(self, messages: _Messages) -> np.ndarray:
        """f64[devices]: how long each device is busy with a round's messages."""
        count = self.mesh.size
        numbers = self.link_numbers(messages.sources, messages.targets)
        links = self._speeds.links
        bandwidth = np.array([link.bandwidth for link in links])[numbers]
        latency = np.array([link.latency for link in links])[numbers]
        busy = messages.sizes / bandwidth
        sent = np.bincount(messages.sources, busy, count)
        received = np.bincount(messages.targets, busy, count)
        late = np.zeros(count)
        np.maximum.at(late, messages.sources, latency)
        np.maximum.at(late, messages.targets, latency)
        return late + np.maximum(sent, received)

    def transfers(
        self, pairs: Sequence[tuple[int, int]], size: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, Traffic]:
        """Messages of so many bytes: sources, targets, seconds, and their traffic."""
        sources, targets = (np.array(ends, np.int64) for ends in zip(*pairs))
        numbers = np.zeros(len(pairs), np.int64)
        away = sources != targets
        seconds = np.zeros(len(pairs))
        if away.any():
            numbers = self.link_numbers(sources[away], targets[away])
            links = [self._speeds.links[n] for n in numbers]
            seconds[away] = [link.latency + size / link.bandwidth for link in links]
        seconds[~away] = self._speeds.memory_seconds(2 * size) if size else 0.0
        made = _Messages(sources[away], targets[away], np.full(away.sum(), float(size)), 1)
        return sources, targets, seconds, _traffic([made])


def _between(rounds: Rounds, devices: np.ndarray) -> list[_Messages]:
    """The messages of all groups in each round."""
    return [
        _Messages(
            devices[:, r.sources].ravel(),
            devices[:, r.targets].ravel(),
            np.tile(r.sizes, len(devices)),
            r.count,
        )
        for r in rounds
    ]


def _traffic(messages: Sequence[_Messages]) -> Traffic:
    if not messages:
        return Traffic(np.zeros(0, np.int64), np.zeros(0))
    keys = np.concatenate([m.sources << _BITS | m.targets for m in messages])
    sizes = np.concatenate([m.sizes * m.count for m in messages])
    return total_traffic([(keys, sizes, 1.0)])


def total_traffic(parts: Sequence[tuple[np.ndarray, np.ndarray, float]]) -> Traffic:
    """The sum of (keys, sizes, how often)."""
    if not parts:
        return Traffic(np.zeros(0, np.int64), np.zeros(0))
    keys = np.concatenate([p[0] for p in parts])
    sizes = np.concatenate([p[1] * p[2] for p in parts])
    different, places = np.unique(keys, return_inverse=True)
    return Traffic(different, np.bincount(places, sizes, len(different)))


def pairs_of(traffic: Traffic) -> tuple[np.ndarray, np.ndarray]:
    """The sources and the targets of traffic."""
    return traffic.keys >> _BITS, traffic.keys & ((1 << _BITS) - 1)
