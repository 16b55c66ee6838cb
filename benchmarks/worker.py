"""A process that measures one library: `python -m benchmarks.worker PEER THREADS FD`.

It answers what comes through the connection as protocol.py says.
"""

import ctypes
import gc
import re
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.case import Case
from benchmarks.cases import find as find_case
from benchmarks.peers import Library
from benchmarks.peers import find as find_peer
from benchmarks.protocol import Failed, Prepared, Task


class Worker:
    """A library and the case that it has prepared."""

    def __init__(self, library: Library, find: Callable[[str], Case] = find_case):
        self.library, self.find = library, find
        self.forget()

    def forget(self) -> None:
        """Release what was prepared."""
        self.task: Task | None = None
        self.call: Callable[[], Any] | None = None
        self.count = 0
        gc.collect()

    def answer(self, message: Any) -> Any:
        """The answer to a message."""
        try:
            match message:
                case Task():
                    return self.prepare(message)
                case float():
                    return self.sample(message)
                case "compile":
                    return self.compile()[1]
                case _:
                    return self.forget()
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            traceback.print_exc()
            self.forget()
            return Failed(_in_one_line(error))

    def prepare(self, task: Task) -> Prepared:
        """Compile a case and call it twice."""
        self.forget()
        self.task, case = task, self.find(task.key)
        compiled, seconds = self.compile()
        self.call = self.library.call(case, task, compiled)
        _release()
        before = _memory("VmRSS")
        found = self.call()
        peak = _memory("VmHWM")
        results = [np.array(x) for x in self.library.fetch(case, found)]
        again = self.library.fetch(case, self.call())
        steady = all(a.tobytes() == b.tobytes() for a, b in zip(results, again))
        memory = None if before is None or peak is None else max(peak - before, 0)
        return Prepared(results, steady, seconds if self.library.compiles else None, memory)

    def compile(self) -> tuple[Any, float]:
        """What the compiler of the library made, and the seconds that it took."""
        assert self.task is not None
        compiler = self.library.compiler(self.find(self.task.key), self.task)
        gc.collect()
        start = time.perf_counter()
        compiled = compiler()
        return compiled, time.perf_counter() - start

    def sample(self, seconds: float) -> float:
        """The mean time of as many calls as take about so long; one goes before them."""
        assert self.call is not None
        once = _time(self.call, 1)
        if not self.count:
            # The first sample finds out how many calls it takes.
            self.count = 1
            while (taken := _time(self.call, self.count)) < seconds / 2:
                self.count *= 2 if taken < seconds / 20 else round(seconds / taken)
        elif self.count == 1 and once > seconds:
            return once
        return _time(self.call, self.count) / self.count


def _time(call: Callable[[], Any], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return time.perf_counter() - start


def _memory(field: str) -> int | None:
    """A figure of the process's memory in bytes, where the system has such a file."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return None
    found = re.search(rf"^{field}:\s+(\d+) kB", status, re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def _release() -> None:
    """Give memory that is free back to the system, and begin to look for the peak anew."""
    gc.collect()
    with suppress(AttributeError, OSError):  # another C library, another system
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")


def _in_one_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [""]
    # The messages of compilers' tools begin with what was run.
    line = next((line for line in lines if "error:" in line), lines[0])
    return f"{type(error).__name__}: {line[:200]}"


def main() -> None:
    """Answer until the other side closes the connection."""
    peer, threads, descriptor = sys.argv[1:]
    connection = Connection(int(descriptor))
    worker = Worker(find_peer(peer).load(int(threads)))
    while True:
        try:
            message = connection.recv()
        except EOFError:
            return
        connection.send(worker.answer(message))


if __name__ == "__main__":
    main()
