"""Programs as people write them in JAX, imported by from_jax: control flow, random bits, layers."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import tfc

RNG = np.random.default_rng(5)
X = RNG.normal(size=(4, 6)).astype(np.float32)
IMAGE = RNG.normal(size=(2, 8, 8, 3)).astype(np.float32)
KERNEL = RNG.normal(size=(3, 3, 3, 4)).astype(np.float32)


def convolved(image: Any, kernel: Any) -> Any:
    found = lax.conv_general_dilated(
        image, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    pooled = lax.reduce_window(found, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return jax.nn.relu(pooled).mean((1, 2))


def attention(x: Any) -> Any:
    mask = jnp.tril(jnp.ones((4, 4), bool))
    scores = jnp.where(mask, x @ x.T / jnp.sqrt(6.0), -jnp.inf)
    return jax.nn.softmax(scores) @ jax.nn.gelu(x, approximate=False)


def recurrent(x: Any) -> Any:
    def cell(h: Any, row: Any) -> Any:
        h = jnp.tanh(h * 0.5 + row)
        return h, h.sum()

    return lax.scan(cell, jnp.zeros(6), x)


def controlled(x: Any) -> Any:
    doubled = lax.while_loop(lambda v: v.max() < 50, lambda v: v * 2 + 1, jnp.abs(x))
    chosen = lax.switch(2, [jnp.sin, jnp.cos, jnp.exp], x)
    branch = lax.cond(x.sum() > 0, lambda v: v + 1, lambda v: v - 1, x)
    return (
        doubled,
        chosen,
        branch,
        lax.fori_loop(0, 5, lambda i, v: v * 0.9 + i, x),
        lax.map(jnp.sort, x),
    )


def indexed(x: Any) -> Any:
    rows = x.at[jnp.array([0, 2])].add(1.0)[jnp.array([3, 1, 1])]
    return (
        rows,
        lax.top_k(x, 2),
        jnp.argsort(x, axis=-1),
        jnp.unique(jnp.round(x), size=8, fill_value=0),
        jax.ops.segment_sum(x, jnp.array([0, 1, 1, 2]), 3),
        jnp.searchsorted(jnp.sort(x[0]), x[1]),
    )


def special(x: Any) -> Any:
    y = jnp.abs(x) + 0.1
    return (lax.lgamma(y), lax.digamma(y), lax.erf_inv(jnp.tanh(x)), jax.scipy.special.i0e(y),
            jax.scipy.special.betainc(y, y, jax.nn.sigmoid(x)), jax.scipy.special.gammainc(y, y),
            jnp.fft.rfft(x), jax.scipy.special.logsumexp(x, axis=1))  # fmt: skip


def derived(x: Any) -> Any:
    def energy(v: Any) -> Any:
        return jnp.sum(jnp.tanh(v) ** 2)

    return jax.grad(energy)(x), jax.hessian(energy)(x[0]), jax.vmap(jax.grad(energy))(x)


PROGRAMS = {
    "convolution": (convolved, (IMAGE, KERNEL)), "attention": (attention, (X,)),
    "recurrence": (recurrent, (X,)), "control flow": (controlled, (X,)),
    "indexing": (indexed, (X,)), "special functions": (special, (X,)),
    "derivatives": (derived, (X,)),
}  # fmt: skip


SLOW = ("special functions", "convolution", "indexing")


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in PROGRAMS],
)
def test_programs_give_what_jax_computes(name: str):
    function, given = PROGRAMS[name]
    found = tfc.from_jax(function, *given, backend="interpreter")(*given)
    wanted = jax.jit(function)(*given)
    assert jax.tree_util.tree_structure(found) == jax.tree_util.tree_structure(wanted)
    for got, expected in zip(jax.tree_util.tree_leaves(found), jax.tree_util.tree_leaves(wanted)):
        np.testing.assert_allclose(got, expected, rtol=2e-4, atol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["threefry2x32", "rbg", "unsafe_rbg"])
def test_random_bits_are_those_of_jax(kind: str):
    def drawn(seed: Any) -> Any:
        one, other = jax.random.split(jax.random.key(seed, impl=kind))
        bits = jax.random.bits(one, (5,)), jax.random.bits(other, (3,), np.uint16)
        order = jax.random.permutation(other, 7)
        return (
            *bits,
            order,
            jax.random.bernoulli(one, 0.3, (6,)),
            jax.random.randint(one, (4,), 0, 9),
        )

    found = tfc.from_jax(drawn, 3)(np.int32(11))
    for got, expected in zip(found, jax.jit(drawn)(11)):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.slow
def test_imported_functions_are_transformed():
    f = tfc.from_jax(lambda x: jnp.sum(jax.nn.softmax(x) ** 2), X[0])
    stacked = tfc.vmap(tfc.grad(f))(X)
    expected = jax.vmap(jax.grad(lambda x: jnp.sum(jax.nn.softmax(x) ** 2)))(X)
    np.testing.assert_allclose(stacked, expected, rtol=1e-4, atol=1e-6)
