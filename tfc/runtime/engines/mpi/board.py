"""What the processes of a job on one host are doing, in memory that they and a watcher share.

Each process writes two numbers into its own row around a collective, which takes tenths of a
microsecond; what the numbers mean is in a file beside. The watcher (watcher.py) is a process of its
own, so that it sees what happens to one that is killed or hangs, and outlives it.
"""

import ctypes
import mmap
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from mpi4py import MPI

if sys.platform != "win32":
    import fcntl
    from termios import FIONREAD

# Of a row: the process, its rank, collectives done, the number of the one in progress or 0, whether
# it has ended by itself; the same two of the collectives that its GPU does by itself.
WORDS = 8
PROCESS, RANK, DONE, DOING, ENDED, FLOWN, FLYING = range(7)
Done = Callable[[], None]


class Board:
    """The row of this process.

    Args:
        everyone: all processes of the job.
        timeout: the seconds after which whoever waits in a collective has the job ended.

    is_of_all: the whole job is on this host.
    is_first: rank 0 is on this host.
    local_rank: the number of this process there.
    """

    def __init__(self, everyone: Any, timeout: float):
        # Processes that could share memory are those of a host.
        host = everyone.Split_type(MPI.COMM_TYPE_SHARED)
        self.is_of_all = host.size == everyone.size
        self.is_first = host.allreduce(everyone.rank, MPI.MIN) == 0
        made = tempfile.mkdtemp(prefix="tfc-job-") if host.rank == 0 else ""
        self._folder = Path(host.bcast(made))
        if host.rank == 0:
            (self._folder / "rows").write_bytes(bytes(8 * WORDS * host.size))
        host.Barrier()
        with open(self._folder / "rows", "r+b") as rows:
            memory = memoryview(mmap.mmap(rows.fileno(), 0)).cast("q")
        self._row = memory[host.rank * WORDS : (host.rank + 1) * WORDS]
        self._row[PROCESS], self._row[RANK] = os.getpid(), everyone.rank
        self.rank, self.local_rank = everyone.rank, host.rank
        self._names = open(self._folder / f"{everyone.rank}", "w", buffering=1)  # noqa: SIM115
        self._numbers: dict[tuple[str, tuple[int, ...]], int] = {}
        host.Barrier()
        if host.rank == 0:
            watcher = Path(__file__).with_name("watcher.py")
            started = subprocess.Popen(
                [sys.executable, "-I", "-S", watcher, self._folder, str(timeout)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
            assert started.stdout is not None
            # Who ends before it looks cannot be told from those that mpiexec kills for that.
            started.stdout.read()
            started.stdout.close()
        host.Barrier()

    def watched(self, what: str, group: tuple[int, ...], run: Done) -> Done:
        """The same function, seen by the watcher while it runs.

        Args:
            group: the ranks that it waits for.
        """
        row, number = self._row, self.number(what, group)

        def seen() -> None:
            row[DOING] = number
            run()
            row[DONE] += 1
            row[DOING] = 0

        return seen

    def marks(self, what: str, group: tuple[int, ...]) -> tuple[int, int, int]:
        """What code writes for itself: the addresses of DOING and DONE, and the number."""
        row = ctypes.addressof(ctypes.c_int64.from_buffer(self._row))
        return row + 8 * DOING, row + 8 * DONE, self.number(what, group)

    def number(self, what: str, group: tuple[int, ...]) -> int:
        """The number that stands for what is done with these ranks."""
        number = self._numbers.get((what, group))
        if number is None:
            number = self._numbers[what, group] = len(self._numbers) + 1
            self._names.write(f"{what}\t{' '.join(map(str, group))}\n")
        return number

    def fly(self, number: int) -> None:
        """The GPU is in the collective of this number."""
        self._row[FLYING] = number

    def land(self) -> None:
        """The GPU has done it."""
        self._row[FLOWN] += 1
        self._row[FLYING] = 0

    def doing(self) -> str:
        """What this process is in, or did last, for messages."""
        number = self._row[DOING] or self._row[FLYING]
        if number:
            return f"in {next(what for (what, _), n in self._numbers.items() if n == number)}"
        return f"after {self._row[DONE]} collectives"

    def claim(self) -> bool:
        """True for the first process of the host that asks: it says what ended the job."""
        try:
            file = os.open(self._folder / "said", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        except OSError:
            return False
        os.write(file, str(os.getpid()).encode())  # for whom the watcher waits
        os.close(file)
        return True

    def end(self) -> None:
        """Say that this process ends by itself."""
        self._row[ENDED] = 1


def wait_until_read(file: TextIO, seconds: float = 2.0) -> None:
    """Wait until what was written to a pipe has been read, and a moment more to be passed on.

    mpiexec drops what it has not yet read from the processes of a job that it ends.
    """
    if sys.platform == "win32":
        return
    until, unread = time.monotonic() + seconds, bytes(4)
    with suppress(OSError, ValueError):  # it is no pipe; no file of the system
        while time.monotonic() < until and any(fcntl.ioctl(file.fileno(), FIONREAD, unread)):
            time.sleep(0.01)
        time.sleep(0.1)
