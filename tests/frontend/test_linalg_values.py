"""tfc.linalg against NumPy and SciPy: factors by what they make together, the rest by its values.

Sizes go from none to several panels; matrices are ordinary, degenerate, singular, zero, very large
and very small.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import tfc
import tfc.numpy as tnp
from tfc import linalg
from tfc.errors import ShapeError, TraceError

RNG = np.random.default_rng(3)
DTYPES = [np.float32, np.float64, np.complex64, np.complex128]


def normal(dtype: Any, *shape: int) -> np.ndarray:
    x = RNG.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * RNG.standard_normal(shape)
    return x.astype(dtype)


def adjoint(x: np.ndarray) -> np.ndarray:
    return x.conj().swapaxes(-1, -2)


def symmetric(dtype: Any, *shape: int) -> np.ndarray:
    x = normal(dtype, *shape)
    return x + adjoint(x)


def near(got: Any, want: Any, units: float = 60) -> None:
    """The same shape and dtype, and values within some epsilons of the largest one."""
    got, want = np.asarray(got), np.asarray(want)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    if got.dtype.kind in "biu":
        np.testing.assert_array_equal(got, want)
        return
    room = units * np.finfo(got.dtype).eps * max(1.0, float(np.abs(want).max(initial=0)))
    np.testing.assert_allclose(got, want, rtol=0, atol=room)


def orthonormal(q: np.ndarray) -> None:
    near(
        adjoint(q) @ q,
        np.broadcast_to(np.eye(q.shape[-1], dtype=q.dtype), (*q.shape[:-2],) + (q.shape[-1],) * 2),
    )


A, B = "square", "rectangle"
# name: the call in tfc and in NumPy; the operand that it takes.
SAME: dict[str, tuple[Callable[..., Any], Callable[..., Any] | None, str]] = {
    "det": (linalg.det, np.linalg.det, A),
    "slogdet": (linalg.slogdet, np.linalg.slogdet, A),
    "inv": (linalg.inv, np.linalg.inv, A),
    "solve": (lambda a: linalg.solve(a, a[..., :2]), lambda a: np.linalg.solve(a, a[..., :2]), A),
    "solve a vector": (lambda a: linalg.solve(a, a[0, 0]),
                       lambda a: np.linalg.solve(a, a[0, 0]), A),
    "matrix_power": (lambda a: linalg.matrix_power(a, 5),
                     lambda a: np.linalg.matrix_power(a, 5), A),
    "power of inverse": (lambda a: linalg.matrix_power(a, -2),
                         lambda a: np.linalg.matrix_power(a, -2), A),
    "pinv": (linalg.pinv, np.linalg.pinv, B),
    "matrix_rank": (linalg.matrix_rank, np.linalg.matrix_rank, B),
    "rank by tol": (lambda a: linalg.matrix_rank(a, 1.0),
                    lambda a: np.linalg.matrix_rank(a, 1.0), B),
    "cond": (linalg.cond, np.linalg.cond, B),
    "cond 1": (lambda a: linalg.cond(a, 1), lambda a: np.linalg.cond(a, 1), A),
    "svdvals": (linalg.svdvals, np.linalg.svdvals, B),
    "eigvalsh": (linalg.eigvalsh, np.linalg.eigvalsh, A),
    "eigvalsh U": (lambda a: linalg.eigvalsh(a, "U"), lambda a: np.linalg.eigvalsh(a, "U"), A),
    "expm": (linalg.expm, scipy.linalg.expm, A),
    "trace": (linalg.trace, np.linalg.trace, B),
    "diagonal": (lambda a: linalg.diagonal(a, offset=-1),
                 lambda a: np.linalg.diagonal(a, offset=-1), B),
    "qr r": (lambda a: linalg.qr(a, "r"), lambda a: np.linalg.qr(a, "r"), B),
    "qr raw": (lambda a: linalg.qr(a, "raw"), lambda a: np.linalg.qr(a, "raw"), B),
    "lstsq": (lambda a: linalg.lstsq(a[0], a[0, :, :2]),
              lambda a: np.linalg.lstsq(a[0], a[0, :, :2]), B),
    "lu_solve": (lambda a: linalg.lu_solve(linalg.lu_factor(a), a[..., :2], trans=1),
                 lambda a: np.linalg.solve(a.swapaxes(-1, -2), a[..., :2]), A),
    "cho_solve": (lambda a: linalg.cho_solve(linalg.cho_factor(_definite(a)), a),
                  lambda a: np.linalg.solve(_definite(a), a), A),
    "tensorinv": (lambda a: linalg.tensorinv(a[0].reshape(2, 2, 4)),
                  lambda a: np.linalg.tensorinv(a[0].reshape(2, 2, 4)), A),
    "tensorsolve": (lambda a: linalg.tensorsolve(a[0].reshape(2, 2, 4), a[0, :2, :2]),
                    lambda a: np.linalg.tensorsolve(a[0].reshape(2, 2, 4), a[0, :2, :2]), A),
}  # fmt: skip
for _ord in (None, "fro", "nuc", 2, -2, 1, -1, np.inf, -np.inf):
    SAME[f"norm {_ord}"] = (lambda a, o=_ord: linalg.norm(a, o, (0, -1)),
                            lambda a, o=_ord: np.linalg.norm(a, o, (0, -1)), B)  # fmt: skip
for _ord in (2, 1, 0, np.inf, -np.inf, 3, -1.5):
    SAME[f"vector_norm {_ord}"] = (
        lambda a, o=_ord: linalg.vector_norm(a, ord=o, axis=(0, 2), keepdims=True),
        lambda a, o=_ord: np.linalg.vector_norm(a, ord=o, axis=(0, 2), keepdims=True), B,
    )  # fmt: skip


def _definite(a: Any) -> Any:
    conj = tnp.conj(a) if isinstance(a, tfc.Tensor) else a.conj()
    return a @ conj.swapaxes(-1, -2) + np.eye(4, dtype=a.dtype)


def parts(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


QUICK = ("det", "solve", "svdvals", "eigvalsh", "qr r", "lstsq")


def check_compiled(dtype: Any, names: tuple[str, ...]) -> None:
    given = {A: normal(dtype, 3, 4, 4), B: normal(dtype, 3, 5, 3)}
    program = tfc.jit(lambda given: {n: SAME[n][0](given[SAME[n][2]]) for n in names})
    for name, got in program(given).items():
        _, reference, which = SAME[name]
        for found, want in zip(parts(got), parts(reference(given[which])), strict=True):
            near(found, want, units=4000)


def test_compiled_values_and_dtypes_are_numpys():
    check_compiled(np.float64, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
def test_all_compiled_values_and_dtypes_are_numpys(dtype: Any):
    check_compiled(dtype, tuple(SAME))


@pytest.mark.parametrize("name", SAME)
def test_values_outside_of_traces_are_numpys(name: str):
    call, reference, which = SAME[name]
    x = normal(np.float64, *((2, 4, 4) if which is A else (2, 3, 5)))
    if which is B and name == "lstsq":
        x = normal(np.float64, 2, 5, 3)
    for found, want in zip(parts(call(x)), parts(reference(x)), strict=True):
        near(found, want, units=4000)


def check_svd(a: np.ndarray, full: bool) -> None:
    u, s, vh = linalg.svd(a, full_matrices=full)
    count = s.shape[-1]
    orthonormal(u)
    orthonormal(adjoint(vh))
    assert (s >= 0).all()
    assert (np.diff(s, axis=-1) <= 0).all()
    near(u[..., :count] * s[..., None, :] @ vh[..., :count, :] / scale(a), a / scale(a))
    assert u.shape[-1] == (a.shape[-2] if full else count)


def scale(a: np.ndarray) -> np.ndarray:
    """A power of two near the largest element."""
    largest = float(np.abs(a).max(initial=0))
    return np.exp2(np.floor(np.log2(largest))).astype(a.real.dtype) if largest else np.array(1)


def check_factors(a: np.ndarray) -> None:
    """Everything that is stated by what the factors make together."""
    check_svd(a, full=False)
    check_svd(a, full=True)
    for mode in ("reduced", "complete"):
        q, r = linalg.qr(a, mode)
        orthonormal(q)
        near(q @ r / scale(a), a / scale(a))
        near(np.tril(r, -1), np.zeros_like(r), 0)
    p, lower, upper = linalg.lu(a)
    near(p @ (lower @ upper) / scale(a), a / scale(a))
    near(np.triu(lower, 1) + np.tril(upper, -1).sum(), np.zeros_like(lower), 0)
    assert (np.abs(lower) <= 1.5).all()
    joined, upper = linalg.lu(a, permute_l=True)
    near(joined @ upper / scale(a), a / scale(a))


def check_eigen(a: np.ndarray) -> None:
    w, v = linalg.eigh(a)
    orthonormal(v)
    assert (np.diff(w, axis=-1) >= 0).all()
    near(a / scale(a) @ v, v * (w / scale(a))[..., None, :])
    near(w / scale(a), np.linalg.eigvalsh(a / scale(a)))


SPECIAL = {
    "zero": np.zeros((4, 4)),
    "ones": np.ones((5, 5)),
    "identity": np.eye(5),
    "equal eigenvalues": np.kron(np.eye(3), [[0.0, 1], [1, 0]]),
    "rank one": np.outer(np.arange(6.0), np.arange(6.0)),
    "nearly singular": 1 / (1 + np.add.outer(np.arange(8.0), np.arange(8.0))),
    "very large": np.ones((4, 4)) * 1e300 + np.diag([1e299, 2e299, 0, 0]),
    "very small": np.diag([1e-300, -2e-290, 3e-305]),
    "graded": np.diag(10.0 ** -np.arange(0, 12, 2)) + 1e-14,
}


@pytest.mark.parametrize("name", SPECIAL)
def test_factors_of_special_matrices(name: str):
    check_factors(SPECIAL[name])
    check_eigen(SPECIAL[name])


@pytest.mark.parametrize(
    "shape", [(1, 1), (2, 2), (0, 0), (0, 3), (3, 0), (1, 4), (4, 1), (0, 2, 2), (2, 0, 3)], ids=str
)
def test_factors_of_small_and_of_empty_matrices(shape: tuple[int, ...]):
    a = normal(np.complex64, *shape)
    check_factors(a)
    if shape[-1] == shape[-2]:
        check_eigen(symmetric(np.complex64, *shape))
        near(linalg.det(a), np.linalg.det(a))
        near(linalg.inv(a), np.linalg.inv(a), 500)
        near(linalg.expm(a), scipy.linalg.expm(a), 500)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(65, 65), (130, 70), (70, 130), (96, 64)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_factors_of_several_panels(dtype: Any, shape: tuple[int, int]):
    a = normal(dtype, *shape)
    q, r = tfc.jit(linalg.qr)(a)
    orthonormal(q)
    near(q @ r, a)
    p, lower, upper = tfc.jit(linalg.lu)(a)
    near(p @ lower @ upper, a, 400)
    u, s, vh = tfc.jit(lambda a: linalg.svd(a, full_matrices=False))(a)
    orthonormal(u)
    orthonormal(adjoint(vh))
    near(u * s @ vh, a, 400)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
def test_eigenvectors_of_larger_matrices(dtype: Any):
    for size in (33, 256):
        a = symmetric(dtype, size, size)
        w, v = tfc.jit(linalg.eigh)(a)
        orthonormal(v)
        near(a @ v, v * w, 400)


def test_a_matrix_with_nan_gives_nan():
    a = np.array([[1.0, 2], [2, np.nan]])
    assert np.isnan(linalg.det(a))
    for found in (linalg.inv(a), linalg.eigvalsh(a), linalg.svdvals(a), linalg.norm(a)):
        assert np.isnan(found).any()


def test_singular_matrices_have_no_inverse_and_the_determinant_zero():
    a = np.array([[1.0, 2], [2, 4]])
    assert linalg.det(a) == 0
    assert linalg.slogdet(a) == (0, -np.inf)
    assert not np.isfinite(linalg.inv(a)).any()
    assert linalg.cond(np.zeros((2, 2)) + 1.0) > 1e15
    assert linalg.matrix_rank(a) == 1


def test_eigenvalues_of_general_matrices_are_numpys_and_need_values():
    a = np.array([[0.0, 1], [-1, 0]])
    near(linalg.eigvals(a), np.linalg.eigvals(a))
    assert linalg.eig(a).eigenvectors.shape == (2, 2)
    with pytest.raises(TraceError, match="use eigh or eigvalsh for symmetric ones"):
        tfc.jit(linalg.eig)(a)


def test_functions_say_what_matrices_they_require():
    tall = np.ones((3, 2))
    for function in (linalg.det, linalg.inv, linalg.eigh, linalg.expm, linalg.slogdet):
        with pytest.raises(ShapeError, match=r"requires square matrices, got f64\[3,2\]"):
            function(tall)
    for function in (linalg.qr, linalg.svd, linalg.lu, linalg.pinv):
        with pytest.raises(ShapeError, match="requires matrices"):
            function(np.ones(3))
    with pytest.raises(ShapeError, match="solve requires 2 rows on the right"):
        linalg.solve(np.eye(2), np.ones(3))
    with pytest.raises(TraceError, match="svd is not defined for f16"):
        linalg.svd(np.ones((2, 2), np.float16))
    with pytest.raises(ShapeError, match="mode reduced, complete, r or raw"):
        linalg.qr(tall, "full")
    with pytest.raises(ShapeError, match="no norm of order 'inf'"):
        linalg.norm(tall, "inf")
    with pytest.raises(ShapeError, match="no norm of order 3"):
        linalg.matrix_norm(tall, ord=3)


def test_integers_are_computed_in_float64():
    a = np.array([[2, 1], [1, 3]])
    near(linalg.inv(a), np.linalg.inv(a))
    near(linalg.matrix_power(a, 7), np.linalg.matrix_power(a, 7))
    near(linalg.svdvals(a), np.linalg.svd(a, compute_uv=False))


PRODUCTS: dict[str, tuple[Callable[[Any], Any], tuple[tuple[int, ...], ...]]] = {
    "cross": (lambda m: m.linalg.cross, ((4, 3), (3,))),
    "cross on an axis": (lambda m: lambda x, y: m.linalg.cross(x, y, axis=0), ((3, 2), (3, 2))),
    "outer": (lambda m: m.linalg.outer, ((3,), (4,))),
    "multi_dot": (lambda m: lambda *xs: m.linalg.multi_dot(xs), ((3, 9), (9, 2), (2, 7), (7,))),
    "multi_dot of rows": (lambda m: lambda *xs: m.linalg.multi_dot(xs), ((9,), (9, 2), (2, 3))),
    "tensordot": (lambda m: lambda x, y: m.linalg.tensordot(x, y, axes=1), ((2, 3), (3, 2))),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_numpys(name: str):
    call, shapes = PRODUCTS[name]
    for dtype in (np.int32, np.float32, np.complex128):
        xs = [(normal(np.float64, *s) * 5).astype(dtype) for s in shapes]
        near(call(tnp)(*xs), call(np)(*xs))


def test_matrices_made_of_others_are_scipys():
    blocks = [normal(np.float64, 2, 3), np.arange(2), np.float32(4)]
    near(linalg.block_diag(*blocks), scipy.linalg.block_diag(*blocks))
    c, r = normal(np.complex128, 4), normal(np.complex128, 3)
    near(linalg.toeplitz(c, r), scipy.linalg.toeplitz(c, r))
    near(linalg.toeplitz(c), scipy.linalg.toeplitz(c))
    packed, pivots = linalg.lu_factor(normal(np.float64, 4, 4))
    assert pivots.dtype == np.int32
    x = linalg.lu_solve((packed, pivots), np.eye(4))
    near(scipy.linalg.lu_solve((packed, pivots), np.eye(4)), x, 500)


def test_svd_of_hermitian_matrices_reads_one_triangle():
    a = symmetric(np.complex128, 5, 5)
    u, s, vh = linalg.svd(a, hermitian=True)
    near((u * s) @ vh, a)
    near(s, np.linalg.svd(a, compute_uv=False))
    near(linalg.svd(np.tril(a), hermitian=True, compute_uv=False), s)
    near(linalg.pinv(np.tril(a), hermitian=True), np.linalg.pinv(a), 500)


def test_numpys_own_functions_take_tensors():
    a = normal(np.float64, 3, 3)
    near(tfc.jit(lambda a: np.linalg.solve(a, np.ones(3)))(a), np.linalg.solve(a, np.ones(3)), 500)


STANDARD = (
    "cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank "
    "matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm"
)


def test_the_array_apis_extension_is_whole():
    assert set(STANDARD.split()) - set(linalg.__all__) == set()
    assert tnp.linalg is linalg
