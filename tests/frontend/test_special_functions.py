"""tfc.special: values to a few ulp against mpmath, special values, and derivatives."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special

import tfc
import tfc.numpy as tnp
from tfc import special
from tfc.errors import ShapeError, TraceError

RNG = np.random.default_rng(17)
m = mpmath.mp

POSITIVE = np.concatenate([np.exp(RNG.uniform(-20, 5, 30)), RNG.uniform(0.5, 9, 40)])
NEGATIVE = -RNG.uniform(0.01, 30, 30)
BOTH = np.concatenate([POSITIVE[:30], -POSITIVE[:30], RNG.uniform(-9, 9, 40)])
BOUNDED = BOTH[np.abs(BOTH) < 25]
UNIT = np.concatenate([RNG.uniform(-1, 1, 40), 1 - np.exp(RNG.uniform(-35, 0, 20))])
# Parameters of the incomplete gamma functions, small and large.
NUMBERS = np.concatenate(
    [RNG.uniform(0.3, 9, 30), RNG.uniform(9, 99, 30), RNG.uniform(1e2, 5e3, 30)]
)
# and points around them, where neither is a tail
AROUND = NUMBERS + RNG.uniform(-1, 2, 90) * np.sqrt(NUMBERS) * np.minimum(NUMBERS / 4, 1)
CHANCES = np.concatenate([RNG.uniform(0, 1, 40), np.exp(RNG.uniform(-30, 0, 20))])

# name: the points, the function in mpmath, and the ulp that it may be away.
EXACT: dict[str, tuple[np.ndarray, Callable[[Any], Any], float]] = {
    "gammaln": (POSITIVE, lambda x: m.log(m.gamma(x)), 4),
    "gamma": (np.concatenate([POSITIVE, NEGATIVE]), m.gamma, 10),
    "digamma": (POSITIVE, m.digamma, 6),
    "factorial": (POSITIVE[POSITIVE < 9], lambda x: m.gamma(x + 1), 20),
    "erf": (BOUNDED, m.erf, 2),
    "erfc": (BOUNDED, m.erfc, 6),
    "erfcx": (BOUNDED, lambda x: m.exp(x * x) * m.erfc(x), 6),
    "erfinv": (UNIT, m.erfinv, 4),
    "ndtr": (BOUNDED, m.ncdf, 8),
    "log_ndtr": (BOUNDED, lambda x: m.log(m.ncdf(x)) if x < 0 else m.log1p(-m.ncdf(-x)), 8),
    "ndtri": (CHANCES, lambda p: -m.sqrt(2) * m.erfinv(1 - 2 * p), 6),
    "i0": (BOTH, lambda x: m.besseli(0, x), 8),
    "i0e": (BOTH, lambda x: m.besseli(0, x) * m.exp(-abs(x)), 4),
    "i1": (BOTH, lambda x: m.besseli(1, x), 10),
    "i1e": (BOTH, lambda x: m.besseli(1, x) * m.exp(-abs(x)), 6),
    "expit": (BOTH, lambda x: 1 / (1 + m.exp(-x)), 4),
    "logit": (CHANCES, lambda p: m.log(p / (1 - p)), 4),
    "entr": (POSITIVE, lambda x: -x * m.log(x), 3),
    "loggamma": (POSITIVE, lambda x: m.log(m.gamma(x)), 4),
    "exp1": (POSITIVE, m.e1, 8),
    "expi": (np.concatenate([BOTH, RNG.uniform(0.36, 0.385, 20)]), m.ei, 6),
    "spence": (POSITIVE, lambda z: m.polylog(2, 1 - z).real, 6),
    "dawsn": (BOUNDED, lambda x: m.sqrt(m.pi) / 2 * m.exp(-x * x) * m.erfi(x), 5),
}
# Of two operands.
PAIRS: dict[str, tuple[np.ndarray, np.ndarray, Callable[..., Any], float]] = {
    "beta": (RNG.uniform(0.01, 80, 40), RNG.uniform(0.01, 80, 40), m.beta, 12),
    "betaln": (RNG.uniform(0.01, 80, 40), RNG.uniform(0.01, 1e4, 40),
               lambda a, b: m.log(m.beta(a, b)), 30),
    "zeta": (RNG.uniform(1.05, 30, 40), RNG.uniform(0.05, 50, 40), m.zeta, 30),
    "polygamma": (RNG.integers(0, 6, 40), RNG.uniform(0.05, 50, 40), m.polygamma, 30),
    "expn": (RNG.integers(0, 12, 60), np.repeat([1, 50], 30) * RNG.uniform(1e-3, 1.2, 60),
             m.expint, 40),
    "gammainc": (NUMBERS, AROUND,
                 lambda a, x: m.gammainc(a, 0, x, regularized=True), 60),
    "gammaincc": (NUMBERS, AROUND,
                  lambda a, x: m.gammainc(a, x, regularized=True), 100),
    "boxcox": (RNG.uniform(1.5, 5, 40), RNG.uniform(-3, 3, 40), lambda x, p: (x**p - 1) / p, 8),
    "boxcox1p": (RNG.uniform(1e-9, 5, 40), RNG.uniform(-3, 3, 40),
                 lambda x, p: m.expm1(p * m.log1p(x)) / p, 8),
    "poch": (RNG.uniform(0.1, 60, 40), RNG.uniform(-0.1, 60, 40),
             lambda z, n: m.gamma(z + n) / m.gamma(z), 20),
    "xlogy": (RNG.uniform(-5, 5, 40), RNG.uniform(0.05, 50, 40), lambda x, y: x * m.log(y), 3),
    "xlog1py": (RNG.uniform(-5, 5, 40), RNG.uniform(-0.9, 5, 40), lambda x, y: x * m.log1p(y), 3),
    "rel_entr": (RNG.uniform(0.1, 5, 40), RNG.uniform(0.1, 5, 40),
                 lambda x, y: x * m.log(x / y), 4),
}  # fmt: skip


def assert_near(got: np.ndarray, want: list[Any], ulp: float) -> None:
    expected = np.array([float(w) for w in want])
    away = np.abs(got - expected) / np.spacing(np.abs(expected))
    worst = int(np.argmax(away))
    assert away[worst] <= ulp, (worst, got[worst], expected[worst], away[worst])


@pytest.mark.parametrize("name", EXACT)
def test_values_are_right_to_a_few_ulp(name: str):
    points, exact, ulp = EXACT[name]
    with m.workdps(60):
        want = [exact(m.mpf(float(x))) for x in points]
        narrow = points.astype(np.float32)
        rounded = np.array([float(exact(m.mpf(float(x)))) for x in narrow[np.abs(narrow) < 1]])
    assert_near(getattr(special, name)(points), want, ulp)
    got = getattr(special, name)(narrow[np.abs(narrow) < 1])
    assert got.dtype == np.float32
    np.testing.assert_array_max_ulp(got, rounded.astype(np.float32), 1)


@pytest.mark.parametrize("name", PAIRS)
def test_values_of_pairs_are_right_to_a_few_ulp(name: str):
    x, y, exact, ulp = PAIRS[name]
    with m.workdps(120):
        want = [exact(a if x.dtype.kind == "i" else m.mpf(float(a)), m.mpf(float(b)))
                for a, b in zip(x.tolist(), y)]  # fmt: skip
    assert_near(getattr(special, name)(x, y), want, ulp)


@pytest.mark.slow
def test_compiled_values_are_those_of_the_evaluator():
    def program(x: Any) -> Any:
        return {name: getattr(special, name)(x) for name in EXACT}

    points = np.array([0.3, 0.7, 0.01])
    for name, got in tfc.jit(program)(points).items():
        np.testing.assert_array_max_ulp(got, getattr(special, name)(points), 8)


SPECIAL = np.array([0.0, -0.0, 1, 2, -1, -2, 0.5, np.inf, -np.inf, np.nan, 1e300, 172, -0.5, 20])


@pytest.mark.parametrize("name", sorted(set(EXACT) - {"erf"}))
def test_special_values_are_scipys(name: str):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        want = getattr(scipy.special, name)(SPECIAL)
    if name == "gammaln":
        want[-np.inf == SPECIAL] = np.inf  # as C's lgamma
    if name == "spence":
        want[np.inf == SPECIAL] = -np.inf  # the limit
    np.testing.assert_allclose(getattr(special, name)(SPECIAL), want, rtol=1e-13)


@pytest.mark.parametrize(
    "name", ["xlogy", "xlog1py", "rel_entr", "kl_div", "gammainc", "gammaincc", "boxcox"]
)
def test_special_values_of_pairs_are_scipys(name: str):
    x, y = (v.ravel() for v in np.meshgrid(SPECIAL, SPECIAL))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        want = getattr(scipy.special, name)(x, y)
    finite = np.isfinite(x) & np.isfinite(y)
    got = getattr(special, name)(x, y)
    np.testing.assert_allclose(got[finite], want[finite], rtol=1e-12, atol=1e-300)


def difference(function: Callable[..., Any], xs: list[np.ndarray], place: int) -> np.ndarray:
    step = 1e-5
    sides = []
    for sign in (1, -1, 2, -2):
        moved = list(xs)
        moved[place] = xs[place] + sign * step
        sides.append(function(*moved))
    return (8 * (sides[0] - sides[1]) - (sides[2] - sides[3])) / (12 * step)


LONG = {"beta", "betaln", "polygamma", "zeta", "gamma", "factorial", "gammainc"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=[pytest.mark.slow] if n in LONG else [])
        for n in (*EXACT, *PAIRS, "kl_div", "sinc")
    ],
)
def test_derivatives_are_differences_of_values(name: str):
    inside = np.array([0.2, 0.45, 0.83])
    xs = [inside] if name in EXACT or name == "sinc" else [inside + 0.1, inside[::-1] + 1.3]
    if name == "zeta":
        xs[0] = xs[0] + 1.5
    if name == "polygamma":
        xs[0] = np.array([0.0, 1, 2])
    function = getattr(special, name)
    if name == "expn":
        xs[0] = np.array([0, 1, 3])
    places = [1] if name in ("zeta", "polygamma", "expn") else range(len(xs))
    for place in places:
        got = tfc.grad(lambda *xs: tnp.sum(function(*xs)), place)(*xs)
        want = difference(function, xs, place)
        np.testing.assert_allclose(got, want, rtol=2e-8, atol=1e-9)


def test_derivatives_by_orders_are_refused():
    for function in (special.zeta, special.polygamma):
        with pytest.raises(TraceError, match="by its last argument alone"):
            tfc.grad(lambda n, f=function: f(n, 2.0))(np.float64(3))


def test_derivatives_of_second_order_exist():
    slope = tfc.grad(tfc.grad(special.gammaln))(np.float64(2.5))
    np.testing.assert_allclose(slope, scipy.special.polygamma(1, 2.5), rtol=1e-14)
    np.testing.assert_allclose(tfc.grad(tfc.grad(special.erfinv))(np.float64(0.0)), 0, atol=1e-15)
    assert tfc.grad(special.logit)(np.float64(0.5)) == 4


def test_counts_are_whole_numbers():
    n, k = np.arange(-1, 25)[:, None], np.arange(-1, 25)
    np.testing.assert_array_equal(special.comb(n, k), scipy.special.comb(n, k))
    np.testing.assert_array_equal(
        special.factorial(np.arange(10)), [math.factorial(i) for i in range(10)]
    )
    a = np.array([2.5, 7])
    got, want = special.multigammaln(a, 3), scipy.special.multigammaln(a, 3)
    np.testing.assert_allclose(got, want, rtol=1e-14)
    with pytest.raises(ShapeError, match="d of 1 or more"):
        special.multigammaln(a, 0)


def test_sums_of_exponentials_are_scipys():
    a, b = RNG.standard_normal((3, 4)) * 300, RNG.standard_normal((3, 4))
    for axis in (None, 0, (0, 1)):
        for keepdims in (False, True):
            got = special.logsumexp(a, axis, b, keepdims, return_sign=True)
            want = scipy.special.logsumexp(a, axis, b, keepdims, return_sign=True)
            for found, expected in zip(got, want):
                np.testing.assert_allclose(found, expected, rtol=1e-13)
        np.testing.assert_allclose(special.softmax(a, axis), scipy.special.softmax(a, axis))
        np.testing.assert_allclose(special.log_softmax(a, axis), scipy.special.log_softmax(a, axis))
    assert special.logsumexp(np.array([-np.inf, -np.inf])) == -np.inf


def test_integers_become_float64_and_narrow_floats_stay():
    assert special.gammaln(np.arange(1, 4)).dtype == np.float64
    assert special.erfc(np.float16(1)).dtype == np.float16
    assert special.xlogy(np.float32(1), 2.0).dtype == np.float32
    with pytest.raises(TraceError, match="digamma is not defined for complex numbers"):
        special.digamma(np.array([1j]))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_the_exact_gelu_keeps_its_digits_far_to_the_left(dtype: str):
    x = np.concatenate([np.linspace(-13, 6, 60), [-0.5, 0.5, 0, 40]]).astype(dtype)
    exact = np.array([float(m.mpf(float(v)) * m.ncdf(m.mpf(float(v)))) for v in x])
    got = tfc.jit(lambda x: tfc.nn.gelu(x, approximate=False))(x)
    assert got.dtype == x.dtype
    least = float(tnp.finfo(x.dtype).tiny)
    ulps = {"float32": 8, "float64": 12}.get(dtype, 1)
    allowed = ulps * float(tnp.finfo(x.dtype).eps)
    np.testing.assert_allclose(got.astype(np.float64), exact, rtol=allowed, atol=least)


def test_the_slope_of_the_exact_gelu_is_that_of_its_values():
    x = np.array([-9, -2, -0.3, 0, 0.7, 4], np.float32)
    got = tfc.jit(tfc.vmap(tfc.grad(lambda x: tfc.nn.gelu(x, approximate=False))))(x)
    wide = x.astype(np.float64)
    want = scipy.special.ndtr(wide) + wide * np.exp(-wide * wide / 2) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(got, want, rtol=2e-5)
