"""Worker processes, each of which is started again when a program has ended it or hangs."""

import contextlib
import json
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_START = 120.0  # seconds for Python, NumPy and a context of the driver
_SAID = 400  # characters of what a process has printed


class WorkerRefused(Exception):
    """A worker cannot run anything: the message says why."""


class WorkerProcess:
    """A process that runs programs.

    Args:
        command: what is run, without the options of a worker.
        timeout: seconds for each program, which may change meanwhile.
    """

    def __init__(self, command: Sequence[str], timeout: float):
        self._command, self.timeout = list(command), timeout
        self._process: Any = None
        self._errors: Any = None
        self._rest = b""
        self.capability = (0, 0)
        self.starts = 0

    def start(self) -> None:
        """Start the process, if there is none.

        Raises:
            WorkerRefused: it says that it cannot run programs, or says nothing.
        """
        if self._process is not None:
            return
        self.starts += 1
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors
        )
        self._rest = b""
        answer = self._answer(_START)
        if not isinstance(answer, dict) or "ready" not in answer:
            said = answer["refused"] if isinstance(answer, dict) else self._ending(answer)
            self.end()
            raise WorkerRefused(said)
        self.capability = tuple(answer["ready"])

    def ask(self, program: int, variant: str) -> "dict[str, Any]":
        """What came of a program; whatever it does, this returns in time.

        Raises:
            WorkerRefused: the process cannot be started.
        """
        self.start()
        request = json.dumps({"program": program, "variant": variant}) + "\n"
        with contextlib.suppress(OSError):
            self._process.stdin.write(request.encode())
            self._process.stdin.flush()
        answer = self._answer(self.timeout)
        if isinstance(answer, dict):
            if answer.pop("ended", False):
                self.end()
            return answer
        why = self._ending(answer)
        self.end()
        if answer == "time":
            return {"outcome": "hung", "why": f"no answer within {self.timeout:g} s"}
        return {"outcome": "failed", "why": why}

    def _answer(self, seconds: float) -> "dict[str, Any] | str":
        """What the process says; "time" if it is late, "end" if it ended."""
        end = time.monotonic() + seconds
        stream = self._process.stdout
        while b"\n" not in self._rest:
            ready, _, _ = select.select([stream], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                return "time"
            more = stream.read1(1 << 16)
            if not more:
                return "end"
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def _ending(self, how: str) -> str:
        """How the process ended, and what it said last."""
        if how == "end":
            try:
                code = self._process.wait(10)
            except subprocess.TimeoutExpired:
                code = None
            how = f"signal {-code}" if code and code < 0 else f"exit code {code}"
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip()[-_SAID:]
        return f"the process ended with {how}: {said}" if how != "time" else f"no answer: {said}"

    def end(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()
            self._errors.close()

    def finish(self) -> None:
        """Let the process end by itself, as it has nothing more to do."""
        if self._process is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(60)
        self.end()


def worker_command(
    script: Path, folder: Path, device: int, poison: bool = True, before: Sequence[str] = ()
) -> "list[str]":
    """The command of a worker, which runs the file that this is part of."""
    options = ["--worker", str(folder), "--device", str(device)]
    return [*before, sys.executable, str(script), *options, *([] if poison else ["--no-poison"])]
