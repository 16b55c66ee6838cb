"""Tiles of products of words, which hold several narrow elements each (words.py)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from tfc.backends.cpu.products.register_tile import RegisterTile
from tfc.backends.cpu.products.words import Words
from tfc.backends.mlir.provider import arith, ir, llvm, vector
from tfc.backends.mlir.vectors import Position, Vectors, index_value, multiply

_BF16_INTRINSIC = "llvm.x86.avx512bf16.dpbf16ps.{bits}"
_INTRINSICS = {
    Words.UNSIGNED_SIGNED: "llvm.x86.avx512.vpdpbusd.{bits}",
    Words.SIGNED_UNSIGNED: "llvm.x86.avx512.vpdpbusd.{bits}",
    Words.OFFSET: "llvm.x86.avx512.vpdpbusd.{bits}",
    Words.SIGNED: "llvm.aarch64.neon.sdot.v{lanes}i32.v{bytes}i8",
    Words.UNSIGNED: "llvm.aarch64.neon.udot.v{lanes}i32.v{bytes}i8",
}
# Whether bytes of the left and of the right operand are signed.
_SIGNS = {
    Words.EACH_UNSIGNED_SIGNED: (False, True),
    Words.EACH_SIGNED_UNSIGNED: (True, False),
    Words.EACH_SIGNED: (True, True),
    Words.EACH_UNSIGNED: (False, False),
}
_OFFSET = 0x80808080 - (1 << 32)  # 128 in each byte


@dataclass(frozen=True)
class WordVectors(Vectors):
    """Vectors of words; `multiply_add` adds up the products of each word's elements.

    lying: the left operand's memory is of bytes, and its words lie in it as they are.
    """

    words: Words = Words.PAIRS
    lying: bool = False

    def multiply_add(self, x: Any, y: Any, z: Any) -> Any:
        """x·y + z, with words of the left operand and of the right one."""
        if self.words is Words.PAIRS:
            return arith.addi(self._paired_products(x, y), z)
        if self.words is Words.BF16_PAIRS:
            return self._call(_BF16_INTRINSIC, ir.BF16Type.get(), x, y, z)
        if self.words in _SIGNS:
            return self._one_by_one(x, y, z)
        if self.words is Words.SIGNED_UNSIGNED:
            x, y = y, x
        return self._call(_INTRINSICS[self.words], ir.IntegerType.get_signless(8), x, y, z)

    def _call(self, intrinsic: str, element: Any, x: Any, y: Any, z: Any) -> Any:
        """The processor's instruction for words of elements of a type."""
        held = ir.VectorType.get([self.words.count * self.lanes], element)
        name = intrinsic.format(bits=32 * self.lanes, lanes=self.lanes, bytes=4 * self.lanes)
        operands = [z, vector.bitcast(held, x), vector.bitcast(held, y)]
        return llvm.call_intrinsic(self.type, ir.StringAttr.get(name), operands, [], [])

    def _one_by_one(self, x: Any, y: Any, z: Any) -> Any:
        """The products of the bytes added up, on processors without an instruction for it."""
        extend = [arith.shrsi if signed else arith.shrui for signed in _SIGNS[self.words]]
        down = self.broadcast(word(24))
        for place in range(4):
            up = self.broadcast(word(24 - 8 * place))
            left, right = (e(arith.shli(v, up), down) for e, v in zip(extend, (x, y)))
            z = arith.addi(z, arith.muli(left, right))
        return z

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
class WordTile(RegisterTile):
    """A tile of products of words."""

    def factors(self, memory: Any, rows: Iterable[Position]) -> Iterable[Any]:
        """For each row, the word at a position in all lanes."""
        if not (isinstance(self.vectors, WordVectors) and self.vectors.lying):
            return super().broadcasts(memory, rows)
        return (self.vectors.broadcast(_lying_word(memory, at)) for at in rows)

    def broadcasts(self, memory: Any, rows: Iterable[Position]) -> Iterable[Any]:
        """The factors of the rows."""
        return self.factors(memory, rows)


@dataclass(frozen=True)
class OffsetTile(WordTile):
    """A tile whose left operand's bytes are 128 larger than they should be."""

    def zeros(self) -> list[Any]:
        """Sums of nothing, and below them those of 128 times the right operand."""
        return [*super().zeros(), *[self.vectors.zero()] * len(self.insides)]

    def broadcasts(self, memory: Any, rows: Iterable[Position]) -> Iterable[Any]:
        """The factors of the rows, and 128s for the row below them."""
        offset = self.vectors.broadcast(word(_OFFSET))
        factors = self.factors(memory, rows)
        if isinstance(self.vectors, WordVectors) and self.vectors.lying:
            factors = (arith.xori(factor, offset) for factor in factors)
        return chain(factors, (offset,))

    def finished(self, sums: Sequence[Any]) -> Sequence[Any]:
        """The sums as they should be."""
        count = len(self.insides)
        added = sums[-count:]
        return [arith.subi(s, added[k % count]) for k, s in enumerate(sums[:-count])]


def _lying_word(memory: Any, at: Position) -> Any:
    """The word at a position, counted in words, of memory of bytes, which need not be aligned."""
    byte, of_bits = ir.IntegerType.get_signless(8), ir.IntegerType.get_signless(32)
    loaded = vector.load(ir.VectorType.get([4], byte), memory, [index_value(multiply(at, 4))])
    made = vector.bitcast(ir.VectorType.get([1], of_bits), loaded)
    return vector.extract(made, [], [0])


def tile_of(vectors: Vectors, height: int, width: int) -> RegisterTile:
    """The tile that makes sums of products by the vectors given."""
    if not isinstance(vectors, WordVectors):
        return RegisterTile(vectors, height, width)
    return (OffsetTile if vectors.words is Words.OFFSET else WordTile)(vectors, height, width)


def packed(words: Words, elements: Sequence[Any], *, left: bool) -> Any:
    """The word of elements, given as integers of 32 bits whose lower ones are the element.

    Pairs of bf16 are given as f32, whose upper bits they are, and their word is one.
    """
    if words is Words.BF16_PAIRS:
        return _packed_halves(*elements)
    bits = 32 // words.count
    found = arith.andi(elements[0], word((1 << bits) - 1))
    for place, element in enumerate(elements[1:], 1):
        if place < words.count - 1:
            element = arith.andi(element, word((1 << bits) - 1))
        found = arith.ori(found, arith.shli(element, word(place * bits)))
    return arith.xori(found, word(_OFFSET)) if left and words is Words.OFFSET else found


def _packed_halves(first: Any, second: Any) -> Any:
    """The upper halves of two f32, as one."""
    integer = ir.IntegerType.get_signless(32)
    low, high = (arith.bitcast(integer, v) for v in (first, second))
    low, high = arith.shrui(low, word(16)), arith.andi(high, word(-(1 << 16)))
    return arith.bitcast(first.type, arith.ori(low, high))


def word(value: int) -> Any:
    """A constant of 32 bits."""
    return arith.constant(ir.IntegerType.get_signless(32), value)
