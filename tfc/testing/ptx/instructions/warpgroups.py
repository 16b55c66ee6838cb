"""wgmma: products of four warps, with B and perhaps A in shared memory; and setmaxnreg.

Thread n of the 128 has, with w = n / 32 and l = n % 32,

    A   register j: row 16w + l/4 + 8 (j % 2), columns e (l%4 + 4 (j / 2)) … + e - 1    e a register
    D   number i:   row 16w + l/4 + 8 (i / 2 % 2), column 8 (i / 4) + 2 (l%4) + i % 2

Shared memory has matrices in the layouts of a descriptor: bits 0 … 13 are its address, 16 … 29 and
32 … 45 the leading and the stride offset, all in units of 16 bytes, 62 … 63 the swizzle. With
s bytes of swizzle, r along M or N, and k along K:

    K fastest   s (r % 8) + stride (r / 8) + size k          s = 16: + leading (size k / 16), once
    r fastest   size (r % e) + leading (r / e) + s (k % 8) + stride (k / 8)       e = s / size
                (s = 16: leading and stride change places)
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from tfc.testing.ptx.instructions.decode import Decoder, Reader, Run
from tfc.testing.ptx.instructions.matrices import whole_warps
from tfc.testing.ptx.instructions.rounding import narrow
from tfc.testing.ptx.state.faults import Violation
from tfc.testing.ptx.state.proxies import PIECE
from tfc.testing.ptx.state.tensor_maps import swizzled
from tfc.testing.ptx.state.threads import WARP, Lanes, Threads
from tfc.testing.ptx.state.warpgroups import WARPGROUP
from tfc.testing.ptx.text.syntax import Instruction, Integer, Vector

_ROWS = 64
_K_BYTES = 32
_ELEMENTS: dict[str, Any] = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "s8": np.int8,
    "u8": np.uint8, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
}  # fmt: skip
_RESULTS = {
    "f16": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",), "s8": ("s32",), "u8": ("s32",),
    "e4m3": ("f16", "f32"), "e5m2": ("f16", "f32"),
}  # fmt: skip
_ALIKE = ({"e4m3", "e5m2"}, {"s8", "u8"})
_SWIZZLES = (16, 128, 64, 32)  # by the number in a descriptor; 16 is none
_KNOWN_BITS = 0x3FFF | 0x3FFF << 16 | 0x3FFF << 32 | 7 << 49 | 3 << 62
_LANES = np.arange(WARPGROUP)


@dataclass
class Together:
    """An instruction that the four warps of a warpgroup come to before they go on."""

    run: Run
    predicate: Reader | None = None


@dataclass(frozen=True)
class _Form:
    """What an mma_async multiplies: columns, types, signs and which matrices are transposed."""

    n: int
    result: str
    a: str
    b: str
    a_in_registers: bool
    signs: int = 1
    transposes: tuple[bool, bool] = (False, False)
    saturates: bool = False

    @property
    def k(self) -> int:
        """The products that each sum gets: 32 bytes of A."""
        return _K_BYTES // np.dtype(_ELEMENTS[self.a]).itemsize


def is_gathering(instruction: Instruction) -> bool:
    """Whether an instruction ends a segment as a `Together`."""
    return instruction.opcode == "wgmma" and instruction.modifiers[:1] in (
        ("fence",), ("mma_async",))  # fmt: skip


def together_of(decoder: Decoder, instruction: Instruction) -> Together:
    """wgmma.fence and wgmma.mma_async."""
    decoder.works_beside = True
    if instruction.modifiers == ("fence", "sync", "aligned"):
        return Together(_fence)
    return Together(_multiply(decoder, instruction))


def _fence(t: Threads, lanes: Lanes) -> None:
    _whole(t, lanes)
    t.warpgroups.fence(lanes)


def group_instruction(decoder: Decoder, instruction: Instruction) -> Run:
    """wgmma.commit_group and wait_group."""
    decoder.works_beside = True
    kind, *rest = instruction.modifiers
    if rest != ["sync", "aligned"] or kind not in ("commit_group", "wait_group"):
        raise decoder.unknown(instruction, "no such form of wgmma")
    left = 0
    if kind == "wait_group":
        read = decoder.read(instruction.operands[0], "u32")
        left = int(read(None, None))  # type: ignore[arg-type]

    def run(t: Threads, lanes: Lanes) -> None:
        whole_warps(t, lanes)
        if kind == "commit_group":
            t.warpgroups.commit(lanes)
        else:
            t.warpgroups.wait(lanes, left)

    return run


def _whole(t: Threads, lanes: Lanes) -> np.ndarray:
    """The lanes, which must be all 128 of each warpgroup that is here."""
    numbers = t.lane_numbers(lanes)
    counts = np.bincount(t.warpgroups.number[numbers])
    if ((counts != 0) & (counts != WARPGROUP)).any():
        raise Violation("divergence", "an instruction of warpgroups without all 128 threads", 0)
    return numbers


# --- Products -------------------------------------------------------------------------------------


def _form_of(decoder: Decoder, instruction: Instruction) -> _Form:
    if instruction.modifiers[:3] != ("mma_async", "sync", "aligned"):
        raise decoder.unknown(instruction, "no such form of wgmma")
    shape, *rest = instruction.modifiers[3:]
    saturates = "satfinite" in rest
    result, a, b = [r for r in rest if r != "satfinite"]
    n, k = (int(part) for part in shape.removeprefix("m64n").split("k"))
    form = _Form(n, result, a, b, isinstance(instruction.operands[1], Vector), saturates=saturates)
    is_integer = result == "s32"
    narrow_n = n % 8 == 0 if not is_integer else n in (8, 24) or n % 16 == 0
    if not (a in _ELEMENTS and result in _RESULTS[a] and form.k == k and 8 <= n <= 256
            and narrow_n and (a == b or any({a, b} <= kinds for kinds in _ALIKE))
            and (is_integer or not saturates)):  # fmt: skip
        raise decoder.unknown(instruction, "no such product")
    return _with_immediates(decoder, instruction, form)


def _with_immediates(decoder: Decoder, instruction: Instruction, form: _Form) -> _Form:
    """The form with the signs and transposes of its last operands."""
    given = [o.value for o in instruction.operands[4:] if isinstance(o, Integer)]
    is_short = form.a in ("f16", "bf16")
    wanted = 0 if form.result == "s32" else 2 + (2 - form.a_in_registers if is_short else 0)
    if len(given) != wanted or len(instruction.operands) != 4 + wanted:
        raise decoder.unknown(instruction, f"it should end in {wanted} whole numbers")
    if not wanted:
        return form
    signs, flips = given[:2], given[2:]
    if any(s not in (1, -1) for s in signs) or any(f not in (0, 1) for f in flips):
        raise decoder.unknown(instruction, "signs are 1 or -1, transposes 0 or 1")
    a_flipped, b_flipped = ([0] * (2 - len(flips)) + flips) if flips else (0, 0)
    return _Form(form.n, form.result, form.a, form.b, form.a_in_registers, signs[0] * signs[1],
                 (bool(a_flipped), bool(b_flipped)), form.saturates)  # fmt: skip


def _multiply(decoder: Decoder, instruction: Instruction) -> Run:
    form = _form_of(decoder, instruction)
    sums, given_a, given_b, scale = instruction.operands[:4]
    kind = "b32"
    registers = decoder.elements(sums)
    per_register = 2 if form.result == "f16" else 1
    count = form.n // 2 // per_register
    if len(registers) != count:
        raise decoder.unknown(instruction, f"it should have {count} registers of sums")
    earlier = set(decoder.reads)
    read_sums = [decoder.read(r, kind) for r in registers]
    decoder.reads = earlier  # where they are not added to, they need no value
    write_sums = [decoder.write(r, kind) for r in registers]
    sum_numbers = [_number(decoder, r) for r in registers]
    a_registers = decoder.elements(given_a) if form.a_in_registers else ()
    if form.a_in_registers and len(a_registers) != 4:
        raise decoder.unknown(instruction, "A should have 4 registers")
    read_a = [decoder.read(r, "b32") for r in a_registers]
    a_numbers = [_number(decoder, r) for r in a_registers]
    a_descriptor = None if form.a_in_registers else decoder.read(given_a, "b64")
    b_descriptor = decoder.read(given_b, "b64")
    adds = decoder.read(scale, "pred")
    decoder.fragile |= {*sum_numbers, *a_numbers}
    name = f"m64n{form.n}k{form.k}"

    def run(t: Threads, lanes: Lanes) -> None:
        whole = _whole(t, lanes)
        groups = len(whole) // WARPGROUP
        pieces: list[np.ndarray] = []
        c = _sums_of(t, whole, form, read_sums)
        c = np.where(_uniform(t, whole, adds)[:, None, None], c, 0)
        b, b_pieces = _from_shared(t, whole, form, b_descriptor, False)
        if a_descriptor is None:
            a = _a_of(t, whole, form, read_a)
            pieces = b_pieces
        else:
            a, a_pieces = _from_shared(t, whole, form, a_descriptor, True)
            pieces = [np.concatenate(p) for p in zip(a_pieces, b_pieces)]
        t.warpgroups.begin(sum_numbers, a_numbers, whole, pieces)
        d = form.signs * (a @ b.swapaxes(1, 2)) + c
        _write_sums(t, whole, form, write_sums, d)
        t.report.products[name] += groups

    return run


def _number(decoder: Decoder, operand: Any) -> int:
    number = decoder.number(operand)
    if number is None:
        raise TypeError(f"{operand} is no register")
    return number


def _uniform(t: Threads, lanes: np.ndarray, read: Reader) -> np.ndarray:
    """What all threads of each warpgroup say alike."""
    values = np.broadcast_to(read(t, lanes), (len(lanes),)).reshape(-1, WARPGROUP)
    odd = values != values[:, :1]
    if odd.any():
        raise Violation("divergence", "the threads of a warpgroup do not say the same",
                        int(np.flatnonzero(odd.reshape(-1))[0]))  # fmt: skip
    return values[:, 0]


def _places_of_sums(n: int) -> tuple[np.ndarray, np.ndarray]:
    i = np.arange(n // 2)
    lane = (_LANES % WARP)[:, None]
    row = (_LANES // WARP * 16)[:, None] + lane // 4 + 8 * (i // 2 % 2)
    return row, 8 * (i // 4) + 2 * (lane % 4) + i % 2


def _sums_of(t: Threads, lanes: np.ndarray, form: _Form, reads: list[Reader]) -> np.ndarray:
    dtype = {"f32": np.float32, "f16": np.float16, "s32": np.int32}[form.result]
    words = np.stack([np.broadcast_to(r(t, lanes), (len(lanes),)) for r in reads], 1)
    values = np.ascontiguousarray(words).view(dtype).reshape(-1, WARPGROUP, form.n // 2)
    c = np.zeros((len(values), _ROWS, form.n))
    row, column = _places_of_sums(form.n)
    c[:, row, column] = values
    return c


def _write_sums(
    t: Threads, lanes: np.ndarray, form: _Form, writes: list[Any], d: np.ndarray
) -> None:
    if form.result == "s32":
        d = np.clip(d, -(1 << 31), (1 << 31) - 1) if form.saturates else d
        final: np.ndarray = d.astype(np.int64).astype(np.uint32)
    else:
        final = np.asarray(narrow(d, form.result))
    row, column = _places_of_sums(form.n)
    values = np.ascontiguousarray(final[:, row, column].reshape(len(lanes), -1))
    words = values.view(np.uint32)
    for n, write in enumerate(writes):
        write(t, lanes, words[:, n])


def _a_of(t: Threads, lanes: np.ndarray, form: _Form, reads: list[Reader]) -> np.ndarray:
    """A from registers, as [warpgroups, 64, k]."""
    per = form.k // 8
    words = np.stack([np.broadcast_to(r(t, lanes), (len(lanes),)) for r in reads], 1)
    if form.a == "tf32":
        words = words & np.uint32(0xFFFFE000)
    values = np.ascontiguousarray(words).view(_ELEMENTS[form.a]).astype(np.float64)
    j, inner = np.repeat(np.arange(4), per), np.tile(np.arange(per), 4)
    lane = (_LANES % WARP)[:, None]
    row = (_LANES // WARP * 16)[:, None] + lane // 4 + 8 * (j % 2)
    column = per * (lane % 4 + 4 * (j // 2)) + inner
    a = np.zeros((len(lanes) // WARPGROUP, _ROWS, form.k))
    a[:, row, column] = values.reshape(-1, WARPGROUP, 4 * per)
    return a


# --- Matrices in shared memory --------------------------------------------------------------------


@lru_cache(maxsize=256)
def _offsets(
    rows: int, k: int, size: int, flipped: bool, span: int, leading: int, stride: int
) -> np.ndarray:
    """Bytes from a matrix's first to each element, as [rows, k], before the swizzle."""
    r, c = np.arange(rows)[:, None], np.arange(k)[None, :]
    if flipped:
        if span == 16:
            leading, stride = stride, leading
        per = span // size
        return size * (r % per) + leading * (r // per) + span * (c % 8) + stride * (c // 8)
    along = size * c
    if span == 16:
        along = along % 16 + leading * (along // 16)
    return span * (r % 8) + stride * (r // 8) + along


def _from_shared(
    t: Threads, lanes: np.ndarray, form: _Form, read: Reader, is_a: bool
) -> tuple[np.ndarray, list[np.ndarray]]:
    """(matrices as [warpgroups, rows, k], the pieces of shared memory of each)."""
    name = form.a if is_a else form.b
    dtype = np.dtype(_ELEMENTS[name])
    rows = _ROWS if is_a else form.n
    shared = t.spaces["shared"]
    matrices: list[np.ndarray] = []
    pieces: list[np.ndarray] = []
    for n, word in enumerate(_uniform(t, lanes, read).tolist()):
        try:
            inside = _addresses(int(word), rows, form.k, dtype.itemsize, form.transposes[not is_a])
            if int(inside.max()) + dtype.itemsize > shared.size:
                raise Violation("out-of-bounds", "a matrix of a product", None, int(inside.max()))
            places = inside + int(t.slot[lanes[n * WARPGROUP]]) * shared.stride
            own = np.unique(places // PIECE)
            all_bytes = (own[:, None] * PIECE + np.arange(PIECE)).reshape(-1)
            t.proxies.check_async_read(all_bytes, lanes[n * WARPGROUP : (n + 1) * WARPGROUP])
        except Violation as violation:
            violation.lane = n * WARPGROUP
            raise
        bits = shared.data.view(f"u{dtype.itemsize}")[places // dtype.itemsize]
        if name == "tf32":
            bits = bits & np.uint32(0xFFFFE000)
        matrices.append(bits.view(dtype).astype(np.float64))
        pieces.append(own)
    return np.stack(matrices), pieces


def _addresses(word: int, rows: int, k: int, size: int, flipped: bool) -> np.ndarray:
    """The addresses in shared memory of the elements of a descriptor's matrix."""
    if word & ~_KNOWN_BITS:
        raise Violation("misaligned", f"the descriptor {word:#x} has bits that mean nothing")
    start, leading, stride = ((word >> shift & 0x3FFF) * 16 for shift in (0, 16, 32))
    span = _SWIZZLES[word >> 62]
    pattern = 8 * span
    if word >> 49 & 7 or (span > 16 and start % pattern // 128):
        raise Violation("misaligned", f"a matrix with a swizzle of {span} bytes begins in rows "
                        f"that are no multiple of {pattern} bytes", None, start)  # fmt: skip
    offsets = _offsets(rows, k, size, flipped, span, leading, stride)
    return swizzled(start + offsets, span if span > 16 else 0)


# --- Registers ------------------------------------------------------------------------------------


def change_registers(decoder: Decoder, instruction: Instruction) -> Run:
    """setmaxnreg: registers that warps give up, or take once there are some."""
    flags = decoder.flags(instruction, ("inc", "dec", "sync", "aligned"))
    count = instruction.operands[0]
    if not isinstance(count, Integer) or len(flags) != 3:
        raise decoder.unknown(instruction, "no such form of it")
    if count.value not in range(24, 257, 8):
        raise decoder.unknown(instruction, "registers are 24, 32 … 256")
    decoder.works_beside = True

    def run(t: Threads, lanes: Lanes) -> None:
        warps = whole_warps(t, lanes)
        held = t.warpgroups.held[warps]
        rises = "inc" in flags
        if ((held > count.value) if rises else (held < count.value)).any():
            raise Violation("barrier", f"setmaxnreg.{'inc' if rises else 'dec'} from "
                            f"{int(held[0])} registers", 0)  # fmt: skip
        t.warpgroups.hold(warps, count.value)

    return run


ROWS: dict[str, Callable[[Decoder, Instruction], Run]] = {
    "wgmma": group_instruction, "setmaxnreg": change_registers,
}  # fmt: skip
