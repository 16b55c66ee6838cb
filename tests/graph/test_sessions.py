"""Sessions: what may be fetched and fed, structures, defaults, callables, closing, threads."""

import collections
import dataclasses
import threading

import numpy as np
import pytest
from session_nodes import enter_rows, python

import tfc.graph as tf
from tfc.graph import errors

Pair = collections.namedtuple("Pair", "first second")


@dataclasses.dataclass
class Both:
    """A container of a user's."""

    one: object
    two: object


class Attributed:
    """What the package attrs makes of a class, as far as its users can tell."""

    __attrs_attrs__ = (Pair("x", 0)._replace(first="x"),)

    def __init__(self, x):
        self.x = x


Attributed.__attrs_attrs__ = (type("Attribute", (), {"name": "x"}),)


@pytest.fixture(autouse=True)
def graph():
    enter_rows()
    with tf.Graph().as_default() as made:
        yield made


@pytest.fixture
def session():
    with tf.Session() as made:
        yield made


def test_the_result_has_the_structure_of_the_fetches(session):
    a, b = tf.constant(3.0), tf.constant([4.0])
    total = a + b
    assert session.run({"ab": (a, b), "total": total}) == {"ab": (3, [4]), "total": [7]}
    assert session.run(Pair(a, [b, a])) == Pair(3, [[4], 3])
    found = session.run(Both(a, {"x": b}))
    assert isinstance(found, Both)
    assert (found.one, found.two) == (3, {"x": [4]})
    assert session.run(Attributed([a])).x == [3]
    ordered = session.run(collections.OrderedDict([("z", a), ("y", b)]))
    assert type(ordered) is collections.OrderedDict
    assert list(ordered) == ["z", "y"]
    kept = collections.defaultdict(list, {"x": a})
    assert session.run(kept)["missing"] == []
    assert session.run([]) == []
    assert session.run(()) == ()


def test_tuples_of_other_kinds_are_told_apart_when_asked_again(session):
    a, b = tf.constant(1.0), tf.constant(2.0)
    for _ in range(2):
        for fetches in ([a, b], (a, b), Pair(a, b), [(a, b)], [Pair(a, b)], [[a, b]]):
            found = session.run(fetches)
            assert type(found) is type(fetches)
            assert type(found[0]) in (np.float32, type(fetches[0]))


def test_operations_give_none_names_and_variables_what_they_stand_for(session, graph):
    v = tf.Variable(2.0, name="v")
    assert session.run(v.initializer) is None
    assert session.run([v, "v/read:0", "v/Assign", v.op]) == [2, 2, None, None]


def test_numbers_are_numpy_scalars_and_arrays_are_arrays(session):
    number, array = session.run([tf.constant(1.5), tf.constant([1.5])])
    assert type(number) is np.float32
    assert type(array) is np.ndarray
    assert type(session.run(tf.constant(True))) is np.bool_


def test_a_tensor_that_is_fetched_twice_is_computed_once(session):
    x = tf.random_uniform([2])
    one, two = session.run([x, x])
    assert one.tolist() == two.tolist()


@pytest.mark.parametrize("wrong", [None, 3.5, [None], {"x": object()}, b"x"])
def test_what_cannot_be_fetched_is_a_type_error(session, wrong):
    with pytest.raises(TypeError, match="Fetch argument"):
        session.run(wrong)


def test_names_of_nothing_are_value_errors(session):
    with pytest.raises(ValueError, match="cannot be fetched"):
        session.run("nothing:0")
    with pytest.raises(TypeError, match="Cannot interpret feed_dict key as Tensor"):
        session.run(tf.constant(1), {3: 4})


def test_every_tensor_may_be_fed_by_itself_or_by_name(session):
    x = tf.placeholder(tf.float32, [2], name="x")
    y = x + 1
    z = y * 2
    assert session.run(z, {"x:0": (1, 2)}).tolist() == [4, 6]
    assert session.run(z, {y: [10, 20]}).tolist() == [20, 40]
    assert session.run([x, z], {x: np.float64([1, 2])})[0].dtype == np.float32
    v = tf.Variable([1.0, 1.0])
    assert session.run(v + 1, {v: [5, 6]}).tolist() == [6, 7]


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ([1, 2, 3], ValueError, r"Cannot feed value of shape \(3,\) for Tensor 'x:0', which has"),
        ("text", TypeError, "Cannot feed x:0"),
        ([[1], [1, 2]], TypeError, "rectangular"),
        (None, TypeError, "Cannot feed x:0"),
    ],
)
def test_feeds_that_do_not_fit_are_refused(session, value, error, message):
    x = tf.placeholder(tf.float32, [2], name="x")
    for _ in range(2):
        with pytest.raises(error, match=message):
            session.run(x + 1, {x: value})
    assert session.run(x + 1, {x: [1, 2]}).tolist() == [2, 3]


def test_a_tensor_is_no_value_to_feed_and_two_values_are_too_many(session):
    x = tf.placeholder(tf.float32, [2], name="x")
    with pytest.raises(TypeError, match=r"cannot be a tf\.Tensor"):
        session.run(x, {x: tf.constant([1.0, 2.0])})
    with pytest.raises(ValueError, match="two values"):
        session.run(x, {x: [1, 2], "x:0": [3, 4]})


def test_shapes_and_dtypes_that_were_run_before_are_checked_again(session):
    x = tf.placeholder(tf.int32, [None])
    y = x * 2
    assert session.run(y, {x: np.int64([1, 2])}).tolist() == [2, 4]
    assert session.run(y, {x: [5]}).tolist() == [10]
    with pytest.raises(TypeError, match="expected int32"):
        session.run(y, {x: [1.5]})
    with pytest.raises(ValueError, match="Cannot feed value of shape"):
        session.run(y, {x: [[5]]})


def test_a_placeholder_that_is_not_fed_is_named(session):
    x = tf.placeholder(tf.float32, [None, 2], name="inputs")
    with pytest.raises(errors.InvalidArgumentError, match="'inputs' with dtype float32") as raised:
        session.run(x + 1)
    assert raised.value.op is x.op


def test_the_default_session_evaluates_tensors_and_runs_operations(graph):
    v = tf.Variable(3.0)
    with pytest.raises(ValueError, match="default"):
        v.value().eval()
    session = tf.Session()
    with session.as_default():
        assert tf.get_default_session() is session
        v.initializer.run()
        assert (v.value() + 1).eval() == 4
    assert tf.get_default_session() is None
    assert v.value().eval(session=session) == 3
    other = tf.Session(graph=tf.Graph())
    with pytest.raises(ValueError, match="another graph"):
        v.value().eval(session=other)


def test_an_interactive_session_is_the_default_until_it_is_closed():
    x = tf.constant(2.0)
    session = tf.InteractiveSession()
    assert (x + 1).eval() == 3
    session.close()
    assert tf.get_default_session() is None
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(x)


def test_a_closed_session_refuses_to_run():
    x = tf.constant(2.0)
    with tf.Session() as session:
        session.run(x)
    session.close()
    with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
        session.run(x)
    with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
        session.list_devices()


def test_callables_take_the_values_of_their_feeds(session):
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    call = session.make_callable([x - y, x], [x, y])
    assert call(5, 3) == [2, 5]
    with pytest.raises(ValueError, match="takes 2 values"):
        call(5)
    metadata = tf.RunMetadata()
    traced = session.make_callable(x - y, [x, y], accept_options=True)
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    assert traced(5, 3, options=options, run_metadata=metadata) == 2
    assert metadata.step_stats.dev_stats
    with pytest.raises(TypeError, match="feed_list"):
        session.make_callable(x, x)


def test_what_sessions_do_not_offer_says_so(session):
    x = tf.constant(1.0)
    with pytest.raises(errors.UnimplementedError, match="partial runs"):
        session.partial_run_setup([x], [])
    with pytest.raises(errors.UnimplementedError, match="partial runs"):
        session.partial_run("handle", x)
    with pytest.raises(errors.UnimplementedError, match="close it"):
        tf.Session.reset("")
    with pytest.raises(errors.UnimplementedError, match="this process"):
        tf.Session("grpc://localhost:2222")
    with pytest.raises(TypeError, match="ConfigProto"):
        tf.Session(config={"allow_soft_placement": True})


def test_threads_count_together():
    v = tf.Variable(0)
    one_more = v.assign_add(1).op
    session = tf.Session()
    session.run(v.initializer)

    def work():
        for _ in range(50):
            session.run(one_more)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert session.run(v) == 200


def test_variables_belong_to_their_session():
    v = tf.Variable(1.0)
    first, second = tf.Session(), tf.Session()
    first.run(v.initializer)
    first.run(v.assign(5.0))
    second.run(v.initializer)
    assert (first.run(v), second.run(v)) == (5, 1)


def test_one_function_of_a_session_may_run_another_within_a_run():
    inner = tf.Session()
    c = tf.constant(4.0)
    y = python(lambda x: x + inner.run(c), c)
    with tf.Session() as session:
        assert session.run(y) == 8
