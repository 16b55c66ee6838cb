"""Replicas: which one the current thread runs, and how several of one process meet.

    replica 0   exchange("sum", (0, 1), 1.0) ─┐
                                              ├─► both get [1.0, 3.0]
    replica 1   exchange("sum", (0, 1), 3.0) ─┘

A device is one thread here, numbered replica · partitions + partition. Every wait ends: if all that
it waits for, directly or through others, have ended or wait themselves, it is an error.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

from tfc.errors import TfcError

# Guards all that threads of a program share in this package, and is notified of every change.
CHANGED = threading.Condition()


class Communicator(Protocol):
    """What joins the devices that run one program together."""

    def exchange(self, what: str, group: Sequence[int], device: int, value: Any) -> list[Any]:
        """Give a value, and get that of every device of the group, in the group's order.

        Args:
            what: a description that must be the same for all of the group.

        Raises:
            TfcError: some device of the group has ended, or does something else.
        """
        ...

    def wait(self, device: int, what: str, ready: Callable[[], bool]) -> None:
        """Wait, with CHANGED held, until `ready`; what another device does makes it so.

        Raises:
            TfcError: no device is left that could.
        """
        ...


@dataclass(frozen=True)
class Participant:
    """The device whose part of a program a thread runs, among how many.

    `communicator` is None where a program for several runs alone.
    """

    replica: int = 0
    partition: int = 0
    replicas: int = 1
    partitions: int = 1
    communicator: Communicator | None = None

    @property
    def device(self) -> int:
        """The number of the device."""
        return self.replica * self.partitions + self.partition

    def exchange(self, what: str, group: Sequence[int], value: Any) -> list[Any]:
        """`Communicator.exchange` for this device; a group of one needs no communicator.

        Raises:
            TfcError: the others are not there, have ended, or do something else.
        """
        if tuple(group) == (self.device,):
            return [value]
        if self.communicator is None:
            raise TfcError(
                f"{what} needs the devices {list(group)} of a program with {self.replicas} "
                f"replicas and {self.partitions} partitions: run it by run_replicas"
            )
        return self.communicator.exchange(what, group, self.device, value)


_thread = threading.local()
_ALONE = Participant()


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


def running_one_of(replicas: int, partitions: int) -> AbstractContextManager[None]:
    """Run a program for so many devices: as the one that this thread is, else as the first."""
    here = current()
    if (here.replicas, here.partitions) == (replicas, partitions):
        return nullcontext()
    return running(Participant(0, 0, replicas, partitions))


@dataclass
class _Meeting:
    """One exchange of a group: what has been given so far, and how many have taken all of it."""

    what: str
    values: dict[int, Any] = field(default_factory=dict)
    taken: int = 0


class LocalCommunicator:
    """Joins the threads of one process that run the `count` devices of a program."""

    def __init__(self, count: int):
        self.count = count
        self._failure: str | None = None
        self._ended: set[int] = set()
        self._waiting: dict[int, Callable[[], bool]] = {}
        self._turns: dict[tuple[Any, int], int] = {}  # exchanges so far, by group and device
        self._meetings: dict[tuple[Any, int], _Meeting] = {}

    def exchange(self, what: str, group: Sequence[int], device: int, value: Any) -> list[Any]:
        """Give a value, and get that of every device of the group, in the group's order.

        Raises:
            TfcError: some device of the group has ended, or does something else.
        """
        group = tuple(group)
        with CHANGED:
            turn = self._turns[group, device] = self._turns.get((group, device), 0) + 1
            meeting = self._meetings.setdefault((group, turn), _Meeting(what))
            if meeting.what != what:
                self._fail(f"device {device} runs {what} where others run {meeting.what}")
            meeting.values[device] = value
            CHANGED.notify_all()
            if self._ended & set(group) - set(meeting.values):
                self._fail(f"a device ended without the {what} in which device {device} waits")
            self.wait(device, what, lambda: len(meeting.values) == len(group))
            meeting.taken += 1
            if meeting.taken == len(group):
                del self._meetings[group, turn]
            return [meeting.values[member] for member in group]

    def wait(self, device: int, what: str, ready: Callable[[], bool]) -> None:
        """Wait, with CHANGED held, until `ready`; what another device does makes it so.

        Raises:
            TfcError: no device is left that could.
        """
        self._waiting[device] = ready
        try:
            while not ready():
                if self._failure is None and self._is_stuck():
                    self._fail(f"device {device} waits in {what} for others, which have ended or "
                               "wait themselves")  # fmt: skip
                if self._failure is not None:
                    raise Stopped(self._failure)
                CHANGED.wait()
        finally:
            del self._waiting[device]

    def end(self, device: int, failed: bool) -> None:
        """Say that a device will do nothing any more; if it failed, all the others stop."""
        with CHANGED:
            self._ended.add(device)
            if failed and self._failure is None:
                self._failure = f"device {device} failed"
            CHANGED.notify_all()

    def _is_stuck(self) -> bool:
        busy = set(range(self.count)) - self._ended - set(self._waiting)
        return not busy and not any(ready() for ready in self._waiting.values())

    def _fail(self, message: str) -> None:
        self._failure = self._failure or message
        CHANGED.notify_all()
        raise Stopped(self._failure)


class Stopped(TfcError):
    """A device cannot go on because of what others did."""


def run_devices(replicas: int, partitions: int, run: Callable[[int], Any]) -> list[Any]:
    """`run(device)` for every device at the same time, each in a thread of its own.

    Raises:
        Exception: what the first device to fail raised, with a note that says which it was.
    """
    count = replicas * partitions
    together = LocalCommunicator(count)
    results: list[Any] = [None] * count
    errors: list[tuple[int, BaseException]] = []

    def work(device: int) -> None:
        replica, partition = divmod(device, partitions)
        failed = True
        try:
            with running(Participant(replica, partition, replicas, partitions, together)):
                results[device] = run(device)
            failed = False
        except BaseException as error:
            errors.append((device, error))
        finally:
            together.end(device, failed)

    threads = [threading.Thread(target=work, args=(d,), daemon=True) for d in range(count)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException:  # such as an interrupt: those that wait for each other stop
        together.end(-1, failed=True)
        raise
    if errors:
        # What stopped by itself comes before what others stopped.
        device, error = min(errors, key=lambda e: isinstance(e[1], Stopped))
        error.add_note(f"in replica {device // partitions}, partition {device % partitions}")
        raise error
    return results
