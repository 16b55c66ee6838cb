"""vmap: axes, structures, nesting with itself and with grad, jit and control flow, against JAX."""

import jax
import numpy as np
import pytest
from vmap_checks import MODES, check

import tfc
import tfc.numpy as tnp
from tfc.frontend import operations as ops

RNG = np.random.default_rng(7)
X, Y = RNG.standard_normal((5, 3)), RNG.standard_normal((5, 4))
W = RNG.standard_normal((4, 3))


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


# fmt: off
AXES = {
    "0": (0, 0, (X, X)),
    "one argument is shared": ((0, None), 0, (X, W[0])),
    "another axis": ((1, 0), 0, (X.T, X)),
    "negative axes": ((-1, -2), -1, (X.T, X)),
    "a list": ([0, None], 1, (X, W[0])),
    "two results' axes": (0, (0, 1), (X, X)),
    "None for what is the same": ((0, None), (0, None), (X, W[0])),
}
# fmt: on


@pytest.mark.parametrize("name", AXES)
def test_axes_are_jaxs(name):
    in_axes, out_axes, args = AXES[name]
    two = isinstance(out_axes, tuple)

    def write(library, np_):
        def both(x, y):
            return (np_.sin(x) * y, y * 2) if two else np_.sin(x) * y

        return library.vmap(both, in_axes, out_axes)

    check(write, *args, eager=True)


def test_axes_are_prefixes_of_structures():
    parameters = {"w": W, "b": (RNG.standard_normal(5), [RNG.standard_normal((3, 5))])}

    def write(library, np_):
        def predict(p, x, factor):
            b, (c,) = p["b"]
            return {"out": np_.tanh(p["w"] @ x + b) * factor, "parts": (c, x[0])}

        axes = ({"w": None, "b": (0, [1])}, 0, None)
        return library.vmap(predict, in_axes=axes, out_axes={"out": 1, "parts": 0})

    check(write, parameters, X, 2.0, eager=True)


def test_a_none_in_an_argument_is_no_leaf():
    f = lambda library, np_: library.vmap(lambda p: p["a"] if p["b"] is None else None)  # noqa: E731
    check(f, {"a": X, "b": None})


def test_arguments_by_name_are_mapped_over_axis_0():
    write = lambda library, np_: library.vmap(lambda x, *, y: x @ y, in_axes=1)  # noqa: E731
    check(write, X.T, y=X)


def test_what_is_not_mapped_reaches_the_function_as_it_is():
    def scaled(x, how, options):
        return x * 2 if how == "twice" and options["exactly"] is True else x

    got = tfc.vmap(scaled, in_axes=(0, None, None))(X, "twice", {"exactly": True})
    np.testing.assert_array_equal(got, X * 2)


def test_what_does_not_depend_on_the_arguments_is_repeated():
    write = lambda library, np_: library.vmap(lambda x: (W[0], 7.0, np_.ones(2)))  # noqa: E731
    check(write, X)


def test_axis_size_says_how_many_where_no_argument_tells():
    write = lambda library, np_: library.vmap(lambda x: x + 1, in_axes=None, axis_size=3)  # noqa: E731
    check(write, X)
    np.testing.assert_array_equal(tfc.vmap(lambda: np.arange(2), axis_size=3)(), [[0, 1]] * 3)


def test_a_batch_may_be_empty():
    def f(x):
        steps = tfc.while_loop(lambda s: s[0].sum() < 9, lambda s: (s[0] + 1, s[1] + 1), (x, 0))
        return tfc.cond(x[0] > 0, tnp.sort, tnp.sin, x), steps[1]

    for mode in MODES:
        sorted_, count = mode(tfc.vmap(f))(np.zeros((0, 3)))
        assert (sorted_.shape, count.shape) == ((0, 3), (0,))


def test_maps_nest():
    def write(library, np_):
        outer = library.vmap(lambda x, y: np_.sum(x) * y, in_axes=(None, 0))
        return library.vmap(outer, in_axes=(0, None), out_axes=1)

    check(write, X, Y)


def test_an_inner_function_uses_values_of_every_map_around_it():
    def write(library, np_):
        def row(x):
            z = np_.cos(x)
            return library.vmap(lambda y: np_.sin(y) * z.sum() + W[0, 0] * x[1])(x)

        return library.vmap(row)

    check(write, X)


def test_gradients_of_each_example():
    def write(library, np_):
        def loss(w, x, y):
            return np_.sum((np_.tanh(w @ x) - y) ** 2)

        return library.vmap(library.grad(loss, argnums=(0, 1)), in_axes=(None, 0, 0))

    check(write, W, X, Y)


def test_gradients_through_a_map():
    def write(library, np_):
        def total(w, x):
            return np_.sum(library.vmap(lambda v: np_.tanh(w @ v).prod())(x) ** 2)

        return library.grad(total, argnums=(0, 1))

    check(write, W, X)


def test_second_derivatives_by_rows():
    def write(library, np_):
        gradient = library.grad(lambda x: np_.sum(np_.sin(x) * x[0] ** 3))
        basis = np.eye(3)
        row = lambda e: library.grad(lambda x: np_.sum(gradient(x) * e))(X[0])  # noqa: E731
        return lambda: library.vmap(row)(basis)

    check(write)


def test_functions_that_are_compiled_are_mapped():
    def write(library, np_):
        inner = library.jit(lambda x, y: np_.dot(x, y) + 1)
        return library.vmap(lambda x: inner(x, x * 2))

    check(write, X)


def test_a_condition_that_differs_takes_each_branch_where_it_holds():
    def write(library, np_):
        cond = library.cond if library is tfc else jax.lax.cond

        def f(x, y):
            inside = cond(x[0] > 0, lambda v: (np_.sin(v), y[1]), lambda v: (v + y[0], x[1]), x)
            return inside, cond(W[0, 0] > 0, lambda v: v * 2, lambda v: v - y[0], x)

        return library.vmap(f, in_axes=(0, None))

    check(write, X, Y[0])


def loops(library):
    if library is tfc:
        return tfc.while_loop, tfc.fori_loop
    return jax.lax.while_loop, jax.lax.fori_loop


def test_a_loop_runs_until_it_is_over_for_all_and_leaves_the_others_alone():
    def write(library, np_):
        def length(n):
            step = lambda s: (np_.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1)  # noqa: E731
            return loops(library)[0](lambda s: s[0] != 1, step, (n, 0))

        return library.vmap(length)

    check(write, np.arange(1, 20))


def test_a_loop_of_a_fixed_number_of_steps_stays_one():
    def write(library, np_):
        def power(x, w):
            return loops(library)[1](0, 4, lambda i, v: np_.tanh(w @ v) * i + x, x)

        return library.vmap(power, in_axes=(0, None))

    check(write, X, RNG.standard_normal((3, 3)))
    text = tfc.jit(write(tfc, tnp)).lower(X, W[:3]).as_text()
    assert "s64[5]" not in text  # the counter is the same for all


def test_a_loop_whose_bound_differs_by_example():
    def write(library, np_):
        def powers(n, x):
            return loops(library)[1](0, n, lambda i, v: v * 1.5 + i, x)

        return library.vmap(powers, in_axes=(0, None))

    check(write, np.arange(6), X[0])


def test_loops_within_loops_whose_bounds_both_differ():
    def write(library, np_):
        fori_loop = loops(library)[1]

        def steps(n, m):
            inner = lambda i, v: fori_loop(0, m + i, lambda j, w: w + j * i, v)  # noqa: E731
            return fori_loop(0, n, inner, np_.float64(1) if library is jax else 1.0)

        return library.vmap(library.vmap(steps, in_axes=(None, 0)), in_axes=(0, None))

    check(write, np.arange(4), np.arange(3))


def test_keys_of_their_own_give_each_example_its_own_bits():
    keys = tfc.random.split(tfc.random.key(3), 4)
    got = tfc.jit(tfc.vmap(lambda k: tfc.random.bits(k, (6,))))(keys)
    np.testing.assert_array_equal(got, [tfc.random.bits(k, (6,)) for k in keys])


def test_numbers_without_a_key_are_drawn_for_each_example():
    drawn = lambda x: x + ops.operation(  # noqa: E731
        "rng", ops.constant(0.0), ops.constant(1.0), shape=x.array_shape,
        distribution="rng_uniform")  # fmt: skip
    got = tfc.jit(tfc.vmap(drawn))(np.zeros((4, 3)))
    assert len(np.unique(got)) == 12
    spread = tfc.jit(tfc.vmap(lambda x: ops.operation(
        "rng", x, x + ops.constant(1.0), shape=x.array_shape, distribution="rng_uniform"
    )))(np.arange(9.0))  # fmt: skip
    np.testing.assert_array_equal(np.floor(spread), np.arange(9))


def test_a_function_outside_of_the_program_is_called_for_each_example():
    seen = []

    def doubled(x):
        seen.append(x.copy())
        return x * 2

    tfc.register_custom_call("vmap_doubled", doubled)
    call = lambda x, effect: ops.operation(  # noqa: E731
        "custom-call", x, shape=x.array_shape, custom_call_target="vmap_doubled",
        custom_call_has_side_effect=effect)  # fmt: skip
    got = tfc.vmap(lambda x: call(ops.reshape(x, (3,)), True))(X)
    np.testing.assert_array_equal(got, X * 2)
    np.testing.assert_array_equal(seen, X)
