"""Vectors and matrices of random numbers that depend on each other."""

from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.linalg.spectral import eigh, qr, svd
from tfc.frontend.linalg.triangular import cholesky
from tfc.frontend.numpy.arithmetic import sign
from tfc.frontend.numpy.functions import sqrt
from tfc.frontend.numpy.manipulation import matrix_transpose
from tfc.frontend.numpy.products import matmul
from tfc.frontend.numpy.reductions import sum
from tfc.frontend.promotion import as_tensor, cast, result_type
from tfc.frontend.python_numbers import Dims, sizes, whole
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable
from tfc.random.arguments import float_type, shape_for
from tfc.random.uniforms import normal


@evaluable
def multivariate_normal(
    key: ArrayLike,
    mean: ArrayLike,
    cov: ArrayLike,
    shape: Dims | None = None,
    dtype: Any = None,
    method: str = "cholesky",
) -> Tensor:
    """Normal vectors of a mean and a covariance, along the last dimension.

    Args:
        mean: [..., n].
        cov: [..., n, n], symmetric and positive definite.
        shape: the dimensions before the last, to which those of mean and cov broadcast.
        dtype: that of mean and cov if it is left out.
        method: how the covariance is factored: "cholesky", or "eigh" or "svd", which take singular
            ones too.

    Raises:
        ShapeError: the shapes do not fit, or the method or the dtype is another.
    """
    middle, spread = as_tensor(mean), as_tensor(cov)
    common = result_type(middle, spread) if dtype is None else dtype
    element_type = float_type(np.float32 if np.dtype(common).kind in "biu" else common)
    middle, spread = (cast(t, element_type.dtype) for t in (middle, spread))
    n = middle.shape[-1] if middle.ndim else 0
    if not middle.ndim or spread.ndim < 2 or spread.shape[-2:] != (n, n):
        raise ShapeError(
            "multivariate_normal requires a mean [..., n] and a covariance [..., n, n], got "
            f"{list(middle.shape)} and {list(spread.shape)}"
        )
    dims = shape_for("multivariate_normal", shape, middle.shape[:-1], spread.shape[:-2])
    drawn = normal(key, (*dims, n, 1), element_type.dtype)
    return middle + ops.reshape(matmul(_factor(spread, method), drawn), (*dims, n))


def _factor(covariance: Tensor, method: str) -> Tensor:
    """A matrix whose product with its transpose is the covariance."""
    if method == "cholesky":
        return cholesky(covariance)
    if method == "eigh":
        lengths, vectors = eigh(covariance)
    elif method == "svd":
        vectors, lengths, _ = svd(covariance)
    else:
        raise ShapeError(
            f"multivariate_normal requires the method cholesky, eigh or svd, got {method!r}"
        )
    return vectors * ops.reshape(sqrt(lengths), (*lengths.shape[:-1], 1, lengths.shape[-1]))


@evaluable
def orthogonal(
    key: ArrayLike, n: int, shape: Dims = (), dtype: Any = np.float32, m: int | None = None
) -> Tensor:
    """Matrices of orthonormal columns, or rows if there are fewer of them, evenly distributed.

    Args:
        n: the number of rows.
        shape: how many; the matrices are along the last two dimensions.
        m: the number of columns; as many as rows if it is left out.

    Raises:
        ShapeError: the key is not uint32[2], or the type is not one of floats.
    """
    rows = whole(n, "a number of rows")
    columns = rows if m is None else whole(m, "a number of columns")
    dims = (*sizes(shape), max(rows, columns), min(rows, columns))
    q, r = qr(normal(key, dims, float_type(dtype).dtype))
    # Of the many factors the one with a positive diagonal, or they would not be even.
    matrix = q * sign(_diagonal(r))
    return matrix_transpose(matrix) if rows < columns else matrix


def _diagonal(matrices: Tensor) -> Tensor:
    """[..., 1, n]: the diagonals of square matrices."""
    numbers = [ops.iota(matrices.array_shape.element_type, matrices.shape, matrices.ndim - k)
               for k in (1, 2)]  # fmt: skip
    on_it = ops.compare("EQ", *numbers)
    zero = ops.full_like(0, matrices)
    return sum(ops.select(on_it, matrices, zero), axis=-2, keepdims=True)
