"""What runs beside the threads on sm_90a: copies of boxes, products of four warps, their barriers.

A barrier in shared memory (`mbarrier`) counts threads that arrive, and bytes that copies bring. Its
*phase* ends when all are there, and the next one begins; who waits says which parity it had. A
*box* is a part of an array in global memory (`Boxes` says how it lies there), which one thread asks
to be copied, to one block or to all of a cluster (clusters.py). A *warpgroup* is four warps, 128
threads, which multiply together: sums are in their registers, the other matrices in shared memory.
Thread l of warp w has of 64 rows

    number i: row 16 w + l/4 + 8 (i / 2 % 2), column 8 (i / 4) + 2 (l%4) + i % 2

In shared memory a matrix lies in rows of 128 bytes, as boxes with a swizzle of 128 bring them: the
16-byte pieces of row r are exchanged by exclusive or with r % 8. Either such a row goes along the
sums, and line after line follows; or it goes across them, over 64 numbers of 16 bits, place after
place of the sums follows, and then the next 64.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.gpu.assembly import assembly
from tfc.backends.gpu.matrices import PIECE
from tfc.backends.gpu.warps import WARP
from tfc.backends.mlir.arithmetic.value import Scalar, constant, resize
from tfc.backends.mlir.provider import ir
from tfc.hlo.shape import F32, S32, U32, U64, ElementType

WARPGROUP = 4 * WARP
ROWS = 64
"""Rows of the sums of a warpgroup."""
ROW_BYTES = 128
"""Bytes of a row of a matrix in shared memory."""
STEP_BYTES = 32
"""Bytes of each line of a matrix that an instruction takes."""
PHASE_BYTES = 8
"""Shared memory of a barrier."""
_PATTERN = 8 * ROW_BYTES  # after which pieces are exchanged alike again


def _act(text: str, *operands: Any) -> None:
    assembly(text, [], operands, memory=True)


# --- Phases ---------------------------------------------------------------------------------------


def begin_phases(address: Scalar, arrivals: int) -> None:
    """Make a barrier whose phases end with so many arrivals, by one thread."""
    _act(f"mbarrier.init.shared::cta.b64 [$0], {arrivals};", address.value)


def announce_phases() -> None:
    """Make the barriers that this thread has made known to copies."""
    _act("fence.mbarrier_init.release.cluster;")


def arrive(address: Scalar) -> None:
    """Count this thread."""
    _act("mbarrier.arrive.shared::cta.b64 _, [$0];", address.value)


def arrive_with_bytes(address: Scalar, count: int) -> None:
    """Count this thread, and await bytes that copies bring."""
    _act(f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], {count};", address.value)


def wait_for_phase(address: Scalar, parity: Scalar) -> None:
    """Wait until the last phase of this parity, 0 or 1, is over; there is one of 1 before all."""
    again = "wait_${:uid}"
    _act(
        f"{{ .reg .pred over;\n{again}: mbarrier.try_wait.parity.shared::cta.b64 over, [$0], $1;\n"
        f"@!over bra {again}; }}",
        address.value,
        parity.value,
    )


# --- Boxes ----------------------------------------------------------------------------------------


def load_box(
    to: Scalar, boxes: Any, corner: Sequence[Scalar], phase: Scalar, blocks: int = 1,
    moved: Sequence[Scalar] = (),
) -> None:  # fmt: skip
    """Begin to copy a box, or pixels, to shared memory, which brings its bytes to a barrier.

    Args:
        to: a multiple of 1024.
        boxes: the pointer to the descriptor.
        corner: where the box begins, innermost first.
        blocks: of the cluster, in which the box and its bytes come to the same places.
        moved: how far the window of pixels is moved along each of its dimensions, innermost first;
            nothing where boxes are copied.
    """
    rank, names = len(corner), [f"by{n}" for n in range(len(moved))]
    places = ", ".join(f"${n + 3}" for n in range(rank))
    kind = ".im2col" if moved else ""
    shared, mask = (".multicast::cluster", f", {(1 << blocks) - 1}") if blocks > 1 else ("", "")
    halves = "".join(f"cvt.u16.u32 {x}, ${rank + 3 + n};\n" for n, x in enumerate(names))
    declared = f".reg .b16 {', '.join(names)};\n" if names else ""
    by = f", {{{', '.join(names)}}}" if names else ""
    _act(
        f"{{ {declared}{halves}cp.async.bulk.tensor.{rank}d.shared::cluster.global{kind}"
        f".mbarrier::complete_tx::bytes{shared} [$0], [$1, {{{places}}}], [$2]{by}{mask}; }}",
        to.value, _pointer(boxes), phase.value, *(c.value for c in (*corner, *moved)),
    )  # fmt: skip


def store_box(boxes: Any, corner: Sequence[Scalar], source: Scalar) -> None:
    """Begin to copy a box from shared memory, as a group of its own of this thread."""
    places = ", ".join(f"${n + 2}" for n in range(len(corner)))
    _act(
        f"cp.async.bulk.tensor.{len(corner)}d.global.shared::cta.bulk_group "
        f"[$0, {{{places}}}], [$1];\ncp.async.bulk.commit_group;",
        _pointer(boxes), source.value, *(c.value for c in corner),
    )  # fmt: skip


def wait_for_boxes(left: int, only_read: bool) -> None:
    """Wait until all but the last `left` groups of this thread are stored, or have been read."""
    _act(f"cp.async.bulk.wait_group{'.read' if only_read else ''} {left};")


def show_writes() -> None:
    """Let copies and products see what this thread has written to shared memory."""
    _act("fence.proxy.async.shared::cta;")


def fetch_descriptor(boxes: Any) -> None:
    """Bring a descriptor near, before the first box is asked for."""
    _act("prefetch.tensormap [$0];", _pointer(boxes))


def _pointer(boxes: Any) -> Any:
    return ir.Operation.create("llvm.ptrtoint", [ir.Type.parse("i64")], [boxes]).result


def elected() -> Scalar:
    """Whether this is the one thread of its warp that acts for it; all of it must come here."""
    text = "{ .reg .pred one;\nelect.sync _|one, -1;\nselp.b32 $0, 1, 0, one; }"
    return Scalar(assembly(text, ["i32"], [], memory=True)[0], U32)


def meet(number: Scalar, threads: int) -> None:
    """Wait for the threads, a multiple of 32, that come to the barrier of a number."""
    _act(f"bar.sync $0, {threads};", number.value)


def hold_registers(count: int, more: bool) -> None:
    """Have so many registers from here on: more, once others gave some up, or fewer."""
    _act(f"setmaxnreg.{'inc' if more else 'dec'}.sync.aligned.u32 {count};")


# --- Products -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Matrix:
    """How a matrix lies in shared memory, from a multiple of 1024 bytes on.

    along: whether its rows there go along the sums.
    depth: places of the sums.
    """

    along: bool
    depth: int

    def descriptor(self, address: Scalar) -> Scalar:
        """What products take for a matrix at an address."""
        leading = PIECE if self.along else self.depth * ROW_BYTES
        fixed = leading // PIECE << 16 | _PATTERN // PIECE << 32 | 1 << 62
        return resize(address >> 4, U64) | constant(U64, fixed)

    def step(self, number: int, depth: int) -> int:
        """What is added to a descriptor for the next `depth` places of the sums, `number` times."""
        return number * (STEP_BYTES if self.along else depth * ROW_BYTES) // PIECE


@dataclass(frozen=True)
class WarpgroupKind:
    """D = A·B + C of a warpgroup: 64 rows, `columns`, and 32 bytes along the sums.

    lhs, rhs: the numbers of A and B as PTX calls them, of `bytes` each.
    """

    lhs: str
    rhs: str
    bytes: int
    columns: int
    sums: ElementType = F32

    @property
    def depth(self) -> int:
        """Sums that an instruction adds to each number of C."""
        return STEP_BYTES // self.bytes

    @property
    def count(self) -> int:
        """Sums of a thread."""
        return ROWS * self.columns // WARPGROUP

    def multiply(
        self, a: Scalar, b: Scalar, forms: tuple[Matrix, Matrix], sums: Sequence[Any], left: int,
        fresh: bool = False,
    ) -> list[Any]:  # fmt: skip
        """The sums with the products of two matrices, from their descriptors.

        All 128 threads must come here.

        Args:
            left: how many of these steps may be under way when this is over: 0, or more where
                nothing uses the sums but the next step, and then `finish`.
            fresh: the sums begin here, whatever they were.
        """
        count = self.count
        flips = f", {int(not forms[0].along)}, {int(not forms[1].along)}" if self.bytes == 2 else ""
        lines = [_BEGIN.format("a, b")]
        for number in range(forms[0].depth // self.depth):
            first, second = (form.step(number, self.depth) for form in forms)
            lines.append(f"add.s64 a, ${count}, {first}; add.s64 b, ${count + 1}, {second};")
            lines.append(self._instruction("a", fresh and number == 0, flips))
        return self._with_sums("\n".join([*lines, _END.format(left)]), [a.value, b.value], sums)

    def multiply_held(
        self, a: Sequence[Any], b: Scalar, form: Matrix, sums: Sequence[Any]
    ) -> list[Any]:
        """The sums with the products of a matrix of 16-bit numbers that the threads hold.

        All 128 threads must come here.

        Args:
            a: words of two numbers that are neighbours along the sums, four for each 16 of these:
                of thread l, row l/4 and places 2 (l%4) and the next, row l/4 + 8, and both once
                more eight places on.
            b, form: the descriptor of the other matrix, and how that lies.
        """
        count, flips = self.count, f", {int(not form.along)}"
        lines = [_BEGIN.format("b")]
        for number in range(form.depth // self.depth):
            lines.append(f"add.s64 b, ${count}, {form.step(number, self.depth)};")
            words = (f"${count + 1 + 4 * number + n}" for n in range(4))
            lines.append(self._instruction("{" + ", ".join(words) + "}", False, flips))
        return self._with_sums("\n".join([*lines, _END.format(0)]), [b.value, *a], sums)

    def finish(self, sums: Sequence[Any]) -> list[Any]:
        """The sums, once all products that the warpgroup began are done."""
        return self._with_sums("wgmma.wait_group.sync.aligned 0;", [], sums)

    def _instruction(self, a: str, fresh: bool, flips: str) -> str:
        name = {F32: "f32", S32: "s32"}[self.sums]
        held = "{" + ", ".join(f"${n}" for n in range(self.count)) + "}"
        signs = "" if self.sums == S32 else f", 1, 1{flips}"
        return (
            f"wgmma.mma_async.sync.aligned.m{ROWS}n{self.columns}k{self.depth}.{name}."
            f"{self.lhs}.{self.rhs} {held}, {a}, b, {'begins' if fresh else 'adds'}{signs};"
        )

    def _with_sums(self, text: str, operands: Sequence[Any], sums: Sequence[Any]) -> list[Any]:
        name = "i32" if self.sums == S32 else "f32"
        return assembly(text, [name] * self.count, [*operands, *sums], True, tied=self.count)


_BEGIN = """{{ .reg .pred adds, begins; .reg .b64 {}; .reg .b32 one;
mov.b32 one, 1; setp.ne.b32 adds, one, 0; setp.eq.b32 begins, one, 0;
wgmma.fence.sync.aligned;"""
_END = "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned {}; }}"
