"""Tiles of products of words, which hold several narrow integers each (words.py)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from tfc.backends.cpu.products.register_tile import RegisterTile
from tfc.backends.cpu.products.words import Words
from tfc.backends.mlir.provider import arith, ir, llvm, vector
from tfc.backends.mlir.vectors import Position, Vectors

_INTRINSICS = {
    Words.UNSIGNED_SIGNED: "llvm.x86.avx512.vpdpbusd.{bits}",
    Words.SIGNED_UNSIGNED: "llvm.x86.avx512.vpdpbusd.{bits}",
    Words.OFFSET: "llvm.x86.avx512.vpdpbusd.{bits}",
    Words.SIGNED: "llvm.aarch64.neon.sdot.v{lanes}i32.v{bytes}i8",
    Words.UNSIGNED: "llvm.aarch64.neon.udot.v{lanes}i32.v{bytes}i8",
}
_OFFSET = 0x80808080 - (1 << 32)  # 128 in each byte


@dataclass(frozen=True)
class WordVectors(Vectors):
    """Vectors of words; `multiply_add` adds up the products of each word's elements."""

    words: Words = Words.PAIRS

    def multiply_add(self, x: Any, y: Any, z: Any) -> Any:
        """x·y + z, with words of the left operand and of the right one."""
        if self.words is Words.PAIRS:
            return arith.addi(self._paired_products(x, y), z)
        if self.words is Words.SIGNED_UNSIGNED:
            x, y = y, x
        in_bytes = ir.VectorType.get([4 * self.lanes], ir.IntegerType.get_signless(8))
        name = _INTRINSICS[self.words].format(
            bits=32 * self.lanes, lanes=self.lanes, bytes=4 * self.lanes
        )
        operands = [z, vector.bitcast(in_bytes, x), vector.bitcast(in_bytes, y)]
        return llvm.call_intrinsic(self.type, ir.StringAttr.get(name), operands, [], [])

    def _paired_products(self, x: Any, y: Any) -> Any:
        """The sums of both products of each pair, in the form that LLVM has instructions for."""
        narrow, wide = (
            ir.VectorType.get([2 * self.lanes], ir.IntegerType.get_signless(bits))
            for bits in (16, 32)
        )
        x, y = (arith.extsi(wide, vector.bitcast(narrow, v)) for v in (x, y))
        products = arith.muli(x, y)
        first, second = (
            vector.shuffle(products, products, mask=range(start, 2 * self.lanes, 2))
            for start in (0, 1)
        )
        return arith.addi(first, second)


@dataclass(frozen=True)
class OffsetTile(RegisterTile):
    """A tile whose left operand's bytes are 128 larger than they should be."""

    def zeros(self) -> list[Any]:
        """Sums of nothing, and below them those of 128 times the right operand."""
        return [*super().zeros(), *[self.vectors.zero()] * len(self.insides)]

    def broadcasts(self, memory: Any, rows: Iterable[Position]) -> Iterable[Any]:
        """The factors of the rows, and 128s for the row below them."""
        offset = self.vectors.broadcast(word(_OFFSET))
        return chain(super().broadcasts(memory, rows), (offset,))

    def finished(self, sums: Sequence[Any]) -> Sequence[Any]:
        """The sums as they should be."""
        count = len(self.insides)
        added = sums[-count:]
        return [arith.subi(s, added[k % count]) for k, s in enumerate(sums[:-count])]


def tile_of(vectors: Vectors, height: int, width: int) -> RegisterTile:
    """The tile that makes sums of products by the vectors given."""
    is_offset = isinstance(vectors, WordVectors) and vectors.words is Words.OFFSET
    return (OffsetTile if is_offset else RegisterTile)(vectors, height, width)


def packed(words: Words, elements: Sequence[Any], *, left: bool) -> Any:
    """The word of elements, given as values of 32 bits whose lower ones are the element."""
    bits = 32 // words.count
    found = arith.andi(elements[0], word((1 << bits) - 1))
    for place, element in enumerate(elements[1:], 1):
        if place < words.count - 1:
            element = arith.andi(element, word((1 << bits) - 1))
        found = arith.ori(found, arith.shli(element, word(place * bits)))
    return arith.xori(found, word(_OFFSET)) if left and words is Words.OFFSET else found


def word(value: int) -> Any:
    """A constant of 32 bits."""
    return arith.constant(ir.IntegerType.get_signless(32), value)
