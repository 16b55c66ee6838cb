"""Products of small matrices that a warp holds in registers, and moving those to shared memory.

Lane l of a warp has row l / 4 and column l % 4 of what each register of a fragment holds:

    A   register j: row l/4 + 8 (j % 2), columns e (l%4 + 4 (j / 2)) … + e - 1    e elements each
    B   register j: rows e (l%4 + 4 j) … + e - 1, column l/4
    C   number i:   row l/4 + 8 (i / 2), column 2 (l%4) + i % 2

Sums are of exact products in float64 (integers: exact), rounded once to the result's type; hardware
adds in an order of its own and may cut bits off.
"""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from tfc.testing.ptx.instructions.access import SPACES, by_space, load, space_of, store
from tfc.testing.ptx.instructions.decode import Decoder, Run
from tfc.testing.ptx.instructions.rounding import narrow
from tfc.testing.ptx.instructions.warps import alive, present, table
from tfc.testing.ptx.state.faults import Violation
from tfc.testing.ptx.state.threads import WARP, Lanes, Threads
from tfc.testing.ptx.text.syntax import Instruction
from tfc.testing.ptx.text.types import DTYPES

_LANES = np.arange(WARP)
_ELEMENTS: dict[str, Any] = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "f64": np.float64,
    "s8": np.int8, "u8": np.uint8, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
}  # fmt: skip
# The types of elements that each shape has.
_SHAPES = {
    "m8n8k4": ("f64",), "m16n8k4": ("tf32", "f64"), "m16n8k8": ("f16", "bf16", "tf32", "f64"),
    "m16n8k16": ("f16", "bf16", "s8", "u8", "f64", "e4m3", "e5m2"),
    "m16n8k32": ("s8", "u8", "e4m3", "e5m2"),
}  # fmt: skip


def whole_warps(t: Threads, lanes: Lanes) -> np.ndarray:
    """The warps of these lanes, all of whose 32 lanes must be here.

    Raises:
        Violation: some lane of a warp is elsewhere, or has ended.
    """
    here = present(t, lanes)
    partial = (here != 0) & (here != np.uint32(0xFFFFFFFF))
    if partial.any():
        first = int(np.flatnonzero(partial[t.warp[lanes]])[0])
        missing = int(alive(t)[np.flatnonzero(partial)[0]] & ~here[np.flatnonzero(partial)[0]])
        raise Violation(
            "divergence",
            f"an instruction of whole warps without all 32 lanes (elsewhere: {missing:#010x})",
            first,
        )
    return np.flatnonzero(here)


def _split(modifiers: tuple[str, ...]) -> tuple[str, list[str], set[str]]:
    """(shape, types of D, A, B, C, other modifiers) of an mma."""
    shape = next((m for m in modifiers if m in _SHAPES), "")
    types = [m for m in modifiers if m in _ELEMENTS or m in ("f32", "s32")]
    rest = {m for m in modifiers if m != shape and m not in types}
    return shape, types, rest


def _fragment(columns: int, rows: int, element: int) -> tuple[np.ndarray, np.ndarray, int]:
    """(rows, columns) of each lane's elements of A as [32, elements], and elements per register."""
    per = max(4 // element, 1)
    registers = rows // 8 * (columns // (4 * per))
    j = np.repeat(np.arange(registers), per)
    inner = np.tile(np.arange(per), registers)
    halves = rows // 8
    row = (_LANES // 4)[:, None] + 8 * (j % halves)
    column = per * ((_LANES % 4)[:, None] + 4 * (j // halves)) + inner
    return row, column, registers


def multiply(decoder: Decoder, instruction: Instruction) -> Run:
    """mma.sync of the shapes above, A by rows and B by columns."""
    shape, types, rest = _split(instruction.modifiers)
    if len(types) != 4 or types[1] not in _SHAPES.get(shape, ()):
        raise decoder.unknown(instruction, "no such product")
    if not {"sync", "aligned", "row", "col"} <= rest <= {
        "sync", "aligned", "row", "col", "satfinite", "rn", "kind::f8f6f4"}:  # fmt: skip
        raise decoder.unknown(instruction, "no such form of it")
    result, a_type, b_type, c_type = types
    rows, columns = 8 if shape.startswith("m8") else 16, int(shape.split("k")[1])
    a_dtype, b_dtype = np.dtype(_ELEMENTS[a_type]), np.dtype(_ELEMENTS[b_type])
    a_row, a_column, a_count = _fragment(columns, rows, a_dtype.itemsize)
    b_column, b_row, b_count = _fragment(columns, 8, b_dtype.itemsize)
    read_a = _reader(decoder, instruction, 1, a_dtype, a_count)
    read_b = _reader(decoder, instruction, 2, b_dtype, b_count)
    c_dtype, d_dtype = (np.dtype(_ELEMENTS.get(n) or DTYPES[n]) for n in (c_type, result))
    numbers = rows * 8 // WARP
    read_c = _reader(decoder, instruction, 3, c_dtype, numbers * c_dtype.itemsize // max(
        c_dtype.itemsize, 4))  # fmt: skip
    i = np.arange(numbers)
    c_row = (_LANES // 4)[:, None] + 8 * (i // 2)
    c_column = 2 * (_LANES % 4)[:, None] + i % 2
    write_d = _writer(decoder, instruction, d_dtype)
    exact = np.int64 if d_dtype.kind == "i" else np.float64

    def run(t: Threads, lanes: Lanes) -> None:
        warps = whole_warps(t, lanes)
        a = np.zeros((len(warps), rows, columns), exact)
        b = np.zeros((len(warps), columns, 8), exact)
        c = np.zeros((len(warps), rows, 8), exact)
        a[:, a_row, a_column] = read_a(t, lanes, warps)
        b[:, b_row, b_column] = read_b(t, lanes, warps)
        c[:, c_row, c_column] = read_c(t, lanes, warps)
        d = a @ b + c
        if d_dtype.kind == "i":
            d = np.clip(d, -(1 << 31), (1 << 31) - 1) if "satfinite" in rest else d
            final = d.astype(np.uint32).view(np.int32)
        else:
            final = d if d_dtype.itemsize == 8 else narrow(d, result)
        write_d(t, lanes, warps, final[:, c_row, c_column])

    return run


def _reader(
    decoder: Decoder, instruction: Instruction, index: int, dtype: np.dtype, count: int
) -> Callable[[Threads, Lanes, np.ndarray], np.ndarray]:
    """A reader of a fragment, as [warps, 32, elements]; tf32 loses the bits that it has not."""
    elements = decoder.elements(instruction.operands[index])
    if len(elements) != count:
        raise decoder.unknown(instruction, f"operand {index} should have {count} registers")
    name = "f64" if dtype.itemsize == 8 else "b32"
    reads = [decoder.read(e, name) for e in elements]
    is_tf32 = dtype == np.float32 and index < 3

    def read(t: Threads, lanes: Lanes, warps: np.ndarray) -> np.ndarray:
        shape = (t.how_many(lanes),)
        parts = [table(t, lanes, np.broadcast_to(r(t, lanes), shape))[warps] for r in reads]
        values = np.stack(parts, 2)
        if is_tf32:
            values = values & np.uint32(0xFFFFE000)
        return np.ascontiguousarray(values).view(dtype).astype(
            np.int64 if dtype.kind in "iu" else np.float64)  # fmt: skip

    return read


def _writer(
    decoder: Decoder, instruction: Instruction, dtype: np.dtype
) -> Callable[[Threads, Lanes, np.ndarray, np.ndarray], None]:
    name = "f64" if dtype.itemsize == 8 else "b32"
    writes = [decoder.write(e, name) for e in decoder.elements(instruction.operands[0])]

    def write(t: Threads, lanes: Lanes, warps: np.ndarray, values: np.ndarray) -> None:
        registers = np.ascontiguousarray(values.astype(dtype)).view(DTYPES[name])
        own = np.searchsorted(warps, t.warp[lanes])
        for n, write in enumerate(writes):
            write(t, lanes, registers[own, t.lane[lanes], n])

    return write


# --- ldmatrix and stmatrix ------------------------------------------------------------------------


def _matrix_form(decoder: Decoder, instruction: Instruction) -> tuple[int, bool, str | None]:
    """(matrices, whether transposed, address space)."""
    flags = decoder.flags(
        instruction, ("sync", "aligned", "m8n8", "x1", "x2", "x4", "trans", *SPACES)
    )
    if "m8n8" not in flags or decoder.types(instruction) != ["b16"]:
        raise decoder.unknown(instruction, "only m8n8 of b16")
    count = next(int(f[1]) for f in flags if f in ("x1", "x2", "x4"))
    return count, "trans" in flags, space_of(instruction, None)


def _rows(t: Threads, warps: np.ndarray, count: int) -> np.ndarray:
    """The threads that give the addresses of the matrices' rows."""
    starts = warps // t.warps_per_block * t.block_size + warps % t.warps_per_block * WARP
    return (starts[:, None] + np.arange(8 * count)).ravel()


def load_matrices(decoder: Decoder, instruction: Instruction) -> Run:
    """ldmatrix: each lane of the first 8 (16, 32) has the address of a row of eight elements."""
    count, transposed, space = _matrix_form(decoder, instruction)
    writes = [decoder.write(e, "b32") for e in decoder.elements(instruction.operands[0])]
    _, address = decoder.address(instruction.operands[1])
    decoder.shared_granule = min(decoder.shared_granule, 16)

    def run(t: Threads, lanes: Lanes) -> None:
        warps = whole_warps(t, lanes)
        rows = _rows(t, warps, count)
        addresses = np.broadcast_to(address(t, lanes), (t.how_many(lanes),))
        chosen = addresses[np.searchsorted(t.lane_numbers(lanes), rows)]
        where, inside = space, chosen
        if space is None:
            ((where, _, _, inside),) = by_space(t, rows, chosen)
        assert where is not None
        words = np.stack(load(t, rows, where, inside, np.dtype(np.uint32), 4, True), 1)
        halves = words.view(np.uint16).reshape(len(warps), count, 8, 8)
        if transposed:
            halves = halves.swapaxes(2, 3)
        registers = np.ascontiguousarray(halves).view(np.uint32).reshape(len(warps), count, 32)
        own = np.searchsorted(warps, t.warp[lanes])
        for n, write in enumerate(writes):
            write(t, lanes, registers[own, n, t.lane[lanes]])

    return run


def store_matrices(decoder: Decoder, instruction: Instruction) -> Run:
    """stmatrix, the opposite."""
    count, transposed, space = _matrix_form(decoder, instruction)
    _, address = decoder.address(instruction.operands[0])
    reads = [decoder.read(e, "b32") for e in decoder.elements(instruction.operands[1])]
    decoder.shared_granule = min(decoder.shared_granule, 16)

    def run(t: Threads, lanes: Lanes) -> None:
        warps = whole_warps(t, lanes)
        rows = _rows(t, warps, count)
        shape = (t.how_many(lanes),)
        chosen = np.broadcast_to(address(t, lanes), shape)[
            np.searchsorted(t.lane_numbers(lanes), rows)]  # fmt: skip
        values = np.stack([table(t, lanes, np.broadcast_to(r(t, lanes), shape))[warps]
                           for r in reads], 1)  # fmt: skip
        halves = np.ascontiguousarray(values).view(np.uint16).reshape(len(warps), count, 8, 8)
        if transposed:
            halves = halves.swapaxes(2, 3)
        words = np.ascontiguousarray(halves).view(np.uint32).reshape(-1, 4)
        where, inside = space, chosen
        if space is None:
            ((where, _, _, inside),) = by_space(t, rows, chosen)
        assert where is not None
        store(t, rows, where, inside, [np.ascontiguousarray(words[:, n]) for n in range(4)], True)

    return run


ROWS: dict[str, Callable[[Decoder, Instruction], Run]] = {
    "mma": multiply, "ldmatrix": load_matrices, "stmatrix": store_matrices,
}  # fmt: skip
