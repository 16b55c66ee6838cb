"""LAPACK's routines as JAX calls them, by tfc's own factorizations: a function of Tensors for each.

    @_lapack("potrf")
    def cholesky_factor(config: Config, a: Tensor) -> Results: …

A function takes what the call states and its operands, in JAX's order, and gives all results.
Matrices lie in the last two dimensions; layouts are none of their business. The letters of LAPACK's
options come as their ASCII codes. A result `info` is 0 where the routine succeeded; one that is
None is memory that a routine writes to, and that JAX does not read: it becomes zeros.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.errors import UnsupportedError
from tfc.frontend.linalg import householder, schur
from tfc.frontend.linalg.factors import (
    eigen_of,
    full_svd_of,
    lu_of,
    singular_values_of,
    svd_of,
)
from tfc.frontend.linalg.matrices import (
    absolute,
    adjoint,
    along,
    diagonals,
    is_,
    largest,
    lower_triangle,
    numbers,
    product,
    real,
    upper_triangle,
    where,
)
from tfc.frontend.linalg.spectral import one_triangle
from tfc.frontend.linalg.tridiagonal import solve_tridiagonal
from tfc.frontend.numpy.parts import is_complex
from tfc.frontend.operations import compare, convert, full, iota, operation, reduce
from tfc.frontend.tensor import Tensor
from tfc.hlo.shape import PRED, S32

Results = Sequence[Tensor | None]
Routine = Callable[..., Results]


@dataclass(frozen=True)
class Config:
    """What a call states beside its operands: numbers, booleans and LAPACK's letters."""

    values: dict[str, Any]

    def letter(self, name: str, allowed: str) -> str:
        """One of LAPACK's options.

        Raises:
            UnsupportedError: it is absent, or none of those that are allowed.
        """
        code = self.values.get(name)
        found = chr(code) if isinstance(code, int) and 0 < code < 128 else str(code)
        if found not in allowed:
            raise UnsupportedError(f"{name} must be one of {', '.join(allowed)}, got {found}")
        return found

    def flag(self, name: str) -> bool:
        """A boolean; False if it is absent."""
        return bool(self.values.get(name, False))


LAPACK: dict[str, Routine] = {}
OTHERS: dict[str, Routine] = {}
# What of JAX calls a routine, which may have no function here, or be for a GPU.
CALLERS = {
    "potrf": "jax.numpy.linalg.cholesky", "cholesky_update": "jax.lax.linalg.cholesky_update",
    "getrf": "jax.scipy.linalg.lu", "geqr": "jax.numpy.linalg.qr", "gqr": "jax.numpy.linalg.qr",
    "mqr": "jax.lax.linalg.ormqr", "syev": "jax.numpy.linalg.eigh", "gesv": "jax.numpy.linalg.svd",
    "gesdd": "jax.numpy.linalg.svd", "geev": "jax.numpy.linalg.eig",
    "gees": "jax.scipy.linalg.schur", "trsm": "jax.lax.linalg.triangular_solve",
    "trd": "jax.lax.linalg.tridiagonal", "gtsv": "jax.lax.linalg.tridiagonal_solve",
    "syrk": "jax.lax.linalg.symmetric_product", "threefry": "jax.random",
    "lu_pivots": "jax.lax.linalg.lu_pivots_to_permutation",
    "callback": "jax.pure_callback", "csr": "jax.experimental.sparse",
    "coo": "jax.experimental.sparse",
}  # fmt: skip


def _lapack(*names: str) -> Callable[[Routine], Routine]:
    def enter(function: Routine) -> Routine:
        LAPACK.update(dict.fromkeys(names, function))
        return function

    return enter


def _info(failed: Tensor) -> Tensor:
    """1 where something failed, else 0."""
    return convert(failed, S32)


def _none_failed(a: Tensor) -> Tensor:
    return full(0, a.shape[:-2], S32)


def _has_nan(a: Tensor) -> Tensor:
    """Which of the matrices have a NaN."""
    return reduce(compare("NE", a, a), "or", False, [a.ndim - 2, a.ndim - 1])


@_lapack("potrf")
def cholesky_factor(config: Config, a: Tensor) -> Results:
    """(factor, info): the factor's triangle, zeros in the other."""
    lower = config.letter("uplo", "LU") == "L"
    factor = operation("cholesky", a, lower=lower)
    return factor, _info(_has_nan(factor))


@_lapack("getrf")
def lu_factors(_: Config, a: Tensor) -> Results:
    """(packed, pivots counted from 1, info: the first column without a pivot)."""
    packed, _order, pivots = lu_of(a)
    count = min(a.shape[-2:])
    if not a.size:
        return packed, convert(pivots, S32), _none_failed(a)
    is_zero = is_("EQ", absolute(diagonals(packed)), 0)
    places = where(is_zero, count - numbers(count, is_zero.ndim, is_zero.ndim - 1), 0)
    last = largest(places, [-1])
    info = where(is_("EQ", last, 0), 0, count + 1 - last)
    return packed, convert(pivots, S32) + 1, convert(info, S32)


@_lapack("geqrf")
def qr_reflections(_: Config, a: Tensor) -> Results:
    """(packed, taus)."""
    return householder.factor(a)


@_lapack("geqp3")
def qr_with_pivots(_: Config, a: Tensor, order: Tensor) -> Results:
    """(packed, columns counted from 1, taus).

    All columns are free to move: JAX gives an `order` of zeros, which says so.
    """
    counted = iota(S32, order.shape, order.ndim - 1) + 1
    return householder.factor_with_pivots(a, counted)


@_lapack("orgqr", "ungqr")
def q_of_reflections(_: Config, packed: Tensor, taus: Tensor) -> Results:
    """The columns of Q, as many as the packed matrix has."""
    return (householder.orthogonal(packed, taus, packed.shape[-1]),)


@_lapack("ormqr", "unmqr")
def product_with_q(config: Config, packed: Tensor, taus: Tensor, c: Tensor) -> Results:
    """Q c, c Q, or these with the adjoint of Q."""
    q = householder.orthogonal(packed, taus, packed.shape[-2])
    q = adjoint(q) if config.flag("transpose") else q
    return (product(q, c) if config.flag("left") else product(c, q),)


@_lapack("syevd", "heevd")
def hermitian_eigenvectors(config: Config, a: Tensor) -> Results:
    """(eigenvectors, eigenvalues, info)."""
    values, vectors = eigen_of(one_triangle("eigh", a, config.letter("uplo", "LU")))
    return vectors, values, _none_failed(a)


@_lapack("gesdd", "gesvd")
def singular_vectors(config: Config, a: Tensor) -> Results:
    """(a, which LAPACK overwrites, singular values, u, vᴴ, info)."""
    mode = config.letter("mode", "ASN")
    rows, columns = a.shape[-2:]
    if mode == "N":
        return a, singular_values_of(a), None, None, _none_failed(a)
    is_full = mode == "A" and rows != columns
    u, values, vh = full_svd_of(a) if is_full else svd_of(a)
    return a, values, u, vh, _none_failed(a)


def _schur(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(T, Z, info) of matrices of any kind."""
    kind = a.array_shape.element_type
    given = a if is_complex(a) else operation("complex", a, full(0, a.shape, kind))
    t, z, found = schur.schur(given)
    return t, z, _info(compare("EQ", found, full(False, found.shape, PRED)))


@_lapack("geev")
def eigenvectors(config: Config, a: Tensor) -> Results:
    """(values, left, right, info); of real matrices, the values' real and imaginary parts."""
    t, z, info = _schur(a)
    values = diagonals(t)
    wants = {n: config.letter(f"compute_{n}", "NV") == "V" for n in ("left", "right")}
    vectors = [schur.eigenvectors(t, z, left=n == "left") if wants[n] else None
               for n in ("left", "right")]  # fmt: skip
    parts = [values] if is_complex(a) else [operation("real", values), operation("imag", values)]
    return *parts, *vectors, info


@_lapack("gees")
def schur_form(config: Config, a: Tensor) -> Results:
    """(T, Z, eigenvalues, how many were chosen, info) of complex matrices.

    Raises:
        UnsupportedError: the matrices are real, or the eigenvalues are to be sorted.
    """
    config.letter("sort", "N")
    if not is_complex(a):
        raise UnsupportedError(
            "the Schur form of real matrices, with 2×2 blocks on its diagonal, is not supported: "
            "use jax.scipy.linalg.schur(a, output='complex')"
        )
    t, z, info = _schur(a)
    return t, z, diagonals(t), _none_failed(a), info


@_lapack("gehrd")
def hessenberg_reflections(_: Config, a: Tensor) -> Results:
    """(packed, taus, info)."""
    return *schur.reduced(a), _none_failed(a)


@_lapack("sytrd", "hetrd")
def tridiagonal_reflections(config: Config, a: Tensor) -> Results:
    """(packed, diagonal, what is beside it, taus, info).

    Raises:
        UnsupportedError: the upper triangle is to be read, whose reflections are others.
    """
    if config.letter("uplo", "LU") == "U":
        raise UnsupportedError("tridiagonal is supported with lower=True only")
    size = a.shape[-1]
    packed, taus = schur.reduced(one_triangle("tridiagonal", a, "L"))
    beside = diagonals(along(along(packed, -2, 1, size - 1), -1, 0, size - 1))
    overwritten = lower_triangle(packed) + upper_triangle(a, 1)
    return overwritten, real(diagonals(packed)), real(beside), taus, _none_failed(a)


@_lapack("trsm")
def triangular_solution(config: Config, a: Tensor, b: Tensor) -> Results:
    """x with op(a) x = b, or x op(a) = b."""
    transposes = {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}
    found = operation(
        "triangular-solve", a, b, left_side=config.letter("side", "LR") == "L",
        lower=config.letter("uplo", "LU") == "L",
        unit_diagonal=config.letter("diag", "NU") == "U",
        transpose_a=transposes[config.letter("trans_x", "NTC")],
    )  # fmt: skip
    return (found,)


@_lapack("gtsv")
def tridiagonal_solution(_: Config, dl: Tensor, d: Tensor, du: Tensor, b: Tensor) -> Results:
    """(the three diagonals, which JAX does not read, x, info)."""
    x, found = solve_tridiagonal(dl, d, du, b)
    return None, None, None, x, _info(compare("EQ", found, full(False, found.shape, PRED)))


def _perturbed_solution(_: Config, dl: Tensor, d: Tensor, du: Tensor, b: Tensor) -> Results:
    """x, of a matrix whose small pivots are taken for larger ones."""
    return (solve_tridiagonal(dl, d, du, b, perturb=True)[0],)


OTHERS["tridiagonal_solve_perturbed_ffi"] = _perturbed_solution
