"""Where threads go at the end of a segment: branches, ends, barriers. And traps."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tfc.testing.ptx.instructions.clusters import ClusterWait, cluster_wait_of
from tfc.testing.ptx.instructions.decode import Decoder, Reader, Run, Writer
from tfc.testing.ptx.instructions.phases import PhaseWait, wait_of
from tfc.testing.ptx.instructions.warpgroups import Together, together_of
from tfc.testing.ptx.state.faults import Violation
from tfc.testing.ptx.state.threads import Lanes, Threads
from tfc.testing.ptx.text.syntax import Instruction

_REDUCTIONS = {"popc", "and", "or"}
BARRIERS = 16


@dataclass
class Branch:
    """To the only target where the predicate holds (None: always), else on."""

    predicate: Reader | None


@dataclass
class Table:
    """To the target whose number the index is."""

    index: Reader
    predicate: Reader | None


@dataclass
class Finish:
    """The end of the threads for which the predicate holds."""

    predicate: Reader | None


@dataclass
class Barrier:
    """Waiting for the threads of the block, or as many as `expected` says.

    `waits` is False for those that only arrive. `reduce` combines a predicate of all that wait.
    """

    number: Reader
    expected: Reader | None
    waits: bool
    aligned: bool
    predicate: Reader | None = None
    reduce: str = ""
    value: Reader | None = None
    write: Writer | None = None


End: TypeAlias = Branch | Table | Finish | Barrier | PhaseWait | ClusterWait | Together


def end_of(decoder: Decoder, instruction: Instruction) -> End:
    """What an instruction that ends a segment means."""
    predicate = None
    if instruction.predicate is not None:
        predicate = decoder.read(instruction.predicate, "pred")
    match instruction.opcode:
        case "bra":
            decoder.flags(instruction, ("uni",))
            return Branch(predicate)
        case "brx":
            decoder.flags(instruction, ("idx", "uni"))
            return Table(decoder.read(instruction.operands[0], "u32"), predicate)
        case "ret" | "exit":
            decoder.flags(instruction, ("uni",))
            return Finish(predicate)
        case "mbarrier":
            return wait_of(decoder, instruction, predicate)
        case "wgmma":
            return together_of(decoder, instruction)
    if instruction.modifiers[:1] == ("cluster",):
        return cluster_wait_of(decoder, instruction, predicate)
    return _barrier(decoder, instruction, predicate)


def _barrier(decoder: Decoder, instruction: Instruction, predicate: Reader | None) -> Barrier:
    flags = {m for m in instruction.modifiers if m not in ("pred", "u32", "cta")}
    kinds = flags & {"sync", "arrive", "red"}
    if flags - kinds - {"aligned", *_REDUCTIONS} or len(kinds) != 1:
        raise decoder.unknown(instruction, "no such barrier")
    aligned = instruction.opcode == "bar" or "aligned" in flags
    operands = list(instruction.operands)
    write = value = None
    reduce = ""
    if "red" in flags:
        (reduce,) = flags & _REDUCTIONS
        write = decoder.write(operands.pop(0), "u32" if reduce == "popc" else "pred")
        value = decoder.read(operands.pop(), "pred")
    number, *expected = (decoder.read(o, "u32") for o in operands)
    return Barrier(number, expected[0] if expected else None, "arrive" not in flags, aligned,
                   predicate, reduce, value, write)  # fmt: skip


def _trap(decoder: Decoder, instruction: Instruction) -> Run:
    def run(t: Threads, lanes: Lanes) -> None:
        raise Violation("trap", "a trap", 0)

    return run


@dataclass
class Waiting:
    """Threads at a barrier, where they go on, and what they bring to a reduction."""

    lanes: np.ndarray
    following: int | None
    barrier: Barrier
    values: Any


class Barriers:
    """The barriers of a batch of blocks."""

    def __init__(self, threads: Threads):
        self.threads = threads
        self.arrived = np.zeros((threads.blocks, BARRIERS), np.int64)
        self.waiting: dict[int, list[Waiting]] = {}

    def arrive(self, end: Barrier, lanes: np.ndarray, following: int | None) -> list[Any]:
        """[(lanes, segment)] of the threads that go on now."""
        t = self.threads
        numbers = np.broadcast_to(end.number(t, lanes), (len(lanes),))
        expected = np.broadcast_to(
            t.block_size if end.expected is None else end.expected(t, lanes), (len(lanes),)
        )
        values = None if end.value is None else np.broadcast_to(end.value(t, lanes), (len(lanes),))
        if end.aligned:
            self._check_aligned(lanes)
        freed: list[Any] = []
        for number in np.unique(numbers):
            if number >= BARRIERS:
                raise Violation("barrier", f"there is no barrier {number}", 0)
            chosen = numbers == number
            own = None if values is None else values[chosen]
            some = Waiting(lanes[chosen], following, end, own)
            if end.waits:
                self.waiting.setdefault(int(number), []).append(some)
            elif following is not None:
                freed.append((some.lanes, following))
            if t.seen is not None:
                t.seen.at_block_barrier(int(number), some.lanes, goes_on=False)
            freed += self._count(int(number), some.lanes, expected[chosen])
        return freed

    def _check_aligned(self, lanes: np.ndarray) -> None:
        t = self.threads
        here = np.bincount(t.warp[lanes], minlength=t.warps)
        alive = np.bincount(t.warp[~t.exited], minlength=t.warps)
        partial = (here != 0) & (here != alive)
        if partial.any():
            lane = int(np.flatnonzero(partial[t.warp[lanes]])[0])
            raise Violation("barrier", "a barrier that some threads of a warp do not reach", lane)

    def _count(self, number: int, lanes: np.ndarray, expected: np.ndarray) -> list[Any]:
        """Count arrivals, and free the blocks whose barrier is complete."""
        t = self.threads
        wanted = np.zeros(t.blocks, np.int64)
        wanted[t.slot[lanes]] = expected
        self.arrived[:, number] += np.bincount(t.slot[lanes], minlength=t.blocks)
        arrived = self.arrived[:, number]
        over = (arrived > wanted) & (wanted > 0)
        if over.any():
            raise Violation("barrier", "more threads reach a barrier than it is for",
                            int(np.flatnonzero(over[t.slot[lanes]])[0]))  # fmt: skip
        complete = (arrived == wanted) & (wanted > 0)
        if not complete.any():
            return []
        self.arrived[complete, number] = 0
        t.block_epoch[complete] += 1
        t.report.barriers += int(np.count_nonzero(complete))
        return self._freed(number, complete)

    def _freed(self, number: int, complete: np.ndarray) -> list[Any]:
        t = self.threads
        entries = self.waiting.pop(number, [])
        freed, stay = [], []
        reduced = self._reduced(entries)
        for entry in entries:
            go = complete[t.slot[entry.lanes]]
            lanes = entry.lanes[go]
            if len(lanes):
                if entry.barrier.write is not None:
                    entry.barrier.write(t, lanes, reduced[entry.barrier.reduce][t.slot[lanes]])
                if t.seen is not None:
                    t.seen.at_block_barrier(number, lanes, goes_on=True)
                if entry.following is not None:
                    freed.append((lanes, entry.following))
            if not go.all():
                values = None if entry.values is None else entry.values[~go]
                stay.append(Waiting(entry.lanes[~go], entry.following, entry.barrier, values))
        if stay:
            self.waiting[number] = stay
        return freed

    def _reduced(self, entries: list[Waiting]) -> dict[str, np.ndarray]:
        """What each block's threads bring, put together in each way."""
        t = self.threads
        yes, count = np.zeros(t.blocks, np.int64), np.zeros(t.blocks, np.int64)
        for entry in entries:
            if entry.values is not None:
                slots = t.slot[entry.lanes]
                yes += np.bincount(slots, entry.values, t.blocks).astype(np.int64)
                count += np.bincount(slots, minlength=t.blocks)
        return {"popc": yes.astype(np.uint32), "and": yes == count, "or": yes > 0}


ROWS: dict[str, Callable[[Decoder, Instruction], Run]] = {"trap": _trap, "brkpt": _trap}
