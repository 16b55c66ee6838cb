"""Replicas: which device of a program the current thread runs, and what joins it with the others.

Devices are numbered replica · partitions + partition. They are threads of one process
(engines/threads.py), or processes of one job (engines/mpi), of which each runs the device of its
rank: the world that `join` names.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

from tfc.errors import TfcError
from tfc.runtime.collectives import Array, Arrays, Collective, Engine, GpuEngine

# Guards all that threads of a program share in this package, and is notified of every change.
CHANGED = threading.Condition()


@dataclass(frozen=True)
class Participant:
    """The device whose part of a program a thread runs, among how many.

    `engine` is None where a program for several runs alone; `gpus` joins GPUs where the program
    runs on some, and is None where their collectives go through the host's memory.
    """

    replica: int = 0
    partition: int = 0
    replicas: int = 1
    partitions: int = 1
    engine: Engine | None = None
    gpus: GpuEngine | None = None

    @property
    def device(self) -> int:
        """The number of the device."""
        return self.replica * self.partitions + self.partition

    def bind(self, collective: Collective, given: Arrays, results: Arrays) -> Callable[[], None]:
        """`Engine.bind` for this device.

        Raises:
            TfcError: the others are not there.
        """
        return self.joined(collective.what, collective.group).bind(collective, given, results)

    def begin(self, collective: Collective, given: Arrays, results: Arrays) -> Callable[[], None]:
        """`Engine.begin` for this device.

        Raises:
            TfcError: the others are not there, have ended, or do something else.
        """
        return self.joined(collective.what, collective.group).begin(collective, given, results)

    def joined(self, what: str, group: Sequence[int]) -> Engine:
        """What joins this device with others.

        Raises:
            TfcError: the others are not there.
        """
        if self.engine is not None:
            return self.engine
        count = self.replicas * self.partitions
        size = 1 if _world is None else _world.size
        raise TfcError(
            f"{what} needs the devices {list(group)} of a program with {self.replicas} replicas "
            f"and {self.partitions} partitions: run it by run_replicas, or as a job of {count} "
            f"processes that call tfc.distributed.initialize(), of which there are {size} here"
        )


class World(Protocol):
    """A job of several processes, each of which runs one device of a program."""

    @property
    def size(self) -> int:
        """How many there are."""
        ...

    @property
    def rank(self) -> int:
        """The number of this one."""
        ...

    @property
    def engine(self) -> Engine:
        """What joins them."""
        ...

    @property
    def gpus(self) -> GpuEngine | None:
        """What joins their GPUs; None where the collectives of these go through the host."""
        ...

    @property
    def local_rank(self) -> int:
        """The number of this one among those of its host."""
        ...

    def gather(self, value: Any) -> list[Any] | None:
        """What each process gives, by their numbers, in the first one; None in the others."""
        ...

    def all_gather(self, array: Array) -> list[Array]:
        """What each process gives, by their numbers: arrays of the same dimensions and dtype."""
        ...

    def require_same(self, program: "Program") -> None:
        """Check that all are about to run the same program for the first time.

        Raises:
            TfcError: some run another.
        """
        ...


class Program(Protocol):
    """What devices run together: its text says what it does."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    def __str__(self) -> str: ...


_thread = threading.local()
_ALONE = Participant()
_world: World | None = None
_members: dict[tuple[int, int], Participant] = {}  # this process, by replicas and partitions


def current() -> Participant:
    """The participant that this thread runs; a program by itself is the only one."""
    return getattr(_thread, "participant", _ALONE)


@contextmanager
def running(participant: Participant) -> Iterator[None]:
    """Make this thread run as a participant."""
    before, _thread.participant = current(), participant
    try:
        yield
    finally:
        _thread.participant = before


def world() -> World | None:
    """The job that this process is in, if it joined one."""
    return _world


def local_rank() -> int:
    """The number of this process among those of its job on this host; 0 where there is no job."""
    return 0 if _world is None else _world.local_rank


def job_of(replicas: int, partitions: int) -> World | None:
    """The job, if this thread would run a program for so many devices as one of its processes."""
    is_ours = _world is not None and _world.size == replicas * partitions > 1
    return _world if is_ours and current() is _ALONE else None


def join(found: World | None) -> None:
    """From now on programs for as many devices as a job has processes run on all of them."""
    globals()["_world"] = found
    _members.clear()


def running_one_of(
    replicas: int, partitions: int, program: Program
) -> AbstractContextManager[None]:
    """Run a program for so many devices: as the one that this thread is, else as this process's
    in the job if it has as many, else as the first.

    Raises:
        TfcError: other processes of the job run another program.
    """
    here = current()
    if (here.replicas, here.partitions) == (replicas, partitions):
        return nullcontext()
    job = job_of(replicas, partitions)
    if job is None:
        return running(Participant(0, 0, replicas, partitions))
    job.require_same(program)
    found = _members.get((replicas, partitions))
    if found is None:
        replica, partition = divmod(job.rank, partitions)
        found = Participant(replica, partition, replicas, partitions, job.engine, job.gpus)
        _members[replicas, partitions] = found
    return running(found)
