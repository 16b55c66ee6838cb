"""Run a program's steps on the clocks of all devices, in the order of its text.

All devices run one program. A collective begins when the last of its group has come to it and is
done with messages that it sent before; kernels wait for it, unless it is a -start: then they wait
at its -done. Loops run as often as is known, or as the caller assumes; of a conditional's branches,
all devices take the one that takes longest.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

import numpy as np

from tfc.errors import TfcError
from tfc.hlo.attributes.replica_groups import device_groups, is_collective
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.loops.trip_counts import trip_count
from tfc.hlo.ops.control import branches
from tfc.hlo.ops.outside.communication import device_pairs
from tfc.hlo.shape import leaves
from tfc.hlo.text.printer import instruction_names
from tfc.passes.analysis.aliases import is_alias
from tfc.passes.analysis.called import Walk, run_walk
from tfc.passes.analysis.cost import has_kernel
from tfc.tools.simulation.lanes import COPIES, KERNELS, NETWORK, SENDING, Event, Lanes, Snapshot
from tfc.tools.simulation.network import Network, Traffic
from tfc.tools.simulation.speeds import Speeds
from tfc.tools.simulation.work import Work, kernel_work

_MOST_STEPS = 2_000_000
_LONGEST_PERIOD = 4  # iterations after which a loop is found to repeat itself


@dataclass
class Noted:
    """What was assumed: trip counts by loop, the branch taken by conditional, algorithms."""

    trips: dict[str, int] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    algorithms: dict[str, str] = field(default_factory=dict)


class Timeline:
    """One run of a module for so many replicas and partitions.

    Args:
        trips: how often loops run whose count is not known, by name; "" is for all others.
        overlaps: let collectives that are no -start be ones whose -done is before their first use.
    """

    def __init__(
        self,
        module: Module,
        counts: tuple[int, int],
        network: Network,
        speeds: Speeds,
        trips: Mapping[str, int],
        overlaps: bool,
    ):
        self.lanes, self.noted = Lanes(network.mesh.size), Noted()
        self.work: dict[Instruction, Work] = {}
        self._counts, self._network, self._speeds = counts, network, speeds
        self._trips, self._overlaps = trips, overlaps
        self._names: dict[Computation, Mapping[Instruction, str]] = {}
        self._pending: dict[Instruction, np.ndarray] = {}
        self._arrivals: dict[int, np.ndarray] = {}
        self._steps = 0
        # Devices beyond the machine's processors take turns. Of two that share a core each computes
        # more slowly, and meets the other no later than if both were alone.
        processors = speeds.processors or network.mesh.size
        self._turns = max(network.mesh.size / processors, 1.0)
        self._network_turns = max(network.mesh.size / ceil(processors), 1.0)
        self._entry = module.entry
        run_walk(self._computation(module.entry))

    # --- Computations -----------------------------------------------------------------------------

    def _computation(self, computation: Computation) -> Walk:
        for x in computation.instructions:
            self._steps += 1
            if self._steps > _MOST_STEPS:
                raise TfcError(
                    f"the program takes more than {_MOST_STEPS} steps: state fewer iterations"
                )
            if self._overlaps and not is_alias(x):
                self._wait_for_operands(x)
            match x.opcode:
                case "while":
                    yield self._while(x, computation)
                case "conditional":
                    yield self._conditional(x, computation)
                case "call":
                    yield self._computation(x["to_apply"])
                case _:
                    self._step(x, computation)
        if self._overlaps:
            for x in computation.instructions:
                if x in self._pending and is_collective(x) and "-start" not in x.opcode:
                    self._done(x, self.name(x, computation))

    def _while(self, loop: Instruction, computation: Computation) -> Walk:
        name = self.name(loop, computation)
        count = self._trip_count(loop, name)
        yield self._computation(loop["condition"])
        lanes, done = self.lanes, 0
        before: list[Snapshot] = [lanes.snapshot()]
        while done < count:
            yield self._computation(loop["body"])
            yield self._computation(loop["condition"])
            done += 1
            for period, then in enumerate(reversed(before), 1):
                seconds = lanes.regular(then)
                if seconds is not None and done < count:
                    times = (count - done) // period
                    left = times * period
                    lanes.repeat(then, seconds, times, f"{name}: {left} more iterations")
                    done += left
                    break
            before = [*before[1 - _LONGEST_PERIOD :], lanes.snapshot()]

    def _trip_count(self, loop: Instruction, name: str) -> int:
        known = trip_count(loop)
        if known is not None:
            return known
        stated = self._trips.get(loop.name, self._trips.get(""))
        if stated is None:
            raise TfcError(
                f"how often the loop {name} runs is not known: state it by --trips {loop.name}=N, "
                f"or for all such loops by --trips N"
            )
        self.noted.trips[name] = stated
        return stated

    def _conditional(self, x: Instruction, computation: Computation) -> Walk:
        """The branch at whose end the last device has come latest."""
        before = self.lanes.snapshot()
        found: list[tuple[float, Snapshot, list[Event]]] = []
        for branch in branches(x):
            yield self._computation(branch)
            end = float(self.lanes.times[KERNELS].max())
            found.append((end, self.lanes.snapshot(), self.lanes.events[before.events :]))
            self.lanes.restore(before)
        longest = max(range(len(found)), key=lambda n: found[n][0])
        _, then, events = found[longest]
        self.lanes.restore(then)
        self.lanes.events += events
        self.noted.branches[self.name(x, computation)] = branches(x)[longest].name

    # --- Steps ------------------------------------------------------------------------------------

    def _step(self, x: Instruction, computation: Computation) -> None:
        name = self.name(x, computation)
        if x.opcode.endswith("-done"):
            self._done(x.operands[0], name, x)
        elif x.opcode.endswith("-update"):
            self._pending[x] = self._started(x.operands[0], name)
        elif x.opcode.endswith("-start"):
            self._start(x, name)
        elif is_collective(x):
            self._pending[x] = self._meet(x, name)
            if not self._overlaps:
                self._done(x, name)
        elif x.opcode in ("send", "recv") and not x.attributes.get("is_host_transfer", False):
            self._message(x, name)
        elif has_kernel(x):
            work = self._work(x, computation)
            about = {"operations": work.operations, "bytes": work.bytes, "limit": work.limit}
            self.lanes.run(name, work.seconds * self._turns, KERNELS, about)
            self.lanes.count(("kernel", name, x.opcode))
            self.lanes.count(("kernel seconds", name), work.seconds * self._turns)

    def _work(self, x: Instruction, computation: Computation) -> Work:
        if x not in self.work:
            self.work[x] = kernel_work(x, computation, self._speeds)
        return self.work[x]

    def _start(self, x: Instruction, name: str) -> None:
        if x.opcode == "copy-start":
            size = 2 * sum(s.byte_size for s in leaves(x.operands[0].shape))
            self._beside(x, name, self._speeds.memory_seconds(size) if size else 0.0)
        elif x.opcode == "async-start":
            called = x["calls"].instructions
            meeting = [inner for inner in called if is_collective(inner)]
            for inner in meeting:
                self._pending[x] = self._meet(inner, name)
            if not meeting:
                works = [self._work(i, x["calls"]) for i in called if has_kernel(i)]
                self._beside(x, name, sum(w.seconds for w in works))
        else:
            self._pending[x] = self._meet(x, name)

    def _beside(self, x: Instruction, name: str, seconds: float) -> None:
        self.lanes.run(name, seconds * self._turns, COPIES, {})
        self.lanes.count(("copy", name, x.opcode))
        self.lanes.count(("copy seconds", name), seconds * self._turns)
        self._pending[x] = self.lanes.times[COPIES].copy()

    def _started(self, start: Instruction, name: str) -> np.ndarray:
        if start not in self._pending:
            raise TfcError(f"{name} waits for what was not started in the same computation")
        return self._pending.pop(start)

    def _done(self, start: Instruction, name: str, x: Instruction | None = None) -> None:
        if x is not None and x.opcode == "recv-done" and start in self._pending:
            channel = start.attributes.get("channel_id", 0)
            if channel not in self._arrivals:
                raise TfcError(f"{name} waits for a message that is sent after it, or never")
            self._pending[start] = self._arrivals[channel]
        elif x is not None and x.attributes.get("is_host_transfer", False):
            return
        self.lanes.wait(name, self._started(start, name))

    def _wait_for_operands(self, x: Instruction) -> None:
        """Under `overlaps`: wait for the collectives whose results an instruction reads."""
        if not self._pending:
            return
        waiting, seen = list(x.operands), set[Instruction]()
        while waiting:
            operand = waiting.pop()
            if operand in seen:
                continue
            seen.add(operand)
            if operand in self._pending and is_collective(operand):
                if "-start" not in operand.opcode:
                    self._done(operand, operand.name)
            elif is_alias(operand):
                waiting += operand.operands

    # --- The network ------------------------------------------------------------------------------

    def _meet(self, x: Instruction, name: str) -> np.ndarray:
        """A collective: when each device has its result."""
        kind = x.opcode.removesuffix("-start")
        if kind == "collective-permute":
            size = sum(o.array_shape.byte_size for o in x.operands)
            return self._transfer(x, name, self._permuted(x), size)
        groups = device_groups(x, *self._counts)
        size = _size(x, kind, len(groups[0]) if groups else 1)
        made = self._network.exchange(kind, size, groups)
        self.noted.algorithms[name] = made.algorithm
        now = np.maximum(self.lanes.times[KERNELS], self.lanes.times[NETWORK])
        begin, end = np.full(len(now), np.nan), self.lanes.times[KERNELS].copy()
        by_length: dict[int, list[int]] = {}
        for number, group in enumerate(groups):
            by_length.setdefault(len(group), []).append(number)
        for numbers in by_length.values():
            devices = np.array([groups[n] for n in numbers], np.int64)
            first = now[devices].max(1)
            seconds = made.seconds[numbers] * self._network_turns + self._speeds.launch
            begin[devices] = first[:, None]
            end[devices] = (first + seconds)[:, None]
        about = {"bytes": size, "algorithm": made.algorithm, "groups": len(groups)}
        self._sent(x, name, begin, end, made.traffic, about)
        return end

    def _permuted(self, x: Instruction) -> list[tuple[int, int]]:
        """The pairs of devices; a group's numbers are partitions if there is a channel."""
        device_groups(x, *self._counts)  # what is wrong with them is said there
        return _devices(x["source_target_pairs"], self._counts, x.attributes.get("channel_id", 0))

    def _message(self, x: Instruction, name: str) -> None:
        pairs = device_pairs(x)
        if pairs is None:
            raise TfcError(
                f"{x.opcode} {name} must say between which devices: "
                "frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}"
            )
        if x.opcode == "recv":
            self._pending[x] = self.lanes.times[KERNELS].copy()
            return
        devices = _devices(pairs, self._counts, int(self._counts[1] > 1))
        if any(not 0 <= d < self.lanes.devices for pair in devices for d in pair):
            raise TfcError(f"{x.opcode} {name} names a device that the mesh does not have")
        self._post(x, name, devices, x.operands[0].array_shape.byte_size)

    def _transfer(
        self, x: Instruction, name: str, pairs: Sequence[tuple[int, int]], size: int
    ) -> np.ndarray:
        """Messages between pairs that both wait for: when each device has sent and received."""
        now = np.maximum(self.lanes.times[KERNELS], self.lanes.times[NETWORK])
        begin, end = np.full(len(now), np.inf), self.lanes.times[KERNELS].copy()
        if not pairs:
            return end
        sources, targets, seconds, traffic = self._network.transfers(tuple(pairs), size)
        first = np.maximum(now[sources], now[targets])
        last = first + seconds * self._network_turns + self._speeds.launch
        for ends in (sources, targets):
            np.minimum.at(begin, ends, first)
            np.maximum.at(end, ends, last)
        begin[np.isinf(begin)] = np.nan
        self._sent(x, name, begin, end, traffic, {"bytes": size, "pairs": len(pairs)})
        return end

    def _post(self, x: Instruction, name: str, pairs: Sequence[tuple[int, int]], size: int) -> None:
        """Messages that begin when their sources are ready, and are waited for at their end."""
        now = np.maximum(self.lanes.times[KERNELS], self.lanes.times[NETWORK])
        begin, end = np.full(len(now), np.nan), self.lanes.times[KERNELS].copy()
        arrivals = end.copy()
        if pairs:
            sources, targets, seconds, traffic = self._network.transfers(tuple(pairs), size)
            last = now[sources] + seconds * self._network_turns + self._speeds.launch
            begin[sources], end[sources], arrivals[targets] = now[sources], last, last
            self._sent(x, name, begin, end, traffic, {"bytes": size, "pairs": len(pairs)})
        self._pending[x] = end
        self._arrivals[x.attributes.get("channel_id", 0)] = arrivals

    def _sent(
        self,
        x: Instruction,
        name: str,
        begin: np.ndarray,
        end: np.ndarray,
        traffic: Traffic,
        about: dict[str, Hashable],
    ) -> None:
        """Note what was on the network from when to when; NaN where a device has no part."""
        takes_part = ~np.isnan(begin)
        seconds = np.where(takes_part, end - begin, 0.0)
        self.lanes.times[NETWORK] = np.where(takes_part, end, self.lanes.times[NETWORK])
        self.lanes.sums[SENDING] += seconds
        self.lanes.record(Event(name, "collective", NETWORK, begin, end, about))
        self.lanes.traffic[name] = traffic
        self.lanes.count(("collective", name, x.opcode.removesuffix("-start")))
        self.lanes.count(("collective seconds", name), float(seconds.max()))

    def name(self, x: Instruction, computation: Computation) -> str:
        """An instruction's name, after that of its computation unless that is the entry."""
        if computation not in self._names:
            self._names[computation] = instruction_names(computation)
        own = self._names[computation].get(x, x.name)
        return own if computation is self._entry else f"{computation.name}/{own}"


def _devices(
    pairs: Sequence[Sequence[int]], counts: tuple[int, int], channel: int
) -> list[tuple[int, int]]:
    """Pairs of partitions in each replica, or without a channel of replicas at each partition."""
    replicas, partitions = counts
    if channel > 0:
        return [(r * partitions + a, r * partitions + b) for r in range(replicas) for a, b in pairs]
    return [(a * partitions + p, b * partitions + p) for p in range(partitions) for a, b in pairs]


def _size(x: Instruction, kind: str, members: int) -> int:
    """The bytes that a collective is of, as `algorithms` counts them."""
    operands = sum(s.byte_size for o in x.operands for s in leaves(o.shape))
    return operands * members if kind == "all-gather" else operands
