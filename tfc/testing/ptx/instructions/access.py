"""Loads and stores of all address spaces, and addresses between spaces."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tfc.testing.ptx.instructions.decode import Decoder, Reader, Run, compute
from tfc.testing.ptx.state.memory import WINDOWS
from tfc.testing.ptx.state.threads import Lanes, Threads
from tfc.testing.ptx.text.syntax import Address, Instruction, Symbol
from tfc.testing.ptx.text.types import DTYPES, size_of

SPACES = {
    "global": "global", "const": "global", "shared": "shared", "shared::cta": "shared",
    "shared::cluster": "shared", "local": "local", "param": "param", "param::entry": "param",
    "param::func": "local",
}  # fmt: skip
ORDERS = ("weak", "relaxed", "acquire", "release", "acq_rel", "sc", "volatile", "mmio")
SCOPES = ("cta", "cluster", "gpu", "sys")
# fmt: off
HINTS = (
    "ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "L1::evict_normal", "L1::evict_unchanged",
    "L1::evict_first", "L1::evict_last", "L1::no_allocate", "L2::64B", "L2::128B", "L2::256B",
    "L2::evict_first", "L2::evict_last", "L2::evict_normal",
)
# fmt: on
_STRONG = {"relaxed", "acquire", "release", "volatile", "mmio"}
_WINDOW_OF = {base >> 40: name for name, base in WINDOWS.items()}


def space_of(instruction: Instruction, symbol_space: str | None) -> str | None:
    """The address space of an access; None is the generic one."""
    named = next((SPACES[m] for m in instruction.modifiers if m in SPACES), None)
    # `.param` of a call's arguments and of what a device function takes are local to each thread.
    return symbol_space if named == "param" and symbol_space else named


def by_space(
    t: Threads, lanes: Lanes, addresses: Any
) -> list[tuple[str, Any, np.ndarray | None, np.ndarray]]:
    """Generic addresses as [(space, lanes, which of the given ones, addresses in the space)]."""
    addresses = np.broadcast_to(np.asarray(addresses, np.uint64), (t.how_many(lanes),))
    windows = addresses >> np.uint64(40)
    first = int(windows[0])
    if (windows == first).all():
        name, base = _window(first)
        return [(name, lanes, None, addresses - np.uint64(base))]
    parts = []
    for window in np.unique(windows):
        chosen = windows == window
        name, base = _window(int(window))
        parts.append((name, t.within(lanes, chosen), np.flatnonzero(chosen),
                      addresses[chosen] - np.uint64(base)))  # fmt: skip
    return parts


def _window(number: int) -> tuple[str, int]:
    name = _WINDOW_OF.get(number, "global")
    return name, 0 if name == "global" else WINDOWS[name]


def place(t: Threads, lanes: Lanes, space: str, addresses: Any, width: int) -> np.ndarray:
    """The places of an access in its space's bytes, checked and counted as bounds say."""
    addresses = np.broadcast_to(np.asarray(addresses, np.uint64), (t.how_many(lanes),))
    return t.spaces[space].places(addresses, t.rows(space, lanes), width)


def load(
    t: Threads, lanes: Lanes, space: str, addresses: Any, dtype: np.dtype, count: int, weak: bool
) -> list[np.ndarray]:
    """`count` values that lie side by side at each address."""
    size = dtype.itemsize
    places = place(t, lanes, space, addresses, size * count)
    if space == "shared":
        t.report.count_shared(places, size * count, t.warp[lanes])
        if weak:
            t.races.read(places, size * count, lanes)
        if t.proxies is not None:
            t.proxies.check_read(places, lanes)
    elif space == "global":
        t.report.count_global(t.report.loads, places, size * count, t.warp[lanes])
    return [t.spaces[space].read(places + n * size, dtype) for n in range(count)]


def store(
    t: Threads, lanes: Lanes, space: str, addresses: Any, values: list[np.ndarray], weak: bool
) -> None:
    """Values side by side at each address."""
    size = values[0].dtype.itemsize
    width = size * len(values)
    places = place(t, lanes, space, addresses, width)
    if space == "shared":
        t.report.count_shared(places, width, t.warp[lanes])
        if weak:
            t.races.write(places, width, lanes, values)
        if t.proxies is not None:
            t.proxies.note_write(places, width, lanes)
    elif space == "global":
        t.report.count_global(t.report.stores, places, width, t.warp[lanes])
    for n, value in enumerate(values):
        t.spaces[space].write(places + n * size, value)


# --- Decoders -------------------------------------------------------------------------------------


def _vector_of(decoder: Decoder, instruction: Instruction) -> tuple[str, int, bool]:
    """(type, elements, whether the access is weak) of a load or store."""
    (name,) = decoder.types(instruction)
    flags = decoder.flags(instruction, {*SPACES, *ORDERS, *SCOPES, *HINTS, "v2", "v4", "v8"})
    count = next((int(f[1]) for f in flags if f in ("v2", "v4", "v8")), 1)
    return name, count, not flags & _STRONG


def note_shared(decoder: Decoder, space: str | None, width: int) -> None:
    """Remember the fewest bytes that an access of shared memory has."""
    if space in ("shared", None):
        decoder.shared_granule = min(decoder.shared_granule, width)


def load_decoder(decoder: Decoder, instruction: Instruction) -> Run:
    """ld, ldu."""
    name, count, weak = _vector_of(decoder, instruction)
    target, source = instruction.operands[:2]
    symbol_space, address = decoder.address(source)
    space = space_of(instruction, symbol_space)
    writes = [decoder.write(e, name) for e in decoder.elements(target)]
    if len(writes) != count:
        raise decoder.unknown(instruction, f"it should have {count} results")
    dtype = DTYPES[name]
    if "shared::cluster" in instruction.modifiers:
        decoder.works_beside = True
        note_shared(decoder, space, dtype.itemsize)
        return _load_of_cluster(writes, address, dtype)
    if space == "param" and isinstance(source, Address) and isinstance(source.base, Symbol):
        return _load_parameter(writes, address, dtype)
    note_shared(decoder, space, dtype.itemsize)

    def run(t: Threads, lanes: Lanes) -> None:
        if space is not None:
            values = load(t, lanes, space, address(t, lanes), dtype, count, weak)
            for write, value in zip(writes, values):
                write(t, lanes, value)
            return
        addresses = address(t, lanes)
        for where, some, _, inside in by_space(t, lanes, addresses):
            for write, value in zip(writes, load(t, some, where, inside, dtype, count, weak)):
                write(t, some, value)

    return run


def _load_of_cluster(writes: list[Any], address: Reader, dtype: np.dtype) -> Run:
    """Loads from the shared memory of any block of the cluster."""

    def run(t: Threads, lanes: Lanes) -> None:
        given = np.broadcast_to(np.asarray(address(t, lanes)), (t.how_many(lanes),))
        width = dtype.itemsize * len(writes)
        places = t.clusters.read(t.lane_numbers(lanes), given, width)
        t.report.count_shared(places, width, t.warp[lanes])
        for n, write in enumerate(writes):
            write(t, lanes, t.spaces["shared"].read(places + n * dtype.itemsize, dtype))

    return run


def _load_parameter(writes: list[Any], address: Reader, dtype: np.dtype) -> Run:
    def run(t: Threads, lanes: Lanes) -> None:
        at = int(address(t, lanes))
        for n, write in enumerate(writes):
            start = at + n * dtype.itemsize
            write(t, lanes, t.parameters[start : start + dtype.itemsize].view(dtype)[0])

    return run


def store_decoder(decoder: Decoder, instruction: Instruction) -> Run:
    """st."""
    name, count, weak = _vector_of(decoder, instruction)
    symbol_space, address = decoder.address(instruction.operands[0])
    space = space_of(instruction, symbol_space)
    reads = [decoder.read(e, name) for e in decoder.elements(instruction.operands[1])]
    if len(reads) != count:
        raise decoder.unknown(instruction, f"it should have {count} values")
    if "shared::cluster" in instruction.modifiers:
        raise decoder.unknown(instruction, "blocks store only to their own shared memory")
    note_shared(decoder, space, DTYPES[name].itemsize)

    def run(t: Threads, lanes: Lanes) -> None:
        shape = (t.how_many(lanes),)
        values = [np.broadcast_to(read(t, lanes), shape) for read in reads]
        if space is not None:
            store(t, lanes, space, address(t, lanes), values, weak)
            return
        for where, some, which, inside in by_space(t, lanes, address(t, lanes)):
            chosen = values if which is None else [v[which] for v in values]
            store(t, some, where, inside, chosen, weak)

    return run


def convert_address(decoder: Decoder, instruction: Instruction) -> Run:
    """cvta and cvta.to: between generic addresses and those of a space."""
    (name,) = decoder.types(instruction)
    flags = decoder.flags(instruction, ("to", *SPACES))
    (space,) = (SPACES[f] for f in flags if f in SPACES)
    base = np.uint64(0 if space == "global" else WINDOWS[space])
    write = decoder.write(instruction.operands[0], name)
    read = decoder.read(instruction.operands[1], name)
    if size_of(name) != 8:
        raise decoder.unknown(instruction, "generic addresses have 64 bits")
    if "to" in flags:
        return compute(lambda a: a - base, write, read)
    return compute(lambda a: a + base, write, read)


def is_in_space(decoder: Decoder, instruction: Instruction) -> Run:
    """isspacep."""
    (flag,) = decoder.flags(instruction, SPACES)
    number = np.uint64(WINDOWS[SPACES[flag]] >> 40)
    return compute(
        lambda a: (a >> np.uint64(40)) == number,
        decoder.write(instruction.operands[0], "pred"),
        decoder.read(instruction.operands[1], "u64"),
    )


def nothing(decoder: Decoder, instruction: Instruction) -> Run:
    """Prefetches and the like: all accesses happen in one order here."""
    return lambda t, lanes: None


ROWS: dict[str, Callable[[Decoder, Instruction], Run]] = {
    "ld": load_decoder, "ldu": load_decoder, "st": store_decoder,
    "cvta": convert_address, "isspacep": is_in_space,
    **dict.fromkeys(("membar", "prefetch", "prefetchu", "discard", "applypriority", "nanosleep",
                     "griddepcontrol", "pmevent"), nothing),
}  # fmt: skip
