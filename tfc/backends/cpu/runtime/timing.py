"""Clocks in the code: a variant of a program that notes when each of its steps begins and ends.

    begin = now()                                nanoseconds
    …                                            what the step does
    NAME.record(site, begin, now())              counts, adds up, and keeps the first events

A site is a place in the program, so what lies in a loop is recorded by one site many times. All is
kept in one global array of i64, `NAME.times`:

    [count and total of each site …, the number of events, (site, begin, end) of each event …]

Site 0 times nothing: what it takes is what timing itself adds to each.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import llvmlite.ir as ir
import numpy as np

from tfc.backends.cpu.runtime.code import I32, I64, VOID, Code, function
from tfc.backends.interfaces import KernelTimes, TimedKernel
from tfc.errors import UnsupportedError
from tfc.hlo.ir import Instruction

MOST_EVENTS = 20_000
_EMPTY = 64  # how often the empty site is timed in each run


@dataclass(frozen=True)
class Site:
    """A place in a program where something is called for an instruction.

    function: the name of what is called; "" where bytes are copied, `copied` of them.
    """

    instruction: Instruction
    function: str
    copied: int = 0


class Clock:
    """Emits the timing of one program that has so many sites."""

    def __init__(self, name: str, sites: int):
        self.name, self.count = name, sites + 1
        self._place: Any = None  # two words on the stack

    @property
    def memory(self) -> str:
        """The LLVM IR that defines the array."""
        return f'@"{self.name}.times" = global [{times_size(self.count - 1)} x i64] zeroinitializer'

    def define(self, module: Any) -> None:
        """Define what `record` calls."""
        types = [I64, I64, I64]
        with function(module, f"{self.name}.record", types, VOID, internal=True) as (code, fields):
            site, begin, end = fields
            times = code.symbol(f"{self.name}.times")
            for number, value in ((0, 1), (1, code.subtract(end, begin))):
                total = code.field(code.row(times, site, 2), number)
                total.set(code.add(total.get(), value))
            events = code.field(times, 2 * self.count)
            known = events.get()
            is_kept = code.compare("<", known, MOST_EVENTS)
            with code.when(code.both(is_kept, code.compare("!=", site, 0))):
                event = code.row(code.place(times, 2 * self.count + 1), known, 3)
                for number, value in enumerate(fields):
                    code.put(value, event, number)
                events.set(code.add(known, 1))
            code.ret()

    def begin(self, code: Code) -> None:
        """Emit what goes before all steps: the record of site 0."""
        self._place = code.array(2)
        with code.repeat(_EMPTY):
            self.record(code, 0, self.now(code))

    def now(self, code: Code) -> Any:
        """Emit a reading of the clock: POSIX's clock_gettime(clock, {seconds, nanoseconds})."""
        code.call("clock_gettime", I32, ir.Constant(I32, _clock()), self._place)
        seconds, rest = (code.word(self._place, n) for n in (0, 1))
        return code.add(code.multiply(seconds, 1_000_000_000), rest)

    def record(self, code: Code, site: Any, begin: Any) -> None:
        """Emit the record of a site, by its number from 1 on, which began then and ends here."""
        code.call(f"{self.name}.record", VOID, site, begin, self.now(code))


def read_times(words: np.ndarray, sites: Sequence[Site], began: int, ended: int) -> KernelTimes:
    """What one run has recorded in its `NAME.times`, less what timing itself takes."""
    count = len(sites) + 1
    pairs = words[: 2 * count].reshape(count, 2)
    empty = pairs[0, 1] / max(pairs[0, 0], 1)
    kernels = tuple(
        TimedKernel(s.instruction, s.function, s.copied, int(n), max(float(t - n * empty), 0.0))
        for s, (n, t) in zip(sites, pairs[1:])
    )
    events = words[2 * count + 1 :].reshape(-1, 3)[: int(words[2 * count])]
    return KernelTimes(
        kernels, tuple((int(s) - 1, int(b), int(e)) for s, b, e in events), began, ended
    )


def times_size(sites: int) -> int:
    """The number of words in `NAME.times` for so many sites beside the empty one."""
    return 2 * (sites + 1) + 1 + 3 * MOST_EVENTS


def _clock() -> int:
    """The number of the clock that Python's time.monotonic_ns reads."""
    if not hasattr(time, "CLOCK_MONOTONIC"):
        raise UnsupportedError("kernels cannot be timed on this system: it has no clock_gettime")
    return time.CLOCK_MONOTONIC
