"""atom and red: read, change and write, one thread after the other by their numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tfc.testing.ptx.instructions.access import (
    HINTS,
    ORDERS,
    SCOPES,
    SPACES,
    by_space,
    note_shared,
    place,
    space_of,
)
from tfc.testing.ptx.instructions.decode import Decoder, Run
from tfc.testing.ptx.instructions.floats import largest, smallest, wide
from tfc.testing.ptx.instructions.rounding import narrow, sum_to_odd
from tfc.testing.ptx.state.threads import Lanes, Threads
from tfc.testing.ptx.text.syntax import Instruction
from tfc.testing.ptx.text.types import DTYPES

_Change = Callable[..., Any]  # (old, b[, c]) -> new


def _wrapping_increment(old: Any, limit: Any) -> Any:
    return np.where(old >= limit, 0, old + 1).astype(old.dtype)


def _wrapping_decrement(old: Any, limit: Any) -> Any:
    return np.where((old == 0) | (old > limit), limit, old - 1).astype(old.dtype)


def _add(old: Any, b: Any) -> Any:
    if old.dtype.kind in "iu" or old.dtype.itemsize > 2:
        return old + b
    name = "f16" if old.dtype == np.float16 else "bf16"
    return narrow(sum_to_odd(wide(old), wide(b)), name)


def _by_kind(whole: _Change, real: _Change) -> _Change:
    def change(old: Any, b: Any) -> Any:
        return whole(old, b) if old.dtype.kind in "iu" else real(wide(old), wide(b)).astype(
            old.dtype)  # fmt: skip

    return change


CHANGES: dict[str, _Change] = {
    "add": _add, "min": _by_kind(np.minimum, smallest), "max": _by_kind(np.maximum, largest),
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "exch": lambda old, b: b, "cas": lambda old, b, c: np.where(old == b, c, old),
    "inc": _wrapping_increment, "dec": _wrapping_decrement,
}  # fmt: skip
# What NumPy does at repeated places in order, and gives the same as one thread after the other.
_UNORDERED: dict[str, Any] = {
    "add": np.add, "min": np.minimum, "max": np.maximum,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip


def _turns(places: np.ndarray) -> list[np.ndarray]:
    """Indices of the accesses in rounds: in none are two of one place, and order is kept."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    sizes = np.diff(np.append(starts, len(places)))
    if sizes.max() == 1:
        return [np.arange(len(places))]
    turn = np.arange(len(places)) - np.repeat(starts, sizes)
    by_turn = np.argsort(turn, kind="stable")
    return np.split(order[by_turn], np.cumsum(np.bincount(turn))[:-1])


def _atomically(
    t: Threads, lanes: Lanes, space: str, addresses: Any, operation: str, values: list[np.ndarray],
    wanted: bool,
) -> np.ndarray | None:  # fmt: skip
    """The old values, if they are wanted."""
    dtype = values[0].dtype
    places = place(t, lanes, space, addresses, dtype.itemsize)
    memory = t.spaces[space]
    memory.read(places, dtype)  # all must have been written
    memory.write(places, memory.read(places, dtype))
    t.report.atomics += len(places)
    view, at = memory.data.view(dtype), places // dtype.itemsize
    ufunc = _UNORDERED.get(operation)
    exact = dtype.kind in "iu" or (operation == "add" and dtype.itemsize > 2)
    if not wanted and ufunc is not None and exact:
        ufunc.at(view, at, values[0])
        return None
    old = np.empty(len(places), dtype)
    for turn in _turns(places):
        old[turn] = view[at[turn]]
        view[at[turn]] = CHANGES[operation](old[turn], *(v[turn] for v in values))
    return old


def atomic(decoder: Decoder, instruction: Instruction) -> Run:
    """atom (with the old value as result) and red (without)."""
    (name,) = decoder.types(instruction)
    known = {*CHANGES, *SPACES, *ORDERS, *SCOPES, *HINTS, "noftz", "async"}
    flags = decoder.flags(instruction, known)
    operation = next(m for m in instruction.modifiers if m in CHANGES)
    operands = list(instruction.operands)
    wanted = instruction.opcode == "atom"
    write = decoder.write(operands.pop(0), name) if wanted else None
    symbol_space, address = decoder.address(operands.pop(0))
    space = space_of(instruction, symbol_space)
    if "async" in flags or len(operands) != (2 if operation == "cas" else 1):
        raise decoder.unknown(instruction, "not with these operands")
    reads = [decoder.read(o, name) for o in operands]
    dtype = DTYPES[name]
    single = DTYPES[name.removesuffix("x2")] if name.endswith("x2") else dtype
    if single != dtype and operation != "add":
        raise decoder.unknown(instruction, "pairs are only added")
    note_shared(decoder, space, dtype.itemsize)

    def run(t: Threads, lanes: Lanes) -> None:
        shape = (t.how_many(lanes),)
        values = [np.broadcast_to(read(t, lanes), shape) for read in reads]
        for where, some, which, inside in _spaces(t, lanes, space, address(t, lanes)):
            chosen = values if which is None else [v[which] for v in values]
            if single != dtype:
                old = _pairs(t, some, where, inside, chosen[0], single, wanted)
            else:
                old = _atomically(t, some, where, inside, operation, chosen, wanted)
            if write is not None and old is not None:
                write(t, some, old)

    return run


def _spaces(t: Threads, lanes: Lanes, space: str | None, addresses: Any) -> list[Any]:
    if space is None:
        return by_space(t, lanes, addresses)
    return [(space, lanes, None, addresses)]


def _pairs(
    t: Threads, lanes: Lanes, space: str, addresses: Any, values: np.ndarray, single: np.dtype,
    wanted: bool,
) -> np.ndarray | None:  # fmt: skip
    """Two numbers at each address, each added atomically."""
    halves = np.ascontiguousarray(values).view(single).reshape(-1, 2)
    place(t, lanes, space, addresses, 2 * single.itemsize)
    old = [
        _atomically(t, lanes, space, addresses + np.uint64(n * single.itemsize), "add",
                    [np.ascontiguousarray(halves[:, n])], wanted)
        for n in range(2)
    ]  # fmt: skip
    if old[0] is None or old[1] is None:
        return None
    return np.ascontiguousarray(np.stack([old[0], old[1]], 1)).view(values.dtype)[:, 0]


ROWS: dict[str, Callable[[Decoder, Instruction], Run]] = {"atom": atomic, "red": atomic}
