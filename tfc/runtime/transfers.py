"""Transfers: the host's queues to and from a program, and channels between programs.

    host      transfer_to_infeed(x) ─► infeed ─► program ─► outfeed ─► transfer_from_outfeed(…)
    program   send(x), channel_id=1 ─► channel 1 ─► recv(), channel_id=1            another program

Whoever sends never waits; whoever receives waits for what was sent. All of it belongs to the
process, except that replicas that run together have channels of their own among themselves.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

from tfc.errors import TfcError
from tfc.runtime.arrays import Spec, check
from tfc.runtime.engines.threads import ThreadEngine
from tfc.runtime.replicas import CHANGED, current


@dataclass
class _Queue:
    """Values in the order in which they were put, taken in the order of the requests for them."""

    values: deque[Any] = field(default_factory=deque)
    first: int = 0  # the number of values[0]
    requests: int = 0
    early: dict[int, Any] = field(default_factory=dict)  # passed over by a later request

    def has(self, number: int) -> bool:
        """True if the value of that number is there."""
        return number in self.early or number < self.first + len(self.values)

    def peek(self, number: int) -> Any:
        """The value of that number, which is there."""
        while self.first <= number:
            self.early[self.first] = self.values.popleft()
            self.first += 1
        return self.early[number]

    def take(self, number: int) -> Any:
        """Remove and return the value of that number."""
        self.peek(number)
        return self.early.pop(number)


INFEED, OUTFEED = "infeed", "outfeed"
TO_PROGRAM, FROM_PROGRAM = "host to program", "program to host"
CHANNEL = "channel"  # from program to program
Key = tuple[str, int, int]  # which of these, the channel's number or 0, the device or 0
_queues: dict[Key, _Queue] = {}
_local: WeakKeyDictionary[ThreadEngine, dict[Key, _Queue]] = WeakKeyDictionary()


def _queue(key: Key) -> _Queue:
    """The queue of that key, with CHANGED held."""
    among = current().engine
    if key[0] == CHANNEL and isinstance(among, ThreadEngine):
        return _local.setdefault(among, {}).setdefault(key, _Queue())
    return _queues.setdefault(key, _Queue())


def put(key: Key, value: Any) -> None:
    """Add a value to a queue."""
    with CHANGED:
        _queue(key).values.append(value)
        CHANGED.notify_all()


def request(key: Key) -> int:
    """Claim the next value that is put into a queue, or was; `take` gets it."""
    with CHANGED:
        queue = _queue(key)
        queue.requests += 1
        return queue.requests - 1


def take(key: Key, number: int, what: str) -> Any:
    """Wait for the value of a request.

    Raises:
        TfcError: it was to come from a replica that has ended.
    """
    with CHANGED:
        queue, here = _queue(key), current()
        if key[0] == CHANNEL and isinstance(here.engine, ThreadEngine):
            here.engine.wait(here.device, what, lambda: queue.has(number))
        else:
            CHANGED.wait_for(lambda: queue.has(number))
        return queue.take(number)


_EXPECTED = 1 << 31  # the numbers of requests that are no queue's
_expected: dict[int, Callable[[], Any]] = {}
_numbers = count(_EXPECTED)


def expect(take: Callable[[], Any]) -> int:
    """A number, u32, for a request that a function answers; `expected` has it then."""
    number = _EXPECTED | next(_numbers)
    _expected[number & 0xFFFFFFFF] = take
    return number & 0xFFFFFFFF


def expected(number: int) -> Callable[[], Any] | None:
    """The function that answers a request, once; None if a queue does."""
    return _expected.pop(number, None)


def receive(key: Key, spec: Spec, what: str, timeout: float | None) -> Any:
    """The next value of a queue, for the host; one that does not fit stays.

    Raises:
        ShapeError: the value is not what `spec` says.
        TfcError: none came within `timeout` seconds.
    """
    with CHANGED:
        queue = _queue(key)
        if not CHANGED.wait_for(lambda: queue.has(queue.requests), timeout):
            raise TfcError(f"{what}: nothing came within {timeout} seconds")
        check(queue.peek(queue.requests), spec, what)
        queue.requests += 1
        return queue.take(queue.requests - 1)
