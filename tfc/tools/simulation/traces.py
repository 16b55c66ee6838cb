"""A simulation in Trace Event Format, which Perfetto and chrome://tracing show: JSON.

A process stands for devices on which the same happens at the same times, named by their numbers;
its threads are the lanes.
"""

import json
from typing import Any

import numpy as np

from tfc.tools.simulation.lanes import LANES
from tfc.tools.simulation.results import Simulation

_MOST_PROCESSES = 64


def chrome_trace(simulation: Simulation) -> str:
    """The events of a simulation; of more than 64 kinds of devices, those of the first 64."""
    shown = simulation.classes[:_MOST_PROCESSES]
    spans: list[dict[str, Any]] = []
    for shown_class in shown:
        first = shown_class.devices[0]
        spans.append(_name("process", first, 0, f"devices {shown_class}"))
        spans += [_name("thread", first, lane, name) for lane, name in enumerate(LANES)]
    for event in simulation.lanes.events:
        for shown_class in shown:
            first = shown_class.devices[0]
            begin, end = event.begin[first], event.end[first]
            if np.isnan(begin):
                continue
            spans.append({
                "name": event.name, "cat": event.kind, "ph": "X",
                "ts": float(begin) * 1e6, "dur": float(end - begin) * 1e6,
                "pid": first, "tid": event.lane, "args": event.about,
            })  # fmt: skip
    about = {
        "module": simulation.name,
        "mesh": str(simulation.mesh),
        "speeds": simulation.speeds.name,
        "events left out": simulation.lanes.left_out,
        "kinds of devices left out": len(simulation.classes) - len(shown),
    }
    return json.dumps({"traceEvents": spans, "displayTimeUnit": "ns", "otherData": about})


def _name(kind: str, process: int, lane: int, name: str) -> dict[str, Any]:
    return {
        "name": f"{kind}_name", "ph": "M", "pid": process, "tid": lane, "args": {"name": name},
    }  # fmt: skip
