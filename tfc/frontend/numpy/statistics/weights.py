"""Quantiles of elements that count as several, or as part of one: where they lie."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.arithmetic import where
from tfc.frontend.numpy.comparisons import minimum
from tfc.frontend.numpy.parts import require_real
from tfc.frontend.numpy.reductions import sum
from tfc.frontend.numpy.windows import cumsum
from tfc.frontend.promotion import as_tensor, cast, expand
from tfc.frontend.tensor import ArrayLike, Tensor


def weights_for(
    name: str, weights: ArrayLike, operand: Tensor, dimensions: Sequence[int], method: str
) -> Tensor:
    """Weights in the shape of the operand, in f64.

    Raises:
        ShapeError: the method takes none, they have neither its shape nor that of the dimensions,
            or are known to be negative.
    """
    if method != "inverted_cdf":
        raise ShapeError(
            f"{name} takes weights with the method 'inverted_cdf' alone, got {method!r}"
        )
    if not isinstance(weights, Tensor) and np.any(np.asarray(weights) < 0):
        raise ShapeError(f"{name} requires weights of 0 or more")
    given = as_tensor(weights)
    require_real(name, given)
    own = tuple(operand.shape[d] for d in dimensions)
    if given.shape not in (operand.shape, own):
        raise ShapeError(
            f"{name} requires weights of the shape {list(operand.shape)}, or {list(own)} as the "
            f"axes have, got {list(given.shape)}"
        )
    wide = cast(given, np.float64)
    if given.shape == operand.shape:
        return wide
    order = sorted(range(len(dimensions)), key=lambda n: dimensions[n])
    return ops.broadcast(ops.transpose(wide, order), operand.shape, sorted(dimensions))


def weighted_places(weights: Tensor, fractions: Any) -> Tensor:
    """For each fraction, the number of the first element up to which that part of the weight is.

    Args:
        weights: rows in the order of the elements.
        fractions: of one; their dimensions come first in the result.
    """
    outer, size = weights.shape[:-1], weights.shape[-1]
    total = cumsum(weights, -1)
    share = total / expand(ops.slice_along(total, len(outer), size - 1, size), total.shape)
    share = where(share == 0, -1.0, share)  # what has no weight at the front is never taken
    wanted = cast(as_tensor(fractions), np.float64)
    dims = (*wanted.shape, *outer, size)
    wanted = ops.broadcast(wanted, dims, range(wanted.ndim))
    before = cast(expand(share, dims) < wanted, np.float64)
    return minimum(sum(before, -1), float(size - 1))
