"""Where elements are that are not zero: nonzero and its kin, and where with one argument."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy import arithmetic
from tfc.frontend.numpy.arithmetic import as_bool
from tfc.frontend.numpy.indexing.known import numpy_if_known, require_size
from tfc.frontend.numpy.indexing.places import index_type, make_places
from tfc.frontend.numpy.indexing.taking import replacing
from tfc.frontend.numpy.manipulation import stack
from tfc.frontend.numpy.windows import cumulative
from tfc.frontend.operations import compare, full_like, operation, select
from tfc.frontend.promotion import as_tensor, cast
from tfc.frontend.tensor import ArrayLike, Tensor
from tfc.hlo.shape import PRED, S64


def count_before(mask: Tensor) -> Tensor:
    """How many elements of a vector of pred are true up to each, itself included."""
    return cumulative(ops.convert(mask, index_type(mask.size)), "add", 0, 0)


def positions(mask: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """The first `size` places where a vector of pred is true, and which of them there are.

    The places that there are not are zero.
    """
    if not mask.size:
        return ops.full(0, (size,), S64), ops.full(False, (size,), PRED)
    ranks = count_before(mask)
    number = ranks.array_shape.element_type
    last = ops.slice_along(ranks, 0, mask.size - 1, mask.size)
    numbers = ops.iota(S64, (size,), 0)
    exist = compare(
        "LT", numbers, ops.convert(ops.broadcast(ops.reshape(last, ()), (size,), ()), S64)
    )
    if not size:
        return numbers, exist
    target = operation("subtract", ranks, full_like(1, ranks))
    target = select(mask, target, full_like(min(size, number.limits[1]), target))
    found = make_places({0: target}, (size,), (0,), 0).scatter(
        ops.full(0, (size,), number), ops.iota(number, mask.shape, 0), replacing(number)
    )
    return ops.convert(found, S64), exist


def unraveled(flat: Tensor, dims: Sequence[int]) -> list[Tensor]:
    """The index in each dimension of elements numbered in row-major order."""
    found: list[Tensor] = []
    stride = 1
    for size in reversed(dims):
        part = operation("divide", flat, full_like(stride, flat)) if stride > 1 else flat
        if stride * size < np.prod(dims, dtype=object):
            part = operation("remainder", part, full_like(max(size, 1), part))
        found.append(part)
        stride *= max(size, 1)
    return found[::-1]


@numpy_if_known(np.nonzero)
def nonzero(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> tuple[Tensor, ...]:
    """The indices of the elements that are not zero, a vector for each dimension.

    Args:
        size: how long the vectors are, needed if values are not known.
        fill_value: what comes after the last index, or one for each dimension; 0 if left out.

    Raises:
        ShapeError: the array is a scalar.
        TraceError: the size is needed and not given.
    """
    tensor = as_bool(a)
    if not tensor.ndim:
        raise ShapeError("nonzero of a scalar: use tfc.numpy.atleast_1d on it")
    count = require_size("nonzero", size)
    flat, exist = positions(ops.reshape(tensor, (tensor.size,)), count)
    fills = fill_value if isinstance(fill_value, (tuple, list)) else [fill_value] * tensor.ndim
    if len(fills) != tensor.ndim:
        raise ShapeError(f"nonzero requires a fill_value for each of {tensor.ndim} dimensions")
    return tuple(
        select(exist, found, ops.broadcast(cast(as_tensor(fill or 0), np.int64), (count,), ()))
        for found, fill in zip(unraveled(flat, tensor.shape), fills)
    )


@numpy_if_known(np.argwhere)
def argwhere(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> Tensor:
    """The indices of the elements that are not zero, a row for each; arguments as of nonzero."""
    tensor = as_tensor(a)
    if not tensor.ndim:
        return ops.full(0, (require_size("argwhere", size), 0), S64)
    return stack(nonzero(tensor, size=require_size("argwhere", size), fill_value=fill_value), 1)


@numpy_if_known(np.flatnonzero)
def flatnonzero(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> Tensor:
    """The numbers, in row-major order, of the elements that are not zero; as nonzero."""
    tensor = as_tensor(a)
    flat = ops.reshape(tensor, (tensor.size,))
    return nonzero(flat, size=require_size("flatnonzero", size), fill_value=fill_value)[0]


def _where(condition: Any, *choices: Any) -> Any:
    return arithmetic.where(condition, *choices) if choices else np.nonzero(condition)


@numpy_if_known(_where)
def where(
    condition: ArrayLike,
    x: ArrayLike = None,
    y: ArrayLike = None,
    /,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """x where the condition holds, else y; given neither, nonzero(condition).

    Raises:
        ShapeError: only one of both is given.
    """
    if (x is None) != (y is None):
        raise ShapeError("where requires both x and y, or neither")
    if x is not None:
        return arithmetic.where(condition, x, y)
    return nonzero(condition, size=require_size("where", size), fill_value=fill_value)
