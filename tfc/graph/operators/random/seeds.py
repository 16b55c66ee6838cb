"""Operators that draw random numbers which seeds decide: TensorFlow's numbers, bit by bit.

They come from the generator Philox 4x32-10: blocks of four words of 32 bits, each of a key and of a
counter that goes up by one from block to block.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfc import numpy as tnp
from tfc.errors import UnsupportedError
from tfc.graph.operators.partial_values import partial_shape
from tfc.graph.operators.registry import (
    Attributes,
    Spec,
    is_known,
    known_numbers,
    operator,
)
from tfc.graph.types.dtypes import as_dtype, float32, int32, uint64
from tfc.graph.types.shapes import TensorShape

_WORD, _WIDE = np.dtype(np.uint32), np.dtype(np.uint64)
_FACTORS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_STEPS = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)
_PHILOX, _AUTOMATIC = 1, 3
_CANDIDATES = 4  # blocks for four truncated numbers: that they hold fewer has a chance of 1e-15


def _low(x: Any) -> Any:
    return tnp.astype(x & np.uint64(0xFFFFFFFF), _WORD)


def _high(x: Any) -> Any:
    return tnp.astype(x >> np.uint64(32), _WORD)


def _joined(low: Any, high: Any) -> Any:
    return tnp.astype(low, _WIDE) | (tnp.astype(high, _WIDE) << np.uint64(32))


def _block(words: Sequence[Any], key: Sequence[Any]) -> list[Any]:
    """The four words of the generator for a counter of four words."""
    a, b, c, d = words
    first, second = key
    for _ in range(10):
        left = tnp.astype(a, _WIDE) * _FACTORS[0]
        right = tnp.astype(c, _WIDE) * _FACTORS[1]
        a, b, c, d = _high(right) ^ b ^ first, _low(right), _high(left) ^ d ^ second, _low(left)
        first, second = first + _STEPS[0], second + _STEPS[1]
    return [a, b, c, d]


def _blocks(key: Any, counter: Any, places: np.ndarray) -> list[Any]:
    """The words of the blocks so far behind a counter, a list of arrays [places]."""
    low = counter[0] + places
    high = counter[1] + tnp.astype(low < places, _WIDE)
    words = [_low(low), _high(low), _low(high), _high(high)]
    return _block(words, [_low(key[0]), _high(key[0])])


def scrambled(seed: Any) -> tuple[Any, Any]:
    """(key, counter) of a seed, two integers."""
    numbers = tnp.astype(tnp.astype(seed, np.dtype(np.int64)), _WIDE)
    words = [_low(numbers[0]), _high(numbers[0]), _low(numbers[1]), _high(numbers[1])]
    a, b, c, d = _block(words, [np.array([n], _WORD) for n in (0x3EC8F720, 0x02461E29)])
    key, counter = _joined(a, b), _joined(c, d)
    return key, tnp.concatenate([tnp.zeros_like(counter), counter])


Fill = Callable[[Any, Any, int], Any]  # (key, counter, how many) -> numbers


def _words(key: Any, counter: Any, count: int) -> Any:
    """So many words of 32 bits."""
    places = np.arange(-(-count // 4), dtype=np.uint64)
    return tnp.reshape(tnp.stack(_blocks(key, counter, places), axis=1), (-1,))[:count]


def _pairs(key: Any, counter: Any, count: int) -> tuple[Any, Any]:
    """The first and the second words of so many pairs."""
    words = tnp.reshape(_words(key, counter, 2 * count), (-1, 2))
    return words[:, 0], words[:, 1]


def bits(dtype: np.dtype) -> Fill:
    """All bits of integers of a dtype."""

    def fill(key: Any, counter: Any, count: int) -> Any:
        if dtype.itemsize == 4:
            return _words(key, counter, count).view(dtype)
        return _joined(*_pairs(key, counter, count)).view(dtype)

    return fill


def _fraction(words: Any) -> Any:
    """From 0 up to 1, of the lowest bits."""
    bits = (words & np.uint32(0x7FFFFF)) | np.uint32(127 << 23)
    return bits.view(np.dtype(np.float32)) - np.float32(1)


def _wide_fraction(first: Any, second: Any) -> Any:
    bits = _joined(second, (first & np.uint32(0xFFFFF)) | np.uint32(1023 << 20))
    return bits.view(np.dtype(np.float64)) - np.float64(1)


def uniform(dtype: np.dtype) -> Fill:
    """From 0 up to 1, which is not among them."""

    def fill(key: Any, counter: Any, count: int) -> Any:
        if dtype == np.float64:
            return _wide_fraction(*_pairs(key, counter, count))
        words = _words(key, counter, count)
        if dtype == np.float32:
            return _fraction(words)
        mantissa, exponent = (10, 15) if dtype == np.float16 else (7, 127)
        bits = (words & np.uint32((1 << mantissa) - 1)) | np.uint32(exponent << mantissa)
        return tnp.astype(bits, np.dtype(np.uint16)).view(dtype) - np.asarray(1, dtype)

    return fill


def _bell(radius: Any, angle: Any) -> tuple[Any, Any]:
    """Two normally distributed numbers of two fractions: Box's and Muller's."""
    dtype = radius.dtype
    far = tnp.sqrt(-2 * tnp.log(tnp.maximum(radius, np.asarray(1e-7, dtype))))
    turn = np.asarray(2 * np.pi, dtype) * angle
    return tnp.sin(turn) * far, tnp.cos(turn) * far


def _normal_pairs(dtype: np.dtype, key: Any, counter: Any, places: np.ndarray) -> Any:
    """Normally distributed numbers [places, of a block]."""
    a, b, c, d = _blocks(key, counter, places)
    if dtype == np.float64:
        return tnp.stack(_bell(_wide_fraction(a, b), _wide_fraction(c, d)), axis=1)
    pairs = (*_bell(_fraction(a), _fraction(b)), *_bell(_fraction(c), _fraction(d)))
    return tnp.stack(pairs, axis=1)


def normal(dtype: np.dtype) -> Fill:
    """Normally distributed, of mean 0 and standard deviation 1."""

    def fill(key: Any, counter: Any, count: int) -> Any:
        group = 2 if dtype == np.float64 else 4
        places = np.arange(-(-count // group), dtype=np.uint64)
        made = tnp.reshape(_normal_pairs(dtype, key, counter, places), (-1,))[:count]
        return tnp.astype(made, dtype)

    return fill


def truncated(dtype: np.dtype) -> Fill:
    """The first of each group's numbers that are no two standard deviations away."""

    def fill(key: Any, counter: Any, count: int) -> Any:
        group = 2 if dtype == np.float64 else 4
        groups = -(-count // group)
        begins = np.arange(groups, dtype=np.uint64)[:, None] * np.uint64(group * 256 // 4)
        places = (begins + np.arange(_CANDIDATES * 4 // group, dtype=np.uint64)).reshape(-1)
        made = tnp.reshape(_normal_pairs(dtype, key, counter, places), (groups, -1))
        near = tnp.abs(made) < np.asarray(2, made.dtype)
        order = tnp.argsort(tnp.logical_not(near), axis=1, stable=True)[:, :group]
        found = tnp.reshape(tnp.take_along_axis(made, order, axis=1), (-1,))[:count]
        return tnp.astype(found, dtype)

    return fill


def between(low: Any, high: Any) -> Fill:
    """Integers from the least up to the limit, which is not among them."""
    unsigned = np.dtype(f"uint{low.dtype.itemsize * 8}")

    def fill(key: Any, counter: Any, count: int) -> Any:
        width = (high - low).view(unsigned)
        drawn = tnp.mod(bits(unsigned)(key, counter, count), width)
        return low + drawn.view(low.dtype)

    return fill


def filled(shape: Any, key: Any, counter: Any, fill: Fill) -> Any:
    """Numbers of a known shape."""
    dims = known_numbers(shape, "the shape of random numbers")
    count = int(np.prod(dims))
    return tnp.reshape(fill(key, counter, max(count, 1))[:count], dims)


def check_algorithm(alg: Any) -> None:
    """Check that the one generator that there is is asked for.

    Raises:
        UnsupportedError: another is.
    """
    if is_known(alg) and int(np.asarray(alg).ravel()[0]) not in (_PHILOX, _AUTOMATIC):
        raise UnsupportedError("random numbers are drawn by Philox: ask for algorithm 1 or 3")


def _drawn(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(as_dtype(attributes.get("dtype", float32)), partial_shape(inputs[0]))]


def _drawn_whole(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(as_dtype(attributes.get("dtype", uint64)), partial_shape(inputs[0]))]


def _like_limits(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(inputs[-1].dtype, partial_shape(inputs[0]))]


def _enter(name: str, fill_of: Callable[[np.dtype], Fill], default: Any, infer: Any) -> None:
    """Both versions of a distribution: by a seed, and by a key and a counter."""

    @operator(name, types="T Tseed", known=(0,), infer=infer)
    def by_seed(shape: Any, seed: Any, dtype: Any = default) -> Any:
        return filled(shape, *scrambled(seed), fill_of(as_dtype(dtype).dtype))

    @operator(f"{name}V2", types="Tshape - - -", known=(0,), hints=(3,), infer=infer)
    def by_key(shape: Any, key: Any, counter: Any, alg: Any, dtype: Any = default) -> Any:
        check_algorithm(alg)
        return filled(shape, key, counter, fill_of(as_dtype(dtype).dtype))


_enter("StatelessRandomUniform", uniform, np.float32, _drawn)
_enter("StatelessRandomNormal", normal, np.float32, _drawn)
_enter("StatelessTruncatedNormal", truncated, np.float32, _drawn)
_enter("StatelessRandomUniformFullInt", bits, np.uint64, _drawn_whole)


@operator("StatelessRandomUniformInt", types="T Tseed dtype", known=(0,), infer=_like_limits)
def uniform_integers(shape: Any, seed: Any, minval: Any, maxval: Any) -> Any:
    """Integers from the least up to the limit, which is not among them."""
    return filled(shape, *scrambled(seed), between(minval, maxval))


@operator(
    "StatelessRandomUniformIntV2",
    types="Tshape - - - dtype",
    known=(0,),
    hints=(3,),
    infer=_like_limits,
)
def uniform_integers_by_key(
    shape: Any, key: Any, counter: Any, alg: Any, minval: Any, maxval: Any
) -> Any:
    """The same, of a key and a counter."""
    check_algorithm(alg)
    return filled(shape, key, counter, between(minval, maxval))


def _key_and_counter(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(uint64, TensorShape([1])), (uint64, TensorShape([2]))]


@operator("StatelessRandomGetKeyCounter", types="Tseed", infer=_key_and_counter)
def key_and_counter(seed: Any) -> tuple[Any, Any]:
    """(key, counter) of a seed."""
    return scrambled(seed)


def _with_algorithm(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [*_key_and_counter(inputs, attributes), (int32, TensorShape(()))]


@operator("StatelessRandomGetKeyCounterAlg", types="Tseed", infer=_with_algorithm)
def key_counter_and_algorithm(seed: Any) -> tuple[Any, ...]:
    """(key, counter, the number of the generator) of a seed."""
    return *scrambled(seed), np.int32(_PHILOX)


@operator("StatelessRandomGetAlg", types="", infer=lambda *_: [(int32, TensorShape(()))])
def algorithm() -> np.ndarray:
    """The number of the generator."""
    return np.asarray(_PHILOX, np.int32)


@operator("StatelessMultinomial", types="T - Tseed", known=(1,))
def multinomial(logits: Any, num_samples: Any, seed: Any, output_dtype: Any = np.int64) -> Any:
    """Classes drawn for each row of logarithms of probabilities."""
    (count,) = known_numbers(num_samples, "the number of samples")
    rows, classes = logits.shape
    wide = tnp.astype(logits, np.dtype(np.float64))
    is_there = tnp.isfinite(wide)
    most = tnp.max(tnp.where(is_there, wide, -np.inf), axis=1, keepdims=True)
    chance = tnp.where(is_there, tnp.exp(wide - most), np.float64(0))
    total = tnp.cumsum(chance, axis=1)
    drawn = _wide_fraction(*_pairs(*scrambled(seed), rows * count))
    found = tnp.reshape(drawn, (rows, count)) * total[:, -1:]
    place = tnp.sum(tnp.expand_dims(total, 1) <= tnp.expand_dims(found, 2), axis=2)
    return tnp.astype(tnp.minimum(place, classes - 1), as_dtype(output_dtype).dtype)
