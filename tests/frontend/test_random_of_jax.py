"""tfc.random draws what jax.random draws from the same key: bits exactly, functions closely."""

import jax
import ml_dtypes
import numpy as np
import pytest
import scipy.special
import scipy.stats

import tfc
from tfc import random
from tfc.errors import ShapeError
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import evaluable
from tfc.random.inverse_error import erf_inv

KEY = random.key(7)
DIMS = (9, 41)
LOGITS = np.linspace(-2, 2, 60).reshape(12, 5).astype(np.float32) ** 3
CHANCES = np.array([0.1, 0.2, 0.3, 0.1, 0.3], np.float32)
SPREAD = np.array([[2, 0.5], [0.5, 1]], np.float32)
ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)


def single(x: float) -> np.float32:
    return np.float32(x)


# Functions of the bits alone, or that compare or count: the same to the last bit.
EXACT = [
    ("split", ()), ("split", (7,)), ("split", ((2, 3),)), ("fold_in", (123,)),
    ("bits", (DIMS,)), ("bits", ((3,), np.uint8)), ("bits", ((4, 5), np.uint16)),
    ("uniform", ()), ("uniform", (DIMS,)), ("uniform", (DIMS, np.float16)),
    ("uniform", (DIMS, ml_dtypes.bfloat16)), ("uniform", (DIMS, np.float32, -3.0, 5.0)),
    ("uniform", ((0, 3),)),
    ("randint", (DIMS, 0, 10)), ("randint", (DIMS, -5, 1000000)),
    ("randint", (DIMS, 0, 300, np.uint8)), ("randint", (DIMS, -200, 100, np.int8)),
    ("randint", (DIMS, 7, 3)), ("randint", ((3,), np.arange(3, dtype=np.int32), 9)),
    ("bernoulli", (single(0.3), DIMS)), ("bernoulli", ()), ("bernoulli", (0.3, DIMS, "high")),
    ("rademacher", (DIMS,)), ("geometric", (single(0.2), DIMS)),
    ("permutation", (10,)), ("permutation", (np.arange(2000, dtype=np.int32),)),
    ("permutation", (ROWS,)), ("permutation", (ROWS, 1)), ("permutation", (ROWS, 1, True)),
    ("choice", (10, DIMS)), ("choice", (10, (3,), False)), ("choice", (5, DIMS, True, CHANCES)),
    ("choice", (ROWS, (2,), False)), ("choice", (ROWS, (2, 3), True, None, 1)),
    ("choice", (5, (3,), False, CHANCES)),
    ("categorical", (LOGITS,)), ("categorical", (LOGITS, 0)),
    ("categorical", (LOGITS, -1, (4, 12))), ("categorical", (LOGITS, -1, (4, 12), False)),
    ("poisson", (single(3), DIMS)), ("poisson", (single(30), DIMS)), ("poisson", (single(0),)),
    ("triangular", (0.0, 1.0, 3.0, DIMS)),
]  # fmt: skip
# Functions with a logarithm or the like on the way: within some of the last places.
CLOSE = [
    *((name, (DIMS,)) for name in ("normal", "exponential", "laplace", "cauchy", "logistic")),
    ("gumbel", (DIMS,)), ("gumbel", (DIMS, np.float32, "high")), ("maxwell", (DIMS,)),
    ("normal", (DIMS, np.complex64)),
    ("truncated_normal", (-2.0, np.linspace(-1, 3, 41, dtype=np.float32), DIMS)),
    ("gamma", (np.array([0.1, 1, 9], np.float32),)), ("loggamma", (np.array([0.01], np.float32),)),
    ("pareto", (single(2.5), DIMS)), ("rayleigh", (single(2.5), DIMS)),
    ("wald", (single(0.7), DIMS)), ("lognormal", (single(0.5), DIMS)),
    ("weibull_min", (2.0, 1.5, DIMS)), ("orthogonal", (4, (2,))), ("orthogonal", (3, (), "f4", 5)),
    ("multivariate_normal", (CHANCES[:2], SPREAD)),
    ("multivariate_normal", (CHANCES[:2], SPREAD, (7, 3))),
]  # fmt: skip
# Loops that take JAX seconds to compile; what they draw is compared with distributions, too.
LOOPS = [
    ("gamma", (single(2.5), DIMS)), ("loggamma", (single(0.01), DIMS)),
    ("beta", (single(2), single(0.5), DIMS)), ("t", (single(3), DIMS)),
    ("dirichlet", (np.array([1, 2, 0.5], np.float32), (30,))), ("ball", (3, 2.0, (20,))),
    ("binomial", (single(10), single(0.3), DIMS)),
    ("multinomial", (np.float32([9, 400]), np.float32([[0.2, 0.5, 0.3, 0], [0, 0.1, 0, 0.9]]))),
]  # fmt: skip
BOTH_WAYS = {"key", "PRNGKey", "key_data", "wrap_key_data"}  # tested by themselves


def first_of_each(rows: list) -> list:
    """The first row of some functions; the others go to the tests that take longer."""
    quick = "split fold_in bits uniform randint bernoulli permutation categorical normal gamma"
    seen = set(BOTH_WAYS)
    marked = []
    for name, arguments in rows:
        is_quick = name in quick.split() and name not in seen
        marks = () if is_quick else pytest.mark.slow
        marked.append(pytest.param(name, arguments, marks=marks))
        seen.add(name)
    return marked


def draw(name: str, arguments: tuple) -> tuple[np.ndarray, np.ndarray]:
    got = getattr(random, name)(KEY, *arguments)
    want = np.asarray(getattr(jax.random, name)(jax.random.PRNGKey(7), *arguments))
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    return got, want


def test_every_function_is_compared():
    assert {name for name, _ in EXACT + CLOSE + LOOPS} | set(DISTRIBUTIONS) | BOTH_WAYS == set(
        random.__all__
    )


@pytest.mark.parametrize(("name", "arguments"), first_of_each(EXACT))
def test_what_follows_from_bits_is_the_same(name: str, arguments: tuple):
    np.testing.assert_array_equal(*draw(name, arguments))


@pytest.mark.parametrize(("name", "arguments"), first_of_each(CLOSE))
def test_functions_of_random_numbers_are_close(name: str, arguments: tuple):
    np.testing.assert_allclose(*draw(name, arguments), rtol=1e-4, atol=2e-6)


MAPPED = [
    ("normal", ((3,),)), ("permutation", (7,)), ("choice", (10, (2,), False)),
    ("gamma", (single(2),)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "arguments"),
    [MAPPED[0], *(pytest.param(*r, marks=pytest.mark.slow) for r in MAPPED[1:])],
)
def test_many_keys_draw_what_each_draws(name: str, arguments: tuple):
    """Loops too: those of each key run as long as theirs would."""
    got = tfc.vmap(lambda key: getattr(random, name)(key, *arguments))(random.split(KEY, 5))
    keys = jax.random.split(jax.random.PRNGKey(7), 5)
    want = jax.vmap(lambda key: getattr(jax.random, name)(key, *arguments))(keys)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "arguments"), LOOPS)
def test_loops_draw_the_same_numbers(name: str, arguments: tuple):
    np.testing.assert_allclose(*draw(name, arguments), rtol=1e-4, atol=2e-6)


DISTRIBUTIONS = {
    "beta": ((2.0, 0.5), scipy.stats.beta(2, 0.5)),
    "chisquare": ((3.0,), scipy.stats.chi2(3)),
    "f": ((2.0, 5.0), scipy.stats.f(2, 5)),
    "gamma": ((0.3,), scipy.stats.gamma(0.3)),
    "t": ((3.0,), scipy.stats.t(3)),
    "generalized_normal": ((3.0,), scipy.stats.gennorm(3)),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_numbers_by_rejection_have_their_distribution(name: str):
    parameters, distribution = DISTRIBUTIONS[name]
    got = getattr(random, name)(KEY, *parameters, shape=(2000,))
    assert scipy.stats.kstest(got, distribution.cdf).pvalue > 0.01


def test_counts_points_and_shares_are_distributed_as_asked_for():
    counts = random.binomial(KEY, np.array([[20.0], [200.0]], np.float32), 0.3, (2, 2000))
    for got, n in zip(counts, (20, 200)):
        seen = np.bincount(got.astype(int), minlength=n + 1)
        expected = 2000 * scipy.stats.binom.pmf(np.arange(n + 1), n, 0.3)
        often = expected > 5
        assert (
            scipy.stats.chi2(often.sum()).sf(((seen - expected) ** 2 / expected)[often].sum())
            > 0.01
        )
    radius = np.linalg.norm(random.ball(KEY, 3, shape=(2000,)), axis=-1)
    assert scipy.stats.kstest(radius, lambda r: r**3).pvalue > 0.01
    shares = random.dirichlet(KEY, np.array([1, 2, 0.5], np.float32), (2000,))
    np.testing.assert_allclose(shares.sum(-1), 1, rtol=1e-6)
    assert scipy.stats.kstest(shares[:, 1], scipy.stats.beta(2, 1.5).cdf).pvalue > 0.01


@pytest.mark.parametrize("method", ["cholesky", "eigh", "svd"])
def test_normal_vectors_have_the_covariance_asked_for(method: str):
    got = random.multivariate_normal(KEY, np.array([3, -1]), SPREAD, (4000,), method=method)
    assert got.dtype == np.float64
    np.testing.assert_allclose(got.mean(0), [3, -1], atol=0.1)
    np.testing.assert_allclose(np.cov(got.T), SPREAD, atol=0.2)


def test_most_normal_numbers_are_the_same_to_the_last_bit():
    got = tfc.jit(lambda key: random.normal(key, (5000,)))(KEY)
    want = np.asarray(jax.random.normal(jax.random.PRNGKey(7), (5000,)))
    np.testing.assert_array_almost_equal_nulp(got, want, 3)
    assert (got == want).mean() > 0.9


@pytest.mark.parametrize("seed", [0, 7, 2**31 - 1, 2**40 + 5, -1, -(2**40)])
def test_a_key_is_the_seed_s_64_bits(seed: int):
    with jax.enable_x64(True):
        want = jax.random.key_data(jax.random.key(seed))
    np.testing.assert_array_equal(random.key(seed), want)
    np.testing.assert_array_equal(random.PRNGKey(seed), want)
    np.testing.assert_array_equal(tfc.jit(random.key)(np.int64(seed)), want)


def test_the_key_of_a_number_of_32_bits_has_no_high_word():
    for seed in (np.int32(-1), np.uint32(2**32 - 1)):
        want = jax.random.key_data(jax.random.key(seed))
        np.testing.assert_array_equal(random.key(seed), want)


def test_numbers_of_64_bits_are_those_of_jax_with_them():
    with jax.enable_x64(True):
        key = jax.random.PRNGKey(7)
        for name in ("bits", "uniform", "randint", "normal"):
            more = (0, 10**12) if name == "randint" else ()
            dtype = {"bits": np.uint64, "randint": np.int64}.get(name, np.float64)
            got = getattr(random, name)(KEY, (500,), *more, dtype=dtype)
            want = np.asarray(getattr(jax.random, name)(key, (500,), *more, dtype=dtype))
            assert got.dtype == want.dtype
            if name == "normal":
                np.testing.assert_allclose(got, want, rtol=1e-13)
            else:
                np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 1e-6), (np.float64, 5e-15)])
def test_the_inverse_of_the_error_function(dtype: type, rtol: float):
    x = np.concatenate([np.linspace(-1, 1, 1001), 1 - 0.1 ** np.arange(16), [1e-30, 1.5, np.nan]])
    x = x.astype(dtype)
    got = evaluable(lambda x: erf_inv(as_tensor(x)))(x)
    with jax.enable_x64(True):
        np.testing.assert_allclose(got, jax.lax.erf_inv(x), rtol=rtol)
    middle = slice(5, -20)  # beyond, 1 - x² is rounded
    want = scipy.special.erfinv(x.astype(np.float64))
    np.testing.assert_allclose(got[middle], want[middle], rtol=2 * rtol)


def test_a_parameter_that_is_held_has_no_derivative_through_what_is_drawn():
    held = tfc.grad(lambda a: random.gamma(KEY, tfc.stop_gradient(a)) * a)(np.float32(2))
    np.testing.assert_allclose(held, random.gamma(KEY, np.float32(2)))


def test_what_cannot_be_drawn_is_refused():
    for refused, words in (
        (lambda: random.choice(KEY, 3, (4,), False), "cannot draw 4 of 3 elements without"),
        (
            lambda: random.choice(KEY, 3, (4,), p=CHANCES),
            r"a vector p of 3 probabilities, got \[5\]",
        ),
        (lambda: random.categorical(KEY, LOGITS, -1, (6, 12), False), "at most the 5 categories"),
        (lambda: random.gamma(KEY, np.ones(3), (2,)), r"broadcast to the shape \[2\], got \[3\]"),
        (lambda: random.bernoulli(KEY, 1), "a probability of floats, got int64"),
        (lambda: random.gumbel(KEY, (), mode="best"), "'low' or 'high', got 'best'"),
        (lambda: random.fold_in(KEY, ROWS), r"a scalar integer, got f32\[4,3\]"),
    ):
        with pytest.raises(ShapeError, match=words):
            refused()
