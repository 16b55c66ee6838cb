"""Literals: constant arrays as values, compared bit by bit, whose elements nobody can change."""

import numpy as np
import pytest

from tfc.hlo.literal import Literal


def test_what_can_be_written_to_is_copied():
    array = np.arange(4)
    view = array[:]
    view.setflags(write=False)
    for given in (array, view):
        literal = Literal(given)
        array[0] = 7
        np.testing.assert_array_equal(literal.array, [0, 1, 2, 3])
        array[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        literal.array[0] = 1


def test_what_lies_in_bytes_is_not_copied():
    array = np.frombuffer(np.arange(6.0).tobytes(), np.float64).reshape(2, 3)
    assert np.shares_memory(Literal(array).array, array)
    assert Literal(array.T).array.flags.c_contiguous
    apart = np.frombuffer(b"-" + array.tobytes(), np.float64, offset=1)
    assert Literal(apart).array.flags.aligned


@pytest.mark.parametrize("size", [0, 1, 5, 100_000])
def test_literals_are_equal_when_every_bit_is(size):
    array = np.zeros(size, np.float32)
    one, other = Literal(array), Literal(array)
    assert one == other
    assert hash(one) == hash(other)
    assert one.is_splat() == (size > 0)
    for place in {0, size // 2, size - 1} if size else ():
        array[place] = -0.0
        assert one != Literal(array)
        assert Literal(array).is_splat() == (size == 1)
        array[place] = 0.0
    assert one != Literal(array.view(np.int32))
    assert one != Literal(array.reshape(1, -1))


@pytest.mark.parametrize("order", [(1, 0, 2), (2, 1, 0), (0, 2, 1)])
def test_what_is_transposed_is_put_in_order_when_it_is_asked_for(order):
    array = np.arange(20_000.0).reshape(20, 50, 20).transpose(order)
    own, other = Literal.of_own(array), Literal(array)
    assert np.shares_memory(own.strided, array)
    assert hash(own) == hash(other)
    assert not own.is_splat()
    assert np.shares_memory(own.strided, array)
    assert own == other
    assert own.array.flags.c_contiguous
    np.testing.assert_array_equal(own.array, array)
    assert Literal.of_own(np.full((2, 3), 7.0).T).is_splat()


def test_parts_of_larger_arrays_are_copied():
    array = np.arange(12.0).reshape(3, 4)
    for part in (array[:, :2], array[::-1], array[:, ::2].T, np.broadcast_to(array[:1], (3, 4))):
        own = Literal.of_own(part)
        assert not np.shares_memory(own.strided, array)
        np.testing.assert_array_equal(own.array, part)
