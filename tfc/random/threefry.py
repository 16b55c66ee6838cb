"""Threefry 2x32, the hash that random bits are made with: words of 32 bits in, as many out.

    bits(key, dims): element n of the result, in row-major order, is the hash of the number n

All of it is elementwise on u32, so that it becomes part of the loop that uses the numbers. Keys may
be many at a time: their two words are arrays of one shape, which the counters have, too.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.promotion import as_tensor, shortened
from tfc.frontend.tensor import ArrayLike, Tensor
from tfc.hlo.ops.random import THREEFRY_GROUPS, THREEFRY_PARITY, THREEFRY_ROTATIONS
from tfc.hlo.shape import ELEMENT_TYPES, U32, U64, Shape

Words = tuple[Tensor, Tensor]


def words_of(key: ArrayLike) -> Words:
    """The two words of a key, as scalars.

    Raises:
        ShapeError: it is not uint32[2].
    """
    state = as_tensor(key)
    if state.array_shape.without_layout() != Shape(U32, (2,)).without_layout():
        got = state.array_shape.without_layout() if state.ndim or not state.weak else shortened(key)
        raise ShapeError(
            f"a random key is uint32[2], from tfc.random.key or split, got {got}; for many keys "
            "use tfc.vmap"
        )
    first, second = (ops.reshape(ops.slice_along(state, 0, k, k + 1), ()) for k in range(2))
    return first, second


def key_of(words: Words) -> Tensor:
    """The keys of pairs of words: they become a new last dimension."""
    one = (*words[0].shape, 1)
    return ops.concatenate([ops.reshape(w, one) for w in words], len(one) - 1)


def _binary(opcode: str, x: Tensor, y: Tensor | int) -> Tensor:
    return ops.operation(opcode, x, y if isinstance(y, Tensor) else ops.full_like(y, x))


def _rotated(x: Tensor, by: int) -> Tensor:
    left, right = _binary("shift-left", x, by), _binary("shift-right-logical", x, 32 - by)
    return _binary("or", left, right)


def hashed(key: Words, counter: Words) -> Words:
    """Twenty rounds of Threefry on each counter; keys that are scalars serve all of them."""
    parity = _binary("xor", _binary("xor", *key), THREEFRY_PARITY)
    schedule = (*key, parity)
    dims = counter[0].shape

    def spread(part: Tensor) -> Tensor:
        return part if part.shape == dims else ops.broadcast(part, dims, ())

    x, y = (_binary("add", c, spread(k)) for c, k in zip(counter, schedule))
    for group in range(THREEFRY_GROUPS):
        for rotation in THREEFRY_ROTATIONS[group % 2]:
            x = _binary("add", x, y)
            y = _binary("xor", x, _rotated(y, rotation))
        x = _binary("add", x, spread(schedule[(group + 1) % 3]))
        y = _binary("add", y, spread(_binary("add", schedule[(group + 2) % 3], group + 1)))
    return x, y


def counters(size: int) -> Words:
    """The numbers 0 … size - 1 as (high, low) words."""
    if size <= 1 << 32:
        low = ops.iota(U32, [size], 0)
        return ops.full_like(0, low), low
    number = ops.iota(U64, [size], 0)
    return ops.convert(_binary("shift-right-logical", number, 32), U32), ops.convert(number, U32)


def bits(key: Words, dims: Sequence[int], width: int) -> Tensor:
    """Random bits in the unsigned type of a width of 8, 16, 32 or 64, from one key."""
    return ops.reshape(_joined(hashed(key, counters(prod(dims))), width), dims)


def bits_of_each(keys: Words, width: int) -> Tensor:
    """Random bits from each of many keys: what `bits` of that key and no dimensions is."""
    zero = ops.full_like(0, keys[0])
    return _joined(hashed(keys, (zero, zero)), width)


def _joined(words: Words, width: int) -> Tensor:
    made = ELEMENT_TYPES[f"u{width}"]
    if width < 64:
        return ops.convert(_binary("xor", *words), made)
    high, low = (ops.convert(w, made) for w in words)
    return _binary("or", _binary("shift-left", high, 32), low)


def split_words(keys: Words, num: int) -> list[Words]:
    """`num` new keys for each key of two vectors of words, by one hash of them all."""
    dims = (num, *keys[0].shape)
    number = ops.iota(U32, dims, 0)
    spread = [ops.broadcast(k, dims, range(1, len(dims))) for k in keys]
    made = hashed((spread[0], spread[1]), (ops.full_like(0, number), number))
    rows = [[ops.reshape(ops.slice_along(w, 0, k, k + 1), dims[1:]) for w in made]
            for k in range(num)]  # fmt: skip
    return [(first, second) for first, second in rows]


def split_one(key: Words, num: int) -> Tensor:
    """u32[num, 2]: new keys from one key."""
    return key_of(hashed(key, counters(num)))


def seeded(number: Tensor) -> Words:
    """The words of a key from a scalar integer: the high ones and the low ones of 64 bits.

    What has 32 bits or fewer has no high ones, be it negative or not.
    """
    element_type = number.array_shape.element_type
    low = ops.convert(number, U32)
    if element_type.bits < 64:
        return ops.full_like(0, low), low
    high = _binary("shift-right-logical", number, 32)
    return ops.convert(high, U32), low


def seeded_number(seed: int) -> np.ndarray:
    """The key of a Python number, of which 64 bits count.

    Raises:
        ShapeError: it does not fit 64 bits.
    """
    if not -(1 << 63) <= seed < 1 << 64:
        raise ShapeError(f"a seed must be a number of 64 bits, got {seed}")
    return np.array([seed >> 32 & 0xFFFFFFFF, seed & 0xFFFFFFFF], np.uint32)
