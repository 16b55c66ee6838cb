"""The engine of MPI, and the job of processes that it joins."""

import atexit
import hashlib
import sys
import time
import traceback
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from mpi4py import MPI

from tfc.errors import TfcError, UnsupportedError
from tfc.runtime.arrays import ArraySpec, show, spec_of
from tfc.runtime.collectives import (
    Array,
    Arrays,
    Collective,
    Direct,
    GpuEngine,
    Messages,
    Run,
)
from tfc.runtime.engines.mpi.board import Board, wait_until_read
from tfc.runtime.engines.mpi.plans import Done, as_bytes, plan
from tfc.runtime.engines.mpi.progress import Progress
from tfc.runtime.replicas import Program

_HEARD = 30.0  # seconds for which another process may still say what went wrong
_LATER = 1.0  # seconds for which other hosts let that of rank 0 speak, if it has the same to say


class MpiEngine:
    """Joins the processes of a communicator: device r of a program is the process of rank r.

    A group of devices is a communicator of its own, made when it first meets.

    is_checking: before each collective the group compares what it is about to do.
    overlaps: on several hosts, where a thread moves on what is under way. Within one, processes
        copy for each other only while they are in MPI, and what does not block takes longer
        (0.1 ms of an all-reduce of 4 MB).
    """

    def __init__(self, everyone: Any, board: Board, is_checking: bool = False):
        self._everyone = everyone.Dup()  # so that what the user sends is not mixed up with this
        self._board = board
        self._is_checking = is_checking
        has_threads = MPI.Query_thread() == MPI.THREAD_MULTIPLE
        self.overlaps = has_threads and not board.is_of_all
        self._progress = Progress(everyone) if self.overlaps else None
        self.messages: Messages | None = MpiMessages(everyone.Dup(), board, self._progress)
        self._communicators = {tuple(range(everyone.size)): self._everyone}

    def bind(self, collective: Collective, given: Arrays, results: Arrays) -> Done:
        """A function that runs a collective on arrays where they lie, as often as it is called."""
        communicator, name = self.communicator(collective.group), collective.name or collective.what
        asked = plan(collective, communicator, given, results)
        run = asked.bound(communicator)
        if self._is_checking:
            run = self._checked(communicator, collective, given, run)
            return self._board.watched(name, collective.group, run)
        seen = self._board.watched(name, collective.group, run)
        steps = asked.direct(communicator, given, results)
        if steps is None:
            return seen
        marks = self._board.marks(name, collective.group)
        return Run(seen, Direct(steps, *marks, MPI.Exception))

    def begin(self, collective: Collective, given: Arrays, results: Arrays) -> Done:
        """Begin a collective by MPI's calls that do not block; the function returned waits.

        Raises:
            TfcError: others of the group run another collective, and that is checked.
        """
        communicator = self.communicator(collective.group)
        if self._is_checking:
            watched, name = self._board.watched, collective.name or collective.what
            check = self._checked(communicator, collective, given, lambda: None)
            watched(f"the comparison of {name}", collective.group, check)()
        wait = plan(collective, communicator, given, results).begin(communicator)
        if self._progress is not None:
            wait = self._progress.moving(wait)
        return self._board.watched(collective.name or collective.what, collective.group, wait)

    def barrier(self, what: str, group: Sequence[int], device: int) -> None:
        """Wait until all of the group have come here."""
        run = self.communicator(tuple(group)).Barrier
        self._board.watched(what, tuple(group), run)()

    def communicator(self, group: tuple[int, ...]) -> Any:
        """That of a group, made when it first meets."""
        found = self._communicators.get(group)
        if found is None:
            members = self._everyone.Get_group().Incl(list(group))
            # Groups with members in common may be made at the same time: each has its own tag.
            tag = zlib.crc32(repr(group).encode()) & 0x7FFF

            def make() -> None:
                self._communicators[group] = self._everyone.Create_group(members, tag)

            self._board.watched(f"the first meeting of ranks {list(group)}", group, make)()
            found = self._communicators[group]
        return found

    def _checked(self, communicator: Any, collective: Collective, given: Arrays, run: Done) -> Done:
        """The function, run after all of the group said that they are about to do the same."""
        reduction = collective.reduction
        name = "" if reduction is None else f" by {reduction.name or 'a function'}"
        shapes = ", ".join(show(spec_of(a)) for a in given)
        own = f"{collective.what}{name} of {shapes} along {collective.dimension}"

        def checked() -> None:
            everybody = communicator.allgather(own)
            other = next((n for n, text in enumerate(everybody) if text != everybody[0]), None)
            if other is not None:
                raise TfcError(
                    f"rank {collective.group[other]} runs {everybody[other]} where rank "
                    f"{collective.group[0]} runs {everybody[0]}: all of a group must run the same "
                    "collectives in the same order"
                )
            run()

        return checked


class MpiMessages:
    """Values from one process to another; the tag is the channel."""

    def __init__(self, everyone: Any, board: Board, progress: Progress | None):
        self._everyone, self._board, self._progress = everyone, board, progress
        self._sent: list[tuple[Any, Array]] = []  # what MPI may still read

    def send(self, what: str, channel: int, value: Array, target: int) -> None:
        """Give a value to a process, without waiting for it to be taken."""
        request = self._everyone.Isend(as_bytes(value), target, self._tag(channel))
        if self._progress is not None:
            self._progress.send(request, value)
        else:
            self._sent = [(r, v) for r, v in self._sent if not r.Test()]
            self._sent.append((request, value))

    def receive(self, what: str, channel: int, spec: ArraySpec, source: int) -> Callable[[], Array]:
        """Ask a process for the next value; the function that is returned waits for it."""
        value = np.empty(spec.dims, spec.dtype)
        request = self._everyone.Irecv(as_bytes(value), source, self._tag(channel))
        moved = request.Wait if self._progress is None else self._progress.moving(request.Wait)
        wait = self._board.watched(f"the recv '{what}'", (source,), moved)

        def take() -> Array:
            wait()
            return value

        return take

    def _tag(self, channel: int) -> int:
        most = self._everyone.Get_attr(MPI.TAG_UB)
        if channel > most:
            raise UnsupportedError(f"the channel {channel} is above {most}, which is MPI's last")
        return channel


class Job:
    """All processes that mpiexec started, as a `World`.

    An error that no one handles in one of them ends all.

    Args:
        timeout: the seconds after which whoever waits in a collective has the job ended.
        is_checking: before each collective its group compares what it is about to do.

    gpus: what joins the GPUs, if something does.
    """

    def __init__(self, timeout: float, is_checking: bool = False):
        self._everyone = MPI.COMM_WORLD
        self.size, self.rank = self._everyone.size, self._everyone.rank
        self._board = Board(self._everyone, timeout)
        self.local_rank = self._board.local_rank
        self.engine = MpiEngine(self._everyone, self._board, is_checking)
        self.gpus: GpuEngine | None = None
        self._known: dict[int, Program] = {}  # by identity, which holds while they are kept
        self._digests: set[str] = set()
        atexit.register(self._board.end)
        sys.excepthook = self._end_all

    def join_gpus(
        self, make: Callable[[Board, Callable[[tuple[int, ...]], Any]], GpuEngine]
    ) -> None:
        """From now on an engine that is made of the board and MPI's groups joins the GPUs."""
        self.gpus = make(self._board, self.engine.communicator)

    def _end_all(self, kind: type[BaseException], error: BaseException, trace: Any) -> None:
        """Show what ends this process, and end the others."""
        if self._board.claim():
            if not self._board.is_first:
                time.sleep(_LATER)
            shown = "".join(traceback.format_exception(kind, error, trace))
            doing = self._board.doing()
            said = f"tfc: rank {self.rank} raised {kind.__name__} {doing}; the job ends\n"
            sys.stderr.write(shown + said)
            sys.stderr.flush()
            wait_until_read(sys.stderr)
        else:
            time.sleep(_HEARD)
        self._board.end()
        self._everyone.Abort(1)

    def gather(self, value: Any) -> list[Any] | None:
        """What each process gives, by their ranks, in the first one; None in the others."""
        return self._all("the gathering of results", self._everyone.gather, value)

    def all_gather(self, array: Array) -> list[Array]:
        """What each process gives, by their ranks: arrays of the same dimensions and dtype."""
        given = np.ascontiguousarray(array)
        made = np.empty((self.size, *given.shape), given.dtype)
        into = as_bytes(made, self.size)
        gather = partial(self._everyone.Allgather, recvbuf=into)
        self._all("the gathering of parts", gather, as_bytes(given))
        return list(made)

    def _all(self, what: str, method: Callable[[Any], Any], value: Any) -> Any:
        """What a method of all processes' communicator gives, while the watcher sees it."""
        found: list[Any] = []
        everyone = tuple(range(self.size))
        self._board.watched(what, everyone, lambda: found.append(method(value)))()
        return found[0]

    def require_same(self, program: Program) -> None:
        """Check that all processes are about to run the same program for the first time.

        Raises:
            TfcError: some run another.
        """
        if id(program) in self._known:
            return
        self._known[id(program)] = program
        digest = hashlib.sha256(str(program).encode()).hexdigest()
        if digest in self._digests:
            return
        self._digests.add(digest)
        own, compare = (digest, program.name), self._everyone.allgather
        everybody = self._all("the comparison of programs", compare, own)
        other = next((n for n, e in enumerate(everybody) if e[0] != everybody[0][0]), None)
        if other is not None:
            raise TfcError(
                f"rank {other} runs a program '{everybody[other][1]}' that is not rank 0's, "
                f"'{everybody[0][1]}': all ranks must make the same program, and be given what "
                "differs among them as arguments"
            )
