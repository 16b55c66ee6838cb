"""Clocks: the interpreter notes, for who asks, when each instruction of bytecode begins and ends.

A site is a place in the program, so what lies in a loop is recorded by one site many times: how
often, how long, and when for the first events. Site 0 times nothing: what it takes is what timing
itself adds to each. The records are those of bytecode_interpreter.c.
"""

import ctypes
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tfc.backends.interfaces import KernelTimes, TimedKernel
from tfc.errors import UnsupportedError
from tfc.hlo.ir import Instruction

MOST_EVENTS = 20_000


@dataclass(frozen=True)
class Site:
    """A place in a program where something is called for an instruction.

    function: the name of what is called; "" where bytes are copied, `copied` of them.
    """

    instruction: Instruction
    function: str
    copied: int = 0


class Clock(ctypes.Structure):
    """A clock and what it has measured, as the interpreter has it."""

    _fields_ = (
        ("get_time", ctypes.c_void_p),
        ("number", ctypes.c_int64),
        ("most_events", ctypes.c_int64),
        ("event_count", ctypes.c_int64),
        ("events", ctypes.c_void_p),
        ("totals", ctypes.c_void_p),
    )


class Times:
    """The clock of one program, and the memory for what it measures.

    Raises:
        UnsupportedError: this system has no such clock.
    """

    def __init__(self, sites: Sequence[Site]):
        self._sites = sites
        self._totals = np.zeros((len(sites) + 1, 2), np.int64)
        self._events = np.zeros((MOST_EVENTS, 3), np.int64)
        self.clock = Clock(
            get_time=_get_time(),
            number=time.CLOCK_MONOTONIC,
            most_events=MOST_EVENTS,
            events=self._events.ctypes.data,
            totals=self._totals.ctypes.data,
        )

    def forget(self) -> None:
        """Begin anew."""
        self._totals[:] = self.clock.event_count = 0

    def read(self, began: int, ended: int) -> KernelTimes:
        """What one run has recorded, less what timing itself takes."""
        empty = self._totals[0, 1] / max(self._totals[0, 0], 1)
        kernels = tuple(
            TimedKernel(s.instruction, s.function, s.copied, int(n), max(float(t - n * empty), 0.0))
            for s, (n, t) in zip(self._sites, self._totals[1:])
        )
        events = self._events[: self.clock.event_count]
        return KernelTimes(
            kernels, tuple((int(s) - 1, int(b), int(e)) for s, b, e in events), began, ended
        )


def _get_time() -> int | None:
    """The address of the C function that Python's time.monotonic_ns calls."""
    if not hasattr(time, "CLOCK_MONOTONIC"):
        raise UnsupportedError("kernels cannot be timed on this system: it has no clock_gettime")
    return ctypes.cast(ctypes.CDLL(None).clock_gettime, ctypes.c_void_p).value
