"""What a run tells of itself: RunMetadata, and the timeline that chrome://tracing shows of it.

metadata = RunMetadata()
session.run(y, options=RunOptions(trace_level=RunOptions.FULL_TRACE), run_metadata=metadata)
text = Timeline(metadata.step_stats).generate_chrome_trace_format()
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tfc.errors import TraceError
from tfc.graph.running.recording import Event


@dataclass
class NodeExecStats:
    """When an operation ran; of a compiled cluster, its launch.

    node_name: of a cluster, its title. timeline_label: what it is: `y = Add(…)`.
    all_start_micros: since the epoch; the others count from there.
    """

    node_name: str
    timeline_label: str
    all_start_micros: int
    op_end_rel_micros: int
    all_end_rel_micros: int
    thread_id: int
    op_start_rel_micros: int = 0


@dataclass
class DeviceStepStats:
    """What ran on a device."""

    device: str
    node_stats: list[NodeExecStats] = field(default_factory=list)


@dataclass
class StepStats:
    """What ran, by device."""

    dev_stats: list[DeviceStepStats] = field(default_factory=list)


@dataclass
class RunMetadata:
    """What a run fills in as its options ask.

    step_stats: what ran when.
    partition_graphs: the graph, as all of it is on one device, if the options ask for it.
    """

    step_stats: StepStats = field(default_factory=StepStats)
    partition_graphs: list[Any] = field(default_factory=list)


def step_stats(device: str, events: Sequence[Event]) -> StepStats:
    """The events of a run as statistics."""
    found = DeviceStepStats(device)
    for event in events:
        start, end = event.began // 1000, event.ended // 1000
        length = max(end - start, 1)
        label = f"{event.name} = {event.kind}()"
        found.node_stats.append(
            NodeExecStats(event.name, label, start, length, length, event.thread)
        )
    return StepStats([found])


class Timeline:
    """The statistics of a run, as a trace of events.

    graph: of no use here.
    """

    def __init__(self, step_stats: StepStats, graph: Any = None):
        if not isinstance(step_stats, StepStats):
            raise TraceError(f"a timeline is of a run's step_stats, got {step_stats!r}")
        self._stats = step_stats

    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False, op_time: str = "schedule"
    ) -> str:
        """The trace as JSON: an event for each cluster, `_XlaLaunch`, and for each operation."""
        events: list[dict[str, Any]] = []
        for number, device in enumerate(self._stats.dev_stats):
            name = {"name": f"{device.device} Compute"}
            events.append({"name": "process_name", "ph": "M", "pid": number, "args": name})
            for node in device.node_stats:
                kind = node.timeline_label.rpartition(" = ")[2].removesuffix("()")
                events.append(
                    {
                        "ph": "X",
                        "cat": "Op",
                        "name": kind,
                        "pid": number,
                        "tid": 0,
                        "ts": node.all_start_micros,
                        "dur": node.all_end_rel_micros,
                        "args": {"name": node.node_name, "op": kind},
                    }
                )
        return json.dumps({"traceEvents": events}, indent=4, separators=(",", ": "))
