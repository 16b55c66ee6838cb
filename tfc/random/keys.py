"""Keys, and the bits that they stand for."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.promotion import as_tensor
from tfc.frontend.python_numbers import Dims, sizes, whole
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable
from tfc.hlo.shape import ELEMENT_TYPES, U32
from tfc.random import threefry
from tfc.random.arguments import integer_type


def _scalar_integer(value: Tensor, what: str) -> Tensor:
    if value.ndim or not value.array_shape.element_type.is_integer:
        got = value.array_shape.without_layout()
        raise ShapeError(f"{what} is a scalar integer, got {got}; for many use tfc.vmap")
    return value


@evaluable
def _traced_key(seed: Tensor) -> Tensor:
    return threefry.key_of(threefry.seeded(_scalar_integer(as_tensor(seed), "a seed")))


def key(seed: ArrayLike) -> Any:
    """The key of a seed: uint32[2], the high and the low word of its 64 bits.

    Args:
        seed: an integer; Python's have 64 bits, arrays and Tensors those of their type.

    Raises:
        ShapeError: the seed does not fit 64 bits, or is no scalar integer.
    """
    if isinstance(seed, Tensor) or hasattr(seed, "dtype"):
        return _traced_key(seed)
    return threefry.seeded_number(whole(seed, "a seed"))


@evaluable
def split(key: ArrayLike, num: int | Sequence[int] = 2) -> Tensor:
    """New keys, `num` of them as uint32[num, 2]; the key itself is then used up.

    Args:
        num: how many; or the dimensions, which come before the last.

    Raises:
        ShapeError: the key is not uint32[2].
    """
    dims = sizes(num, "the number of keys")
    made = threefry.split_one(threefry.words_of(key), prod(dims))
    return ops.reshape(made, (*dims, 2))


@evaluable
def fold_in(key: ArrayLike, data: ArrayLike) -> Tensor:
    """The key that a key and an integer of 32 bits make, such as a step's number.

    Raises:
        ShapeError: the key is not uint32[2], or the data no scalar integer.
    """
    number = _scalar_integer(as_tensor(data), "what is folded into a key")
    message = threefry.seeded(ops.convert(number, U32))
    return threefry.key_of(threefry.hashed(threefry.words_of(key), message))


@evaluable
def key_data(keys: ArrayLike) -> Tensor:
    """The words of keys, which in tfc are the keys themselves."""
    return as_tensor(keys)


@evaluable
def bits(key: ArrayLike, shape: Dims = (), dtype: Any = np.uint32) -> Tensor:
    """Random bits as integers of any type, signed ones too; uint32 unless a dtype is given.

    Raises:
        ShapeError: the key is not uint32[2], or the type is not one of integers.
    """
    wanted = integer_type(dtype, "random bits")
    made = threefry.bits(threefry.words_of(key), sizes(shape), wanted.bits)
    unsigned = ELEMENT_TYPES[f"u{wanted.bits}"]
    if wanted == unsigned:
        return made
    return ops.operation("bitcast-convert", made, shape=made.array_shape.with_element_type(wanted))
