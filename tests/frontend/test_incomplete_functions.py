"""Incomplete gamma and beta functions, Bessel functions by order, derivatives of gamma numbers."""

from functools import partial

import jax
import mpmath
import numpy as np
import pytest
import scipy.special

import tfc
import tfc.numpy as tnp
from tfc import random, special
from tfc.errors import ShapeError, TraceError

RNG = np.random.default_rng(23)
m = mpmath.mp
KEY = np.array([3, 7], np.uint32)
gammainc, gammaincc, betainc = map(tfc.jit, (special.gammainc, special.gammaincc, special.betainc))


@pytest.mark.parametrize(("low", "high"), [(0.05, 1), (0.5, 9), (9, 300)])
def test_the_incomplete_beta_function_is_right(low: float, high: float):
    a, b = RNG.uniform(low, high, (2, 16))
    spread = np.sqrt(a * b / (a + b + 1)) / (a + b)
    x = np.clip(a / (a + b) + RNG.uniform(-2, 2, 16) * spread, 0.01, 0.99)
    with m.workdps(30):
        exact = [m.betainc(*map(m.mpf, point), regularized=True)
                 for point in zip(a.tolist(), b.tolist(), [0] * 16, x.tolist())]  # fmt: skip
    want = np.array([float(e) for e in exact])
    np.testing.assert_allclose(betainc(a, b, x), want, rtol=2e-14)


def test_the_incomplete_beta_function_has_the_density_as_derivative():
    a, b, x = np.array([[0.3, 2, 40], [0.9, 5, 30], [0.1, 0.3, 0.6]])
    slope = tfc.jit(tfc.vmap(tfc.grad(special.betainc, 2)))(a, b, x)
    want = x ** (a - 1) * (1 - x) ** (b - 1) / scipy.special.beta(a, b)
    np.testing.assert_allclose(slope, want, rtol=1e-12)
    with pytest.raises(TraceError, match="by its last argument alone"):
        tfc.grad(special.betainc)(2.0, 3.0, 0.5)


def test_the_incomplete_beta_function_at_its_ends():
    numbers = np.array([0, 1, 2.5, -1, np.nan])
    a, b, x = (v.ravel() for v in np.meshgrid(numbers, numbers, [0, 0.5, 1, -0.1, 1.1, np.nan]))
    want = scipy.special.betainc(a, b, x)
    np.testing.assert_allclose(betainc(a, b, x), want, rtol=1e-14)


@pytest.mark.slow
def test_tails_of_the_incomplete_gamma_functions_keep_their_digits():
    a = np.array([1e-3, 0.5, 3, 40, 500, 2e4, 1e6])
    far = a * 1.6 + 9
    with m.workdps(60):
        want = [float(m.gammainc(m.mpf(p), m.mpf(q), regularized=True))
                for p, q in zip(a[:5].tolist(), far.tolist())]  # fmt: skip
    np.testing.assert_allclose(gammaincc(a, far)[:5], want, rtol=1e-12)
    near = a * 0.6
    np.testing.assert_allclose(
        special.gammainc(a, near), scipy.special.gammainc(a, near), rtol=1e-9
    )
    middle = scipy.special.gammaincinv(a[1:], 0.5)
    np.testing.assert_allclose(gammainc(a[1:], middle), 0.5, rtol=1e-11)


def _lower(x, a):
    return m.gammainc(a, 0, x, regularized=True)


@pytest.mark.slow
def test_derivatives_by_the_parameter_are_differences_of_values():
    a = np.array([0.01, 0.3, 1, 7, 50, 150, 3000])
    slope = tfc.jit(tfc.vmap(tfc.grad(special.gammainc)))
    for spread in (-1.5, 0, 1.5):
        x = np.maximum(a + spread * np.sqrt(a), a / 3)
        got = slope(a, x)
        with m.workdps(50):
            want = [float(m.diff(partial(_lower, m.mpf(q)), m.mpf(p), h=1e-12))
                    for p, q in zip(a.tolist(), x.tolist())]  # fmt: skip
        np.testing.assert_allclose(got, want, rtol=1e-9)
    upper = tfc.jit(lambda a, x: tfc.jvp(special.gammaincc, (a, x), (np.ones(7), np.zeros(7)))[1])
    np.testing.assert_allclose(upper(a, x), -got, rtol=1e-14)
    with pytest.raises(TraceError, match="has no derivative itself"):
        tfc.grad(tfc.grad(special.gammainc))(2.0, 3.0)
    curved = tfc.grad(tfc.grad(special.gammainc, 1), 1)(3.0, 2.0)  # of x² exp(-x) / 2
    np.testing.assert_allclose(curved, np.exp(-2) * (2 - 2), atol=1e-16)


@pytest.mark.parametrize(
    "order", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in (0, 5, 70))]
)
def test_bessel_functions_of_whole_orders_are_right(order: int):
    z = np.concatenate([RNG.uniform(-60, 200, 30), np.exp(RNG.uniform(-12, 8, 20)), [0, 49, 51]])
    got = tfc.jit(lambda z: special.bessel_jn(z, v=order))(z)
    assert got.shape == (order + 1, z.size)
    with m.workdps(30):
        for n in {0, order // 2, order}:
            want = [float(m.besselj(n, m.mpf(x))) for x in z.tolist()]
            error = np.abs(got[n] - want) / np.maximum(np.abs(want), 1 / np.sqrt(1 + np.abs(z)))
            assert error.max() < 2e-14
            small = np.abs(z) < 2
            np.testing.assert_allclose(got[n][small], np.array(want)[small], rtol=1e-13)
    slopes = tfc.jit(tfc.jacfwd(lambda x: special.bessel_jn(x, v=order)))(np.float64(3.5))
    want = scipy.special.jvp(np.arange(order + 1), 3.5)
    np.testing.assert_allclose(slopes, want, rtol=1e-11, atol=1e-15)


def test_bessel_functions_take_what_jax_takes():
    z = np.float32([[1, 2], [3, -4]])
    got, want = special.bessel_jn(z, v=3, n_iter=20), jax.scipy.special.bessel_jn(z, v=3, n_iter=20)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, want, rtol=2e-5)
    np.testing.assert_array_equal(special.bessel_jn(np.array([np.inf, np.nan]), v=0), [[0, np.nan]])
    with pytest.raises(ShapeError, match="an order v of 0 or more"):
        special.bessel_jn(z, v=-1)


def test_bernoulli_numbers_and_signs():
    np.testing.assert_allclose(special.bernoulli(30), scipy.special.bernoulli(30), rtol=1e-11)
    assert special.bernoulli(0).shape == (1,)
    x = np.array([0.0, -0.0, -1, -0.5, -1.5, 2, -np.inf, np.inf, np.nan, -170.5])
    np.testing.assert_array_equal(special.gammasgn(x), scipy.special.gammasgn(x))
    z, n = np.array([-2.5, 200.0, -180.25, 3]), np.array([2, 1.5, 2, 0])
    np.testing.assert_allclose(special.poch(z, n), scipy.special.poch(z, n), rtol=1e-12)


@pytest.mark.slow
def test_gamma_numbers_keep_their_rank_when_the_parameter_changes():
    a = np.exp(np.linspace(-3, 7, 40))

    def drawn(a):
        return random.gamma(KEY, a, dtype=np.float64)

    x = tfc.jit(drawn)(a)
    slopes = tfc.jit(tfc.grad(lambda a: tnp.sum(drawn(a))))(a)
    rank, step = scipy.special.gammainc(a, x), 1e-5 * a
    inverse = scipy.special.gammaincinv
    near = (inverse(a + step, rank) - inverse(a - step, rank)) / (2 * step)
    np.testing.assert_allclose(slopes, near, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gamma", "loggamma", "t", "chisquare", "beta", "dirichlet"])
def test_derivatives_of_what_is_drawn_are_jaxs(name: str):
    with jax.enable_x64(True):
        a = np.exp(np.linspace(-1.5, 5, 24))
        weights = RNG.uniform(0.5, 1, 24)
        more = (a * 2,) if name == "beta" else ()

        def loss(module, numbers, key):
            return lambda a: numbers.sum(
                getattr(module, name)(key, a, *more, dtype="float64") * weights
            )

        got = tfc.jit(tfc.grad(loss(random, tnp, KEY)))(a)
        want = jax.grad(loss(jax.random, jax.numpy, jax.random.wrap_key_data(KEY)))(a)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-14)


@pytest.mark.slow
def test_numbers_too_small_for_the_type_have_a_derivative_of_their_logarithm():
    a = np.full(50, 0.004, np.float32)

    @tfc.jit
    def drawn_and_slopes(a):
        numbers, of_numbers = tfc.jvp(
            lambda a: random.gamma(KEY, a), (a,), (tnp.ones(50, np.float32),)
        )
        logarithms, slopes = tfc.jvp(
            lambda a: random.loggamma(KEY, a), (a,), (tnp.ones(50, np.float32),)
        )
        return numbers, of_numbers, logarithms, slopes

    numbers, of_numbers, logarithms, slopes = drawn_and_slopes(a)
    assert (numbers == 0).any()
    assert np.isfinite(of_numbers).all()
    # The density is close to x^(a - 1), and the rank to xᵃ / Γ(a + 1).
    is_small = logarithms < -20
    want = (scipy.special.digamma(a + 1) - logarithms) / a
    np.testing.assert_allclose(slopes[is_small], want[is_small], rtol=1e-5)
