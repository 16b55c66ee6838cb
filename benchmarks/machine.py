"""What the figures belong to: the processor and the system."""

import os
import platform
import re
from pathlib import Path

from tfc.backends.target import Target


def available_cores() -> set[int]:
    """The numbers of the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def describe() -> dict[str, str]:
    """The properties of this machine by name."""
    target = Target.host()
    caches = (("L1", target.l1_bytes), ("L2", target.l2_bytes), ("L3", target.l3_bytes))
    return {
        "processor": _model() or platform.processor() or platform.machine(),
        "cores": str(len(available_cores())),
        "vectors": f"{target.lanes(32) * 32} bits",
        "caches": ", ".join(f"{name} {size >> 10} KiB" for name, size in caches),
        "system": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
    }


def _model() -> str:
    """The processor's family and name, where the system has such a file."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""
    fields = dict(re.findall(r"^(model name|cpu family|model)\s*:\s*(.*)$", text, re.MULTILINE))
    name = fields.get("model name", "")
    numbers = [f"{key} {fields[key]}" for key in ("cpu family", "model") if key in fields]
    return f"{name} ({', '.join(numbers)})" if name and numbers else name
