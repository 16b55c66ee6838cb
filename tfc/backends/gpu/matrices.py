"""Matrices that a warp multiplies: `mma.sync`, `ldmatrix`, and `cp.async`, which brings them.

A *fragment* is the part of a small matrix in one lane's registers. Lane l has

    A   register j: row l/4 + 8 (j % 2), bytes 4 (l%4 + 4 (j / 2)) … + 3 of the row
    B   register j: bytes 4 (l%4 + 4 j) … + 3 of the column, column l/4
    C   number i:   row l/4 + 8 (i / 2), column 2 (l%4) + i % 2

where a row of A and a column of B are 32 bytes: 16 numbers of 16 bits, 32 of 8 or 8 tf32. Of f64,
A is 8 x 4 and B 4 x 8, and a register is one number: row (column) l/4, column (row) l%4.

A `Tile` is a matrix in shared memory as *lines* of 16-byte *pieces*. The lines may be the rows of A
(columns of B), so that sums go along them, or the places of the sums, so that sums go across them:
a `Tile` reads fragments of both. Which place of its line a piece takes depends on the line, so that
the eight lines that a step of `ldmatrix` reads lie in different banks.

How kernels are made of these: the pipeline of matrix products has several stages of tiles, fills
one with `copy_async` while it multiplies the fragments of another, and leaves sums in registers.
Where pieces come from is a parameter of it (a function of line and piece, which gives an address in
global memory and how many bytes are there), as is what becomes of the sums. A kernel with loops of
its own, such as attention, takes `Tile.rows`, `Tile.columns` and `multiply` as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.gpu.assembly import assembly
from tfc.backends.mlir.arithmetic.value import Scalar, constant, mlir_type
from tfc.hlo.shape import BF16, F16, F32, F64, S8, S32, U8, ElementType

PIECE = 16
"""Bytes that are copied at once, and that keep together in shared memory."""


@dataclass(frozen=True)
class Kind:
    """D = A·B + C of a warp: A has `rows` x `depth` numbers, B `depth` x 8.

    lhs, rhs: the numbers of A and B as PTX calls them.
    sums: the type of C and D.
    least: the first architecture that has it, such as 80.
    """

    lhs: str
    rhs: str
    depth: int
    sums: ElementType = F32
    rows: int = 16
    least: int = 80

    @property
    def columns(self) -> int:
        """Columns of B, C and D."""
        return 8

    @property
    def bytes(self) -> int:
        """Bytes of a number of A or B."""
        return 8 if self.is_double else 32 // self.depth

    @property
    def is_double(self) -> bool:
        """Whether the registers of A and B are numbers of 64 bits."""
        return self.sums == F64

    @property
    def registers(self) -> tuple[int, int, int]:
        """How many registers a lane has of A, B, and C or D."""
        return (1, 1, 2) if self.is_double else (4, 2, 4)

    @property
    def register(self) -> str:
        """The type of a register of A or B."""
        return "f64" if self.is_double else "i32"

    @property
    def instruction(self) -> str:
        """What PTX calls it."""
        sums = {F32: "f32", F64: "f64", S32: "s32"}[self.sums]
        shape = f"m{self.rows}n8k{self.depth}"
        return f"mma.sync.aligned.{shape}.row.col.{sums}.{self.lhs}.{self.rhs}.{sums}"


def _bytes_kinds(names: Sequence[str], sums: ElementType, least: int) -> list[Kind]:
    return [Kind(a, b, 32, sums, least=least) for a in names for b in names]


KINDS: dict[tuple[str, str], Kind] = {
    (kind.lhs, kind.rhs): kind
    for kind in (
        Kind("f16", "f16", 16),
        Kind("bf16", "bf16", 16),
        Kind("tf32", "tf32", 8),
        Kind("f64", "f64", 4, F64, rows=8),
        *_bytes_kinds(("s8", "u8"), S32, 80),
        *_bytes_kinds(("e4m3", "e5m2"), F32, 89),
    )
}
_NAMES = {F16: "f16", BF16: "bf16", F64: "f64", S8: "s8", U8: "u8"}


def kind_of(lhs: ElementType, rhs: ElementType) -> Kind | None:
    """The product of numbers as they are in memory, exact before they are summed, if there is."""
    return KINDS.get((_NAMES.get(lhs, ""), _NAMES.get(rhs, "")))


def multiply(kind: Kind, a: Sequence[Any], b: Sequence[Any], c: Sequence[Any]) -> list[Any]:
    """The fragment of A·B + C. All lanes of the warp must come here."""
    d_type = str(mlir_type(kind.sums))
    counts = (len(c), len(a), len(b), len(c))
    groups, start = [], 0
    for count in counts:
        groups.append("{" + ", ".join(f"${start + n}" for n in range(count)) + "}")
        start += count
    text = f"{kind.instruction} {', '.join(groups)};"
    return assembly(text, [d_type] * len(c), [*a, *b, *c])


def zeros(kind: Kind) -> list[Any]:
    """A fragment of C that is zero."""
    return [constant(kind.sums, 0).value] * kind.registers[2]


def place_of_sum(lane: Scalar, number: int) -> tuple[Scalar, Scalar]:
    """(row, column) in C of a lane's number."""
    return lane / 4 + 8 * (number // 2), lane % 4 * 2 + number % 2


# --- Shared memory --------------------------------------------------------------------------------


def load_matrices(address: Scalar, count: int, offset: int = 0, transposed: bool = False) -> list:
    """`ldmatrix`: lane l gives the address of line l % 8 of matrix l / 8, a piece of 16 bytes.

    Lane l gets bytes 4 (l%4) … + 3 of line l/4 of each matrix; if transposed, elements 2 (l%4) and
    the next of column l/4, of numbers of 16 bits.

    Args:
        offset: bytes added to the address.
    """
    names = "{" + ", ".join(f"${n}" for n in range(count)) + "}"
    trans = ".trans" if transposed else ""
    text = f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {names}, [${count}+{offset}];"
    return assembly(text, ["i32"] * count, [address.value], memory=True)


def rounded_pair(name: str, first: Scalar, second: Scalar) -> Any:
    """Two f32 as neighbours of a type of 16 bits that is called so, in one word."""
    text = f"cvt.rn.{name}x2.f32 $0, $1, $2;"
    return assembly(text, ["i32"], [second.value, first.value])[0]


def rounded_pairs(name: str, numbers: Sequence[Scalar]) -> list[Any]:
    """Many f32, each two that follow each other in a word."""
    return [rounded_pair(name, *pair) for pair in zip(numbers[::2], numbers[1::2])]


def load_shared(
    address: Scalar, type_name: str, count: int = 1, offset: int = 0, space: str = "shared"
) -> list[Any]:
    """Numbers that lie one after the other in shared memory; all of them are aligned as one.

    Args:
        offset: bytes added to the address.
        space: the block's own memory, or `shared::cluster`: that of its cluster.
    """
    bits = type_name.replace("i", "b")
    names = ", ".join(f"${n}" for n in range(count))
    form, names = (f".v{count}", "{" + names + "}") if count > 1 else ("", names)
    text = f"ld.{space}{form}.{bits} {names}, [${count}+{offset}];"
    return assembly(text, [type_name] * count, [address.value], memory=True)


def store_shared(address: Scalar, values: Sequence[Any], offset: int = 0) -> None:
    """Store numbers of one type one after the other; all of them are aligned as one."""
    bits = str(values[0].type).replace("i", "b")
    names = ", ".join(f"${n + 1}" for n in range(len(values)))
    form, names = (f".v{len(values)}", "{" + names + "}") if len(values) > 1 else ("", names)
    assembly(
        f"st.shared{form}.{bits} [$0+{offset}], {names};", [], [address.value, *values], memory=True
    )


def copy_async(to: Scalar, source: Any, size: int = PIECE, count: Scalar | None = None) -> None:
    """Begin to copy `size` bytes, 4, 8 or 16, from global to shared memory.

    Args:
        to, source: addresses, multiples of `size`; the source is an i64.
        count: how many bytes are read; the rest is zeros.
    """
    cache = "cg" if size == PIECE else "ca"
    operands = [to.value, source, *([] if count is None else [count.value])]
    last = "" if count is None else ", $2"
    assembly(f"cp.async.{cache}.shared.global [$0], [$1], {size}{last};", [], operands, memory=True)


def commit_copies() -> None:
    """What this thread began to copy since it was last here is a group."""
    assembly("cp.async.commit_group;", [], [], memory=True)


def wait_for_copies(left: int = 0) -> None:
    """Wait until all but the last `left` groups of this thread have been copied."""
    assembly(f"cp.async.wait_group {left};", [], [], memory=True)


# --- Tiles ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TileForm:
    """How a matrix lies in shared memory.

    lines: how many, a multiple of 8.
    pieces: 16-byte pieces of a line, a power of two.
    along: whether sums go along a line: it is a row of A or a column of B. Numbers of 8 bits must
        lie so: neither `ldmatrix` nor single words bring them from lines across the sums.
    kind: what multiplies it; None if it is read in other ways than by `Tile`.
    """

    lines: int
    pieces: int
    along: bool
    kind: Kind | None

    @property
    def line_bytes(self) -> int:
        """Bytes of a line."""
        return self.pieces * PIECE

    @property
    def bytes(self) -> int:
        """Bytes of it all."""
        return self.lines * self.line_bytes

    def place(self, line: Scalar, piece: Scalar) -> Scalar:
        """Where a piece begins.

        Lines of 8 pieces, or pairs of 4, or fours of 2, are once around the banks; so the next line
        (pair, four) has its pieces exchanged by exclusive or. Of f64, and of tf32 across the sums,
        two pieces of each of four lines are read at once: they are exchanged in pairs.
        """
        kind = self.kind
        in_pairs = kind is not None and (kind.is_double or (kind.bytes == 4 and not self.along))
        span, width = min(self.pieces, 8), 2 if in_pairs else 1
        exchanged = line / (8 // span) % (span // width) * width
        return line * self.line_bytes + (piece ^ exchanged) * PIECE


@dataclass(frozen=True)
class Tile:
    """A matrix in shared memory, for the lanes of a warp.

    base: the address at which it begins, a multiple of 128.
    lane: the number of the lane in its warp.
    """

    form: TileForm
    base: Scalar
    lane: Scalar

    def rows(self, first: Scalar, row: int, step: int) -> list[Any]:
        """The fragment of A at rows `first + row` …, and at the sums of number `step`.

        Args:
            first, row: multiples of 16 (of f64, 8).
        """
        kind = self._kind
        if kind.is_double:
            return [self._double(first, row, step)]
        lane, depth_pieces = self.lane, 2
        if self.form.along:
            line, piece = first + lane % 16, lane / 16 + step * depth_pieces
            return load_matrices(self._at(line, piece), 4, row * self.form.line_bytes)
        if kind.bytes == 4:
            return self._words(first, row, step, 4)
        line = lane / 16 * 8 + lane % 8
        piece = (first + row) / 8 + lane / 8 % 2
        offset = step * kind.depth * self.form.line_bytes
        return load_matrices(self._at(line, piece), 4, offset, transposed=True)

    def columns(self, first: Scalar, column: int, step: int) -> list[list[Any]]:
        """Fragments of B from column `first + column` on, at the sums of number `step`.

        Returns:
            Two, for 16 columns; of f64, one for 8. The first column must be a multiple of that.
        """
        kind = self._kind
        if kind.is_double:
            return [[self._double(first, column, step)]]
        lane, depth_pieces = self.lane, 2
        if self.form.along:
            line = first + lane / 16 * 8 + lane % 8
            piece = lane / 8 % 2 + step * depth_pieces
            found = load_matrices(self._at(line, piece), 4, column * self.form.line_bytes)
        elif kind.bytes == 4:
            return [self._words(first, column + n, step, 2) for n in (0, kind.columns)]
        else:
            line, piece = lane % 16, (first + column) / 8 + lane / 16
            offset = step * kind.depth * self.form.line_bytes
            found = load_matrices(self._at(line, piece), 4, offset, transposed=True)
        return [found[:2], found[2:]]

    @property
    def _kind(self) -> Kind:
        assert self.form.kind is not None
        return self.form.kind

    def _words(self, first: Scalar, place: int, step: int, count: int) -> list[Any]:
        """A fragment of A or B, of four or two words, from lines that are places of the sums."""
        outer, inner = self.lane / 4, self.lane % 4
        found = []
        for number in range(count):
            down, on = (number % 2, number // 2) if count == 4 else (0, number)
            piece, word = (first + (place + 8 * down) + outer) / 4, outer % 4
            offset = (step * 8 + 4 * on) * self.form.line_bytes
            found += load_shared(self._at(inner, piece) + word * 4, "i32", 1, offset)
        return found

    def _double(self, first: Scalar, place: int, step: int) -> Any:
        """The lane's number of f64 of the row or column l/4 there, and of the sum l%4."""
        outer, inner = self.lane / 4, self.lane % 4
        if self.form.along:
            line, piece, half = first + outer, inner / 2 + step * 2, inner % 2
            offset = place * self.form.line_bytes
        else:
            line, piece, half = inner, (first + place + outer) / 2, outer % 2
            offset = step * 4 * self.form.line_bytes
        return load_shared(self._at(line, piece) + half * 8, "f64", 1, offset)[0]

    def _at(self, line: Scalar, piece: Scalar) -> Scalar:
        return self.base + self.form.place(line, piece)
