"""Clocks in the code: a variant of a program that notes when each of its kernels begins and ends.

    begin = call @NAME.now()                     func @NAME.now() -> i64: nanoseconds
    call @NAME.0.dot(…)
    end = call @NAME.now()
    call @NAME.record(site, begin, end)          counts, adds up, and keeps the first events

A site is a place in the program, so what lies in a loop is recorded by one site many times. All is
kept in one global array of i64, `NAME.times`:

    [count and total of each site …, the number of events, (site, begin, end) of each event …]

Site 0 times nothing: what it takes is what timing itself adds to each.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfc.backends.interfaces import KernelTimes, TimedKernel
from tfc.backends.mlir.loops import for_loop, index_constant
from tfc.backends.mlir.provider import arith, func, ir, memref, scf
from tfc.errors import UnsupportedError
from tfc.hlo.ir import Instruction

MOST_EVENTS = 20_000
_EMPTY = 64  # how often the empty site is timed in each run


@dataclass(frozen=True)
class Site:
    """A place in a program where something is called for an instruction.

    function: the name of what is called; "" where bytes are copied, `copied` of them.
    """

    instruction: Instruction
    function: str
    copied: int = 0


class Clock:
    """Emits the timing of one program, into the module at whose end it is made."""

    def __init__(self, name: str, body: Any):
        self.name, self.body = name, body
        self.count = 1  # sites so far, the empty one among them
        self._declare_now()

    def time_nothing(self) -> None:
        """Emit what is recorded by site 0."""

        def empty(*_: Any) -> Sequence[Any]:
            begin = self.now()
            self._record(0, begin)
            return []

        for_loop(0, _EMPTY, 1, empty)

    def now(self) -> Any:
        """Emit a reading of the clock."""
        return func.CallOp([_i64()], f"{self.name}.now", []).result

    def record(self, begin: Any) -> None:
        """Emit the record of the next site, which began at `begin` and ends here."""
        self._record(self.count, begin)
        self.count += 1

    def finish(self) -> None:
        """Define what `record` calls, and its memory, once all sites are there."""
        words = times_size(self.count - 1)
        kind = ir.MemRefType.get([words], _i64())
        zeros = ir.DenseElementsAttr.get_splat(
            ir.RankedTensorType.get([words], _i64()), ir.IntegerAttr.get(_i64(), 0)
        )
        with ir.InsertionPoint(self.body):
            memref.global_(f"{self.name}.times", kind, initial_value=zeros)
            function = func.FuncOp(f"{self.name}.record", ([_i64()] * 3, []), visibility="private")
            function.attributes["llvm.linkage"] = ir.Attribute.parse("#llvm.linkage<internal>")
        block = function.add_entry_block()
        with ir.InsertionPoint(block):
            times = memref.get_global(kind, f"{self.name}.times")
            self._emit_record(times, *block.arguments)
            func.return_([])

    def _record(self, site: int, begin: Any) -> None:
        number = arith.constant(_i64(), site)
        func.CallOp([], f"{self.name}.record", [number, begin, self.now()])

    def _emit_record(self, times: Any, site: Any, begin: Any, end: Any) -> None:
        number = arith.index_cast(ir.IndexType.get(), site)
        place = arith.addi(number, number)
        _add(times, place, arith.constant(_i64(), 1))
        _add(times, arith.addi(place, index_constant(1)), arith.subi(end, begin))
        cursor = index_constant(2 * self.count)
        known = memref.load(times, [cursor])
        is_kept = arith.cmpi(arith.CmpIPredicate.ult, known, arith.constant(_i64(), MOST_EVENTS))
        is_real = arith.cmpi(arith.CmpIPredicate.ne, site, arith.constant(_i64(), 0))
        kept = scf.IfOp(arith.andi(is_kept, is_real))
        with ir.InsertionPoint(kept.then_block):
            triple = arith.muli(arith.index_cast(ir.IndexType.get(), known), index_constant(3))
            for field, value in enumerate((site, begin, end)):
                at = arith.addi(triple, index_constant(2 * self.count + 1 + field))
                memref.store(value, times, [at])
            memref.store(arith.addi(known, arith.constant(_i64(), 1)), times, [cursor])
            scf.yield_([])

    def _declare_now(self) -> None:
        """POSIX's clock_gettime(clock, {seconds, nanoseconds}), as one number."""
        status = ir.IntegerType.get_signless(32)
        pair = ir.MemRefType.get([2], _i64())
        with ir.InsertionPoint(self.body):
            func.FuncOp("clock_gettime", ([status, pair], [status]), visibility="private")
            function = func.FuncOp(f"{self.name}.now", ([], [_i64()]), visibility="private")
            function.attributes["llvm.linkage"] = ir.Attribute.parse("#llvm.linkage<internal>")
        block = function.add_entry_block()
        with ir.InsertionPoint(block):
            read = memref.alloca(pair, [], [])
            which = arith.constant(status, _clock())
            func.CallOp([status], "clock_gettime", [which, read])
            seconds, rest = (memref.load(read, [index_constant(n)]) for n in (0, 1))
            billion = arith.constant(_i64(), 1_000_000_000)
            func.return_([arith.addi(arith.muli(seconds, billion), rest)])


def read_times(words: np.ndarray, sites: Sequence[Site], began: int, ended: int) -> KernelTimes:
    """What one run has recorded in its `NAME.times`, less what timing itself takes."""
    count = len(sites) + 1
    pairs = words[: 2 * count].reshape(count, 2)
    empty = pairs[0, 1] / max(pairs[0, 0], 1)
    kernels = tuple(
        TimedKernel(s.instruction, s.function, s.copied, int(n), max(float(t - n * empty), 0.0))
        for s, (n, t) in zip(sites, pairs[1:])
    )
    events = words[2 * count + 1 :].reshape(-1, 3)[: int(words[2 * count])]
    return KernelTimes(
        kernels, tuple((int(s) - 1, int(b), int(e)) for s, b, e in events), began, ended
    )


def times_size(sites: int) -> int:
    """The number of words in `NAME.times` for so many sites beside the empty one."""
    return 2 * (sites + 1) + 1 + 3 * MOST_EVENTS


def _clock() -> int:
    """The number of the clock that Python's time.monotonic_ns reads."""
    if not hasattr(time, "CLOCK_MONOTONIC"):
        raise UnsupportedError("kernels cannot be timed on this system: it has no clock_gettime")
    return time.CLOCK_MONOTONIC


def _add(times: Any, place: Any, value: Any) -> None:
    memref.store(arith.addi(memref.load(times, [place]), value), times, [place])


def _i64() -> Any:
    return ir.IntegerType.get_signless(64)
