"""What goes wrong in graphs and runs: the documented error each, which says what and where."""

import threading

import numpy as np
import pytest
from session_nodes import effect, enter_rows, nowhere, python

import tfc.graph as tf
from tfc.errors import InternalError
from tfc.graph import errors

ON, OFF = tf.OptimizerOptions.ON_1, tf.OptimizerOptions.OFF


@pytest.fixture(autouse=True)
def graph():
    enter_rows()
    with tf.Graph().as_default() as made:
        yield made


@pytest.fixture(params=[ON, OFF], ids=["compiled", "one by one"])
def session(request):
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.global_jit_level = request.param
    with tf.Session(config=config) as made:
        yield made


def notes_of(error):
    return " ".join(getattr(error, "__notes__", ()))


def test_a_cycle_of_control_inputs_is_named(session):
    a = tf.constant([1.0], name="a")
    b = tf.add(a, a, name="b")
    c = tf.add(b, b, name="c")
    assert session.run(c).tolist() == [4]
    b.op._add_control_input(c.op)
    with pytest.raises(errors.InvalidArgumentError, match=r"has a cycle.*'c'") as raised:
        session.run(c)
    assert "'b'" in str(raised.value)
    assert session.run(a).tolist() == [1]


def test_an_operation_that_waits_for_itself_is_a_cycle(session):
    a = tf.no_op(name="a")
    a._add_control_input(a)
    with pytest.raises(errors.InvalidArgumentError, match="'a' -> 'a'"):
        session.run(a)


def test_a_cycle_in_a_file_is_refused_when_it_is_read(graph):
    a = tf.placeholder(tf.float32, [2], name="a")
    c = tf.add(tf.identity(a, name="b"), a, name="c")
    written = graph.as_graph_def()
    (node,) = (node for node in written.node if node.name == "b")
    node.input[0] = c.op.name
    with tf.Graph().as_default(), pytest.raises(ValueError, match="cycle"):
        tf.import_graph_def(written, name="")


def test_plans_heed_control_inputs_that_are_added_later(session):
    seen, x = [], tf.constant([1.0])
    y = x + 1
    session.run(y)
    assert seen == []
    y.op._add_control_input(effect(lambda: seen.append(1)))
    session.run(y)
    assert seen == [1]


def test_fetches_and_feeds_of_other_graphs_are_refused(session):
    x = tf.placeholder(tf.float32, [])
    with tf.Graph().as_default():
        other = tf.placeholder(tf.float32, [], name="other")
    with pytest.raises(ValueError, match="not an element of this graph"):
        session.run(other)
    with pytest.raises(ValueError, match=r"Cannot interpret feed_dict key.*not an element"):
        session.run(x, {x: 1, other: 2})
    with pytest.raises(ValueError, match="not an element of this graph"):
        tf.add(x, other)


def test_uninitialized_variables_are_named(session):
    v = tf.Variable([1.0], name="weights")
    w = tf.Variable([1.0], name="biases")
    session.run(w.initializer)
    for fetch in (v, v + w, v.assign_add(w)):
        with pytest.raises(
            errors.FailedPreconditionError, match="uninitialized value weights"
        ) as raised:
            session.run(fetch)
        assert raised.value.op.name.startswith("weights") or "Assign" in raised.value.op.type
    session.run(v.initializer)
    assert session.run(v + w).tolist() == [2]


def test_a_compiled_run_that_fails_leaves_variables_as_they_were():
    v = tf.Variable([1.0, 1.0])
    x = tf.placeholder(tf.float32, [None])
    step = v.assign_add([1.0, 1.0])
    with tf.control_dependencies([step]):
        bad = v.read_value() + x
    with tf.Session() as session:
        session.run(v.initializer)
        with pytest.raises(errors.InvalidArgumentError):
            session.run([step, bad], {x: [1.0, 2.0, 3.0]})
        assert session.run(v).tolist() == [1, 1]
        assert session.run([step, bad], {x: [1.0, 2.0]})[1].tolist() == [3, 4]


def test_errors_within_clusters_name_the_operation_and_the_users_line(session):
    x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    bad = tf.add(x, y, name="bad")
    with pytest.raises(errors.InvalidArgumentError, match="bad: ") as raised:
        session.run(bad * 2, {x: [1, 2], y: [1, 2, 3]})
    assert raised.value.op is bad.op
    assert f"in operation 'bad' of type {bad.op.type}, made at {__file__}:" in notes_of(
        raised.value
    )
    assert raised.value.__cause__ is not None
    assert session.run(bad * 2, {x: [1, 2], y: [1, 2]}).tolist() == [4, 8]


def fail(error):
    """Raise an error, from within a function of the user's."""
    raise error


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (ValueError("no"), errors.InvalidArgumentError),
        (TypeError("no"), errors.InvalidArgumentError),
        (StopIteration("no"), errors.OutOfRangeError),
        (MemoryError("no"), errors.ResourceExhaustedError),
        (NotImplementedError("no"), errors.UnimplementedError),
        (KeyError("no"), errors.UnknownError),
        (ZeroDivisionError("no"), errors.UnknownError),
    ],
    ids=lambda x: type(x).__name__ if isinstance(x, Exception) else "",
)
def test_exceptions_of_python_functions_are_causes_with_their_traceback(session, raised, kind):
    y = python(lambda _: fail(raised), tf.constant([1.0]), name="called") + 1
    with pytest.raises(kind, match=f"called: {type(raised).__name__}") as caught:
        session.run(y)
    cause = caught.value.__cause__
    assert cause is raised
    frames = []
    traceback = cause.__traceback__
    while traceback is not None:
        frames.append(traceback.tb_frame.f_code.co_name)
        traceback = traceback.tb_next
    assert frames[-1] == "fail"


def test_a_finalized_graph_runs_but_takes_nothing_more(session, graph):
    x = tf.constant([1.0]) + 1
    v = tf.Variable([1.0])
    init = tf.global_variables_initializer()
    graph.finalize()
    session.run(init)
    assert session.run([x, v])[0].tolist() == [2]
    with pytest.raises(RuntimeError, match="finalized"):
        tf.constant(1.0)
    with pytest.raises(RuntimeError, match="finalized"):
        v.assign([2.0])
    assert session.run(x).tolist() == [2]


def test_operations_may_be_made_while_a_session_runs(graph):
    x = tf.placeholder(tf.float32, [2])
    y = x
    for _ in range(20):
        y = y + 1
    session, stop, failures, made = tf.Session(graph=graph), threading.Event(), [], []

    def build():
        z = y
        with graph.as_default():
            while not stop.is_set() and len(made) < 500:
                z = z + 1
                made.append(z)

    thread = threading.Thread(target=build)
    thread.start()
    for _ in range(50):
        if session.run(y, {x: [0, 1]}).tolist() != [20, 21]:
            failures.append("values")
    stop.set()
    thread.join()
    assert not failures
    assert session.run(made[0], {x: [0, 0]}).tolist() == [21, 21]


def test_a_python_function_may_add_to_the_graph_that_runs(session, graph):
    c = tf.constant([1.0])

    def adds(x):
        with graph.as_default():
            tf.add(c, c)
        return x

    y = python(adds, c)
    before = graph.version
    assert session.run(y).tolist() == [1]
    assert graph.version == before + 1


def test_a_session_that_is_closed_by_a_python_function_ends_its_run_and_takes_no_other():
    session = tf.Session()
    c = tf.constant([1.0])

    def closes(x):
        session.close()
        return x

    y = python(closes, c) + 1
    assert session.run(y).tolist() == [2]
    with pytest.raises(RuntimeError, match="closed"):
        session.run(y)


def test_defects_stay_what_they_are(session):
    y = python(lambda _: fail(InternalError("ours")), tf.constant([1.0]))
    with pytest.raises(InternalError, match="ours") as raised:
        session.run(y)
    assert "in operation 'NodePython'" in notes_of(raised.value)


def test_what_no_backend_has_code_for_is_named_by_its_operation(session):
    x = tf.placeholder(tf.float32, [2])
    bad = nowhere(x + 1, name="bad")
    with pytest.raises(errors.UnimplementedError, match="bad: the custom call target 'nowhere'"):
        session.run([bad * 2, x * 2], {x: [1, 2]})
    assert session.run(x * 2, {x: [1, 2]}).tolist() == [2, 4]


def test_assigning_what_does_not_fit_is_refused_when_it_runs(session):
    v = tf.Variable(np.zeros(2, np.float32), name="v")
    x = tf.placeholder(tf.float32, None)
    step = v.assign(x)
    session.run(v.initializer)
    with pytest.raises(errors.InvalidArgumentError, match=r"lhs shape= \(2,\) rhs shape= \(3,\)"):
        session.run(step, {x: [1, 2, 3]})
    assert session.run(step, {x: [1, 2]}).tolist() == [1, 2]
