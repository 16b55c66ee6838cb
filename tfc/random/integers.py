"""Numbers of discrete distributions: integers, booleans, categories, counts."""

from math import prod
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.arithmetic import where
from tfc.frontend.numpy.comparisons import maximum, minimum
from tfc.frontend.numpy.functions import floor, log, log1p
from tfc.frontend.numpy.manipulation import moveaxis, normalize_axis
from tfc.frontend.numpy.reductions import argmax
from tfc.frontend.operations import operation
from tfc.frontend.promotion import as_tensor, cast, expand
from tfc.frontend.python_numbers import Dims, sizes
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable
from tfc.hlo.shape import ELEMENT_TYPES, S32, S64, ElementType
from tfc.random import threefry
from tfc.random.arguments import float_type_of, integer_type, shape_for
from tfc.random.uniforms import gumbel, uniform


@evaluable
def randint(
    key: ArrayLike, shape: Dims, minval: ArrayLike, maxval: ArrayLike, dtype: Any = np.int32
) -> Tensor:
    """Integers in [minval, maxval), which broadcast to `shape`; int32 unless said.

    minval where none is between. A bound that the type cannot hold counts as its last number, but
    for a maxval above it, which does not exclude it.

    Raises:
        ShapeError: the key is not uint32[2], the type is not one of integers, or a bound does not
            broadcast to the shape.
    """
    element_type, dims = integer_type(dtype), sizes(shape)
    low, high = (_as_integer(v) for v in (minval, maxval))
    shape_for("randint", dims, low.shape, high.shape)
    if element_type.bits >= 32:
        return _integers(key, dims, low, high, element_type)
    # Of so few bits the remainders would not be even: 32 are drawn.
    least, most = element_type.limits
    low, high = _clipped(low, least, most), _clipped(high, least, most + 1)
    return ops.convert(_integers(key, dims, low, high, S32), element_type)


def _as_integer(value: ArrayLike) -> Tensor:
    tensor = as_tensor(value)
    return tensor if tensor.array_shape.element_type.is_integer else ops.convert(tensor, S64)


def _clipped(value: Tensor, low: int, high: int) -> Tensor:
    """The value within bounds, of which those that its type cannot hold do not matter."""
    least, most = value.array_shape.element_type.limits
    return minimum(
        maximum(value, ops.full_like(max(low, least), value)), ops.full_like(min(high, most), value)
    )


def _integers(
    key: ArrayLike, dims: list[int], low: Tensor, high: Tensor, element_type: ElementType
) -> Tensor:
    """The remainder of twice as many random bits as the type has, by the interval's length."""
    limits = element_type.limits
    unsigned = ELEMENT_TYPES[f"u{element_type.bits}"]
    is_last_wanted = high > ops.full_like(
        min(limits[1], high.array_shape.element_type.limits[1]), high
    )
    start, end = (
        expand(ops.convert(_clipped(v, *limits), element_type), dims) for v in (low, high)
    )
    span = ops.convert(operation("subtract", end, start), unsigned)
    span = where(end <= start, ops.full_like(1, span), span)
    wider = expand(is_last_wanted, dims) & (end > start)
    span = where(wider, operation("add", span, ops.full_like(1, span)), span)
    words = threefry.words_of(key)
    keys = threefry.split_one(words, 2)
    above, below = (
        threefry.bits(threefry.words_of(keys[k]), dims, element_type.bits) for k in range(2)
    )

    def modulo(x: Tensor) -> Tensor:
        return operation("remainder", x, span)

    half = modulo(ops.full_like(1 << element_type.bits // 2, span))
    factor = modulo(operation("multiply", half, half))
    offset = operation("add", operation("multiply", modulo(above), factor), modulo(below))
    return operation("add", start, ops.convert(modulo(offset), element_type))


@evaluable
def bernoulli(
    key: ArrayLike, p: ArrayLike = 0.5, shape: Dims | None = None, mode: str = "low"
) -> Tensor:
    """True with probability p, in which type the numbers are drawn that are compared with it.

    Args:
        shape: to which p broadcasts; its own if it is left out.
        mode: "high" draws twice the bits, for probabilities below 1e-7 in float32.

    Raises:
        ShapeError: the key is not uint32[2], p is not one of floats or does not broadcast to the
            shape, or the mode is another.
    """
    if mode not in ("low", "high"):
        raise ShapeError(f"bernoulli requires the mode 'low' or 'high', got {mode!r}")
    chance = as_tensor(p)
    if not chance.array_shape.element_type.is_float:
        raise ShapeError(f"bernoulli requires a probability of floats, got {chance.dtype}")
    dims, dtype = shape_for("bernoulli", shape, chance.shape), float_type_of(chance)
    chance = expand(cast(chance, dtype), dims)
    if mode == "low":
        return uniform(key, dims, dtype) < chance
    both = uniform(key, (2, *dims), dtype)
    fine = both[1] * ops.full_like(2.0 ** -np.finfo(dtype).nmant, chance)
    return fine < chance - both[0]


@evaluable
def rademacher(key: ArrayLike, shape: Dims = (), dtype: Any = np.int32) -> Tensor:
    """1 or -1, each as often; int32 unless said.

    Raises:
        ShapeError: the key is not uint32[2].
    """
    drawn = cast(bernoulli(key, 0.5, sizes(shape)), dtype)
    return cast(drawn * ops.full_like(2, drawn) - ops.full_like(1, drawn), dtype)


@evaluable
def geometric(
    key: ArrayLike, p: ArrayLike, shape: Dims | None = None, dtype: Any = np.int32
) -> Tensor:
    """How many trials of probability p the first success takes: 1, 2 …; int32 unless said.

    Raises:
        ShapeError: the key, the type or the shape does not fit.
    """
    chance, made = as_tensor(p), integer_type(dtype)
    dims = shape_for("geometric", shape, chance.shape)
    chance = expand(cast(chance, float_type_of(chance)), dims)
    unit = uniform(key, dims, chance.dtype)
    unit = where(unit == 0, ops.full_like(1, unit), unit)
    return ops.convert(floor(log(unit) / log1p(-chance)) + 1, made)


@evaluable
def categorical(
    key: ArrayLike,
    logits: ArrayLike,
    axis: int = -1,
    shape: Dims | None = None,
    replace: bool = True,
    mode: str | None = None,
) -> Tensor:
    """Numbers of categories along an axis, as int32, with the probabilities softmax(logits).

    Args:
        shape: the result's, which ends with that of the logits less the axis; so if left out.
        replace: False draws the first dimensions of the shape without a category twice.
        mode: that of `gumbel`.

    Raises:
        ShapeError: the key or the shape does not fit, or there are not enough categories.
    """
    tensor = as_tensor(logits)
    tensor = cast(tensor, float_type_of(tensor))
    place = normalize_axis(axis, tensor.ndim)
    rest = [n for d, n in enumerate(tensor.shape) if d != place]
    dims = shape_for("categorical", shape, rest)
    before = dims[: len(dims) - len(rest)]
    if not replace:
        return _without_replacement(key, tensor, place, before, dims, mode)
    drawn = [*dims[len(before) :]]
    drawn.insert(place, tensor.shape[place])
    noisy = gumbel(key, (*before, *drawn), tensor.dtype, mode) + tensor
    return ops.convert(argmax(noisy, axis=len(before) + place), S32)


def _without_replacement(
    key: ArrayLike, logits: Tensor, axis: int, before: Any, dims: Any, mode: str | None
) -> Tensor:
    count = prod(before)
    if count > logits.shape[axis]:
        raise ShapeError(
            f"categorical without replacement draws at most the {logits.shape[axis]} categories "
            f"there are, got the shape {list(dims)}"
        )
    noisy = moveaxis(logits + gumbel(key, logits.shape, logits.dtype, mode), axis, -1)
    places = ops.elements(operation("topk", noisy, k=count, largest=True))[1]
    return ops.reshape(moveaxis(places, -1, 0), dims)
