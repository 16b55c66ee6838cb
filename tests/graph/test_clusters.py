"""What of a run is compiled, into which programs, and that it computes what eager calls do."""

import logging

import numpy as np
import pytest
from session_nodes import (
    add,
    effect,
    enter_rows,
    nonzero,
    placeholder,
    product,
    python,
    reshape,
    shape_of,
    twice_on_host,
    uniform,
)

import tfc.graph as tf
from tfc.graph.constants import constant
from tfc.graph.running import clusters
from tfc.graph.running.clusters import Cluster

ON, OFF = tf.OptimizerOptions.ON_1, tf.OptimizerOptions.OFF
WAYS = [("cpu", ON), ("interpreter", ON), ("cpu", OFF)]


@pytest.fixture(autouse=True)
def graph():
    enter_rows()
    with tf.Graph().as_default() as made:
        yield made


def session_of(backend="cpu", level=ON):
    config = tf.ConfigProto(backend=backend)
    config.graph_options.optimizer_options.global_jit_level = level
    return tf.Session(config=config)


@pytest.fixture(params=WAYS, ids=lambda way: f"{way[0]}{way[1]}")
def session(request):
    with session_of(*request.param) as made:
        yield made


def steps_of(session, fetches, feeds=None):
    """The steps of the plan of a run, which is run."""
    before = set(session._requests)
    session.run(fetches, feeds)
    (key,) = set(session._requests) - before
    return session._requests[key].plan.steps


def kinds(steps):
    """Of each step the types of its operations, those of clusters in brackets."""
    return [
        [op.type for op in step.operations]
        if isinstance(step, Cluster)
        else tuple(op.type for op in step.operations)
        for step in steps
    ]


def test_a_whole_run_is_one_cluster_unless_the_configuration_turns_it_off():
    x = placeholder([2])
    y = product(add(x, x), x)
    for config in (None, tf.ConfigProto()):
        with tf.Session(config=config) as session:
            assert kinds(steps_of(session, y, {x: [1, 2]})) == [["NodeAdd", "NodeProduct"]]
    with session_of(level=OFF) as session:
        assert kinds(steps_of(session, y, {x: [1, 2]})) == [("NodeAdd", "NodeProduct")]


def test_what_cannot_be_compiled_splits_as_few_clusters_as_the_order_needs():
    x = placeholder([2])
    first = add(x, x)
    host = twice_on_host(first)
    apart = product(x, x)  # depends on nothing of the host: with the first
    last = add(host, apart)
    with session_of() as session:
        assert kinds(steps_of(session, last, {x: [1, 2]})) == [
            ["NodeAdd", "NodeProduct"], ("NodeTwiceOnHost",), ["NodeAdd"],
        ]  # fmt: skip
        assert session.run(last, {x: [1, 2]}).tolist() == [5, 12]


def test_random_graphs_with_python_here_and_there_compute_the_same_as_one_by_one():
    draw = np.random.default_rng(3)
    for _ in range(5):
        with tf.Graph().as_default():
            x, v = placeholder([2]), tf.Variable([1.0, 2.0])
            nodes = [x, v.read_value()]
            for _ in range(30):
                one, two = (nodes[n] for n in draw.integers(0, len(nodes), 2))
                made = draw.integers(0, 5)
                if made == 0:
                    nodes.append(twice_on_host(one))
                elif made == 1:
                    nodes.append(v.assign_add(one / 1024))
                else:
                    nodes.append(add(one, two) / 2)
            found = []
            for way in (("interpreter", ON), ("cpu", OFF)):
                with session_of(*way) as session:
                    session.run(v.initializer)
                    found.append([session.run([*nodes, v], {x: [1, 3]}) for _ in range(2)])
            assert np.allclose(found[0], found[1], rtol=1e-6)


def test_scopes_attributes_and_devices_say_what_is_compiled_where_sessions_do_not():
    x = placeholder([2])
    with tf.contrib.compiler.jit.experimental_jit_scope():
        y = add(x, x)
    with tf.get_default_graph().device("/job:localhost/replica:0/task:0/device:XLA_CPU:0"):
        z = product(y, y)
    with tf.jit_scope(compile_ops=False):
        w = add(z, z)
    with session_of(level=OFF) as session:
        assert kinds(steps_of(session, w, {x: [1, 2]})) == [
            ["NodeAdd", "NodeProduct"],
            ("NodeAdd",),
        ]
        assert session.run(w, {x: [1, 2]}).tolist() == [8, 32]
    with session_of() as session:
        assert kinds(steps_of(session, w, {x: [1, 2]})) == [
            ["NodeAdd", "NodeProduct"],
            ("NodeAdd",),
        ]


def test_what_turns_out_not_to_be_compilable_falls_back_with_one_note(caplog):
    x = placeholder([4])
    places = nonzero(add(x, x), name="places")
    y = add(places, places)
    with session_of() as session, caplog.at_level(logging.INFO, "tfc.graph"):
        for _ in range(2):
            assert session.run(y, {x: [0, 1, 0, 1]}).tolist() == [2, 6]
        assert session.run(y, {x: [0, 0, 0, 1]}).tolist() == [6]
    (note,) = [r.getMessage() for r in caplog.records]
    assert "'places'" in note
    assert "not known while tracing" in note


def test_values_that_shapes_depend_on_are_constants_of_a_program(session):
    x, shape = placeholder([6]), placeholder([2], "int32")
    y = reshape(add(x, x), shape)
    values = np.arange(6, dtype=np.float32)
    for dims in ([2, 3], [3, 2], [2, 3]):
        assert np.array_equal(session.run(y, {x: values, shape: dims}), 2 * values.reshape(dims))
    again = reshape(y, shape_of(x))  # known from the shape alone
    assert np.array_equal(session.run(again, {x: values, shape: [2, 3]}), 2 * values)


def test_shapes_that_variables_and_random_numbers_decide_are_read_before_what_needs_them():
    v, x = tf.Variable([2, 3]), placeholder([6])
    count = tf.random_uniform([], 1, 4, dtype=tf.int32)
    with session_of() as session:
        session.run(v.initializer)
        steps = steps_of(session, reshape(add(x, x), v), {x: np.arange(6)})
        assert kinds(steps) == [("ReadVariableOp",), ["NodeAdd", "NodeReshape"]]
        session.run(v.assign([3, 2]))
        assert session.run(reshape(x, v), {x: np.arange(6)}).shape == (3, 2)
        ones, number = session.run([tf.fill([count], 1.0), count])
        assert ones.shape == (number,)


def test_the_number_of_constant_arguments_is_part_of_a_clusters_title():
    x, shape = placeholder([6]), placeholder([1], "int32")
    with session_of() as session:
        (cluster,) = steps_of(session, reshape(x, shape), {x: np.zeros(6), shape: [6]})
    assert cluster.title == "cluster_0[_XlaCompiledKernel=true,_XlaNumConstantArgs=1]"


def test_one_program_serves_a_shape_and_all_runs():
    x = placeholder([None])
    y = add(x, uniform())
    with session_of() as session:
        (cluster,) = steps_of(session, y, {x: np.zeros(3)})
        for _ in range(3):
            session.run(y, {x: np.zeros(3)})
        assert len(cluster.programs) == 1
        session.run(y, {x: np.zeros(1)})
        assert len(cluster.programs) == 2


def test_random_numbers_differ_by_run_and_operation_and_are_the_same_in_all_ways():
    first, second, seeded, again = uniform(), uniform(), uniform(3, 5), uniform(3, 5)
    found = []
    for way in WAYS:
        with session_of(*way) as session:
            found.append([np.stack(session.run([first, second, seeded, again])) for _ in range(2)])
    for other in found[1:]:
        assert np.array_equal(found[0], other)
    runs = np.stack(found[0])
    assert len(np.unique(runs[:, :3])) == runs[:, :3].size
    assert np.array_equal(runs[:, 2], runs[:, 3])


def test_all_fetches_of_a_run_see_the_same_random_numbers(session):
    numbers = uniform()
    one, two = session.run([add(numbers, constant(1.0)), add(numbers, constant(2.0))])
    assert np.allclose(two - one, 1)


def test_variables_go_in_and_out_of_clusters(session):
    v = tf.Variable([1.0, 2.0])
    x = placeholder([2])
    step = v.assign(product(add(v, x), x))
    session.run(tf.global_variables_initializer())
    assert session.run([v, step], {x: [1, 3]})[1].tolist() == [2, 15]
    assert session.run(v).tolist() == [2, 15]


def test_assignments_of_one_run_see_the_variables_as_they_were(session):
    u, v = tf.Variable([1.0]), tf.Variable([10.0])
    both = [u.assign(add(u, v)), v.assign(add(u, v))]
    session.run(tf.global_variables_initializer())
    assert [x.tolist() for x in session.run(both)] == [[11], [11]]
    assert [x.tolist() for x in session.run(both)] == [[22], [22]]


def test_a_run_reads_and_writes_across_steps_in_the_order_that_it_states(session):
    v, seen = tf.Variable([1.0]), []
    with tf.get_default_graph().control_dependencies([v.assign_add([1.0])]):
        host = twice_on_host(v.read_value())
    with tf.get_default_graph().control_dependencies([host]):
        noted = effect(lambda: seen.append("between"))
    with tf.get_default_graph().control_dependencies([noted]):
        last = v.assign(add(host, v.read_value()))
    session.run(tf.global_variables_initializer())
    assert session.run(last).tolist() == [6]
    assert seen == ["between"]


def test_large_variables_are_replaced_in_their_own_memory_and_nobody_else_sees_it(monkeypatch):
    monkeypatch.setattr(clusters, "_LEAST_DONATED", 1 << 18)
    v = tf.Variable(np.zeros(1 << 16, np.float32))
    step, read = v.assign_add(np.ones(1 << 16, np.float32)), v.read_value()
    with session_of() as session:
        session.run(tf.global_variables_initializer())
        session.run(step.op)
        before = session.run(read)
        held = session._state.variables["Variable"]
        assert not np.shares_memory(before, held)
        session.run(step.op)
        assert np.shares_memory(session._state.variables["Variable"], held)
        assert (before == 1).all()
        assert (held == 2).all()


def test_what_is_fetched_may_be_changed(session):
    v = tf.Variable([1.0, 2.0])
    x, c = placeholder([2]), constant([5.0, 6.0])
    session.run(tf.global_variables_initializer())
    fed = np.zeros(2, np.float32)
    for fetch in (v, v.read_value(), c, x):
        session.run(fetch, {x: fed})[:] = 9
    assert fed.tolist() == [0, 0]
    assert session.run(c).tolist() == [5, 6]
    assert session.run(v).tolist() == [1, 2]


def test_arrays_go_from_step_to_step_as_they_are():
    x, seen = placeholder([4]), []
    first = add(x, x)
    second = python(lambda array: seen.append(array) or array + 1, first)
    with session_of() as session:
        made, last = session.run([first, add(second, first)], {x: np.ones(4)})
    assert seen[0] is made
    assert last.tolist() == [5, 5, 5, 5]


def test_operations_without_results_and_constants_alone_run(session):
    c = constant([1.0, 2.0])
    nothing = tf.get_default_graph().create_operation("NoOp", (), {}, "nothing")
    assert session.run([nothing, c])[1].tolist() == [1, 2]
    assert session.run(nothing) is None


def test_some_results_of_an_operation_may_be_fed(session):
    x = placeholder([2])
    y = add(x, x)
    z = add(y, x)
    assert session.run(z, {x: [1, 1], y: [5, 7]}).tolist() == [6, 8]
    assert session.run([z, y], {x: [1, 1], "NodeAdd:0": [5, 7]})[1].tolist() == [5, 7]


def test_large_constants_are_arguments_of_programs(session):
    values = np.arange(1 << 18, dtype=np.float32)
    c, x = constant(values), placeholder([])
    (cluster, *_) = steps_of(session, add(c, x), {x: 1})
    if isinstance(cluster, Cluster):
        assert set(cluster.inputs) == {c, x}
    assert np.array_equal(session.run(add(c, x), {x: 2}), values + 2)


def test_loops_and_branches_in_clusters_write_variables_and_draw_numbers_alike_in_all_ways():
    v, x = tf.Variable(0.0), tf.placeholder(tf.float32, [])

    def body(number, total):
        with tf.control_dependencies([v.assign_add(x)]):
            return number + 1, total + tf.random_uniform([])

    looped = tf.while_loop(lambda n, _: n < 10, body, [tf.constant(0), tf.constant(0.0)])
    chosen = tf.cond(x > 2, lambda: tf.identity(v.assign(x)), lambda: x * 3)
    found = []
    for way in WAYS:
        with session_of(*way) as session:
            session.run(tf.global_variables_initializer())
            first, second = (session.run(looped, {x: 2})[1] for _ in range(2))
            assert first != second
            assert session.run(v) == 40
            assert [session.run(chosen, {x: n}) for n in (1, 3)] == [3, 3]
            found.append((first, second, session.run(v)))
    assert found[0] == found[1] == found[2]


def test_a_loop_whose_shapes_grow_runs_on_the_host_and_says_so(session, caplog):
    begun = tf.placeholder(tf.int32, [None])
    invariants = [tf.TensorShape([]), tf.TensorShape([None])]
    _, numbers = tf.while_loop(
        lambda n, _: n < 5,
        lambda n, f: (n + 1, tf.concat([f, [f[-1] + f[-2]]], 0)),
        [tf.constant(2), begun],
        shape_invariants=invariants,
    )
    with caplog.at_level(logging.WARNING, "tfc.graph"):
        assert session.run(numbers, {begun: [1, 1]}).tolist() == [1, 1, 2, 3, 5]
        assert session.run(numbers, {begun: [2, 2]}).tolist() == [2, 2, 4, 6, 10]
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == session._placing.by_default
    assert all("'while" in text for text in said)


def test_a_run_gives_what_is_known_beside_what_it_computes():
    known = constant(np.arange(3, dtype=np.float32))
    x = placeholder([3])
    with session_of() as session:
        first, second = session.run([known, add(x, known)], {x: np.ones(3, np.float32)})
    assert first.tolist() == [0, 1, 2]
    assert second.tolist() == [1, 2, 3]
