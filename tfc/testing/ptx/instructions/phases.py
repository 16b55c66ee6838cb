"""mbarrier: barriers in shared memory that count threads and bytes, and waits for their phases.

A `try_wait` gives up once and then lets its threads sleep until the phase is over: both are what
hardware may do, so a kernel must ask again. Where all sleep nothing ever ends, which is a fault.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfc.testing.ptx.instructions.access import (
    ORDERS,
    SCOPES,
    SPACES,
    by_space,
    place,
    space_of,
)
from tfc.testing.ptx.instructions.decode import Decoder, Reader, Run, Writer
from tfc.testing.ptx.state.faults import Violation
from tfc.testing.ptx.state.threads import Lanes, Threads
from tfc.testing.ptx.text.syntax import Instruction, Operand

BARRIER_BYTES = 8
_WORDS = (*ORDERS, *SCOPES, *SPACES, "parity", "expect_tx")
Places = Callable[[Threads, Lanes], np.ndarray]


@dataclass
class PhaseWait:
    """Waiting until a phase is over: where the barriers are, and the numbers of the next phases."""

    places: Places
    numbers: Callable[[Threads, Lanes, np.ndarray], np.ndarray]
    write: Writer
    predicate: Reader | None = None


def shared_places(
    decoder: Decoder, instruction: Instruction, operand: Operand, width: int
) -> Places:
    """A reader of where an address in shared memory lies, also a generic one."""
    symbol_space, address = decoder.address(operand)
    space = space_of(instruction, symbol_space)

    def read(t: Threads, lanes: Lanes) -> np.ndarray:
        given = address(t, lanes)
        if space is None:
            parts = by_space(t, lanes, given)
            given = parts[0][3]
            if len(parts) != 1 or parts[0][0] != "shared":
                raise Violation("out-of-bounds", "an address that is not of shared memory", 0)
        return place(t, lanes, "shared", given, width)

    return read


def cluster_places(decoder: Decoder, operand: Operand, width: int) -> Places:
    """A reader of where an address in the shared memory of a cluster lies."""
    _, address = decoder.address(operand)

    def read(t: Threads, lanes: Lanes) -> np.ndarray:
        given = np.broadcast_to(np.asarray(address(t, lanes)), (t.how_many(lanes),))
        slots, inside = t.clusters.places(t.lane_numbers(lanes), given)
        own = place(t, lanes, "shared", inside, width)
        return own + (slots - t.slot[lanes]) * t.spaces["shared"].stride

    return read


def barrier_instruction(decoder: Decoder, instruction: Instruction) -> Run:
    """All of mbarrier but try_wait, which ends a segment."""
    decoder.works_beside = True
    kind, flags = _kind(decoder, instruction)
    if kind not in _DECODERS:
        raise decoder.unknown(instruction, "no such form of mbarrier")
    return _DECODERS[kind](decoder, instruction, flags)


def _kind(decoder: Decoder, instruction: Instruction) -> tuple[str, set[str]]:
    decoder.types(instruction)
    kind = instruction.modifiers[0]
    return kind, decoder.flags(instruction, {kind, *_WORDS}) - {kind}


def _counts(t: Threads, lanes: Lanes, read: Reader | None) -> np.ndarray:
    given = 1 if read is None else read(t, lanes)
    return np.broadcast_to(given, (t.how_many(lanes),))


def _init(decoder: Decoder, instruction: Instruction, flags: set[str]) -> Run:
    places = shared_places(decoder, instruction, instruction.operands[0], BARRIER_BYTES)
    count = decoder.read(instruction.operands[1], "u32")
    return lambda t, lanes: t.phases.begin(places(t, lanes), _counts(t, lanes, count))


def _inval(decoder: Decoder, instruction: Instruction, flags: set[str]) -> Run:
    places = shared_places(decoder, instruction, instruction.operands[0], BARRIER_BYTES)
    return lambda t, lanes: t.phases.end(places(t, lanes))


def _bytes(decoder: Decoder, instruction: Instruction, flags: set[str]) -> Run:
    """mbarrier.expect_tx and complete_tx."""
    places = shared_places(decoder, instruction, instruction.operands[0], BARRIER_BYTES)
    count = decoder.read(instruction.operands[1], "u32")
    sign = 1 if instruction.modifiers[0] == "expect_tx" else -1

    def run(t: Threads, lanes: Lanes) -> None:
        given = _counts(t, lanes, count)
        for lane, at in enumerate(places(t, lanes).tolist()):
            t.phases.expect(at, sign * int(given[lane]), lane)

    return run


def _arrive(decoder: Decoder, instruction: Instruction, flags: set[str]) -> Run:
    state, address, *more = instruction.operands
    write = decoder.write(state, "b64")
    in_cluster = "shared::cluster" in instruction.modifiers
    if in_cluster:
        places = cluster_places(decoder, address, BARRIER_BYTES)
    else:
        places = shared_places(decoder, instruction, address, BARRIER_BYTES)
    read = decoder.read(more[0], "u32") if more else None
    expects = "expect_tx" in flags
    if expects and read is None:
        raise decoder.unknown(instruction, "it should say how many bytes are expected")

    def run(t: Threads, lanes: Lanes) -> None:
        where = places(t, lanes)
        given = _counts(t, lanes, read)
        if expects:
            for lane, at in enumerate(where.tolist()):
                t.phases.expect(at, int(given[lane]), lane)
            given = _counts(t, lanes, None)
        own = t.slot[lanes] == where // t.spaces["shared"].stride
        for at in np.unique(where[own]).tolist():  # what others know is of their own barriers
            t.seen.arrive(at, t.lane_numbers(lanes)[own & (where == at)])
        write(t, lanes, t.phases.arrive(where, given))

    return run


def _question(decoder: Decoder, instruction: Instruction, flags: set[str]) -> PhaseWait:
    result, address, given, *_ = instruction.operands
    places = shared_places(decoder, instruction, address, BARRIER_BYTES)
    read = decoder.read(given, "u32" if "parity" in flags else "b64")

    def numbers(t: Threads, lanes: Lanes, where: np.ndarray) -> np.ndarray:
        values: Any = np.broadcast_to(read(t, lanes), where.shape).astype(np.int64)
        return t.phases.numbers_of(where, values & 1) if "parity" in flags else values + 1

    return PhaseWait(places, numbers, decoder.write(result, "pred"))


def _test(decoder: Decoder, instruction: Instruction, flags: set[str]) -> Run:
    asked = _question(decoder, instruction, flags)

    def run(t: Threads, lanes: Lanes) -> None:
        where = asked.places(t, lanes)
        numbers = asked.numbers(t, lanes, where)
        t.bulk.land(where)
        over = t.phases.are_over(where, numbers)
        note_over(t, t.lane_numbers(lanes)[over], where[over])
        asked.write(t, lanes, over)

    return run


def note_over(t: Threads, lanes: np.ndarray, places: np.ndarray) -> None:
    """Note that threads see that phases are over, whose barriers are at these places."""
    for at in np.unique(places).tolist():
        t.seen.see(at, t.phases.at(at).number, lanes[places == at])


def wait_of(decoder: Decoder, instruction: Instruction, predicate: Reader | None) -> PhaseWait:
    """mbarrier.try_wait, as the end of a segment."""
    decoder.works_beside = True
    _, flags = _kind(decoder, instruction)
    asked = _question(decoder, instruction, flags)
    asked.predicate = predicate
    return asked


_DECODERS: dict[str, Callable[[Decoder, Instruction, set[str]], Run]] = {
    "init": _init, "inval": _inval, "arrive": _arrive, "test_wait": _test,
    "expect_tx": _bytes, "complete_tx": _bytes,
}  # fmt: skip
ROWS: dict[str, Callable[[Decoder, Instruction], Run]] = {"mbarrier": barrier_instruction}
