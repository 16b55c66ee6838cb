"""What the threads of a warp do together: shuffles, votes, matches, reductions."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tfc.testing.ptx.instructions.decode import Decoder, Reader, Run
from tfc.testing.ptx.state.faults import Violation
from tfc.testing.ptx.state.threads import WARP, Lanes, Threads
from tfc.testing.ptx.text.syntax import Instruction
from tfc.testing.ptx.text.types import DTYPES

_BITS = np.arange(WARP, dtype=np.uint32)


def table(t: Threads, lanes: Lanes, values: Any, fill: Any = 0) -> np.ndarray:
    """A row of 32 for each warp: the values of its lanes, `fill` where there is none."""
    values = np.asarray(values)
    result = np.full((t.warps, WARP), fill, values.dtype)
    result[t.warp[lanes], t.lane[lanes]] = values
    return result


def mask_of(flags: np.ndarray) -> np.ndarray:
    """The bits of rows of 32 flags, as one number each."""
    return np.packbits(flags, axis=1, bitorder="little").view(np.uint32)[:, 0]


def present(t: Threads, lanes: Lanes) -> np.ndarray:
    """For each warp the lanes that are here."""
    return mask_of(table(t, lanes, np.ones(t.how_many(lanes), bool), False))


def alive(t: Threads) -> np.ndarray:
    """For each warp the lanes that have not ended."""
    return mask_of(table(t, slice(None), ~t.exited, False))


def members(t: Threads, lanes: Lanes, mask: Any) -> np.ndarray:
    """The lanes of a member mask that take part, of each thread: those of its warp that are alive.

    Raises:
        Violation: a thread is not in its own mask, or one of the mask is not at this instruction.
    """
    mask = np.broadcast_to(np.asarray(mask, np.uint32), (t.how_many(lanes),))
    outside = (mask >> t.lane[lanes]) & np.uint32(1) == 0
    if outside.any():
        raise Violation("divergence", "a thread is not in its own member mask",
                        int(np.flatnonzero(outside)[0]))  # fmt: skip
    here = present(t, lanes)[t.warp[lanes]]
    absent = mask & alive(t)[t.warp[lanes]] & ~here
    if absent.any():
        lane = int(np.flatnonzero(absent)[0])
        raise Violation(
            "divergence",
            f"lanes {int(absent[lane]):#010x} of the member mask are not at this instruction",
            lane,
        )
    return mask & here


def _member_reader(decoder: Decoder, instruction: Instruction) -> Reader:
    if "sync" not in instruction.modifiers:
        raise decoder.unknown(instruction, "only the forms with .sync")
    return decoder.read(instruction.operands[-1], "b32")


def _source_lane(mode: str, lane: Any, b: Any, c: Any) -> tuple[np.ndarray, np.ndarray]:
    """(the lane that a shuffle reads, whether it lies within the segment)."""
    lane, b, c = (np.asarray(v).astype(np.int64) for v in (lane, b, c))
    segment, b = c >> 8 & 31, b & 31
    lowest = lane & segment
    highest = lowest | (c & 31 & ~segment)
    match mode:
        case "up":
            source = lane - b
            return source, source >= highest
        case "down":
            source = lane + b
        case "bfly":
            source = lane ^ b
        case _:
            source = lowest | (b & ~segment)
    return source, source <= highest


def shuffle(decoder: Decoder, instruction: Instruction) -> Run:
    """shfl.sync."""
    flags = decoder.flags(instruction, ("sync", "up", "down", "bfly", "idx"))
    (mode,) = flags - {"sync"}
    first, second = decoder.results(instruction.operands[0])
    write, write_inside = decoder.write(first, "b32"), decoder.write(second, "pred")
    a, b, c = (decoder.read(o, "b32") for o in instruction.operands[1:4])
    mask = _member_reader(decoder, instruction)

    def run(t: Threads, lanes: Lanes) -> None:
        together = members(t, lanes, mask(t, lanes))
        values = np.broadcast_to(a(t, lanes), together.shape)
        source, inside = _source_lane(mode, t.lane[lanes], b(t, lanes), c(t, lanes))
        source = np.where(inside, source, t.lane[lanes])
        absent = (together >> source.astype(np.uint32)) & np.uint32(1) == 0
        if absent.any():
            lane = int(np.flatnonzero(absent)[0])
            raise Violation("divergence", f"a shuffle reads lane {source[lane]}, which is absent",
                            lane)  # fmt: skip
        write(t, lanes, table(t, lanes, values)[t.warp[lanes], source])
        write_inside(t, lanes, inside)

    return run


def vote(decoder: Decoder, instruction: Instruction) -> Run:
    """vote.sync."""
    flags = decoder.flags(instruction, ("sync", "all", "any", "uni", "ballot"))
    (mode,) = flags - {"sync"}
    result, operand = instruction.operands[:2]
    write = decoder.write(result, "b32" if mode == "ballot" else "pred")
    read, mask = decoder.read(operand, "pred"), _member_reader(decoder, instruction)

    def run(t: Threads, lanes: Lanes) -> None:
        together = members(t, lanes, mask(t, lanes))
        values = np.broadcast_to(read(t, lanes), together.shape)
        ballot = mask_of(table(t, lanes, values, False))[t.warp[lanes]] & together
        match mode:
            case "ballot":
                write(t, lanes, ballot)
            case "all":
                write(t, lanes, ballot == together)
            case "any":
                write(t, lanes, ballot != 0)
            case _:
                write(t, lanes, (ballot == together) | (ballot == 0))

    return run


def match(decoder: Decoder, instruction: Instruction) -> Run:
    """match.any and match.all."""
    (name,) = decoder.types(instruction)
    flags = decoder.flags(instruction, ("sync", "any", "all"))
    first, second = decoder.results(instruction.operands[0])
    write, write_all = decoder.write(first, "b32"), decoder.write(second, "pred")
    read, mask = decoder.read(instruction.operands[1], name), _member_reader(decoder, instruction)

    def run(t: Threads, lanes: Lanes) -> None:
        together = members(t, lanes, mask(t, lanes))
        values = np.broadcast_to(read(t, lanes), together.shape)
        rows = table(t, lanes, values)[t.warp[lanes]]
        equal = mask_of(rows == values[:, None]) & together
        if "all" in flags:
            write_all(t, lanes, equal == together)
            equal = np.where(equal == together, together, np.uint32(0))
        write(t, lanes, equal)

    return run


_REDUCE: dict[str, Callable[..., Any]] = {
    "add": np.add.reduce, "min": np.minimum.reduce, "max": np.maximum.reduce,
    "and": np.bitwise_and.reduce, "or": np.bitwise_or.reduce, "xor": np.bitwise_xor.reduce,
}  # fmt: skip


def reduction(decoder: Decoder, instruction: Instruction) -> Run:
    """redux.sync of integers."""
    (name,) = decoder.types(instruction)
    flags = decoder.flags(instruction, ("sync", *_REDUCE))
    (operation,) = flags - {"sync"}
    if name not in ("s32", "u32", "b32"):
        raise decoder.unknown(instruction, "integers only")
    dtype = DTYPES[name]
    limits = np.iinfo(dtype)
    neutral = {"min": limits.max, "max": limits.min, "and": limits.max}.get(operation, 0)
    write = decoder.write(instruction.operands[0], name)
    read, mask = decoder.read(instruction.operands[1], name), _member_reader(decoder, instruction)

    def run(t: Threads, lanes: Lanes) -> None:
        together = members(t, lanes, mask(t, lanes))
        values = np.broadcast_to(read(t, lanes), together.shape)
        rows = table(t, lanes, values)[t.warp[lanes]]
        chosen = (together[:, None] >> _BITS) & np.uint32(1) != 0
        write(t, lanes, _REDUCE[operation](np.where(chosen, rows, dtype.type(neutral)), axis=1,
                                           dtype=dtype))  # fmt: skip

    return run


def active_mask(decoder: Decoder, instruction: Instruction) -> Run:
    """activemask."""
    decoder.types(instruction)
    write = decoder.write(instruction.operands[0], "b32")
    return lambda t, lanes: write(t, lanes, present(t, lanes)[t.warp[lanes]])


def elect(decoder: Decoder, instruction: Instruction) -> Run:
    """elect.sync: the lowest lane of the mask."""
    decoder.flags(instruction, ("sync",))
    first, second = decoder.results(instruction.operands[0])
    write, write_elected = decoder.write(first, "b32"), decoder.write(second, "pred")
    mask = _member_reader(decoder, instruction)

    def run(t: Threads, lanes: Lanes) -> None:
        together = members(t, lanes, mask(t, lanes))
        lowest = np.bitwise_count((together & (~together + np.uint32(1))) - np.uint32(1))
        write(t, lanes, lowest.astype(np.uint32))
        write_elected(t, lanes, lowest == t.lane[lanes])

    return run


def warp_barrier(decoder: Decoder, instruction: Instruction) -> Run:
    """bar.warp.sync: what threads of a warp did before is seen by those after."""
    decoder.flags(instruction, ("warp", "sync"))
    mask = _member_reader(decoder, instruction)

    def run(t: Threads, lanes: Lanes) -> None:
        members(t, lanes, mask(t, lanes))
        t.warp_epoch[np.unique(t.warp[lanes])] += 1
        if t.seen is not None:
            t.seen.meet(t.warp[lanes], t.lane_numbers(lanes))

    return run


ROWS: dict[str, Callable[[Decoder, Instruction], Run]] = {
    "shfl": shuffle, "vote": vote, "match": match, "redux": reduction, "activemask": active_mask,
    "elect": elect, "bar": warp_barrier,
}  # fmt: skip
