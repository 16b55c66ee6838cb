"""What the 32 threads of a warp tell each other without memory."""

from typing import Any

from tfc.backends.gpu.assembly import assembly
from tfc.backends.mlir.arithmetic.value import (
    Scalar,
    bitcast,
    emit,
    imaginary_part,
    make_complex,
    real_part,
)
from tfc.backends.mlir.provider import arith, ir
from tfc.hlo.shape import U32, U64

WARP = 32


def from_lane(x: Scalar, distance: int | Scalar) -> Scalar:
    """The scalar that the thread has whose lane differs in the bits of `distance` (`shfl.bfly`).

    All threads of the warp must come here.
    """
    return _shuffled(x, "bfly", distance)


def from_lane_before(x: Scalar, distance: int) -> Scalar:
    """The scalar of the lane `distance` before the own one; the own where there is none
    (`shfl.up`). All threads of the warp must come here."""
    return _shuffled(x, "up", distance)


def from_last_lane(x: Scalar) -> Scalar:
    """The scalar of lane 31 (`shfl.idx`). All threads of the warp must come here."""
    return _shuffled(x, "idx", WARP - 1)


def lanes_alike(x: Scalar) -> Scalar:
    """A bit for each lane with the same 32 bits as this one (`match.any`). All threads of the warp
    must come here."""
    word = ir.IntegerType.get_signless(32)
    everyone = arith.constant(word, -1)
    kind = ir.Attribute.parse("#nvvm<match_sync_kind any>")
    return Scalar(emit("nvvm.match.sync", word, [everyone, x.value], kind=kind), U32)


def lanes_where(condition: Any) -> Scalar:
    """A bit for each lane in which an i1 holds (`vote.ballot`). All threads of the warp must come
    here."""
    word = ir.IntegerType.get_signless(32)
    everyone = arith.constant(word, -1)
    kind = ir.Attribute.parse("#nvvm<vote_sync_kind ballot>")
    return Scalar(emit("nvvm.vote.sync", word, [everyone, condition], kind=kind), U32)


def ones(bits: Scalar) -> Scalar:
    """How many bits of a U32 are set."""
    return Scalar(emit("math.ctpop", bits.value.type, [bits.value]), U32)


def warp_barrier() -> None:
    """Wait until all threads of the warp are here; what they wrote is then seen by all of them."""
    everyone = arith.constant(ir.IntegerType.get_signless(32), -1)
    ir.Operation.create("nvvm.bar.warp.sync", [], [everyone])


def _shuffled(x: Scalar, kind: str, lane: int | Scalar) -> Scalar:
    """A scalar of another thread; `kind` says what `lane` means."""
    element_type = x.element_type
    if element_type.is_complex:
        parts = (_shuffled(part, kind, lane) for part in (real_part(x), imaginary_part(x)))
        return make_complex(*parts)
    if str(x.value.type) in ("f32", "f64"):
        bits = bitcast(x, U32 if element_type.bits == 32 else U64)
        return bitcast(_shuffled(bits, kind, lane), element_type)
    return Scalar(_words(x.value, kind, lane), element_type)


def _words(bits: Any, kind: str, lane: int | Scalar) -> Any:
    """Integers of any width go as one or two words of 32 bits."""
    width, word = bits.type.width, ir.IntegerType.get_signless(32)
    if width < 32:
        return arith.trunci(bits.type, _exchange(arith.extui(word, bits), kind, lane))
    if width == 32:
        return _exchange(bits, kind, lane)
    half = arith.constant(bits.type, 32)
    low, high = (_exchange(arith.trunci(word, v), kind, lane)
                 for v in (bits, arith.shrui(bits, half)))  # fmt: skip
    # Of halves that LLVM sees it would make two accesses of memory.
    return assembly("mov.b64 $0, {$1, $2};", ["i64"], [low, high])[0]


def _exchange(value: Any, kind: str, lane: int | Scalar) -> Any:
    word = ir.IntegerType.get_signless(32)
    clamp = 0 if kind == "up" else WARP - 1
    everyone, limit = (arith.constant(word, n) for n in (-1, clamp))
    offset = lane.value if isinstance(lane, Scalar) else arith.constant(word, lane)
    operands = [everyone, value, offset, limit]
    return emit("nvvm.shfl.sync", word, operands,
                kind=ir.Attribute.parse(f"#nvvm<shfl_kind {kind}>"))  # fmt: skip
