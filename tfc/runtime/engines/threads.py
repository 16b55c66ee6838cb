"""Threads of one process as the devices of a program.

    device 0   all-reduce of 1.0 ─┐
                                  ├─► both get 4.0
    device 1   all-reduce of 3.0 ─┘

One operation, exchange among a group, of which every collective is a function. Every wait ends: if
all that it waits for, directly or through others, have ended or wait themselves, it is an error.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfc.errors import TfcError
from tfc.runtime.collectives import Arrays, Collective, Messages, results_of
from tfc.runtime.replicas import CHANGED, Participant, running


@dataclass
class _Meeting:
    """One exchange of a group: what has been given so far, and how many have taken all of it."""

    what: str
    values: dict[int, Any] = field(default_factory=dict)
    taken: int = 0


class ThreadEngine:
    """Joins the threads of one process that run the `count` devices of a program."""

    messages: Messages | None = None  # what is sent lies in the memory that threads share
    overlaps = True  # others have a device's operands from the beginning on

    def __init__(self, count: int):
        self.count = count
        self._failure: str | None = None
        self._ended: set[int] = set()
        self._waiting: dict[int, Callable[[], bool]] = {}
        self._turns: dict[tuple[Any, int], int] = {}  # exchanges so far, by group and device
        self._meetings: dict[tuple[Any, int], _Meeting] = {}

    def bind(self, collective: Collective, given: Arrays, results: Arrays) -> Callable[[], None]:
        """A function that runs a collective on arrays where they lie, as often as it is called.

        Raises:
            TfcError: when called: some device of the group has ended, or does something else.
        """

        def run() -> None:
            self.begin(collective, given, results)()

        return run

    def begin(self, collective: Collective, given: Arrays, results: Arrays) -> Callable[[], None]:
        """Give the operands to the group; the function that is returned waits for all of them.

        Raises:
            TfcError: now or then: some device of the group has ended, or does something else.
        """
        device = collective.group[collective.own]
        # Whoever is faster goes on to write over its operands.
        copies = [np.array(a, order="C") for a in given]
        take = self._offer(collective.what, collective.group, device, copies)

        def finish() -> None:
            for made, place in zip(results_of(collective, take()), results):
                place[...] = made

        return finish

    def barrier(self, what: str, group: Sequence[int], device: int) -> None:
        """Wait until all of the group have come here.

        Raises:
            TfcError: some device of the group has ended, or does something else.
        """
        self._offer(what, tuple(group), device, None)()

    def _offer(
        self, what: str, group: tuple[int, ...], device: int, value: Any
    ) -> Callable[[], list[Any]]:
        """Give a value; what is returned waits for that of every device, in the group's order."""
        with CHANGED:
            turn = self._turns[group, device] = self._turns.get((group, device), 0) + 1
            meeting = self._meetings.setdefault((group, turn), _Meeting(what))
            if meeting.what != what:
                self._fail(f"device {device} runs {what} where others run {meeting.what}")
            meeting.values[device] = value
            CHANGED.notify_all()

        def take() -> list[Any]:
            with CHANGED:
                if self._ended & set(group) - set(meeting.values):
                    self._fail(f"a device ended without the {what} in which device {device} waits")
                self.wait(device, what, lambda: len(meeting.values) == len(group))
                meeting.taken += 1
                if meeting.taken == len(group):
                    del self._meetings[group, turn]
                return [meeting.values[member] for member in group]

        return take

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
    together = ThreadEngine(count)
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
