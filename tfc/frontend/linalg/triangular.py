"""Cholesky factors, and systems of equations with a triangular matrix."""

from typing import Any

from tfc.errors import ShapeError
from tfc.frontend.numpy.complex_numbers import conj
from tfc.frontend.numpy.manipulation import matrix_transpose
from tfc.frontend.operations import operation, reshape
from tfc.frontend.promotion import as_inexact, broadcast_shapes, expand, promote
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable, traceable

_TRANSPOSES = {0: "NO_TRANSPOSE", "N": "NO_TRANSPOSE", 1: "TRANSPOSE", "T": "TRANSPOSE",
               2: "ADJOINT", "C": "ADJOINT"}  # fmt: skip


@traceable
def cholesky(a: ArrayLike, /, *, upper: bool = False, symmetrize_input: bool = True) -> Tensor:
    """The lower triangular l with l lᵀ = a, or the upper triangular u with uᵀ u = a.

    For complex matrices the transposes are adjoints.

    A matrix that is not positive definite gives NaN, where NumPy raises an error.

    Args:
        symmetrize_input: factor the mean of a and its transpose, so that gradients are symmetric;
            otherwise the one triangle is read.

    Raises:
        ShapeError: the matrices are not square.
    """
    tensor = as_inexact(a)
    if symmetrize_input and tensor.ndim >= 2 and tensor.shape[-1] == tensor.shape[-2]:
        tensor = (tensor + matrix_transpose(conj(tensor))) * 0.5
    return operation("cholesky", tensor, lower=not upper)


@evaluable
def solve_triangular(
    a: ArrayLike, b: ArrayLike, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False
) -> Tensor:
    """The x with a x = b for a triangular a; the other triangle is not read.

    Args:
        b: vectors if it has one dimension less than a, else matrices; batch dimensions broadcast.
        trans: 0 or "N" for a itself, 1 or "T" for its transpose, 2 or "C" for its adjoint.

    Raises:
        ShapeError: the matrices are not square, or b or `trans` does not fit.
    """
    if trans not in _TRANSPOSES:
        raise ShapeError(f"solve_triangular requires trans 0, 1, 2, 'N', 'T' or 'C', got {trans!r}")
    matrix, right = promote(as_inexact(a), as_inexact(b))
    is_vector = right.ndim == matrix.ndim - 1
    if is_vector:
        right = reshape(right, (*right.shape, 1))
    if min(matrix.ndim, right.ndim) < 2:
        raise ShapeError(
            "solve_triangular requires matrices, and as many vectors or matrices to solve for, "
            f"got {list(matrix.shape)} and {list(right.shape)}"
        )
    batch = broadcast_shapes(matrix.shape[:-2], right.shape[:-2])
    matrix, right = (expand(t, (*batch, *t.shape[-2:])) for t in (matrix, right))
    found = operation(
        "triangular-solve", matrix, right, left_side=True, lower=bool(lower),
        unit_diagonal=bool(unit_diagonal), transpose_a=_TRANSPOSES[trans],
    )  # fmt: skip
    return reshape(found, found.shape[:-1]) if is_vector else found


@evaluable
def cho_factor(a: ArrayLike, lower: bool = False) -> tuple[Tensor, bool]:
    """(factor, lower), for `cho_solve`: the Cholesky factor, with zeros in the other triangle.

    Raises:
        ShapeError: the matrices are not square.
    """
    return cholesky(a, upper=not lower, symmetrize_input=False), lower


@evaluable
def cho_solve(factor_and_lower: tuple[ArrayLike, bool], b: ArrayLike) -> Tensor:
    """The x with a x = b, from what `cho_factor` gave for a.

    Raises:
        ShapeError: b does not fit.
    """
    factor, lower = factor_and_lower
    first = solve_triangular(factor, b, trans=0 if lower else 2, lower=lower)
    return solve_triangular(factor, first, trans=2 if lower else 0, lower=lower)
