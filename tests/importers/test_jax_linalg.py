"""Linear algebra of JAX, whose routines of LAPACK tfc computes by itself, beside JAX's results.

What is free in a factorization (signs, phases, an order) is compared by what must hold.
"""

from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
import pytest
from jax import lax

import tfc
import tfc.numpy as tnp
from tfc.errors import UnsupportedError

la = jnp.linalg
Function = Callable[..., Any]


def adjoint(a: Any) -> Any:
    return jnp.conj(jnp.swapaxes(a, -1, -2))


def rebuilt_svd(a: Any, full: bool = False) -> Any:
    u, s, vh = la.svd(a, full_matrices=full)
    count = s.shape[-1]
    back = (u[..., :count] * s[..., None, :]) @ vh[..., :count, :]
    return s, back, jnp.abs(u @ adjoint(u)) if full else jnp.abs(adjoint(u) @ u)


def rebuilt_eigh(a: Any, **options: Any) -> Any:
    w, v = la.eigh(a, **options)
    return w, (v * w[..., None, :]) @ adjoint(v), adjoint(v) @ v


def residual_eig(a: Any) -> Any:
    w, v = la.eig(a)
    return a @ v - v * w[..., None, :], la.norm(v, axis=-2)


def sorted_eigenvalues(a: Any) -> Any:
    w = la.eigvals(a)
    return jnp.sort(w.real), jnp.sort(jnp.abs(w.imag))


def residual_left(a: Any) -> Any:
    w, left, _ = lax.linalg.eig(a)
    return adjoint(left) @ a - w[..., None] * adjoint(left)


def rebuilt_schur(a: Any) -> Any:
    t, z = jsl.schur(a, output="complex")
    return z @ t @ adjoint(z), jnp.tril(t, -1), adjoint(z) @ z


def solved(left: bool, lower: bool, turned: bool, unit: bool) -> Function:
    return lambda a, b: lax.linalg.triangular_solve(
        a, b, left_side=left, lower=lower, transpose_a=turned, conjugate_a=turned,
        unit_diagonal=unit,
    )  # fmt: skip


def reflected(a: Any) -> Any:
    taus = a[0, :3] * 0.1
    return (
        lax.linalg.ormqr(a, taus, a),
        lax.linalg.ormqr(a, taus, a, transpose=True),
        lax.linalg.ormqr(a, taus, a.T, left=False),
        lax.linalg.householder_product(a, taus),
    )


def through_tridiagonal(a: Any) -> Any:
    w, v = jsl.eigh_tridiagonal(a[0].real, a[1, :-1].real)
    return w, jnp.abs(v)


# What is computed, and which of the matrices below it takes.
ROWS: dict[str, tuple[Function, str]] = {
    "cholesky": (la.cholesky, "positive"),
    "cholesky, upper": (lambda a: la.cholesky(a, upper=True), "positives"),
    "cholesky of no positive matrix": (lambda a: la.cholesky(-a), "positives"),
    "lu": (lax.linalg.lu, "tall"),
    "lu, wide": (jsl.lu, "wide"),
    "lu, stacked": (lax.linalg.lu, "stacked"),
    "lu of zeros": (lambda a: jsl.lu(a * 0), "square"),
    "lu_solve": (lambda a: jsl.lu_solve(jsl.lu_factor(a), a[:, 0], trans=1), "square"),
    "qr": (la.qr, "tall"),
    "qr, wide": (la.qr, "wide"),
    "qr, complete": (lambda a: la.qr(a, mode="complete"), "tall"),
    "qr, raw": (lambda a: la.qr(a, mode="raw"), "stacked"),
    "qr, pivots": (lambda a: jsl.qr(a, pivoting=True), "tall"),
    "qr, pivots, wide": (lambda a: jsl.qr(a, pivoting=True, mode="economic"), "wide"),
    "qr_multiply": (lambda a: jsl.qr_multiply(a, a.T), "tall"),
    "reflections": (reflected, "tall"),
    "eigh": (rebuilt_eigh, "positives"),
    "eigh, upper": (lambda a: rebuilt_eigh(a, UPLO="U", symmetrize_input=False), "square"),
    "eigvalsh": (la.eigvalsh, "positives"),
    "svd": (rebuilt_svd, "tall"),
    "svd, wide": (rebuilt_svd, "wide"),
    "svd, full": (lambda a: rebuilt_svd(a, full=True), "tall"),
    "svdvals": (la.svdvals, "stacked"),
    "svd, by QR": (lambda a: lax.linalg.svd(
        a, compute_uv=False, algorithm=lax.linalg.SvdAlgorithm.QR), "tall"),
    "matrix_rank": (la.matrix_rank, "tall"),
    "pinv": (la.pinv, "tall"),
    "lstsq": (lambda a: la.lstsq(a, a[:, 0])[0], "tall"),
    "cond": (la.cond, "square"),
    "norms": (lambda a: (la.norm(a, 2), la.norm(a, "nuc"), la.norm(a, -2), la.norm(a)), "square"),
    "inv": (la.inv, "stacked"),
    "det": (la.det, "stacked"),
    "slogdet": (la.slogdet, "stacked"),
    "solve": (lambda a: la.solve(a, a[0]), "stacked"),
    "solve, positive": (lambda a: jsl.solve(a, a[0], assume_a="pos"), "positive"),
    "matrix_power": (lambda a: la.matrix_power(a, -3), "square"),
    "tensorsolve": (lambda a: la.tensorsolve(a.reshape(4, 2, 2), a[0]), "square"),
    "eig": (residual_eig, "stacked"),
    "eig, left": (residual_left, "square"),
    "eigvals": (sorted_eigenvalues, "square"),
    "schur": (rebuilt_schur, "square"),
    "sqrtm": (jsl.sqrtm, "positive"),
    "hessenberg": (lambda a: jsl.hessenberg(a, calc_q=True), "square"),
    "tridiagonal": (lax.linalg.tridiagonal, "positives"),
    "tridiagonal_solve": (
        lambda a: lax.linalg.tridiagonal_solve(a[..., 0, :], a[..., 1, :], a[..., 2, :], a),
        "stacked",
    ),
    "eigh_tridiagonal": (through_tridiagonal, "square"),
    "polar": (jsl.polar, "square"),
    "expm": (jsl.expm, "square"),
    "cho_solve": (lambda a: jsl.cho_solve(jsl.cho_factor(a), a[0]), "positive"),
    "block_diag, toeplitz": (lambda a: (jsl.block_diag(a, a), jsl.toeplitz(a[0])), "square"),
    "multi_dot": (lambda a: la.multi_dot([a, a, a]), "square"),
    **{f"triangular_solve {n:04b}": (solved(*(bool(n & 1 << k) for k in range(4))), "pair")
       for n in range(16)},
}  # fmt: skip
QUICK = ("cholesky", "lu, stacked", "qr, raw", "svdvals", "triangular_solve 0101")


def matrices(kind: str, dtype: Any, generator: np.random.Generator) -> tuple[np.ndarray, ...]:
    """The arguments of a row."""
    dims = {"tall": (5, 3), "wide": (3, 5), "stacked": (2, 4, 4), "positives": (2, 4, 4),
            "pair": (2, 4, 4)}.get(kind, (4, 4))  # fmt: skip
    made = generator.normal(size=dims)
    if np.dtype(dtype).kind == "c":
        made = made + 1j * generator.normal(size=dims)
    made = made.astype(dtype)
    if kind.startswith("positive"):
        made = made @ np.swapaxes(made.conj(), -1, -2) + np.eye(4, dtype=dtype)
    if kind == "pair":
        return made + 3 * np.eye(4, dtype=dtype), made[:, ::-1].copy()
    return (made,)


def check(names: Iterable[str], dtype: Any, backend: str) -> None:
    """Compare what tfc and JAX compute, on one and the same machine's numbers."""
    tolerance = 2000 * float(np.finfo(dtype).eps)
    for number, name in enumerate(names):
        function, kind = ROWS[name]
        given = matrices(kind, dtype, np.random.default_rng(number))
        found = jax.tree_util.tree_leaves(tfc.from_jax(function, *given, backend=backend)(*given))
        expected = jax.tree_util.tree_leaves(jax.jit(function)(*given))
        assert len(found) == len(expected), name
        for got, wanted in zip(found, expected):
            assert got.dtype == wanted.dtype, name
            np.testing.assert_allclose(
                got, wanted, rtol=tolerance, atol=tolerance, err_msg=f"{name} {dtype}"
            )


def test_factorizations_are_those_of_jax():
    check(QUICK, np.float32, "interpreter")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_linear_algebra_is_that_of_jax(dtype: Any):
    with jax.enable_x64(np.finfo(dtype).bits == 64):
        check(ROWS, dtype, "interpreter")


@pytest.mark.slow
def test_compiled_linear_algebra_is_that_of_jax():
    check(("qr, complete", "svd", "eig, left", "solve", "tridiagonal_solve"), np.complex64, "cpu")


@pytest.mark.slow
def test_gradients_of_factorizations_are_those_of_jax():
    (a,) = matrices("positive", np.float32, np.random.default_rng(3))
    functions: tuple[Function, ...] = (
        lambda a: jnp.log(la.eigvalsh(a)).sum(), lambda a: la.slogdet(a)[1],
        lambda a: la.qr(a)[1].sum(), lambda a: la.cholesky(a).sum(), lambda a: la.svdvals(a).sum(),
    )  # fmt: skip
    for function in functions:
        f = tfc.from_jax(function, a)
        np.testing.assert_allclose(
            tfc.grad(lambda a, f=f: tnp.sum(f(a)))(a), jax.grad(function)(a), rtol=1e-3, atol=1e-4
        )
        many = np.stack([a, 2 * a])
        np.testing.assert_allclose(tfc.vmap(f)(many), jax.vmap(function)(many), rtol=1e-4)


def test_approximate_searches_are_exact():
    (a,) = matrices("stacked", np.float32, np.random.default_rng(4))

    def searched(a: Any) -> Any:
        return lax.approx_max_k(a, 2), lax.approx_min_k(a, 3, reduction_dimension=1)

    found = jax.tree_util.tree_leaves(tfc.from_jax(searched, a)(a))
    for got, wanted in zip(found, jax.tree_util.tree_leaves(searched(a))):
        np.testing.assert_array_equal(got, wanted)


def test_what_has_no_counterpart_is_refused_with_what_to_use():
    (a,) = matrices("square", np.float32, np.random.default_rng(5))
    with pytest.raises(UnsupportedError, match=r"use jax.scipy.linalg.schur.*output='complex'"):
        tfc.from_jax(jsl.schur, a)(a)
    with pytest.raises(UnsupportedError, match="tridiagonal is supported with lower=True only"):
        tfc.from_jax(lambda a: lax.linalg.tridiagonal(a, lower=False), a)(a)
