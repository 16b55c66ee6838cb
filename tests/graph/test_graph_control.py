"""Branches and loops of graphs: with arrays and compiled, their effects, errors and gradients."""

import numpy as np
import pytest
from small_rows import compiled, fed, less, noise, plus, product, run, sine, twice

import tfc.graph as tf
from tfc.graph.building import operation, result
from tfc.graph.constants import constant
from tfc.graph.graph import Graph
from tfc.graph.operators.registry import find
from tfc.graph.running.session import Session
from tfc.graph.types.shapes import TensorShape


@pytest.fixture(autouse=True)
def graph():
    """A graph of its own for each test."""
    with Graph().as_default() as graph:
        yield graph


def both(fetches, feeds):
    """The values of fetches, which are the same with arrays and in one compiled program."""
    values = run(fetches, feeds)
    for one, other in zip(values, compiled(fetches, feeds)):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    return values


# --- branches


def test_the_branch_that_holds_is_taken():
    pred, x = fed(bool, []), constant(3.0)
    made = tf.cond(pred, lambda: {"a": plus(x, x), "b": [x]}, lambda: {"a": x, "b": [2.0]})
    assert made["a"].op.type == "StatelessIf"
    assert both([made["a"], made["b"][0]], {pred: True}) == [6, 3]
    assert both([made["a"], made["b"][0]], {pred: False}) == [3, 2]


def test_a_list_of_one_is_taken_apart_unless_strict():
    pred = constant(True)
    assert run(tf.cond(pred, lambda: [1], lambda: [2])) == 1
    assert run(tf.cond(pred, lambda: [1], lambda: [2], strict=True)) == [1]


def test_branches_of_other_shapes_are_chosen_on_the_host():
    pred = fed(bool, [])
    made = tf.cond(pred, lambda: constant([1.0, 2.0]), lambda: constant([1.0, 2.0, 3.0]))
    assert made.shape.as_list() == [None]
    assert find(made.op.type, made.op.attributes).on_host
    assert [len(run(made, {pred: p})) for p in (True, False)] == [2, 3]


def test_variables_are_changed_in_the_branch_taken_alone():
    v = tf.Variable(10.0)
    pred = fed(bool, [])
    made = tf.cond(pred, lambda: v.assign_add(1.0), v.read_value)
    assert made.op.type == "If"
    with Session() as session:
        session.run(v.initializer)
        assert [float(session.run(made, {pred: p})) for p in (True, False, True)] == [11, 11, 12]


def test_an_operation_as_a_branch_runs_if_it_is_taken():
    v = tf.Variable(10.0)
    pred = fed(bool, [])
    change = tf.cond(pred, lambda: v.assign(1.0, read_value=False), lambda: operation("NoOp", ()))
    with Session() as session:
        session.run(v.initializer)
        session.run(change, {pred: False})
        assert session.run(v) == 10
        session.run(change, {pred: True})
        assert session.run(v) == 1


def test_what_a_control_dependency_outside_names_runs_before_the_branch():
    v = tf.Variable(1.0)
    add = v.assign_add(1.0)

    def branch():
        with tf.get_default_graph().control_dependencies([add]):
            return v.read_value()

    assert run(tf.cond(constant(True), branch, lambda: 0.0)) == 2


def test_case_takes_the_first_that_holds():
    x = fed(np.float32, [])
    pairs = [(less(x, 1.0), lambda: constant(10)), (less(x, 2.0), lambda: constant(20))]
    made = tf.case(pairs, lambda: constant(30))
    assert [both([made], {x: v})[0] for v in (0.5, 1.5, 2.5)] == [10, 20, 30]


def test_branches_that_do_not_fit_are_refused():
    pred = constant(True)
    with pytest.raises(TypeError, match="true_fn must be callable"):
        tf.cond(pred, 1, lambda: 2)
    with pytest.raises(TypeError, match="must not be a Python bool"):
        tf.cond(True, lambda: 1, lambda: 2)
    with pytest.raises(ValueError, match="must have the same type: int32, float32"):
        tf.cond(pred, lambda: 1, lambda: 2.0)
    with pytest.raises(ValueError, match="the same structure"):
        tf.cond(pred, lambda: (1, 2), lambda: 2)
    with pytest.raises(ValueError, match="pred must be a scalar"):
        tf.cond(constant([True, False]), lambda: 1, lambda: 2)
    with pytest.raises(ValueError, match="got None"):
        tf.cond(pred, lambda: None, lambda: None)


def test_the_gradient_of_a_choice_is_that_of_the_branch_taken():
    x = fed(np.float32, [])
    w = tf.Variable(2.0)
    made = tf.cond(less(x, 1.0), lambda: product(product(x, x), w), lambda: sine(x))
    partial = tf.gradients(made, [x, w])
    assert np.allclose(run(partial, {x: 0.5}), [2.0, 0.25])
    assert np.allclose(run(partial, {x: 3.0}), [np.cos(3.0), 0])
    second = tf.gradients(partial[0], x)[0]
    assert np.allclose(run(second, {x: 3.0}), -np.sin(3.0))


def test_registered_gradients_hold_within_branches(graph):
    tf.RegisterGradient("TestOfBranches")(lambda op, grad: [product(grad, 7.0), None])
    x = fed(np.float32, [])
    with graph.gradient_override_map({"TestProduct": "TestOfBranches"}):
        made = tf.cond(less(x, 1.0), lambda: product(x, 2.0), lambda: x)
    assert both(tf.gradients(made, x), {x: 0.5}) == [7]


# --- loops


def fibonacci(count):
    """The numbers after some steps."""
    return tf.while_loop(
        lambda n, x, y: less(n, count), lambda n, x, y: (plus(n, 1), y, plus(x, y)), [1, 1, 1]
    )


def test_a_body_is_repeated_while_the_condition_holds():
    count = fed(np.int32, [])
    assert both(list(fibonacci(count)), {count: 5}) == [5, 5, 8]
    assert both(list(fibonacci(count)), {count: 0}) == [1, 1, 1]


def test_nested_variables_keep_their_structure():
    start = {"a": constant(1.0), "b": (constant(2.0), [constant(0)])}
    made = tf.while_loop(
        lambda s: less(s["b"][1][0], 3),
        lambda s: [{"a": plus(s["a"], 1.0), "b": (s["a"], [plus(s["b"][1][0], 1)])}],
        [start],
    )
    assert run(made) == {"a": 4, "b": (3, [3])}


def test_maximum_iterations_end_a_loop():
    made = tf.while_loop(lambda n: less(n, 100), lambda n: [plus(n, 1)], [0], maximum_iterations=7)
    assert run(made) == 7


def test_a_list_of_one_variable_is_kept_where_that_is_asked_for():
    kept = tf.while_loop(
        lambda n: less(n, 3), lambda n: [plus(n, 1)], [0], return_same_structure=True
    )
    assert run(kept) == [3]


def test_shapes_that_grow_need_invariants_and_run_on_the_host():
    start = [constant(0), constant([1.0, 2.0])]

    def grow(n, x):
        return plus(n, 1), twice(x)

    with pytest.raises(ValueError, match=r"is not an invariant for the loop. .* shape \(2,\)"):
        tf.while_loop(lambda n, x: less(n, 3), grow, start)
    shapes = [TensorShape([]), TensorShape([None])]
    made = tf.while_loop(lambda n, x: less(n, 3), grow, start, shape_invariants=shapes)[1]
    assert find(made.op.type, made.op.attributes).on_host
    assert run(made).tolist() == [1.0, 2.0] * 8
    with pytest.raises(ValueError, match="is not compatible with the initial shape"):
        tf.while_loop(lambda n, x: less(n, 3), grow, start, [TensorShape([]), TensorShape([3])])


def test_bodies_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="No loop variables provided"):
        tf.while_loop(lambda: True, lambda: [], [])
    with pytest.raises(TypeError, match="cond must be callable"):
        tf.while_loop(None, lambda n: n, [0])
    with pytest.raises(ValueError, match="must match loop_vars: 1, got 2"):
        tf.while_loop(lambda n: less(n, 1), lambda n: (n, n), [0])
    with pytest.raises(TypeError, match="has type float32 after one iteration"):
        tf.while_loop(lambda n: less(n, 1), lambda n: constant(1.0), [0])
    with pytest.raises(TypeError, match="cond must return a boolean scalar"):
        tf.while_loop(lambda n: n, lambda n: plus(n, 1), [0])


def test_variables_are_changed_by_each_iteration():
    v = tf.Variable(1.0)

    def body(n):
        with tf.get_default_graph().control_dependencies([v.assign(plus(v.read_value(), 2.0))]):
            return [plus(n, 1)]

    made = tf.while_loop(lambda n: less(n, 5), body, [0])
    with Session() as session:
        session.run(v.initializer)
        assert session.run(made) == 5
        assert session.run(v) == 11


def test_iterations_draw_random_numbers_of_their_own_and_gradients_draw_the_same():
    x = constant(np.ones(2, np.float32))

    def body(n, total, drawn):
        new = noise()
        return plus(n, 1), plus(total, product(x, new)), plus(product(drawn, 1000.0), new)

    zeros = np.zeros(2, np.float32)
    loop = tf.while_loop(lambda n, *_: less(n, 2), body, [0, constant(zeros), constant(zeros)])
    total, drawn, slope = run([loop[1], loop[2], tf.gradients(loop[1], x)[0]])
    assert np.allclose(total, slope)
    first = np.round((drawn - total) / 999, 5)
    assert np.all(np.abs(first - (total - first)) > 1e-4)


# --- gradients of loops


@pytest.mark.parametrize("limit", [3, 0])
def test_the_gradient_of_a_counted_loop(limit):
    x, w = fed(np.float32, [2]), fed(np.float32, [])
    made = tf.while_loop(
        lambda n, x: less(n, limit), lambda n, x: (plus(n, 1), product(x, w)), [0, x]
    )[1]
    feeds = {x: [1.0, 2.0], w: 1.5}
    value, by_x, by_w = both([made, *tf.gradients(made, [x, w])], feeds)
    assert np.allclose(value, np.array([1, 2]) * 1.5**limit)
    assert np.allclose(by_x, 1.5**limit)
    assert np.allclose(by_w, 3 * limit * 1.5 ** (limit - 1))


def test_the_gradient_of_a_loop_whose_end_depends_on_values_runs_on_the_host():
    w = fed(np.float32, [])
    made = tf.while_loop(lambda x: less(x, 100.0), lambda x: product(x, w), [constant(1.0)])
    slope = tf.gradients(made, w)[0]
    assert find(slope.op.type, slope.op.attributes).on_host
    assert np.allclose(run([made, slope], {w: 1.5}), [1.5**12, 12 * 1.5**11], rtol=1e-5)


def test_second_derivatives_of_a_counted_loop():
    w = fed(np.float32, [])
    made = tf.while_loop(
        lambda n, x: less(n, 4), lambda n, x: (plus(n, 1), product(x, w)), [0, constant(1.0)]
    )[1]
    second = tf.gradients(tf.gradients(made, w), w)
    assert np.allclose(both(second, {w: 1.5}), 12 * 1.5**2)


def test_the_gradient_of_a_loop_within_a_loop():
    w = fed(np.float32, [])

    def inner(x):
        body = lambda m, x: (plus(m, 1), product(x, w))  # noqa: E731
        return tf.while_loop(lambda m, x: less(m, 2), body, [0, x])[1]

    made = tf.while_loop(
        lambda n, x: less(n, 3), lambda n, x: (plus(n, 1), inner(x)), [0, constant(1.0)]
    )[1]
    slope = tf.gradients(made, w)
    assert np.allclose(both(slope, {w: 1.1}), 6 * 1.1**5)


def test_registered_gradients_hold_within_bodies(graph):
    tf.RegisterGradient("TestOfBodies")(lambda op, grad: [product(grad, 10.0), None])
    x = fed(np.float32, [])
    with graph.gradient_override_map({"TestProduct": "TestOfBodies"}):
        made = tf.while_loop(
            lambda n, x: less(n, 3), lambda n, x: (plus(n, 1), product(x, 2.0)), [0, x]
        )[1]
    assert both(tf.gradients(made, x), {x: 0.5}) == [1000]


def test_a_custom_gradient_within_a_body_uses_what_the_body_has_made():
    @tf.custom_gradient
    def cube(x):
        square = product(x, x)
        return product(square, x), lambda grad: product(grad, product(square, 3.0))

    x = fed(np.float32, [])
    made = tf.while_loop(lambda n, x: less(n, 2), lambda n, x: (plus(n, 1), cube(x)), [0, x])[1]
    assert np.allclose(both(tf.gradients(made, x), {x: 1.2}), 9 * 1.2**8)


def test_reading_what_the_loop_assigns_has_no_gradient():
    v = tf.Variable(1.0)

    def body(n, x):
        with tf.get_default_graph().control_dependencies([v.assign_add(1.0)]):
            return plus(n, 1), product(x, v.read_value())

    made = tf.while_loop(lambda n, x: less(n, 3), body, [0, constant(1.0)])[1]
    with pytest.raises(NotImplementedError, match="reads a variable that the branch or loop"):
        tf.gradients(made, v)


def test_back_prop_false_ends_gradients():
    x = constant(1.0)
    made = tf.while_loop(lambda x: less(x, 3.0), lambda x: product(x, 2.0), [x], back_prop=False)
    assert tf.gradients(made, x) == [None]
    assert run(result("TestSum", made, made)) == 8
