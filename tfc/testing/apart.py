"""Work done in another process, which may end or hang without harm to the one that asked."""

import atexit
import multiprocessing
import os
from collections.abc import Callable
from typing import Any

Say = Callable[[str], None]
Work = Callable[[Any, Say], Any]  # (request, how to say at which stage it is) -> answer

SLACK = 120.0  # seconds for the process to start and import what it needs


class Gone(Exception):
    """The process ended, or was ended after its time; `stage` is what it was doing."""

    def __init__(self, stage: str, how: str):
        super().__init__(f"{stage}: {how}")
        self.stage, self.how = stage, how


class Apart:
    """A process that does one kind of work again and again; started anew when it is gone.

    Args:
        work: a function at the top of a module, which the process imports.
    """

    def __init__(self, work: Work):
        self.work = work
        self._process: Any = None
        self._connection: Any = None
        atexit.register(self.end)

    def ask(self, request: Any, seconds: float) -> Any:
        """What the work makes of a request.

        Args:
            seconds: for each stage, after which the process is ended.

        Raises:
            Gone: the process ended without an answer, or took too long.
        """
        first = self._process is None
        if first:
            self._start()
        stage, allowed = "starting", SLACK if first else seconds
        try:
            self._connection.send(request)
            while True:
                if not self._connection.poll(allowed):
                    self.end()
                    raise Gone(stage, f"took longer than {seconds:g} s")
                is_answer, said = self._connection.recv()
                if is_answer:
                    return said
                stage, allowed = said, seconds
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self._process.join()
            code = self._process.exitcode
            self.end()
            ended = f"signal {-code}" if code and code < 0 else f"exit code {code}"
            raise Gone(stage, f"ended the process with {ended}") from None

    def end(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
        self._process = self._connection = None

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(self.work, theirs), daemon=True)
        self._process.start()
        theirs.close()


def _serve(work: Work, connection: Any) -> None:
    """Do what comes over a connection until it closes."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # an abort prints its stack

    def say(stage: str) -> None:
        connection.send((False, stage))

    while True:
        try:
            request = connection.recv()
        except EOFError:
            return
        connection.send((True, work(request, say)))
