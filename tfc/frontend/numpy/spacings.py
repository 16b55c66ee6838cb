"""Functions of the NumPy namespace that make spaced numbers: linspace, logspace, geomspace."""

from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.arithmetic import power
from tfc.frontend.numpy.functions import log10
from tfc.frontend.numpy.manipulation import moveaxis
from tfc.frontend.numpy.namespace import require_device
from tfc.frontend.numpy.parts import require_real
from tfc.frontend.promotion import broadcast_together, cast, expand, promote
from tfc.frontend.python_numbers import whole
from tfc.frontend.tensor import ArrayLike, Tensor, traceable
from tfc.hlo.shape import S64


def _is_known(*values: Any) -> bool:
    """Whether NumPy can compute with the values now."""
    return not any(isinstance(value, Tensor) for value in values)


def _by_numpy(name: str, *args: Any, **named: Any) -> Any:
    """NumPy's function of values that are part of the program."""
    try:
        return getattr(np, name)(*args, **named)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{name}: {error}") from error


def _count(name: str, num: Any) -> int:
    num = whole(num, "the number of points")
    if num < 0:
        raise ShapeError(f"{name} requires a number of points of 0 or more, got {num}")
    return num


@traceable
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """`num` evenly spaced numbers from start to stop, which is the last one if `endpoint`.

    Args:
        start, stop: numbers, or arrays that broadcast.
        retstep: give the pair of the numbers and the distance between them.
        axis: the dimension of the result along which the numbers lie.
    """
    require_device(device)
    num = _count("linspace", num)
    if _is_known(start, stop):
        values, known = _by_numpy("linspace", start, stop, num, endpoint, True, dtype)
        made = moveaxis(values, 0, axis)
        return (made, ops.constant(known)) if retstep else made
    spaced, step = _spaced(start, stop, num, endpoint)
    if dtype is not None and np.dtype(dtype).kind in "iu":
        spaced = ops.operation("floor", spaced)
    found = moveaxis(cast(spaced, spaced.dtype if dtype is None else dtype), 0, axis)
    return (found, step) if retstep else found


def _spaced(start: ArrayLike, stop: ArrayLike, num: int, endpoint: bool) -> tuple[Tensor, Tensor]:
    """The numbers along the first dimension, and the distance between them."""
    first, last = broadcast_together(*promote(start, stop, 1.0)[:2])
    dims = (num, *first.shape)
    steps = ops.iota(first.array_shape.element_type, dims, 0)
    distance = last - first
    pieces = num - 1 if endpoint else num
    step = distance / ops.full_like(pieces if pieces else np.nan, distance)
    spaced = expand(first, dims) + (steps * expand(step, dims) if pieces > 0 else steps)
    if endpoint and num > 1:
        is_last = ops.compare("EQ", steps, ops.full_like(num - 1, steps))
        spaced = ops.select(is_last, expand(last, dims), spaced)
    return spaced, step


@traceable
def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Tensor:
    """Powers of `base` with evenly spaced exponents from start to stop; see `linspace`."""
    num = _count("logspace", num)
    if _is_known(start, stop, base):
        known = _by_numpy("logspace", start, stop, num, endpoint, base, dtype)
        return moveaxis(known, 0, axis)
    first, last, root = broadcast_together(*promote(start, stop, base))
    exponents = linspace(first, last, num, endpoint)
    found = power(expand(root, exponents.shape), exponents)
    return moveaxis(cast(found, found.dtype if dtype is None else dtype), 0, axis)


@traceable
def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Tensor:
    """`num` numbers from start to stop, each the same multiple of the one before it; in float64.

    Raises:
        ShapeError: start or stop is a zero that is known.
        TraceError: complex Tensors.
    """
    num = _count("geomspace", num)
    if _is_known(start, stop):
        return moveaxis(_by_numpy("geomspace", start, stop, num, endpoint, dtype), 0, axis)
    first, last = broadcast_together(*promote(start, stop, np.float64(1))[:2])
    require_real("geomspace", first)
    sign = ops.operation("sign", first)
    ends = log10(first / sign), log10(last / sign)
    found = logspace(*ends, num, endpoint) * expand(sign, (num, *sign.shape))
    places = ops.iota(S64, found.shape, 0)
    for place, known in ((0, first), (num - 1, last))[: 2 if endpoint else 1]:
        here = ops.compare("EQ", places, ops.full_like(place, places))
        found = ops.select(here, expand(known, found.shape), found)
    return moveaxis(cast(found, found.dtype if dtype is None else dtype), 0, axis)
