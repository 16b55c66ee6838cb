"""Arrays turned: rotations by a quarter, axes rolled; and matrices of powers."""

from collections.abc import Sequence

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.manipulation import (
    flip,
    moveaxis,
    normalize_axes,
    normalize_axis,
    swapaxes,
)
from tfc.frontend.numpy.reductions import wide_type
from tfc.frontend.numpy.windows import cumprod
from tfc.frontend.promotion import as_tensor, cast, result_type
from tfc.frontend.promotion import broadcast_shapes as _common
from tfc.frontend.python_numbers import Dims, sizes, whole
from tfc.frontend.tensor import ArrayLike, Tensor, traceable, untraced


@traceable
def rot90(m: ArrayLike, k: int = 1, axes: Sequence[int] = (0, 1)) -> Tensor:
    """The array turned k quarters in the plane of two axes, from the first toward the second.

    Raises:
        ShapeError: not two axes, or twice the same.
    """
    tensor, quarters = as_tensor(m), whole(k, "the number of quarters") % 4
    pair = normalize_axes(tuple(axes), tensor.ndim)
    if len(pair) != 2:
        raise ShapeError(f"rot90 requires two axes, got {axes}")
    first, second = pair
    if quarters == 2:
        return flip(tensor, pair)
    if quarters == 1:
        return swapaxes(flip(tensor, second), first, second)
    return flip(swapaxes(tensor, first, second), second) if quarters else tensor


@traceable
def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Tensor:
    """An axis moved to stand before another one; `moveaxis` is plainer."""
    tensor = as_tensor(a)
    axis, start = normalize_axis(axis, tensor.ndim), whole(start, "an axis")
    if not -tensor.ndim <= start <= tensor.ndim:
        raise ShapeError(f"rollaxis requires a start within 0..{tensor.ndim}, got {start}")
    start = start + tensor.ndim if start < 0 else start
    return moveaxis(tensor, axis, start - 1 if axis < start else start)


@traceable
def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Tensor:
    """The matrix whose columns are the powers of a vector, the highest first unless `increasing`.

    Raises:
        ShapeError: no vector.
    """
    vector = as_tensor(x)
    if vector.ndim != 1:
        raise ShapeError(f"vander requires a vector, got {list(vector.shape)}")
    count = vector.size if N is None else whole(N, "the number of columns")
    kind = result_type(vector, wide_type(vector)) if vector.dtype.kind == "b" else vector.dtype
    vector = cast(vector, result_type(kind, int))
    ones = ops.full(1, [vector.size, min(count, 1)], vector.array_shape.element_type)
    rest = max(count - 1, 0)
    powers = cumprod(ops.broadcast(vector, [vector.size, rest], [0]), 1, vector.dtype)
    found = ops.concatenate([ones, powers], 1)
    return found if increasing else flip(found, 1)


@untraced
def broadcast_shapes(*args: Dims) -> tuple[int, ...]:
    """The shape to which arrays of these shapes broadcast.

    Raises:
        ShapeError: they do not.
    """
    return _common(*(sizes(shape) for shape in args))
