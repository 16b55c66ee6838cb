"""cp.async: copies from global to shared memory that are done once they are waited for.

What is copied is read when the copy begins. Until a wait, reading the target is a fault, as it
would be of memory that was never written.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfc.testing.ptx.instructions import bulk
from tfc.testing.ptx.instructions.access import HINTS, SPACES, load, note_shared, place
from tfc.testing.ptx.instructions.decode import Decoder, Run
from tfc.testing.ptx.state.memory import NEW, WRITTEN
from tfc.testing.ptx.state.threads import Lanes, Threads
from tfc.testing.ptx.text.syntax import Instruction


@dataclass
class Copy:
    """Copies that are under way: of some lanes, one of a width each."""

    lanes: np.ndarray
    group: np.ndarray
    places: np.ndarray
    data: np.ndarray  # [lanes, bytes]

    def part(self, chosen: np.ndarray) -> "Copy":
        """Those of some lanes."""
        return Copy(self.lanes[chosen], self.group[chosen], self.places[chosen], self.data[chosen])


class Copies:
    """The copies under way of a batch of threads, and how many groups each thread has closed."""

    def __init__(self, threads: Threads):
        self.closed = np.zeros(threads.count, np.int64)
        self.open: list[Copy] = []

    def finish(self, t: Threads, lanes: Lanes, left: int) -> None:
        """Finish all but the last `left` groups of these threads."""
        limit = np.full(t.count, -1)
        limit[lanes] = self.closed[lanes] - left - 1
        still: list[Copy] = []
        shared = t.spaces["shared"]
        for copy in self.open:
            done = copy.group <= limit[copy.lanes]
            ready = copy.part(done)
            if len(ready.lanes):
                width = ready.data.shape[1]
                t.races.write(ready.places, width, ready.lanes, [ready.data])
                if t.proxies is not None:
                    t.proxies.note_write(ready.places, width, ready.lanes)
                at = ready.places[:, None] + np.arange(width)
                shared.data[at], shared.shadow[at] = ready.data, WRITTEN
            if not done.all():
                still.append(copy.part(~done))
        self.open = still


def _begin(decoder: Decoder, instruction: Instruction) -> Run:
    """cp.async.{ca,cg}.shared.global [to], [from], size{, size of source}."""
    flags = decoder.flags(instruction, ("async", *SPACES, *HINTS))
    target, source, size, *more = instruction.operands
    if "global" not in flags or not flags & {"shared", "shared::cta"} or len(more) > 1:
        raise decoder.unknown(instruction, "only from global to shared memory")
    width = int(decoder.read(size, "u32")(None, None))  # type: ignore[arg-type]
    if width not in (4, 8, 16):
        raise decoder.unknown(instruction, "copies are of 4, 8 or 16 bytes")
    _, to = decoder.address(target)
    _, origin = decoder.address(source)
    read_size = decoder.read(more[0], "u32") if more else None
    note_shared(decoder, "shared", width)

    def run(t: Threads, lanes: Lanes) -> None:
        count = t.how_many(lanes)
        places = place(t, lanes, "shared", to(t, lanes), width)
        addresses = np.broadcast_to(origin(t, lanes), (count,))
        data = np.zeros((count, width), np.uint8)
        sizes: Any = width if read_size is None else read_size(t, lanes)
        for given in np.unique(sizes):  # bytes beyond the source's size are zeros
            chosen = np.broadcast_to(np.asarray(sizes) == given, (count,))
            if given:
                some = t.within(lanes, chosen)
                data[chosen, :given] = _source(t, some, addresses[chosen], int(given), width)
        t.report.count_shared(places, width, t.warp[lanes])
        t.races.write(places, width, lanes, [data])
        t.spaces["shared"].set_state(places, width, NEW)
        numbers = t.lane_numbers(lanes)
        t.copies.open.append(Copy(numbers, t.copies.closed[numbers], places, data))

    return run


def _source(t: Threads, lanes: Lanes, addresses: np.ndarray, size: int, width: int) -> np.ndarray:
    """The bytes to copy; the address must be a multiple of the whole width."""
    if size == width:
        words = load(t, lanes, "global", addresses, np.dtype(np.uint32), width // 4, True)
        return np.stack(words, 1).view(np.uint8)
    place(t, lanes, "global", addresses, 1)
    parts = [load(t, lanes, "global", addresses + np.uint64(n), np.dtype(np.uint8), 1, True)[0]
             for n in range(size)]  # fmt: skip
    return np.stack(parts, 1)


def _commit(t: Threads, lanes: Lanes) -> None:
    t.copies.closed[lanes] += 1


def copy(decoder: Decoder, instruction: Instruction) -> Run:
    """cp.async, what closes groups of copies and waits for them, and cp.async.bulk."""
    kind = instruction.modifiers[1] if len(instruction.modifiers) > 1 else ""
    if instruction.modifiers[:1] != ("async",):
        raise decoder.unknown(instruction, "only cp.async")
    if kind == "bulk":
        return bulk.copy_bulk(decoder, instruction)
    if kind == "commit_group":
        return _commit
    if kind == "wait_group":
        read = decoder.read(instruction.operands[0], "u32")
        left = int(read(None, None))  # type: ignore[arg-type]
        return lambda t, lanes: t.copies.finish(t, lanes, left)
    if kind == "wait_all":

        def run(t: Threads, lanes: Lanes) -> None:
            _commit(t, lanes)
            t.copies.finish(t, lanes, 0)

        return run
    return _begin(decoder, instruction)


ROWS: dict[str, Callable[[Decoder, Instruction], Run]] = {"cp": copy}
