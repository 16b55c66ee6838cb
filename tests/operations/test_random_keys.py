"""tfc.random: numbers that depend on the key alone, distributed as asked for, in any trace."""

import math

import ml_dtypes
import numpy as np
import pytest
from test_random import assert_distributed

import tfc
import tfc.numpy as tnp
from tfc import random
from tfc.errors import ShapeError

KEY = random.key(7)


def test_a_key_gives_the_same_numbers_outside_and_inside_of_a_trace():
    def draw(key):
        first, second = random.split(key)
        return random.bits(first, (3, 4)), random.uniform(second, 5)

    for got, expected in zip(tfc.jit(draw)(KEY), draw(KEY)):
        np.testing.assert_array_equal(got, expected)


def test_split_keys_give_numbers_of_their_own():
    keys = random.split(KEY, 50)
    assert (keys.dtype, keys.shape) == (np.uint32, (50, 2))
    drawn = {random.bits(k, (), np.uint64).item() for k in (KEY, *keys)}
    assert len(drawn) == 51


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint32, np.int64])
def test_bits_are_of_the_type_asked_for_and_even(dtype):
    got = random.bits(KEY, (4000,), dtype)
    assert (got.dtype, got.shape) == (dtype, (4000,))
    for bit in range(8 * got.itemsize):
        assert 1800 < np.count_nonzero(got >> dtype(bit) & dtype(1)) < 2200


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_numbers_are_distributed_as_asked_for(dtype):
    slack = {2: 2e-2}.get(np.dtype(dtype).itemsize, 0.0)  # what rounding makes equal
    got = random.uniform(KEY, (50, 60), dtype, -1, 3)
    assert (got.dtype, got.shape) == (dtype, (50, 60))
    assert (got < 3).all()
    assert_distributed(got, lambda x: (x + 1) / 4, slack)
    got = tfc.jit(lambda key: random.normal(key, (50, 60), dtype))(KEY)
    assert (got.dtype, got.shape) == (dtype, (50, 60))
    assert_distributed(got, lambda x: (1 + math.erf(x / math.sqrt(2))) / 2, slack)


def test_gradients_flow_to_the_bounds():
    def mean(low):
        return tnp.mean(random.uniform(KEY, (100,), np.float64, low, 2.0))

    drawn = random.uniform(KEY, (100,), np.float64)
    np.testing.assert_allclose(tfc.grad(mean)(0.5), np.mean(1 - drawn), rtol=1e-12)


def test_what_does_not_fit_is_refused():
    for seed in (-(1 << 63) - 1, 1 << 64):
        with pytest.raises(ShapeError, match="a seed must be a number of 64 bits"):
            random.key(seed)
    with pytest.raises(ShapeError, match=r"a random key is uint32\[2\].*, got s64\[2\]"):
        random.uniform(np.array([1, 2]))
    with pytest.raises(ShapeError, match=r"got u32\[3,2\]; for many keys use tfc.vmap"):
        random.uniform(random.split(KEY, 3))
    with pytest.raises(ShapeError, match="random bits are integers, got float32"):
        random.bits(KEY, (), np.float32)
    with pytest.raises(
        ShapeError, match="of a distribution are floats of 16, 32 or 64 bits, got int32"
    ):
        random.normal(KEY, (), np.int32)
