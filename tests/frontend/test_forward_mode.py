"""Forward mode: whole functions against JAX, nesting with reverse mode, control flow, refusals.

The tangents of each op are compared with its gradient wherever that is tested (gradient_checks).
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from elementwise_ops import GENERATED, points
from gradient_checks import jit
from test_gradients import FUNCTIONS, is_plain, parameters

import tfc
import tfc.numpy as tnp
from tfc.errors import ShapeError, TraceError
from tfc.frontend.differentiation import forward, reverse
from tfc.frontend.operations import operation
from tfc.hlo.op import OPS

RNG = np.random.default_rng(7)


def directions():
    return {k: RNG.standard_normal(v.shape) for k, v in parameters().items()}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_directional_derivatives_of_functions_are_jaxs(name):
    function, p, d = FUNCTIONS[name], parameters(), directions()
    with jax.enable_x64(True):
        push = jax.jit(lambda q, e: jax.jvp(lambda r: function(jnp, r), (q,), (e,)))
        value, slope = push(p, d)
    got = jit(lambda q, e: tfc.jvp(lambda r: function(tnp, r), (q,), (e,)))(p, d)
    np.testing.assert_allclose(got[0], value, rtol=1e-12)
    np.testing.assert_allclose(got[1], slope, rtol=1e-9, atol=1e-11)


@pytest.mark.slow
def test_directional_derivatives_of_elementwise_functions_are_jaxs():
    compared = 0
    for name, op in GENERATED.items():
        if not is_plain(op) or not hasattr(jnp, name):
            continue
        x = np.array([1.5, 0.3, 2.0, 0.9]) if op.arity == 2 else points(op)
        primals = (x, x[::-1] + 0.25)[: op.arity]
        directions = tuple(RNG.standard_normal(x.shape) for _ in primals)
        with jax.enable_x64(True):
            want = jax.jvp(getattr(jnp, name), primals, directions)[1]
        ours = partial(tfc.jvp, getattr(tnp, name))
        got = jit(lambda p, d, push=ours: push(p, d)[1])(primals, directions)
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13, err_msg=name)
        compared += 1
    assert compared > 20


@pytest.mark.parametrize("name", ["mlp", "einsum", "products", "powers"])
def test_products_with_the_hessian_are_jaxs_in_both_nestings(name):
    function, p, d = FUNCTIONS[name], parameters(), directions()
    with jax.enable_x64(True):
        gradient = jax.grad(lambda q: function(jnp, q))
        want = jax.jit(lambda q, e: jax.jvp(gradient, (q,), (e,))[1])(p, d)

    def scalar(q):
        return function(tnp, q)

    over = jit(lambda q, e: tfc.jvp(tfc.grad(scalar), (q,), (e,))[1])(p, d)
    under = jit(lambda q, e: tfc.grad(lambda r: tfc.jvp(scalar, (r,), (e,))[1])(q))(p, d)
    for key in p:
        np.testing.assert_allclose(over[key], want[key], rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(under[key], want[key], rtol=1e-8, atol=1e-9)


def test_tangents_of_tangents():
    def twice(f):
        return lambda x: tfc.jvp(f, (x,), (1.0,))[1]

    np.testing.assert_allclose(twice(twice(twice(tnp.sin)))(2.0), -np.cos(2.0), rtol=1e-14)


@pytest.mark.parametrize("y", [-0.5, 0.5])
def test_a_conditional_pushes_the_tangents_of_the_branch_that_is_taken(y):
    def branching(x, y):
        return tfc.cond(y > 0, lambda v: (v * y, 1), lambda v: (tnp.sin(v), 2), x)

    x, d = np.array([2.0, 1.0]), np.array([0.3, -1.0])
    (value, number), (slope, none) = jit(
        lambda x, y: tfc.jvp(branching, (x, y), (d, np.float64(2.0)))
    )(x, y)
    np.testing.assert_allclose(value, x * y if y > 0 else np.sin(x))
    np.testing.assert_allclose(slope, d * y + 2 * x if y > 0 else np.cos(x) * d)
    assert (number, none) == (1 if y > 0 else 2, 0)


def test_what_a_result_does_not_depend_on_smoothly_needs_no_rule():
    """argmax reduces values and positions together, which has no derivative, nor needs one."""
    x = np.array([1.0, 3.0, 2.0])
    value, slope = tfc.jvp(lambda v: v[0] * tnp.argmax(v), (x,), (np.ones(3),))
    assert (value, slope) == (1, 1)
    cumulative = tfc.jvp(lambda v: tnp.floor(v) + v.astype(int) * 2.0, (x,), (np.ones(3),))
    np.testing.assert_array_equal(cumulative[1], np.zeros(3))


def test_integers_have_zeros_as_tangents():
    float0 = np.zeros((), [("float0", np.void, 0)])
    for none in (float0, 0):
        value, slope = tfc.jvp(lambda x, n: (x * n, n), (2.0, 3), (1.0, none))
        assert value == (6, 3)
        assert slope == (3, 0)


def test_auxiliary_results_are_passed_along():
    f = lambda x: (x * x, {"seen": x + 1})  # noqa: E731
    value, slope, aux = tfc.jvp(f, (3.0,), (2.0,), has_aux=True)
    assert (value, slope, aux["seen"]) == (9, 12, 4)
    value, f_jvp, aux = tfc.linearize(f, 3.0, has_aux=True)
    assert (value, f_jvp(2.0), aux["seen"]) == (9, 12, 4)


@pytest.mark.parametrize("inside", [False, True])
def test_linearize_gives_a_function_of_the_tangents(inside):
    p, d = parameters(), directions()

    def function(q):
        return {"y": tnp.tanh(q["x"] @ q["w"] + q["b"]), "n": 3}

    def both(q, e):
        value, f_jvp = tfc.linearize(function, q)
        first, second = f_jvp(e), f_jvp({k: v * 2 for k, v in e.items()})
        return value["y"], first["y"], second["y"], first["n"]

    value, first, second, none = (jit(both) if inside else both)(p, d)
    with jax.enable_x64(True):
        want = jax.jvp(lambda q: jnp.tanh(q["x"] @ q["w"] + q["b"]), (p,), (d,))
    np.testing.assert_allclose(value, want[0], rtol=1e-12)
    np.testing.assert_allclose(first, want[1], rtol=1e-10)
    np.testing.assert_allclose(second, 2 * first, rtol=1e-10)
    assert none == 0


def test_linearize_computes_what_is_fixed_once():
    """Ten applications hold one sine and one cosine, and work in an inner function."""

    def function(x):
        value, f_jvp = tfc.linearize(lambda v: tnp.sin(v) * v, x)
        return tfc.fori_loop(0, 10, lambda _, total: total + f_jvp(x), value * 0)

    text = tfc.jit(function).lower(2.0).as_text()
    assert (text.count(" sine("), text.count(" cosine(")) == (1, 1)
    np.testing.assert_allclose(function_value := tfc.jit(function)(2.0),
                               10 * 2 * (np.sin(2) + 2 * np.cos(2)), rtol=1e-12)  # fmt: skip
    assert function_value.dtype == np.float64


def test_functions_that_use_tensors_around_them():
    @jit
    def f(x, y):
        return tfc.jvp(lambda v: v * v * y + x, (x,), (1.0,))[1]

    assert f(3.0, 5.0) == 30


def test_a_rule_of_forward_mode_is_of_an_op():
    assert set(forward.JVP_RULES) | set(forward.PUSHED) <= set(OPS)
    assert not set(forward.JVP_RULES) & set(forward.PUSHED)
    assert not (set(forward.JVP_RULES) | set(forward.PUSHED)) & reverse.NONDIFFERENTIABLE


def test_each_row_gives_what_the_transposed_gradient_rule_does(monkeypatch):
    """Rows are for speed alone: without them the general rule gives the same numbers."""
    x = RNG.standard_normal((4, 3))
    start = np.int32(1)

    def function(v):
        moved = tnp.concatenate([v.T, v.T[::-1]], 1).reshape(4, 6)
        padded = tnp.pad(moved, 1) @ tnp.ones((8, 2))
        window = operation("dynamic-slice", padded, *[tnp.asarray(start)] * 2,
                           dynamic_slice_sizes=(3, 1))  # fmt: skip
        return tnp.sum(window * tnp.cumsum(v[1:] * 2, 0)) + tnp.sum(tnp.real(tnp.fft.rfft(v)))

    with_rows = tfc.jvp(function, (x,), (x + 1,))
    monkeypatch.setattr(
        forward,
        "JVP_RULES",
        {k: v for k, v in forward.JVP_RULES.items() if k in ("tuple", "get-tuple-element")},
    )
    without = tfc.jvp(function, (x,), (x + 1,))
    np.testing.assert_allclose(with_rows, without, rtol=1e-12)


@pytest.mark.parametrize(
    ("primals", "tangents", "error", "message"),
    [
        (2.0, 1.0, TraceError, "must be tuples or lists; found float and float"),
        ((2.0,), (1.0, 2.0), TraceError, r"the same structure; primals have \(\*,\) whereas"),
        ((np.float32(2),), (np.float64(1),), TraceError, "must have dtype float32, got float64"),
        ((np.ones(2),), (np.ones(3),), ShapeError, r"argument \[0\] has shape \(2,\) and"),
    ],
)
def test_tangents_that_do_not_fit_are_refused(primals, tangents, error, message):
    with pytest.raises(error, match=message):
        tfc.jvp(lambda *xs: xs[0], primals, tangents)


def test_what_has_no_derivative_says_so():
    with pytest.raises(TraceError, match="custom-call has no gradient: its target is opaque"):
        tfc.jvp(
            lambda x: operation("custom-call", x, shape=x.array_shape, custom_call_target="f"),
            (np.ones(2),), (np.ones(2),),
        )  # fmt: skip
    with pytest.raises(TraceError, match="jvp with has_aux requires"):
        tfc.jvp(lambda x: x, (1.0,), (1.0,), has_aux=True)
