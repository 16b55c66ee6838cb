"""The process that parses StableHLO for this one, which no program can end or keep waiting.

It is started when it is first needed, is used again while programs keep coming, and is replaced
when a program ends it.
"""

import atexit
import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass

from tfc.backends.mlir.package import PROVIDER
from tfc.errors import InternalError, UnsupportedError
from tfc.stablehlo import parser

SECONDS = 10  # for a program, and one more for each megabyte


@dataclass(frozen=True)
class Reply:
    """What became of a program.

    content: it as MLIR bytecode; empty if it was refused.
    refused: MLIR's reasons, each a place (`loc("-":line:column)` in text) and a message.
    """

    content: bytes = b""
    refused: tuple[tuple[str, str], ...] = ()


class Parser:
    """A process that parses one program after the other. Safe to ask from any thread."""

    def __init__(self, provider: str):
        """Args: the package of MLIR's bindings."""
        self._provider = provider
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Have the process come up while this one does something else."""
        with self._lock:
            self._running()

    def parse(self, form: str, content: bytes, passes: str = "") -> Reply:
        """Have a program parsed and verified, and passes run on it.

        Args:
            form: "text", or "bytecode" for that of MLIR and for portable artifacts.
            passes: a pipeline of MLIR's.

        Raises:
            UnsupportedError: no such process can be started.
            InternalError: the bindings fail in it.
        """
        with self._lock:
            # One that had been idle for long may go just as a request comes.
            for _ in range(2):
                process = self._running()
                try:
                    reply = _ask(process, form, content, passes)
                    if reply is not None:
                        return reply
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(1)
                except BaseException:
                    self.stop()  # it would answer the next request with what is left of this one
                    raise
                self.stop()
                if process.returncode:
                    return Reply(refused=(("", _end(process.returncode)),))
            raise InternalError("MLIR's parser, which runs in a process of its own, does not stay")

    def stop(self) -> None:
        """End the process, if there is one; the next program starts another."""
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
            command = [sys.executable, "-P", parser.__file__, self._provider]
            pipe = subprocess.PIPE
            try:
                self._process = subprocess.Popen(
                    command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
                )
            except OSError as error:
                raise UnsupportedError(
                    "StableHLO is parsed in a process of its own, and Python cannot be started "
                    f"as {sys.executable!r}: {error.strerror}"
                ) from error
        return self._process


def _ask(process: subprocess.Popen[bytes], form: str, content: bytes, passes: str) -> Reply | None:
    """The reply to a request; None if the process has ended, which it is made to in time."""
    assert process.stdin is not None
    assert process.stdout is not None
    request = {"form": form, "passes": passes, "bytes": len(content)}
    timer = threading.Timer(SECONDS + len(content) / 1e6, process.kill)
    timer.daemon = True
    timer.start()
    try:
        process.stdin.write(json.dumps(request).encode() + b"\n" + content)
        process.stdin.flush()
        line = process.stdout.readline()
        reply = json.loads(line) if line.endswith(b"\n") else None
        found = process.stdout.read(reply["bytes"]) if reply else b""
        if reply is None or len(found) < reply["bytes"]:
            return None
        return Reply(found, tuple((place, message) for place, message in reply["refused"]))
    except OSError:  # the pipe is broken
        return None
    finally:
        timer.cancel()


def _end(code: int) -> str:
    """Why a program has no reply, by how the process ended.

    Raises:
        InternalError: with a Python exception, which is none of the program's.
    """
    if code == 1:
        raise InternalError("MLIR's parser, which runs in a process of its own, fails on anything")
    return (
        "it is malformed in a way that ends MLIR's parser, or takes too much time or memory "
        f"(exit code {code})"
    )


PARSER = Parser(PROVIDER)
atexit.register(PARSER.stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=PARSER.forget)
