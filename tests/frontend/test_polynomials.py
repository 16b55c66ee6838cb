"""Convolution of sequences and polynomials, against NumPy, and their derivatives against JAX."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import tfc
import tfc.numpy as tnp
from tfc.errors import ShapeError, TraceError

RNG = np.random.default_rng(4)
P, Q = np.array([2.0, -3, 0.5, 4]), np.array([1.5, -2])


def alike(got: Any, want: Any) -> None:
    got, want = np.asarray(got), np.asarray(want)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    assert_allclose(got, want, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_sequences_are_convolved_as_numpy_does(name: str, mode: str):
    for sizes in ((5, 3), (3, 5), (4, 4), (6, 4), (1, 3), (5, 2)):
        for dtype in (np.float64, np.complex128, np.int32, np.bool_):
            x, y = (RNG.integers(-3, 4, n).astype(dtype) for n in sizes)
            if dtype is np.complex128:
                x, y = x + 1j * x[::-1], y - 2j
            alike(getattr(tnp, name)(x, y, mode), getattr(np, name)(x, y, mode))
    alike(tfc.jit(lambda x, y: getattr(tnp, name)(x, y, mode))(P, Q), getattr(np, name)(P, Q, mode))


# name: calls in either library.
CALLS: dict[str, list[Any]] = {
    "polyval": [lambda m, p, q: m.polyval(p, q), lambda m, p, q: m.polyval([1, 2], 3),
                lambda m, p, q: m.polyval(np.cos(np.arange(40.0)), q / 3)],
    "polyadd": [lambda m, p, q: m.polyadd(p, q), lambda m, p, q: m.polyadd(q, p)],
    "polysub": [lambda m, p, q: m.polysub(p, q), lambda m, p, q: m.polysub(q, p)],
    "polymul": [lambda m, p, q: m.polymul(p, q)],
    "polydiv": [lambda m, p, q: m.polydiv(p, q), lambda m, p, q: m.polydiv(q, p),
                lambda m, p, q: m.polydiv(p, 2), lambda m, p, q: m.polydiv([5, 1, 3], [2, 7])],
    "polyder": [lambda m, p, q: m.polyder(p), lambda m, p, q: m.polyder(p, 2),
                lambda m, p, q: m.polyder([3, 4, 5])],
    "polyint": [lambda m, p, q: m.polyint(p), lambda m, p, q: m.polyint(p, 2, [3, 4.0]),
                lambda m, p, q: m.polyint([3, 4], k=2)],
    "poly": [lambda m, p, q: m.poly(p), lambda m, p, q: m.poly([])],
    "polyfit": [lambda m, p, q: m.polyfit(np.arange(4.0), p, 2),
                lambda m, p, q: m.polyfit(np.arange(4.0), p, 1, w=np.arange(4) + 1, cov=True),
                lambda m, p, q: m.polyfit(np.arange(4.0), np.stack([p, -p], 1), 1, cov="unscaled"),
                lambda m, p, q: m.polyfit(np.arange(4.0), p, 2, full=True)],
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_polynomials_are_numpys(name: str):
    for call in CALLS[name]:
        got, want = call(tnp, P, Q), call(np, P, Q)
        listed = isinstance(want, tuple)
        for found, expected in zip(got if listed else [got], want if listed else [want]):
            assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
            assert np.shape(found) == np.shape(expected)


def test_compiled_polynomials_are_numpys():
    calls = [call for name in ("polyval", "polydiv", "polyint", "poly") for call in CALLS[name]]
    for got, call in zip(tfc.jit(lambda p, q: [c(tnp, p, q) for c in calls])(P, Q), calls):
        want = call(np, P, Q)
        for found, expected in zip(got, want) if isinstance(want, tuple) else [(got, want)]:
            assert_allclose(found, expected, rtol=1e-10)


def test_roots_need_values():
    alike(tnp.roots(P), np.roots(P))
    alike(tnp.poly(np.diag([1.0, 2])), np.poly(np.diag([1.0, 2])))
    with pytest.raises(TraceError, match="roots of a polynomial are eigenvalues"):
        tfc.jit(tnp.roots)(P)
    with pytest.raises(TraceError, match="poly of a matrix needs its eigenvalues"):
        tfc.jit(tnp.poly)(np.eye(2))


@pytest.mark.parametrize("name", ["convolve", "correlate", "polyval", "polymul"])
def test_gradients_are_jaxs(name: str):
    def total(m: Any) -> Any:
        return lambda p, q: m.sum(m.sin(getattr(m, name)(p, q)))

    got = tfc.grad(total(tnp), (0, 1))(P, Q)
    with jax.enable_x64(True):
        want = jax.grad(total(jnp), (0, 1))(P, Q)
    for found, expected in zip(got, want):
        assert_allclose(found, expected, rtol=1e-10)


def test_what_is_no_sequence_is_refused():
    for call in (
        lambda: tnp.convolve(np.eye(2), P),
        lambda: tnp.convolve([], P),
        lambda: tnp.correlate(P, Q, "other"),
        lambda: tnp.polyval(np.eye(2), 1),
        lambda: tnp.polyadd(np.eye(2), P),
        lambda: tnp.polyder(P, -1),
        lambda: tnp.polyint(P, 2, [1, 2, 3]),
        lambda: tnp.polyfit(P, Q, 1),
        lambda: tnp.polyfit(P, P, -1),
        lambda: tnp.roots(np.eye(2)),
    ):
        with pytest.raises(ShapeError):
            call()
