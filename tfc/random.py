"""Random numbers from explicit keys: `tfc.random.normal(key, (3, 4))`.

A key gives the same numbers whenever it is used, so each use takes a key of its own, from `split`.
The generator is Threefry, as JAX's default, but the numbers of a key are not JAX's.
"""

from collections.abc import Sequence
from math import pi, prod
from operator import index
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.arithmetic import where
from tfc.frontend.numpy.functions import cos, log, sqrt
from tfc.frontend.promotion import as_tensor, cast
from tfc.frontend.python_numbers import sizes
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable
from tfc.hlo.shape import U64, Shape, TupleShape, element_type_of

__all__ = ["bits", "key", "normal", "split", "uniform"]


def key(seed: int) -> np.ndarray:
    """The key of a seed: uint64[2].

    Raises:
        ShapeError: the seed is negative or does not fit 64 bits.
    """
    if not 0 <= index(seed) < 1 << 64:
        raise ShapeError(f"a seed must be a number of 64 bits, got {seed}")
    return np.array([seed, 0], np.uint64)


def _bits(key: ArrayLike, dims: Sequence[int], dtype: Any) -> Tensor:
    """Random bits in an unsigned type, from a key of uint64[2]."""
    state = as_tensor(key)
    shape = Shape(element_type_of(dtype), tuple(dims))
    made = ops.operation(
        "rng-bit-generator", state, shape=TupleShape((Shape(U64, (2,)), shape)),
        algorithm="rng_three_fry",
    )  # fmt: skip
    return ops.elements(made)[1]


@evaluable
def split(key: ArrayLike, num: int = 2) -> Tensor:
    """New keys, `num` of them as uint64[num, 2]; the key itself is then used up.

    Raises:
        ShapeError: the key is not uint64[2].
    """
    return _bits(key, (index(num), 2), np.uint64)


@evaluable
def bits(key: ArrayLike, shape: int | Sequence[int] = (), dtype: Any = np.uint32) -> Tensor:
    """Random bits as integers of any type.

    Raises:
        ShapeError: the key is not uint64[2], or the type is not one of integers.
    """
    if not element_type_of(dtype).is_integer:
        raise ShapeError(f"random bits are integers, got {np.dtype(dtype)}")
    return _bits(key, sizes(shape), dtype)


def _unit(words: Tensor, wide: np.dtype) -> Tensor:
    """Numbers in [0, 1), all multiples of the distance between those next to 1."""
    digits = element_type_of(wide).float_limits.nmant + 1
    high = ops.operation(
        "shift-right-logical", words, ops.full_like(8 * wide.itemsize - digits, words)
    )
    return cast(high, wide) * wide.type(2.0**-digits)


def _wide(dtype: Any) -> np.dtype:
    """The type in which numbers are made that are rounded to `dtype`."""
    element_type = element_type_of(dtype)
    if not element_type.is_float:
        raise ShapeError(f"random numbers of a distribution are floats, got {np.dtype(dtype)}")
    return np.dtype(np.float64 if element_type.bits == 64 else np.float32)


@evaluable
def uniform(
    key: ArrayLike,
    shape: int | Sequence[int] = (),
    dtype: Any = np.float32,
    minval: ArrayLike = 0.0,
    maxval: ArrayLike = 1.0,
) -> Tensor:
    """Numbers evenly in [minval, maxval), which broadcast to `shape`; minval if none are.

    Raises:
        ShapeError: the key is not uint64[2], or the type is not one of floats.
    """
    wide = _wide(dtype)
    unit = _unit(_bits(key, sizes(shape), f"u{wide.itemsize}"), wide)
    low, high = (cast(as_tensor(v), wide) for v in (minval, maxval))
    made, start, end = (cast(v, dtype) for v in (unit * (high - low) + low, low, high))
    return where(made < end, made, start)  # rounding may have reached the end


@evaluable
def normal(key: ArrayLike, shape: int | Sequence[int] = (), dtype: Any = np.float32) -> Tensor:
    """Numbers of the normal distribution of mean 0 and deviation 1, by Box and Muller's transform.

    Raises:
        ShapeError: the key is not uint64[2], or the type is not one of floats.
    """
    wide, dims = _wide(dtype), sizes(shape)
    words = _bits(key, (2, prod(dims)), f"u{wide.itemsize}")
    first, second = (ops.slice_along(words, 0, k, k + 1) for k in range(2))
    # Half a step more than zero at least, so that the logarithm is finite.
    positive = (cast(first, wide) + wide.type(0.5)) * wide.type(2.0 ** (-8 * wide.itemsize))
    radius = sqrt(log(positive) * wide.type(-2))
    made = radius * cos(_unit(second, wide) * wide.type(2 * pi))
    return cast(ops.reshape(made, dims), dtype)
