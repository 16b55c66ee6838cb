"""Norms of vectors and matrices."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend.linalg.factors import singular_values_of
from tfc.frontend.linalg.matrices import absolute, as_floats, is_, squared
from tfc.frontend.numpy.manipulation import Axes, moveaxis, normalize_axes, ravel
from tfc.frontend.numpy.reductions import max, min, sum
from tfc.frontend.operations import convert, full_like, operation, reshape, select
from tfc.frontend.promotion import as_inexact, widen
from tfc.frontend.tensor import ArrayLike, Tensor, traceable


@traceable
def vector_norm(
    x: ArrayLike, /, *, axis: Axes | None = None, keepdims: bool = False, ord: Any = 2
) -> Tensor:
    """The norms of vectors: (Σ |x|^ord)^(1/ord) along the axes, or of all elements as one vector.

    Args:
        ord: a number; inf for the largest magnitude, -inf for the smallest, 0 for how many
            elements are not zero.

    Raises:
        ShapeError: an axis does not exist, or there is no such norm.
    """
    return _vector_norm(as_inexact(x), axis, keepdims, ord)


def _vector_norm(tensor: Tensor, axis: Axes | None, keepdims: bool, ord: Any) -> Tensor:
    axes = normalize_axes(axis, tensor.ndim)
    wide = widen(tensor)
    narrow = tensor.array_shape.element_type.component
    if not isinstance(ord, (int, float, np.number)):
        raise ShapeError(f"a vector has no norm of order {ord!r}; give a number")
    if ord == np.inf:
        found = max(absolute(wide), axes, keepdims=keepdims)
    elif ord == -np.inf:
        found = min(absolute(wide), axes, keepdims=keepdims)
    elif ord == 0:
        ones = convert(is_("NE", wide, 0), narrow)
        return sum(ones, axes, keepdims=keepdims)
    elif ord == 1:
        found = sum(absolute(wide), axes, keepdims=keepdims)
    elif ord == 2:
        found = _root(sum(squared(wide), axes, keepdims=keepdims))
    else:
        powers = operation("power", absolute(wide), full_like(ord, absolute(wide)))
        total = sum(powers, axes, keepdims=keepdims)
        found = operation("power", total, full_like(1 / ord, total))
    return convert(found, narrow)


def _root(x: Tensor) -> Tensor:
    """The square root, with the derivative 0 at 0 where a norm has none."""
    is_zero = is_("EQ", x, 0)
    root = operation("sqrt", select(is_zero, full_like(1, x), x))
    return select(is_zero, full_like(0, x), root)


@traceable
def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """The norms of the matrices in the last two dimensions.

    Args:
        ord: "fro" for the root of the sum of squares, "nuc" for the sum of singular values, 2 and
            -2 for the largest and the smallest of them, 1 and -1 for the largest and the smallest
            sum of a column's magnitudes, inf and -inf of a row's.

    Raises:
        ShapeError: there are fewer than two dimensions, or there is no such norm.
    """
    tensor = as_inexact(x)
    if tensor.ndim < 2:
        raise ShapeError(f"matrix_norm requires matrices, got {list(tensor.shape)}")
    found = _matrix_norm(tensor, ord)
    return reshape(found, (*found.shape, 1, 1)) if keepdims else found


def _matrix_norm(tensor: Tensor, ord: Any) -> Tensor:
    """Of the last two dimensions."""
    if ord is None or (isinstance(ord, str) and ord in ("fro", "f")):
        return _vector_norm(tensor, (-2, -1), False, 2)
    if isinstance(ord, str) and ord == "nuc":
        return sum(singular_values_of(as_floats("norm", tensor)), -1)
    if not isinstance(ord, str) and ord in (2, -2):
        values = singular_values_of(as_floats("norm", tensor))
        return (max if ord == 2 else min)(values, -1)
    if not isinstance(ord, str) and ord in (1, -1, np.inf, -np.inf):
        axis = -2 if ord in (1, -1) else -1
        sums = sum(absolute(widen(tensor)), axis)
        found = (max if ord > 0 else min)(sums, -1)
        return convert(found, tensor.array_shape.element_type.component)
    raise ShapeError(
        f"a matrix has no norm of order {ord!r}; give 'fro', 'nuc', 1, -1, 2, -2, inf or -inf"
    )


@traceable
def norm(x: ArrayLike, ord: Any = None, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """The norm of vectors along one axis, or of matrices along two.

    Args:
        ord: of vectors as in `vector_norm`, of matrices as in `matrix_norm`; None for the root of
            the sum of squares.
        axis: if left out, x is one vector or matrix; with no order either, all of x is one vector.

    Raises:
        ShapeError: an axis does not exist, there are more than two, or there is no such norm.
    """
    tensor = as_inexact(x)
    if axis is None and ord is None:
        return _all_of(tensor, keepdims)
    axes = normalize_axes(axis, tensor.ndim)
    if len(axes) == 1:
        return _vector_norm(tensor, axes, keepdims, 2 if ord is None else ord)
    if len(axes) != 2:
        raise ShapeError(f"norm requires one axis or two, got {list(axes)}")
    found = _matrix_norm(moveaxis(tensor, axes, (-2, -1)), ord)
    return _kept(found, tensor, axes) if keepdims else found


def _all_of(tensor: Tensor, keepdims: bool) -> Tensor:
    found = _vector_norm(ravel(tensor), 0, False, 2)
    return _kept(found, tensor, range(tensor.ndim)) if keepdims else found


def _kept(found: Tensor, tensor: Tensor, axes: Sequence[int]) -> Tensor:
    return reshape(found, [1 if d in axes else n for d, n in enumerate(tensor.shape)])
