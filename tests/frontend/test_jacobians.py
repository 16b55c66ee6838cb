"""jacfwd, jacrev and hessian: values and structure against JAX's; refusals."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gradient_checks import jit

import tfc
import tfc.numpy as tnp
from tfc.errors import TraceError

P = {"w": np.linspace(-1, 1, 6).reshape(2, 3), "b": (np.array([0.3, -0.7]), np.float64(1.5))}
X = np.array([0.5, -1.0, 2.0])


def layered(np_, p, x):
    h = np_.tanh(p["w"] @ x + p["b"][0])
    return {"h": h * p["b"][1], "deep": [np_.sum(h) * x]}


CASES = {
    "a vector": lambda lib, np_, way, x: way(lambda v: np_.sin(v) * v[0])(x),
    "trees": lambda lib, np_, way, x: way(lambda p: layered(np_, p, x))(P),
    "several arguments": lambda lib, np_, way, x: way(partial(layered, np_), (1, 0))(P, x),
    "one of several, as a tuple": lambda lib, np_, way, x: way(partial(layered, np_), (1,))(P, x),
    "a scalar result": lambda lib, np_, way, x: way(lambda v: np_.sum(v**3))(x),
    "with aux": lambda lib, np_, way, x: way(
        lambda v: (v * v, {"seen": v + 1}), has_aux=True)(x),
    "a Jacobian of a Jacobian": lambda lib, np_, way, x: way(way(lambda v: np_.exp(v) * v[1]))(x),
    "what does not depend": lambda lib, np_, way, x: way(lambda v: np_.floor(v) + 3.0)(x),
    "a conditional": lambda lib, np_, way, x: way(lambda v: getattr(lib, "lax", lib).cond(
        v[0] > 0, lambda u: u * u, lambda u: u, v))(x),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["jacfwd", "jacrev"])
@pytest.mark.parametrize("name", CASES)
def test_jacobians_are_those_of_jax(name, mode):
    case = CASES[name]
    with jax.enable_x64(True):
        want = jax.tree.map(np.asarray, jax.jit(partial(case, jax, jnp, getattr(jax, mode)))(X))
    for got in (partial(case, tfc, tnp, getattr(tfc, mode))(X),
                jit(partial(case, tfc, tnp, getattr(tfc, mode)))(X)):  # fmt: skip
        jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-11, atol=1e-13), got, want)


@pytest.mark.parametrize("argnums", [0, (0, 1)])
def test_hessians_are_those_of_jax(argnums):
    def loss(np_, p, x):
        return np_.sum(layered(np_, p, x)["h"] ** 2) * x[0]

    with jax.enable_x64(True):
        want = jax.tree.map(np.asarray, jax.jit(jax.hessian(partial(loss, jnp), argnums))(P, X))
    got = jit(tfc.hessian(partial(loss, tnp), argnums))(P, X)
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-10, atol=1e-12), got, want)
    value, aux = tfc.hessian(lambda x: (tnp.sum(x**3), 7), has_aux=True)(X)
    np.testing.assert_allclose(value, np.diag(6 * X))
    assert aux == 7


def test_holomorphic_functions():
    z = X + 1j * X[::-1]
    for way in (tfc.jacfwd, tfc.jacrev):
        np.testing.assert_allclose(way(lambda v: v**3, holomorphic=True)(z), np.diag(3 * z**2))
    np.testing.assert_allclose(tfc.grad(lambda v: v**3, holomorphic=True)(z[0]), 3 * z[0] ** 2)
    with pytest.raises(TraceError, match=r"whose result is a complex scalar, got f64\[\]"):
        tfc.grad(lambda v: v * v, holomorphic=True)(2.0)


def test_gradients_by_integers_are_zeros_where_they_are_allowed():
    by_x, by_n = tfc.grad(lambda x, n: tnp.sum(x * n), (0, 1), allow_int=True)(X, np.int32(3))
    np.testing.assert_array_equal(by_x, [3, 3, 3])
    assert (by_n, by_n.dtype) == (0, np.int32)


def test_a_pullback_beside_auxiliary_results():
    value, pullback, aux = tfc.vjp(lambda x: (x * x, "text"[:2] and x + 1), X, has_aux=True)
    np.testing.assert_allclose(pullback(X)[0], 2 * X * X)
    np.testing.assert_allclose(value, X * X)
    np.testing.assert_allclose(aux, X + 1)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: tfc.jacfwd(tnp.sin)(3), r"jacfwd requires inputs .* got int64 for argument \[0\]"),
        (lambda: tfc.jacrev(lambda x: x.astype(int))(X), "jacrev requires outputs .* got int64"),
        (lambda: tfc.jacrev(tnp.sin)(X + 0j), "got complex128 for .* holomorphic=True is for"),
        (lambda: tfc.jacfwd(tnp.sin, holomorphic=True)(X), "requires inputs of complex dtype"),
        (lambda: tfc.jacfwd(tnp.sin, 1)(X), "argnums must be among the 1 positional arguments"),
        (lambda: tfc.jacfwd(tnp.sin, has_aux=True)(X), "jacfwd with has_aux requires a function"),
    ],
)
def test_what_has_no_jacobian_is_refused(run, message):
    with pytest.raises(TraceError, match=message):
        run()


def test_a_jacobian_is_one_batch_of_products():
    """No loop over the basis: one dot for the columns of a matrix product's Jacobian."""
    w = np.ones((4, 3))
    text = tfc.jit(tfc.jacfwd(lambda x: tnp.tanh(w @ x))).lower(X).compile().as_text()
    assert "while" not in text
