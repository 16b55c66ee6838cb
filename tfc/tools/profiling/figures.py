"""What a profile shows of kernels on a GPU beside their times, or instead of them."""

from tfc.backends.interfaces import LaunchFigures

RUNNING = ("blocks", "threads", "registers", "shared", "occupancy")
COUNTED = ("instructions", "sectors", "ideal sectors", "bank conflicts", "divergent branches")
NOT_TIMED = "counted on an interpreter of PTX: there is no GPU here whose time could be measured"


def running_cells(figures: LaunchFigures | None) -> tuple[str, ...]:
    """How a kernel runs, as text under RUNNING; nothing for a copy."""
    if figures is None:
        return ("",) * len(RUNNING)
    known = figures.occupancy is not None
    return (
        str(figures.blocks),
        str(figures.threads),
        str(figures.registers) if known else "",
        str(figures.shared),
        f"{figures.occupancy:.0%}" if figures.occupancy is not None else "",
    )


def counted_cells(figures: LaunchFigures | None) -> tuple[str, ...]:
    """What was counted, as text under COUNTED."""
    counts = figures.counts if figures is not None else {}
    return tuple(str(counts[name]) if name in counts else "" for name in COUNTED)
