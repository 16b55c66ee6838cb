"""Derivatives of tfc.linalg against JAX, in both modes, and of second order against differences."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np
import pytest
from numpy.testing import assert_allclose

import tfc
import tfc.numpy as tnp
from tfc import linalg
from tfc.errors import TraceError

RNG = np.random.default_rng(21)


def weighted(m: Any, results: Any) -> Any:
    """One real number in which every element of the results has a weight of its own."""
    total = 0.0
    for result in results if isinstance(results, (tuple, list)) else [results]:
        weights = np.cos(1.0 + np.arange(result.size)).reshape(result.shape)
        parts = (m.real(result), m.imag(result)) if m.iscomplexobj(result) else (result,)
        for number, part in enumerate(parts):
            total = total + m.sum(part * (weights + number))
    return total


def both_ways(m: Any, x: Any) -> Any:
    """The mean of matrices and their adjoints."""
    return (x + m.conj(m.swapaxes(x, -1, -2))) / 2


def vectors_of(m: Any, v: Any) -> Any:
    """What eigenvectors, whose lengths are one and whose signs are free, have in common."""
    return m.abs(v) ** 2


# name: the call for either library, and the shapes of its operands.
CASES: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "solve": (lambda m, a, b: m.linalg.solve(a, b), ((3, 3), (3, 2))),
    "solve of many": (lambda m, a, b: m.linalg.solve(a, b), ((2, 3, 3), (3, 2))),
    "inv": (lambda m, a: m.linalg.inv(a), ((2, 3, 3),)),
    "det": (lambda m, a: m.linalg.det(a), ((2, 3, 3),)),
    "slogdet": (lambda m, a: tuple(m.linalg.slogdet(a)), ((2, 3, 3),)),
    "matrix_power": (lambda m, a: m.linalg.matrix_power(a, 3), ((3, 3),)),
    "cholesky": (lambda m, a: m.linalg.cholesky(
        a @ m.conj(m.swapaxes(a, -1, -2)) + np.eye(3)), ((2, 3, 3),)),
    "eigvalsh": (lambda m, a: m.linalg.eigvalsh(both_ways(m, a)), ((2, 3, 3),)),
    "eigh": (lambda m, a: vectors_of(m, m.linalg.eigh(both_ways(m, a))[1]), ((2, 4, 4),)),
    "qr": (lambda m, a: tuple(m.linalg.qr(a)), ((2, 4, 3),)),
    "qr of a square": (lambda m, a: tuple(m.linalg.qr(a)), ((3, 3),)),
    "svdvals": (lambda m, a: m.linalg.svd(a, compute_uv=False), ((2, 3, 4),)),
    "svd": (lambda m, a: [vectors_of(m, f) for f in m.linalg.svd(a, full_matrices=False)],
            ((2, 4, 3),)),
    "svd of a wide one": (
        lambda m, a: [vectors_of(m, f) for f in m.linalg.svd(a, full_matrices=False)], ((2, 4),)),
    "pinv": (lambda m, a: m.linalg.pinv(a, rtol=1e-10), ((2, 4, 3),)),
    "pinv of a wide one": (lambda m, a: m.linalg.pinv(a, rtol=1e-10), ((2, 4),)),
    "lstsq": (lambda m, a, b: m.linalg.lstsq(a, b)[0], ((4, 3), (4, 2))),
    "norm nuc": (lambda m, a: m.linalg.norm(a, "nuc"), ((4, 3),)),
    "norm 2": (lambda m, a: m.linalg.norm(a, 2), ((4, 3),)),
    "norm": (lambda m, a: m.linalg.norm(a, axis=-1), ((4, 3),)),
    "cond": (lambda m, a: m.linalg.cond(a), ((3, 3),)),
    "lu": (lambda m, a: (linalg if m is tnp else jax.scipy.linalg).lu(a)[1:], ((4, 3),)),
    "lu of a wide one": (
        lambda m, a: (linalg if m is tnp else jax.scipy.linalg).lu(a)[1:], ((3, 4),)),
    "expm": (lambda m, a: (linalg if m is tnp else jax.scipy.linalg).expm(a / 8), ((3, 3),)),
    "solve_triangular": (
        lambda m, a, b: (linalg if m is tnp else jax.scipy.linalg).solve_triangular(a, b, 1),
        ((3, 3), (3, 2))),
    "multi_dot": (lambda m, *xs: m.linalg.multi_dot(xs), ((2, 3), (3, 2), (2, 4))),
}  # fmt: skip


def operands(name: str, dtype: Any) -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    found = [rng.standard_normal(s) for s in CASES[name][1]]
    if np.dtype(dtype).kind == "c":
        found = [x + 1j * rng.standard_normal(x.shape) for x in found]
    # Far from singular, with eigenvalues far from each other.
    spread = [
        np.diag(np.arange(1.0, 1 + max(x.shape)))[: x.shape[-2], : x.shape[-1]] for x in found
    ]
    return [(x + 3 * d).astype(dtype) for x, d in zip(found, spread)]


QUICK = {("solve", np.float64), ("cholesky", np.complex128), ("eigh", np.float64),
         ("qr", np.complex128)}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        pytest.param(n, t, marks=[] if (n, t) in QUICK else [pytest.mark.slow])
        for n in CASES
        for t in (np.float64, np.complex128)
    ],
)
def test_gradients_are_jaxs_and_both_modes_agree(name: str, dtype: Any):
    call, _ = CASES[name]
    xs = operands(name, dtype)
    numbers = tuple(range(len(xs)))
    got = tfc.grad(lambda *xs: weighted(tnp, call(tnp, *xs)), numbers)(*xs)
    with jax.enable_x64(True):
        want = jax.grad(lambda *xs: weighted(jnp, call(jnp, *xs)), numbers)(*xs)
    for found, expected in zip(got, want):
        scale = float(np.abs(expected).max())
        assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * scale)
    directions = [np.ones_like(x) + x * 0.5 for x in xs]
    _, slope = tfc.jvp(lambda *xs: weighted(tnp, call(tnp, *xs)), xs, directions)
    together = sum(np.sum(np.real(g * d)) for g, d in zip(got, directions))
    assert_allclose(slope, together, rtol=1e-9, atol=1e-9)


def test_the_gradient_of_a_determinant_is_the_adjugate_of_singular_matrices_too():
    singular = [
        np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]]),  # whose second pivot is the one that is 0
        np.array([[1.0, 2, 3], [4, 5, 6], [5, 7, 9]]),
        np.ones((3, 3)),
        np.diag([2.0, 0, 3]),
    ]
    for a in singular:
        minors = [[np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(3)]
                  for i in range(3)]  # fmt: skip
        signs = (-1.0) ** np.add.outer(np.arange(3), np.arange(3))
        assert_allclose(tfc.grad(linalg.det)(a), signs * np.array(minors), atol=1e-13)


@pytest.mark.parametrize("name", ["solve", "eigvalsh", pytest.param("qr", marks=pytest.mark.slow),
                                  pytest.param("svdvals", marks=pytest.mark.slow),
                                  pytest.param("expm", marks=pytest.mark.slow),
                                  pytest.param("det", marks=pytest.mark.slow)])  # fmt: skip
def test_derivatives_of_second_order_are_differences_of_the_first(name: str):
    call, _ = CASES[name]
    x, *rest = operands(name, np.float64)
    direction = np.sin(1.0 + np.arange(x.size)).reshape(x.shape)
    slope = tfc.grad(lambda x: weighted(tnp, call(tnp, x, *rest)))
    got = tfc.grad(lambda x: tnp.sum(slope(x) * direction))(x)
    step = 1e-5
    moved = (slope(x + step * direction) - slope(x - step * direction)) / (2 * step)
    assert_allclose(got, moved, rtol=1e-5, atol=1e-6 * np.abs(moved).max())


def test_what_has_no_derivative_says_so():
    a = np.ones((3, 2)) + np.eye(3, 2)
    with pytest.raises(TraceError, match="give full_matrices=False"):
        tfc.grad(lambda a: tnp.sum(linalg.svd(a)[0]))(a)
    with pytest.raises(TraceError, match="give the mode 'reduced'"):
        tfc.grad(lambda a: tnp.sum(linalg.qr(a, "complete")[0]))(a)
    with pytest.raises(TraceError, match="give the mode 'reduced'"):
        tfc.grad(lambda a: tnp.sum(linalg.qr(a, "raw")[0]))(a)


def test_eigenvalues_alone_have_derivatives_where_they_are_equal():
    def total(a):
        return tnp.sum(linalg.eigh(a).eigenvalues)

    assert_allclose(tfc.grad(total)(np.eye(3)), np.eye(3), atol=1e-15)


def test_solves_with_the_adjoint_of_a_triangle_have_jaxs_gradients():
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal((3, n)) + 1j * rng.standard_normal((3, n)) for n in (3, 2))
    for trans in (0, 1, 2):
        got = tfc.grad(
            lambda a, b, t=trans: weighted(tnp, linalg.solve_triangular(a, b, t)), (0, 1)
        )(a, b)
        with jax.enable_x64(True):
            want = jax.grad(
                lambda a, b, t=trans: weighted(jnp, jax.scipy.linalg.solve_triangular(a, b, t)),
                (0, 1),
            )(a, b)
        for found, expected in zip(got, want):
            assert_allclose(found, expected, rtol=1e-12)
