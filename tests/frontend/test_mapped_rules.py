"""vmap of functions with rules of their own, of checkpoint, and of callbacks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gradient_checks import jit
from test_custom_rules import clipped, fixed, parted, returned, stable

import tfc
import tfc.numpy as tnp

X = np.linspace(-1.5, 2.0, 6).reshape(3, 2)
Y = np.array([0.5, 2.0])

# fmt: off
CASES = {
    "vjp": lambda lib, np_: lib.vmap(lib.grad(
        lambda v: np_.sum(np_.exp(clipped(lib, np_)(-1.0, 2.0, v)))))(X),
    "gradient of a mapped vjp": lambda lib, np_: lib.grad(
        lambda v: np_.sum(lib.vmap(lambda u: clipped(lib, np_)(-0.3, 0.4, u) ** 2)(v)))(X),
    "what is shared gets the sum": lambda lib, np_: lib.grad(lambda s: np_.sum(lib.vmap(
        lambda u: clipped(lib, np_)(-0.3, 0.4, s) * u)(X)))(Y),
    "what is shared gets the sum of what is the same": lambda lib, np_: lib.grad(
        lambda s: np_.sum(lib.vmap(lambda u: clipped(lib, np_)(-3.0, 4.0, s) + u)(X)))(Y),
    "jvp": lambda lib, np_: lib.vmap(lambda x: lib.jvp(stable(lib, np_), (x,), (x,)))(X),
    "tangent of a mapped jvp": lambda lib, np_: lib.jvp(
        lib.vmap(stable(lib, np_)), (X,), (X * 2,)),
    "gradient of a mapped jvp": lambda lib, np_: lib.grad(
        lambda v: np_.sum(lib.vmap(stable(lib, np_))(v)))(X),
    "second derivative of a mapped jvp": lambda lib, np_: lib.hessian(
        lambda v: np_.sum(lib.vmap(stable(lib, np_))(v)))(X),
    "mapped twice": lambda lib, np_: lib.vmap(lib.vmap(lib.grad(stable(lib, np_))))(X),
    "rules of arguments": lambda lib, np_: lib.vmap(
        lambda x, y: lib.jvp(parted(lib, np_), (x, y, x), (x, y, x)), (0, None))(X, Y),
    "fixed arguments": lambda lib, np_: lib.vmap(lib.grad(
        lambda v: np_.sum(fixed(lib, np_)[0](np_.sin, v, 5))))(X),
    "custom gradient": lambda lib, np_: lib.vmap(lib.vmap(lib.grad(returned(lib, np_)[0])))(X),
    "custom gradient inside": lambda lib, np_: lib.grad(
        lambda a, b: np_.sum(lib.vmap(returned(lib, np_)[1], (0, None))(a, b)[0]), (0, 1))(X, Y),
    "Jacobian of a custom rule": lambda lib, np_: lib.jacrev(
        lambda v: clipped(lib, np_)(-0.5, 0.5, v) * v)(Y),
    "Jacobian in forward mode": lambda lib, np_: lib.jacfwd(stable(lib, np_))(Y),
    "checkpoint": lambda lib, np_: lib.grad(lambda s: np_.sum(lib.vmap(
        lib.checkpoint(lambda u: np_.sin(u * s) * np_.sum(u)))(X)))(Y),
    "checkpoint inside": lambda lib, np_: lib.vmap(lib.grad(
        lib.checkpoint(lambda u: np_.sum(np_.sin(u) ** 2))))(X),
}
# fmt: on


@pytest.mark.parametrize("name", CASES)
def test_mapped_rules_do_what_they_do_in_jax(name):
    case = CASES[name]
    with jax.enable_x64(True):
        want = jax.tree.map(np.asarray, case(jax, jnp))
    got = jit(lambda: case(tfc, tnp))()
    jax.tree.map(lambda g, w: np.testing.assert_allclose(g, w, rtol=1e-11, atol=1e-13), got, want)


def test_forward_mode_of_a_mapped_custom_vjp_is_refused():
    with pytest.raises(tfc.errors.TraceError, match="can't apply forward-mode differentiation"):
        tfc.jvp(tfc.vmap(lambda v: clipped(tfc, tnp)(0.0, 1.0, v)), (X,), (X,))


METHODS = {
    "sequential": [(2,), (1,)],
    "sequential_unrolled": [(2,), (1,)],
    "expand_dims": [(3, 2), (1, 1)],
    "broadcast_all": [(3, 2), (3, 1)],
    None: [(2,), (1,)],
}


@pytest.mark.parametrize("method", METHODS)
def test_a_callback_is_called_for_a_batch_as_was_said(method):
    seen = []

    def host(x, y):
        seen.append((x.shape, y.shape))
        return x * y

    def f(x, y):
        stated = tfc.ShapeDtypeStruct(x.shape, x.dtype)
        return tfc.pure_callback(host, stated, x, y, vmap_method=method)

    got = tfc.jit(tfc.vmap(f, (0, None)))(X, Y[:1])
    np.testing.assert_array_equal(got, X * Y[0])
    assert set(seen) == {tuple(METHODS[method])}
    assert len(seen) == (1 if method in ("expand_dims", "broadcast_all") else 3)


def test_vectorized_callbacks_of_nested_batches():
    def f(x):
        stated = tfc.ShapeDtypeStruct((), x.dtype)
        return tfc.pure_callback(lambda v: v * 2, stated, x, vectorized=True)

    np.testing.assert_array_equal(tfc.jit(tfc.vmap(tfc.vmap(f)))(X), X * 2)


def test_effects_happen_for_each_element_once(capsys):
    def f(x):
        tfc.debug.print("x {}", x)
        tfc.jit(lambda v: tfc.debug.print("inner {}", v[0]))(x)
        return x * 2

    np.testing.assert_array_equal(tfc.jit(tfc.vmap(f))(X), X * 2)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [*(f"x {row}" for row in X), *(f"inner {row[0]}" for row in X)]
