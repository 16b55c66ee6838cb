"""Variables: names, reading and changing in a defined order, sharing by name, initial values."""

import numpy as np
import pytest

import tfc.graph as tf
from tfc.graph import errors
from tfc.graph.variables.initializers import Identity


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def started():
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def test_a_variable_has_the_names_that_tensorflow_gives(graph):
    v = tf.Variable([1.0, 2.0], name="v")
    second = tf.Variable(3, name="v")
    assert (v.name, v.op.name, second.name) == ("v:0", "v", "v_1:0")
    assert [op.name for op in graph.get_operations()][:4] == [
        "v/initial_value", "v", "v/Assign", "v/read",
    ]  # fmt: skip
    assert (v.dtype.name, v.shape.as_list(), second.dtype.name) == ("float32", [2], "int32")
    assert tf.Variable(np.zeros(2)).dtype.name == "float64"
    assert tf.Variable(lambda: [1, 2], dtype="int64").dtype.name == "int64"


def test_variables_keep_their_values_between_runs_of_one_session():
    v = tf.Variable(1.0)
    added = v.assign_add(2.0)
    first, second = started(), started()
    assert first.run(added) == 3
    assert first.run(added) == 5
    assert first.run(v) == 5
    assert second.run(v) == 1
    assert first.run(tf.assign_sub(v, 1.5)) == 3.5
    assert first.run(tf.assign(v, 7)) == 7
    v.load(9, first)
    assert v.eval(first) == 9


def test_reads_see_the_values_from_before_the_run_unless_ordered(graph):
    v = tf.Variable(3)
    session = started()
    change = v.assign(7)
    assert session.run([v, change]) == [3, 7]
    with graph.control_dependencies([v.assign(11)]):
        after = v.value()
    assert session.run([v, after]) == [7, 11]


@pytest.mark.parametrize("level", [1, -1])
def test_a_variable_begins_by_the_value_of_another_or_by_what_that_begins_as(level):
    v = tf.Variable([1.0, 2.0], name="v")
    w = tf.Variable(v.initialized_value() * 2.0)
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.global_jit_level = level
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        assert session.run(w).tolist() == [2, 4]
        session.run(v.assign([5.0, 6.0]))
        session.run(w.initializer)
        assert session.run(w).tolist() == [10, 12]


def test_writes_come_in_the_order_in_which_they_were_made(graph):
    v = tf.Variable(1)
    session = started()
    changes = [v.assign(5), v.assign_add(2), v.assign(9), v.assign_sub(1)]
    assert session.run(changes[::-1]) == [8, 9, 7, 5]


def test_what_was_not_initialized_is_an_error_with_the_name():
    v = tf.Variable(1, name="weights")
    local = tf.Variable(
        1, name="count", collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False
    )
    report, known = tf.report_uninitialized_variables(), tf.is_variable_initialized(v)
    session = tf.Session()
    with pytest.raises(errors.FailedPreconditionError, match="weights"):
        session.run(v)
    assert session.run(report).tolist() == [b"weights", b"count"]
    assert not session.run(known)
    session.run(tf.global_variables_initializer())
    assert session.run(report).tolist() == [b"count"]
    assert session.run(known)
    session.run(tf.local_variables_initializer())
    assert session.run(report).tolist() == []
    assert session.run(local) == 1


def test_collections_say_which_variables_there_are():
    a = tf.Variable(1.0, name="a")
    b = tf.Variable(1.0, name="b", trainable=False)
    assert tf.global_variables() == [a, b]
    assert tf.trainable_variables() == [a]
    assert tf.global_variables("b") == [b]
    assert tf.local_variables() == []


@pytest.mark.parametrize(("kind", "expected"), [
    ("update", [[1, 1], [9, 9], [8, 8]]), ("add", [[1, 1], [11, 11], [11, 11]]),
    ("sub", [[1, 1], [-7, -7], [-5, -5]]), ("mul", [[1, 1], [18, 18], [24, 24]]),
    ("min", [[1, 1], [2, 2], [3, 3]]), ("max", [[1, 1], [9, 9], [8, 8]]),
])  # fmt: skip
def test_scatters_change_the_rows_that_indices_name(kind, expected):
    v = tf.Variable([[1.0, 1], [2, 2], [3, 3]])
    change = getattr(tf, f"scatter_{kind}")(v, [1, 2], [[9, 9], [8, 8]])
    session = started()
    assert session.run(change).tolist() == expected
    assert session.run(v).tolist() == expected


def test_scatters_into_parts_take_indices_of_several_dimensions():
    v = tf.Variable([[1.0, 2], [3, 4]])
    session = started()
    assert session.run(tf.scatter_nd_add(v, [[0, 1], [0, 1]], [10, 20])).tolist() == [
        [1, 32],
        [3, 4],
    ]
    assert session.run(tf.scatter_nd_update(v, [[1]], [[5, 6]])).tolist() == [[1, 32], [5, 6]]


def test_counting_gives_the_number_before_and_ends_at_the_limit():
    v = tf.Variable(0)
    counted = tf.count_up_to(v, 2)
    session = started()
    assert [session.run(counted), session.run(counted)] == [0, 1]
    with pytest.raises(IndexError, match="limit of 2"):
        session.run(counted)
    assert session.run(v) == 2


def test_get_variable_follows_the_rules_of_reuse():
    with tf.variable_scope("foo"):
        v = tf.get_variable("v", [1], initializer=tf.zeros_initializer())
        with pytest.raises(ValueError, match="foo/v already exists"):
            tf.get_variable("v", [1])
    with tf.variable_scope("foo", reuse=True):
        assert tf.get_variable("v", [1]) is v
        with pytest.raises(ValueError, match="does not exist"):
            tf.get_variable("w", [1])
        with pytest.raises(ValueError, match="specified shape"):
            tf.get_variable("v", [2])
        with pytest.raises(ValueError, match="dtype"):
            tf.get_variable("v", [1], "float64")
        with tf.variable_scope("inner", reuse=False):
            assert tf.get_variable_scope().reuse  # nothing turns it off within
    with tf.variable_scope("foo", initializer=tf.zeros_initializer(), reuse=tf.AUTO_REUSE):
        assert tf.get_variable("v", [1]) is v
        assert tf.get_variable("w", [1]) is tf.get_variable("w", [1])
    assert v.name == "foo/v:0"
    with pytest.raises(ValueError, match="fully defined"):
        tf.get_variable("unknown", [None, 3])
    with pytest.raises(NotImplementedError, match="partition"):
        tf.get_variable("parts", [4], partitioner=lambda **_: [2])


def test_scopes_nest_and_are_entered_again(graph):
    with tf.variable_scope("foo", initializer=tf.zeros_initializer()) as foo:
        assert foo.name == "foo"
        assert foo.original_name_scope == "foo/"
        with tf.variable_scope("bar"):
            assert tf.get_variable("v", [1]).name == "foo/bar/v:0"
        with tf.variable_scope(foo, reuse=False):
            assert tf.get_variable("u", [1]).name == "foo/u:0"
    with tf.variable_scope("other"), tf.variable_scope(foo, reuse=True) as again:
        assert again.name == "foo"
        assert tf.get_variable("u").name == "foo/u:0"
    names = []
    for _ in range(2):
        with tf.variable_scope(None, "layer") as scope:
            names.append(scope.name)
            with tf.variable_scope(None, "inner") as inner:
                names.append(inner.name)
    assert names == ["layer", "layer/inner", "layer_1", "layer_1/inner"]
    assert tf.get_variable_scope().name == ""


def test_scopes_give_defaults_and_getters():
    def double(getter, name, **arguments):
        return getter(f"{name}_made", **arguments)

    with tf.variable_scope(
        "s", initializer=tf.constant_initializer(4.0), custom_getter=double,
        regularizer=lambda v: v.read_value(),
    ):  # fmt: skip
        v = tf.get_variable("v", [2])
    (loss,) = tf.get_default_graph().get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    session = started()
    assert v.name == "s/v_made:0"
    assert session.run([v, loss])[1].tolist() == [4, 4]
    local = tf.get_local_variable("l", [1], initializer=tf.zeros_initializer())
    assert local in tf.local_variables()


def test_initializers_give_what_they_say():
    session = started()
    assert session.run(tf.ones_initializer()([2])).tolist() == [1, 1]
    assert session.run(tf.constant_initializer([1, 2])([3], "int32")).tolist() == [1, 2, 2]
    assert session.run(Identity(2.0)([2, 3])).tolist() == [[2, 0, 0], [0, 2, 0]]
    assert tf.get_variable("i", [2], "int32").initial_value.dtype.name == "int32"


def test_values_that_do_not_fit_are_refused_where_they_are_written():
    v = tf.Variable([1.0, 2.0])
    with pytest.raises(ValueError, match="shape"):
        v.assign([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="initial_value"):
        tf.Variable()
    with pytest.raises(TypeError, match="only a variable"):
        tf.assign(v.value(), [1.0, 2.0])
    free = tf.Variable([1.0], validate_shape=False)
    session = started()
    assert session.run(tf.assign(free, [1.0, 2.0])).tolist() == [1, 2]
