"""Weighted averages, covariance and correlation."""

from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.comparisons import clip
from tfc.frontend.numpy.complex_numbers import conj, real
from tfc.frontend.numpy.creation import diagonal
from tfc.frontend.numpy.functions import sqrt
from tfc.frontend.numpy.manipulation import Axes, at_least, concatenate, normalize_axes, transpose
from tfc.frontend.numpy.parts import on_parts
from tfc.frontend.numpy.products import dot
from tfc.frontend.numpy.reductions import mean, sum
from tfc.frontend.operations import operation
from tfc.frontend.promotion import as_tensor, cast, expand, result_type
from tfc.frontend.tensor import ArrayLike, Tensor, traceable


@traceable
def average(
    a: ArrayLike,
    axis: Axes | None = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """The mean along the axes, of elements that count as much as their weights.

    Args:
        weights: of the shape of `a`, or of its sizes along the axes; all the same if left out.
        returned: give the pair of the average and the sum of weights.

    Raises:
        ShapeError: the weights are of another shape.
    """
    tensor = as_tensor(a)
    if weights is None:
        found = mean(tensor, axis, keepdims=keepdims)
        count = tensor.size // max(found.size, 1) if tensor.size else 0
        return (found, ops.full_like(count, found)) if returned else found
    given = as_tensor(weights)
    common = result_type(tensor, given)
    dtype = result_type(common, np.float64) if common.kind in "biu" else common
    share = cast(_along(tensor, given, axis), dtype)
    scale = sum(share, axis, keepdims=keepdims)
    total = sum(cast(tensor, dtype) * share, axis, keepdims=keepdims)
    found = operation("divide", total, expand(scale, total.shape))
    return (found, expand(scale, found.shape)) if returned else found


def _along(tensor: Tensor, weights: Tensor, axis: Axes | None) -> Tensor:
    """The weights of all elements."""
    if weights.shape == tensor.shape:
        return weights
    dimensions = normalize_axes(axis, tensor.ndim)
    if axis is None or weights.shape != tuple(tensor.shape[d] for d in dimensions):
        raise ShapeError(
            f"average requires weights of the shape {list(tensor.shape)} or of its sizes along the "
            f"axes, got {list(weights.shape)}"
        )
    order = sorted(range(len(dimensions)), key=lambda i: dimensions[i])
    turned = ops.transpose(weights, order)
    return ops.broadcast(turned, tensor.shape, [dimensions[i] for i in order])


@traceable
def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    *,
    dtype: Any = None,
) -> Tensor:
    """The covariances of variables, which are rows of observations.

    Args:
        y: further variables.
        rowvar: False for variables that are columns.
        bias, ddof: divide by the number of observations, less ddof; less one if both are left out.
        fweights, aweights: how often each observation counts, and how much.

    Raises:
        ShapeError: more than two dimensions, or a ddof that is no integer.
    """
    if ddof is not None and ddof != int(ddof):
        raise ShapeError(f"cov requires a ddof that is an integer, got {ddof}")
    variables = _variables(m, y, rowvar, dtype)
    less = (0 if bias else 1) if ddof is None else int(ddof)
    weights = _weights(variables, fweights, aweights)
    if weights is None:
        center = mean(variables, 1, keepdims=True)
        factor = ops.constant(np.float64(max(variables.shape[1] - less, 0)))
        weighted = distance = variables - expand(center, variables.shape)
    else:
        scale = cast(ops.broadcast(weights, variables.shape, [1]), variables.dtype)
        center = average(variables, 1, scale, keepdims=True)
        distance = variables - expand(center, variables.shape)
        weighted, factor = distance * scale, _degrees(weights, less, aweights)
    return _squeezed(_over(dot(weighted, conj(transpose(distance))), factor))


def _squeezed(matrix: Tensor) -> Tensor:
    return ops.reshape(matrix, [n for n in matrix.shape if n != 1])


def _over(products: Tensor, factor: Tensor) -> Tensor:
    """Divided by parts; by nothing that is below zero."""
    divisor = clip(factor, 0)

    def of(part: Tensor) -> Tensor:
        return operation("divide", part, expand(cast(divisor, part.dtype), part.shape))

    return on_parts(of, products)


def _degrees(weights: Tensor, less: int, aweights: ArrayLike | None) -> Tensor:
    """The sum of the weights, less what is taken off for the mean."""
    total = sum(weights)
    if not less:
        return total
    if aweights is None:
        return total - ops.full_like(less, total)
    share = cast(as_tensor(aweights), total.dtype)
    return total - ops.full_like(less, total) * (sum(weights * share) / total)


def _variables(m: ArrayLike, y: ArrayLike | None, rowvar: bool, dtype: Any) -> Tensor:
    """The variables as rows, in a float of 64 bits unless they are of another."""
    arrays = [as_tensor(a) for a in ((m,) if y is None else (m, y))]
    if any(a.ndim > 2 for a in arrays):
        shapes = " and ".join(str(list(a.shape)) for a in arrays)
        raise ShapeError(f"cov requires arrays of at most two dimensions, got {shapes}")
    common = result_type(*arrays, np.float64) if dtype is None else dtype
    rows = [at_least(cast(a, common), 2) for a in arrays]
    rows = [a if rowvar or given.ndim < 2 else transpose(a) for a, given in zip(rows, arrays)]
    return rows[0] if len(rows) == 1 else concatenate(rows)


def _weights(variables: Tensor, fweights: Any, aweights: Any) -> Tensor | None:
    """The product of both weights of the observations; None if there are none."""
    found: Tensor | None = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        weights = cast(as_tensor(given), np.float64)
        if weights.shape != variables.shape[1:]:
            raise ShapeError(
                f"cov requires {name} of the shape {list(variables.shape[1:])}, got "
                f"{list(weights.shape)}"
            )
        found = weights if found is None else found * weights
    return found


@traceable
def corrcoef(
    x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, *, dtype: Any = None
) -> Tensor:
    """The correlations of variables, which are rows of observations; see `cov`."""
    found = cov(x, y, rowvar, dtype=dtype)
    if not found.ndim:
        return found / found
    spread = sqrt(real(diagonal(found)))
    scaled = found
    for d in (0, 1):
        across = ops.broadcast(cast(spread, found.dtype), found.shape, [d])
        scaled = operation("divide", scaled, across)
    return on_parts(lambda part: clip(part, -1, 1), scaled)
