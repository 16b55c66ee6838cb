"""Lists of tensors in graphs and the functions that repeat others: with arrays and compiled."""

import numpy as np
import pytest
from small_rows import compiled, run

import tfc.graph as tf


@pytest.fixture(autouse=True)
def graph():
    """A graph of its own for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


def both(fetches, feeds=None):
    """The values of fetches, which are the same with arrays and in one compiled program."""
    values = run(fetches, feeds)
    for one, other in zip(values, compiled(fetches, feeds or {})):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    return values


def test_fibonacci_numbers_in_an_array():
    array = tf.TensorArray(tf.int32, 5).write(0, 1).write(1, 1)
    _, made = tf.while_loop(
        lambda n, _: n < 5,
        lambda n, a: (n + 1, a.write(n, a.read(n - 1) + a.read(n - 2))),
        [2, array],
    )
    stacked = made.stack()
    assert stacked.shape.as_list() == [5]
    assert both([stacked])[0].tolist() == [1, 1, 2, 3, 5]


def test_elements_are_written_read_and_put_together():
    array = tf.TensorArray(tf.float32, 3).unstack([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    changed = array.write(1, [7.0, 8.0])
    fetches = [array.stack(), changed.read(1), changed.concat(), changed.gather([2, 0])]
    fetches += [array.scatter([2, 0], [[0.0, 0.0], [9.0, 9.0]]).stack(), array.identity().size()]
    fetches += [tf.TensorArray(tf.float32, 2).split([1.0, 2.0, 3.0, 4.0], [2, 2]).stack()]
    values = both(fetches)
    assert values[0].tolist() == [[1, 2], [3, 4], [5, 6]]
    assert values[1].tolist() == [7, 8]
    assert values[2].tolist() == [1, 2, 7, 8, 5, 6]
    assert values[3].tolist() == [[5, 6], [1, 2]]
    assert values[4].tolist() == [[9, 9], [3, 4], [0, 0]]
    assert values[5] == 3
    assert values[6].tolist() == [[1, 2], [3, 4]]


def test_the_shape_of_elements_may_be_known_only_when_the_graph_is_run():
    x = tf.placeholder(tf.float32, [None])
    array = tf.TensorArray(tf.float32, 3)
    loop = tf.while_loop(
        lambda n, _: n < 3,
        lambda n, a: (n + 1, a.write(n, x * tf.cast(n, tf.float32))),
        [0, array],
    )
    made = loop[1].stack()
    slope = tf.gradients(made, x)[0]
    values = both([made, slope], {x: [1.0, 2.0]})
    assert values[0].tolist() == [[0, 0], [1, 2], [2, 4]]
    assert values[1].tolist() == [3, 3]


def test_the_gradient_of_a_recurrence_over_arrays():
    x, w = tf.placeholder(tf.float32, [4]), tf.placeholder(tf.float32, [])
    xs = tf.TensorArray(tf.float32, 4).unstack(x)
    _, out, _ = tf.while_loop(
        lambda n, *_: n < 4,
        lambda n, a, h: (n + 1, a.write(n, h * w + xs.read(n)), h * w + xs.read(n)),
        [0, tf.TensorArray(tf.float32, 4), tf.constant(0.0)],
    )
    slopes = tf.gradients(out.stack(), [x, w])
    by_x, by_w = both(slopes, {x: np.ones(4, np.float32), w: 2.0})
    assert by_x.tolist() == [15, 7, 3, 1]
    assert by_w == 23


def test_arrays_of_dynamic_size_grow():
    array = tf.TensorArray(tf.int32, 0, dynamic_size=True)
    loop = tf.while_loop(lambda n, _: n < 3, lambda n, a: (n + 1, a.write(n, n * n)), [0, array])
    assert run(loop[1].stack()).tolist() == [0, 1, 4]


def test_what_arrays_cannot_take_is_refused():
    array = tf.TensorArray(tf.float32, 2)
    with pytest.raises(ValueError, match="either a size or a flow"):
        tf.TensorArray(tf.float32)
    with pytest.raises(ValueError, match="incompatible"):
        array.write(0, [1.0]).write(1, [1.0, 2.0])
    with pytest.raises(tf.errors.OutOfRangeError, match="Tried to write index 2 but array size"):
        run(tf.TensorArray(tf.float32, 2).write(2, 1.0).stack())
    with pytest.raises(tf.errors.InvalidArgumentError, match="none was written"):
        run(tf.TensorArray(tf.float32, 2).stack())
    with pytest.raises(NotImplementedError, match="equal parts"):
        run(tf.TensorArray(tf.float32, 2).split([1.0, 2.0, 3.0], [1, 2]).stack())


def test_a_function_of_each_element():
    x = tf.placeholder(tf.float32, [None, 2])
    made = tf.map_fn(lambda row: row * 2.0, x)
    pairs = tf.map_fn(lambda p: (p[0] + p[1], p[0]), (x, x), dtype=(tf.float32, tf.float32))
    total = tf.map_fn(lambda row: tf.cast(tf.reduce_sum(row), tf.int32), x, dtype=tf.int32)
    fetches = [made, *pairs, total, tf.gradients(made, x)[0]]
    given = np.arange(6, dtype=np.float32).reshape(3, 2)
    values = both(fetches, {x: given})
    assert np.array_equal(values[0], given * 2)
    assert np.array_equal(values[1], given * 2)
    assert np.array_equal(values[2], given)
    assert values[3].tolist() == [1, 5, 9]
    assert np.array_equal(values[4], np.full((3, 2), 2))
    with pytest.raises(TypeError, match="returns int32 where float32 is stated"):
        tf.map_fn(lambda row: tf.shape(row)[0], x)
    with pytest.raises(ValueError, match="not scalars"):
        tf.map_fn(lambda row: row, tf.constant(1.0))


def test_folds_and_scans():
    x = tf.placeholder(tf.float32, [4])
    fetches = [
        tf.foldl(lambda a, x: a - x, x),
        tf.foldr(lambda a, x: a - x, x),
        tf.foldl(lambda a, x: a - x, x, initializer=10.0),
        tf.scan(lambda a, x: a + x, x),
        tf.scan(lambda a, x: a + x, x, reverse=True),
        tf.scan(lambda a, x: a * x, x, initializer=2.0),
    ]
    values = both(fetches, {x: [1.0, 2.0, 3.0, 4.0]})
    assert [float(v) for v in values[:3]] == [-8, -2, 0]
    assert values[3].tolist() == [1, 3, 6, 10]
    assert values[4].tolist() == [10, 9, 7, 4]
    assert values[5].tolist() == [2, 4, 12, 48]
    slope = tf.gradients(fetches[5], x)
    assert both(slope, {x: [1.0, 2.0, 3.0, 4.0]})[0].tolist() == [66, 32, 20, 12]


def test_scans_carry_nested_structures():
    x = tf.constant([1, 2, 3])
    sums, products = tf.scan(lambda a, x: (a[0] + x, a[1] * x), x, initializer=(0, 1))
    assert [v.tolist() for v in run([sums, products])] == [[1, 3, 6], [1, 2, 6]]
