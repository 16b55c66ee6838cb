"""The other side of worker.py: processes that are started, asked, and started again if they die."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import Pipe
from pathlib import Path
from typing import IO, Any

from benchmarks.machine import available_cores
from benchmarks.protocol import BenchmarkError, Failed

ROOT = Path(__file__).resolve().parents[1]


def environment(threads: int) -> dict[str, str]:
    """The environment that holds each library to a number of threads."""
    count = str(threads)
    eigen = "false" if threads == 1 else "true"
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "OMP_NUM_THREADS": count,
        "OPENBLAS_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "TFC_THREADS": count,
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={eigen} intra_op_parallelism_threads={count}",
        "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",
    }


@contextmanager
def pinned(threads: int) -> Iterator[None]:
    """What is started inside stays on as many cores as threads, where the system can do that.

    They are the last ones, as other work tends to be on the first.

    Raises:
        BenchmarkError: there are not as many cores.
    """
    own = sorted(available_cores())
    if threads > len(own):
        raise BenchmarkError(f"{threads} threads need as many cores, and there are {len(own)}")
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    os.sched_setaffinity(0, own[-threads:])
    try:
        yield
    finally:
        os.sched_setaffinity(0, own)


class RemoteWorker:
    """A process that measures one library, on the cores that are measured.

    It stands still while nothing is asked of it: idle threads of some libraries look for work long
    after the last call, and would do so on the cores where another library is measured.

    command: what is run, before the number of the file descriptor.
    timeout: the seconds after which an answer is given up, and the process with it.
    """

    def __init__(self, command: Sequence[str], threads: int, timeout: float):
        self.command, self.threads, self.timeout = command, threads, timeout
        self._process: subprocess.Popen[bytes] | None = None

    @staticmethod
    def of(peer: str, threads: int, timeout: float) -> "RemoteWorker":
        """The worker of a peer, by its name."""
        command = (sys.executable, "-m", "benchmarks.worker", peer, str(threads))
        return RemoteWorker(command, threads, timeout)

    def ask(self, message: Any) -> Any:
        """The answer to a message, or Failed with what became of the process."""
        if self._process is None:
            self._start()
        try:
            self._signal("SIGCONT")
            self._connection.send(message)
            if not self._connection.poll(self.timeout):
                self.stop()
                return Failed(f"no answer in {self.timeout:.0f} s")
            answer = self._connection.recv()
            self._signal("SIGSTOP")
            return answer
        except (EOFError, OSError):
            return Failed(self._last_words())

    def _signal(self, name: str) -> None:
        """Send the process a signal, where the system has it."""
        assert self._process is not None
        if hasattr(signal, name):
            self._process.send_signal(getattr(signal, name))

    def stop(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._connection.close()
            self._process.kill()
            self._process.wait()
            self._errors.close()
            self._process = None

    def _start(self) -> None:
        self._connection, other = Pipe()
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        with pinned(self.threads), other:
            self._process = subprocess.Popen(
                [*self.command, str(other.fileno())], env=environment(self.threads), cwd=ROOT,
                pass_fds=[other.fileno()], stdout=subprocess.DEVNULL, stderr=self._errors,
            )  # fmt: skip

    def _last_words(self) -> str:
        """How the process ended."""
        assert self._process is not None
        code = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        self.stop()
        return f"the process ended with {code}: {lines[-1][:200] if lines else 'no message'}"
