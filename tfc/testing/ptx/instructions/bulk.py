"""cp.async.bulk: copies of runs of bytes and of boxes of tensors, and the fences around them.

.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes  [to], [map, {x, y}], [barrier]
.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes
                            [to], [map, {feature, x, y, image}], [barrier], {right, down}
.tensor.2d.global.shared::cta.bulk_group                        [map, {x, y}], [from]
.shared::cluster.global.mbarrier::complete_tx::bytes            [to], [from], size, [barrier]
.global.shared::cta.bulk_group                                  [to], [from], size
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfc.testing.ptx.instructions.access import ORDERS, SCOPES, by_space
from tfc.testing.ptx.instructions.decode import Decoder, Reader, Run
from tfc.testing.ptx.instructions.phases import BARRIER_BYTES, shared_places
from tfc.testing.ptx.state.faults import Violation
from tfc.testing.ptx.state.report import SECTOR, Traffic
from tfc.testing.ptx.state.tensor_maps import (
    SIZE,
    TensorMap,
    decode,
    pixel_addresses,
    swizzled,
)
from tfc.testing.ptx.state.threads import Lanes, Threads
from tfc.testing.ptx.text.syntax import Address, Instruction, Operand, Vector

_LOAD = {"shared::cluster", "global", "mbarrier::complete_tx::bytes"}
_LOAD_OF_BLOCK = {"shared::cta", "global", "mbarrier::complete_tx::bytes"}
_STORE = {"global", "shared::cta", "bulk_group"}
_BOX_ALIGNMENT, _RUN_ALIGNMENT = 128, 16
_WORDS_OF_SIZE = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def copy_bulk(decoder: Decoder, instruction: Instruction) -> Run:
    """All of cp.async.bulk."""
    decoder.works_beside = True
    rest = list(instruction.modifiers[2:])
    if rest == ["commit_group"]:
        return lambda t, lanes: t.bulk.commit(lanes)
    if rest[:1] == ["wait_group"]:
        read = decoder.read(instruction.operands[0], "u32")
        left = int(read(None, None))  # type: ignore[arg-type]
        only_read = rest[1:] == ["read"]
        return lambda t, lanes: t.bulk.wait(lanes, left, only_read)
    flags = set(rest) - {"tile", "L2::cache_hint"}
    if "tensor" in flags:
        shares = "multicast::cluster" in flags and "shared::cluster" in flags
        flags -= {"multicast::cluster"} if shares else set()
        rank = next((int(f[0]) for f in flags if f in ("1d", "2d", "3d", "4d", "5d")), 0)
        flags -= {"tensor", f"{rank}d"}
        moves = rank - 2 if "im2col" in flags and rank > 2 else 0
        flags -= {"im2col"} if moves else set()
        if rank and flags in (_LOAD, _LOAD_OF_BLOCK):
            return _load_box(decoder, instruction, rank, moves, shares)
        if rank and flags == _STORE:
            return _store_box(decoder, instruction, rank)
    elif flags in (_LOAD, _LOAD_OF_BLOCK):
        return _load_run(decoder, instruction)
    elif flags == _STORE:
        return _store_run(decoder, instruction)
    raise decoder.unknown(instruction, "no such bulk copy")


def _each(t: Threads, lanes: Lanes, function: Callable[[int, int], None]) -> None:
    """function(n, lane) for each thread; what goes wrong is that thread's."""
    for n, lane in enumerate(t.lane_numbers(lanes).tolist()):
        try:
            function(n, lane)
        except Violation as violation:
            violation.lane = n
            raise


def _sizes(t: Threads, lanes: Lanes, read: Reader) -> np.ndarray:
    return np.broadcast_to(read(t, lanes), (t.how_many(lanes),))


# --- Runs of bytes --------------------------------------------------------------------------------


def _load_run(decoder: Decoder, instruction: Instruction) -> Run:
    to, source, size, barrier, *_ = instruction.operands
    places = shared_places(decoder, instruction, to, _RUN_ALIGNMENT)
    barriers = shared_places(decoder, instruction, barrier, BARRIER_BYTES)
    _, address = decoder.address(source)
    read_size = decoder.read(size, "u32")

    def run(t: Threads, lanes: Lanes) -> None:
        where, reports = places(t, lanes), barriers(t, lanes)
        origins, sizes = _sizes(t, lanes, address), _sizes(t, lanes, read_size)

        def one(n: int, lane: int) -> None:
            at = _run_places(t, int(origins[n]), int(sizes[n]))
            data = t.spaces["global"].read(at, np.uint8)
            _count(t.report.bulk_loads, at, 1)
            _check_room(t, int(where[n]), len(data))
            t.bulk.begin_arrival(int(reports[n]), int(where[n]), data, lane)

        _each(t, lanes, one)

    return run


def _store_run(decoder: Decoder, instruction: Instruction) -> Run:
    to, source, size, *_ = instruction.operands
    _, address = decoder.address(to)
    places = shared_places(decoder, instruction, source, _RUN_ALIGNMENT)
    read_size = decoder.read(size, "u32")

    def run(t: Threads, lanes: Lanes) -> None:
        where, targets = places(t, lanes), _sizes(t, lanes, address)
        sizes = _sizes(t, lanes, read_size)

        def one(n: int, lane: int) -> None:
            first, count = int(where[n]), int(sizes[n])
            at = _run_places(t, int(targets[n]), count)
            data = _read_beside(t, lane, first, count)
            _count(t.report.bulk_stores, at, 1)
            t.bulk.begin_departure(lane, first, count, lambda: t.spaces["global"].write(at, data))

        _each(t, lanes, one)

    return run


def _run_places(t: Threads, address: int, size: int) -> np.ndarray:
    if address % _RUN_ALIGNMENT or size % _RUN_ALIGNMENT or not size:
        raise Violation("misaligned", f"a bulk copy of {size} bytes (addresses and sizes are "
                        "multiples of 16)", None, address)  # fmt: skip
    addresses = np.uint64(address) + np.arange(size, dtype=np.uint64)
    return t.spaces["global"].places(addresses, None, 1)


def _read_beside(t: Threads, lane: int, first: int, size: int) -> np.ndarray:
    """Bytes of shared memory, as what runs beside the threads may read them."""
    _check_room(t, first, size)
    t.proxies.check_async_read(np.arange(first, first + size), np.array([lane]))
    return t.spaces["shared"].data[first : first + size].copy()


def _check_room(t: Threads, first: int, size: int) -> None:
    shared = t.spaces["shared"]
    if first % shared.stride + size > shared.size:
        raise Violation("out-of-bounds", f"a bulk copy of {size} bytes of shared memory", None,
                        first % shared.stride)  # fmt: skip


def _count(traffic: Traffic, places: np.ndarray, itemsize: int) -> None:
    traffic.accesses += 1
    traffic.bytes += len(places) * itemsize
    traffic.transactions += len(np.unique(places // SECTOR))
    traffic.ideal += -(-len(places) * itemsize // SECTOR)


# --- Boxes of tensors -----------------------------------------------------------------------------


def _box_operand(
    decoder: Decoder, instruction: Instruction, operand: Operand, rank: int
) -> tuple[Reader, list[Reader]]:
    """(address of the map, coordinates)."""
    if not isinstance(operand, Address) or len(operand.coordinates) != rank:
        raise decoder.unknown(instruction, f"it should have {rank} coordinates")
    _, address = decoder.address(Address(operand.base, operand.offset))
    return address, [decoder.read(c, "s32") for c in operand.coordinates]


def _elements(
    decoder: Decoder, instruction: Instruction, rest: list[Operand], count: int
) -> Sequence[Operand]:
    """The elements of the vector that the rest of the operands begins with, which is taken off."""
    if not count:
        return []
    first = rest.pop(0) if rest else None
    if not isinstance(first, Vector) or len(first.elements) != count:
        raise decoder.unknown(instruction, f"the window should be moved along {count} dimensions")
    return first.elements


def _map_at(
    t: Threads, lanes: Lanes, lane: int, address: np.ndarray, rank: int, of_pixels: bool = False
) -> TensorMap:
    one = np.array([lane])
    ((space, _, _, (inside,)),) = by_space(t, one, address)
    if space not in ("global", "param") or int(inside) % 64:
        raise Violation("misaligned", "a tensor map that is not at a multiple of 64 bytes of "
                        "global memory or of the parameters", None, int(inside))  # fmt: skip
    if space == "global" and (lane, int(inside)) not in t.bulk.fenced:
        raise Violation("async", "a tensor map in global memory that this thread has not acquired "
                        "(fence.proxy.tensormap::generic.acquire)", None, int(inside))  # fmt: skip
    memory = t.spaces[space]
    places = memory.places(inside + np.arange(SIZE, dtype=np.uint64), None, 1)
    tensor = decode(memory.read(places, np.uint8).tobytes())
    if tensor is None or len(tensor.dims) != rank or (tensor.pixels is not None) != of_pixels:
        kind = "of pixels of" if of_pixels else "of"
        raise Violation("out-of-bounds", f"there is no map {kind} a tensor of {rank} dimensions",
                        None, int(inside))  # fmt: skip
    return tensor


def _pixel_places(
    t: Threads, tensor: TensorMap, corner: list[int], moved: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    """(which elements of the pixels are of the tensor, the places of those)."""
    start = corner[1:-1]
    if not all(0 <= by <= tensor.most_offset for by in moved):
        raise Violation("async", f"a window of pixels that is moved by {moved}, where 0 to "
                        f"{tensor.most_offset} are possible", None, 0)  # fmt: skip
    if not all(at in places for at, places in zip(start, tensor.places)):
        raise Violation("async", f"a copy of pixels that begins at {start}, which is none of the "
                        "window", None, 0)  # fmt: skip
    inside, addresses = pixel_addresses(tensor, corner, moved)
    return inside, t.spaces["global"].places(addresses, None, tensor.itemsize)


def _box_places(t: Threads, tensor: TensorMap, corner: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """(which elements of the box are of the tensor, the places of those)."""
    shape = tensor.box[::-1]
    inside = np.ones(shape, bool)
    offsets = np.zeros(shape, np.int64)
    for axis, (first, extent, size, stride) in enumerate(
        zip(corner, tensor.box, tensor.dims, (tensor.itemsize, *tensor.strides))
    ):
        index = first + np.arange(extent)
        along = [1] * len(shape)
        along[len(shape) - 1 - axis] = extent
        inside = inside & ((index >= 0) & (index < size)).reshape(along)
        offsets = offsets + (index * stride).reshape(along)
    addresses = (offsets[inside] + tensor.address).astype(np.uint64)
    return inside, t.spaces["global"].places(addresses, None, tensor.itemsize)


def _pieces_of(t: Threads, first: int, tensor: TensorMap) -> np.ndarray:
    """Where the box's bytes lie, from its first byte on, in the order of the tensor."""
    start = first % t.spaces["shared"].stride
    if start % _BOX_ALIGNMENT:
        raise Violation("misaligned", "a box in shared memory begins at no multiple of 128 bytes",
                        None, start)  # fmt: skip
    return swizzled(start + np.arange(tensor.box_bytes), tensor.swizzle) - start


def _load_box(
    decoder: Decoder, instruction: Instruction, rank: int, moves: int, shares: bool
) -> Run:
    """A box that comes to the thread's block, or if it `shares` to those of a mask; or pixels of a
    window that `moves` along so many dimensions."""
    to, source, barrier, *rest = instruction.operands
    offsets = [decoder.read(e, "u16") for e in _elements(decoder, instruction, rest, moves)]
    read_mask = decoder.read(rest[0], "u16") if shares else None
    places = shared_places(decoder, instruction, to, _RUN_ALIGNMENT)
    barriers = shared_places(decoder, instruction, barrier, BARRIER_BYTES)
    address, coordinates = _box_operand(decoder, instruction, source, rank)

    def run(t: Threads, lanes: Lanes) -> None:
        where, reports = places(t, lanes), barriers(t, lanes)
        maps = _sizes(t, lanes, address)
        corners = np.stack([_sizes(t, lanes, c) for c in [*coordinates, *offsets]], 1)
        masks = None if read_mask is None else _sizes(t, lanes, read_mask)

        def one(n: int, lane: int) -> None:
            tensor = _map_at(t, lanes, lane, maps[n : n + 1], rank, moves > 0)
            corner, moved = corners[n, :rank].tolist(), corners[n, rank:].tolist()
            if moves:
                inside, at = _pixel_places(t, tensor, corner, moved)
            else:
                inside, at = _box_places(t, tensor, corner)
            box = np.zeros(inside.shape, _WORDS_OF_SIZE[tensor.itemsize])
            box[inside] = t.spaces["global"].read(at, box.dtype)
            _count(t.report.bulk_loads, at, tensor.itemsize)
            _check_room(t, int(where[n]), tensor.box_bytes)
            data = np.empty(tensor.box_bytes, np.uint8)
            data[_pieces_of(t, int(where[n]), tensor)] = box.reshape(-1).view(np.uint8)
            for away in [0] if masks is None else _blocks_away(t, lane, int(masks[n])):
                t.bulk.begin_arrival(int(reports[n]) + away, int(where[n]) + away, data, lane)

        _each(t, lanes, one)

    return run


def _blocks_away(t: Threads, lane: int, mask: int) -> list[int]:
    """How far the memory of each block of a mask lies from that of the thread's."""
    own = int(t.slot[lane])
    first = own // t.cluster * t.cluster
    slots = [first + n for n in range(16) if mask >> n & 1]
    for slot in slots:
        t.clusters.reach(lane, slot)
    return [(slot - own) * t.spaces["shared"].stride for slot in slots]


def _store_box(decoder: Decoder, instruction: Instruction, rank: int) -> Run:
    target, source, *_ = instruction.operands
    places = shared_places(decoder, instruction, source, _RUN_ALIGNMENT)
    address, coordinates = _box_operand(decoder, instruction, target, rank)

    def run(t: Threads, lanes: Lanes) -> None:
        where, maps = places(t, lanes), _sizes(t, lanes, address)
        corners = np.stack([_sizes(t, lanes, c) for c in coordinates], 1)

        def one(n: int, lane: int) -> None:
            tensor = _map_at(t, lanes, lane, maps[n : n + 1], rank)
            inside, at = _box_places(t, tensor, corners[n].tolist())
            first, size = int(where[n]), tensor.box_bytes
            bytes_of_box = _read_beside(t, lane, first, size)[_pieces_of(t, first, tensor)]
            box = bytes_of_box.view(_WORDS_OF_SIZE[tensor.itemsize]).reshape(inside.shape)
            values = box[inside]
            _count(t.report.bulk_stores, at, tensor.itemsize)
            t.bulk.begin_departure(lane, first, size, lambda: t.spaces["global"].write(at, values))

        _each(t, lanes, one)

    return run


# --- Fences ---------------------------------------------------------------------------------------


def fence(decoder: Decoder, instruction: Instruction) -> Run:
    """fence: those between threads and what runs beside them; all others mean nothing here."""
    modifiers = set(instruction.modifiers)
    if "mbarrier_init" in modifiers:
        decoder.works_beside = True
        return lambda t, lanes: t.phases.announce(lanes)
    if "tensormap::generic" in modifiers and "acquire" in modifiers:
        _, address = decoder.address(instruction.operands[0])

        def acquire(t: Threads, lanes: Lanes) -> None:
            if t.bulk is not None:
                given = _sizes(t, lanes, address)
                for lane, at in zip(t.lane_numbers(lanes).tolist(), given.tolist()):
                    t.bulk.fenced.add((lane, at))

        return acquire
    if modifiers - {"proxy", "async", "async.global", "global", "shared::cta", "shared::cluster",
                    *ORDERS, *SCOPES, "alias", "tensormap::generic"}:  # fmt: skip
        raise decoder.unknown(instruction, "no such fence")
    if not {"proxy", "async"} <= modifiers or "global" in modifiers:
        return lambda t, lanes: None

    def run(t: Threads, lanes: Lanes) -> None:
        if t.proxies is not None:
            t.proxies.fence(lanes)
            t.phases.announce(lanes)

    return run


ROWS: dict[str, Callable[[Decoder, Instruction], Any]] = {"fence": fence}
