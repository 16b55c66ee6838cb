"""The collectives of GPU programs in a job of processes, by NCCL."""

import atexit
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from typing import Any

from tfc.errors import TfcError
from tfc.runtime.arrays import ArraySpec
from tfc.runtime.collectives import Asked, Collective, Stream
from tfc.runtime.engines.mpi.board import Board, wait_until_read
from tfc.runtime.engines.nccl.in_flight import InFlight
from tfc.runtime.engines.nccl.library import Library
from tfc.runtime.engines.nccl.plans import calls


class NcclEngine:
    """Joins the GPUs of the processes of a job, one of each.

    A group of devices is a communicator of its own, made when it first meets.

    Args:
        communicator: MPI's of a group, through which the group agrees on one of NCCL.
        now: find the library now, rather than when the first program needs it.

    Raises:
        UnsupportedError: NCCL is not there, or too old.
    """

    def __init__(
        self, board: Board, communicator: Callable[[tuple[int, ...]], Any], now: bool = False
    ):
        self._board, self._of_mpi = board, communicator
        self._library = Library() if now else None
        self._communicators: dict[tuple[int, ...], Any] = {}
        self._in_flight = InFlight(board, self._broken, self._fail)
        # Other GPUs may still read what is here; the job says only then that this process ends.
        atexit.register(self._in_flight.wait)

    def bind(
        self,
        collective: Collective,
        given: Sequence[int],
        results: Sequence[int],
        specs: Sequence[ArraySpec],
        stream: Stream,
    ) -> Asked:
        """A function that asks for a collective in the stream whose address it is given.

        The group meets here, if it has not before.

        Args:
            given, results: addresses in the GPU's memory; what is there is dense and row-major.
            specs: what lies at those of `given`.

        Raises:
            UnsupportedError: NCCL is not there, or cannot do that.
            DriverError: NCCL failed.
            TfcError: two processes of the group use one GPU.
        """
        if self._library is None:
            self._library = Library()
        library, group = self._library, collective.group
        name = collective.name or collective.what
        joined = self._communicators.get(group)
        if joined is None:
            joined = self._communicators[group] = self._join(library, group, stream)

        def ask(address: int) -> None:
            asked = calls(collective, joined, address, given, results, specs)
            if asked:
                # The host waits here where NCCL must set up connections first.
                watched(lambda: library.ask(name, joined, asked))

        def watched(run: Callable[[], None]) -> None:
            self._board.watched(name, group, run)()

        return ask

    def asked(self, what: str, group: tuple[int, ...], stream: Stream) -> None:
        """Let the watcher of the job see that the GPU is in what was asked for last."""
        self._in_flight.add(what, group, stream.mark())

    def _join(self, library: Library, group: tuple[int, ...], stream: Stream) -> Any:
        """The communicator of a group, which all of it wait for."""
        everybody = self._of_mpi(group)
        made: list[Any] = []

        def meet() -> None:
            places = everybody.allgather((socket.gethostname(), stream.identity))
            first = {place: n for n, place in reversed(list(enumerate(places)))}
            for n, place in enumerate(places):
                if first[place] != n:
                    raise TfcError(
                        f"ranks {group[first[place]]} and {group[n]} both use the GPU {place[1]} "
                        f"of {place[0]}: start at most as many processes on a host as it has GPUs, "
                        "and call tfc.distributed.initialize() before anything runs on a GPU"
                    )
            identity = everybody.bcast(library.new_id() if everybody.rank == 0 else None)
            stream.ask(lambda _: made.append(library.join(len(group), identity, everybody.rank)))

        self._board.watched(f"the first meeting of the GPUs of ranks {list(group)}", group, meet)()
        return made[0]

    def _broken(self) -> str:
        """What went wrong in some communicator; "" if nothing."""
        assert self._library is not None
        found = map(self._library.broken, list(self._communicators.values()))
        return next(filter(None, found), "")

    def _fail(self, why: str) -> None:
        """End this process, while its main thread may wait for the GPU: the watcher ends others."""
        if self._board.claim():
            doing = self._board.doing()
            sys.stderr.write(f"tfc: the GPU of rank {self._board.rank} failed {doing}: {why}; "
                             "the job ends\n")  # fmt: skip
            sys.stderr.flush()
            wait_until_read(sys.stderr)
        os.kill(os.getpid(), signal.SIGKILL)
