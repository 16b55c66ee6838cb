"""Processes that answer for this one, which what they are asked cannot end or keep waiting.

One is started when it is first needed, is used again while requests keep coming, and is replaced
when a request ends it.
"""

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tfc.errors import InternalError, UnsupportedError

Answer = tuple[dict[str, Any], bytes]


class Service:
    """A process that answers one request after the other. Safe to ask from any thread.

    A request is a line of JSON and the bytes that it counts; so is an answer.
    """

    def __init__(self, task: str, script: str, *arguments: str, seconds: Callable[[], float]):
        """Args:
        task: what it does, for messages: "StableHLO is parsed".
        script, arguments: the file that Python runs, and with what.
        seconds: what a request may take, beside one for each megabyte.
        """
        self.task, self._seconds = task, seconds
        self._script, self._arguments = script, arguments
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.stop)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forget)

    def start(self) -> None:
        """Have the process come up while this one does something else."""
        with self._lock:
            self._running()

    def ask(self, request: dict[str, Any], content: bytes) -> Answer | int:
        """The answer to a request, or the exit code of the process that it has ended.

        Raises:
            UnsupportedError: no such process can be started.
            InternalError: it does not stay.
        """
        with self._lock:
            # One that had been idle for long may go just as a request comes.
            for _ in range(2):
                process = self._running()
                try:
                    answer = self._asked(process, request, content)
                    if answer is not None:
                        return answer
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(1)
                except BaseException:
                    self.stop()  # it would answer the next request with what is left of this one
                    raise
                self.stop()
                if process.returncode:
                    return process.returncode
            raise InternalError(f"{self.task} in a process of its own, which does not stay")

    def stop(self) -> None:
        """End the process, if there is one; the next request starts another."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()
        process.wait()

    def identity(self) -> int | None:
        """The number that the system knows the process by; None if there is none."""
        return None if self._process is None else self._process.pid

    def forget(self) -> None:
        """In the child of a fork: the process is the parent's."""
        self._lock, self._process = threading.Lock(), None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is not None:
            self.stop()
        if self._process is None:
            # -P: the folder of the program is no place to import from.
            command = [sys.executable, "-P", self._script, *self._arguments]
            pipe = subprocess.PIPE
            try:
                self._process = subprocess.Popen(
                    command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
                )
            except OSError as error:
                raise UnsupportedError(
                    f"{self.task} in a process of its own, and Python cannot be started "
                    f"as {sys.executable!r}: {error.strerror}"
                ) from error
        return self._process

    def _asked(
        self, process: subprocess.Popen[bytes], request: dict[str, Any], content: bytes
    ) -> Answer | None:
        """The answer; None if the process has ended, which it is made to in time."""
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(self._seconds() + len(content) / 1e6, process.kill)
        timer.daemon = True
        timer.start()
        try:
            process.stdin.write(json.dumps({**request, "bytes": len(content)}).encode() + b"\n")
            process.stdin.write(content)
            process.stdin.flush()
            line = process.stdout.readline()
            answer = json.loads(line) if line.endswith(b"\n") else None
            found = process.stdout.read(answer["bytes"]) if answer else b""
            if answer is None or len(found) < answer["bytes"]:
                return None
            return answer, found
        except OSError:  # the pipe is broken
            return None
        finally:
            timer.cancel()
