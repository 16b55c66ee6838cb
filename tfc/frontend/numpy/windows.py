"""Functions of windows: cumulative sums, products and extremes, and pooling.

A cumulative function is a reduce-window whose windows hold all elements up to their own; backends
make one pass over the array of it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.arithmetic import named
from tfc.frontend.numpy.manipulation import normalize_axis, ravel
from tfc.frontend.numpy.parts import require_real
from tfc.frontend.numpy.reductions import highest, lowest, wide_type
from tfc.frontend.numpy.window_arguments import (
    Numbers,
    Padding,
    data_format_of,
    padding_pairs,
    spatial_numbers,
)
from tfc.frontend.numpy_keywords import refuse_out
from tfc.frontend.operations import operation
from tfc.frontend.promotion import as_inexact, as_tensor, cast, widen
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable
from tfc.hlo.attributes.window import Window, WindowDimension


def reduce_window(tensor: Tensor, opcode: str, init: object, window: Window) -> Tensor:
    """Combine the elements of each window by a binary op (RW-1)."""
    element_type = tensor.array_shape.element_type
    return operation(
        "reduce-window", tensor, ops.constant(init, element_type), window=window,
        to_apply=ops.scalar_computation(opcode, element_type),
    )  # fmt: skip


def cumulative(
    tensor: Tensor, opcode: str, init: object, dimension: int, reverse: bool = False
) -> Tensor:
    """Each element combined with all before it along a dimension, or with all after it.

    Halves are combined in f32.
    """
    n = tensor.shape[dimension]
    if not n:
        return tensor
    low, high = (0, n - 1) if reverse else (n - 1, 0)
    along = WindowDimension(n, low=low, high=high)
    plain = WindowDimension(1)
    window = Window(tuple(along if d == dimension else plain for d in range(tensor.ndim)))
    found = reduce_window(widen(tensor), opcode, init, window)
    return ops.convert(found, tensor.array_shape.element_type)


def _running_total(name: str, opcode: str, init: int, doc: str):
    def function(
        a: ArrayLike, axis: int | None = None, dtype: Any = None, out: None = None
    ) -> Tensor:
        refuse_out(name, out)
        tensor = as_tensor(a)
        tensor = cast(tensor, wide_type(tensor) if dtype is None else dtype)
        values = ravel(tensor) if axis is None or not tensor.ndim else tensor
        return cumulative(
            values, opcode, init, normalize_axis(0 if axis is None else axis, values.ndim)
        )

    return named(function, name, doc)


def _standard_running_total(name: str, of: Callable[..., Tensor], init: int, doc: str):
    """The array API standard's form: an axis for matrices, and the neutral element before all."""

    def function(
        x: ArrayLike,
        /,
        *,
        axis: int | None = None,
        dtype: Any = None,
        out: None = None,
        include_initial: bool = False,
    ) -> Tensor:
        tensor = as_tensor(x)
        if tensor.ndim != 1 and axis is None:
            raise ShapeError(f"{name} requires an axis for {tensor.ndim} dimensions")
        dimension = normalize_axis(0 if axis is None else axis, tensor.ndim)
        found = of(tensor, dimension, dtype, out)
        if not include_initial:
            return found
        dims = [1 if d == dimension else n for d, n in enumerate(tensor.shape)]
        first = ops.full(init, dims, found.array_shape.element_type)
        return ops.concatenate([first, found], dimension)

    return named(function, name, doc)


cumsum = _running_total(
    "cumsum", "add", 0, "The sums of all elements up to each along an axis; dtypes as in sum."
)
cumprod = _running_total(
    "cumprod", "multiply", 1, "The products of all elements up to each along an axis."
)


cumulative_sum = _standard_running_total(
    "cumulative_sum", cumsum, 0, "The sums of all elements up to each along an axis, maybe with 0."
)
cumulative_prod = _standard_running_total(
    "cumulative_prod", cumprod, 1, "The products of all elements up to each, maybe with 1 first."
)


@evaluable
def cummax(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Tensor:
    """The largest of all elements up to each along an axis, or of all after; NaN once one is."""
    tensor = as_tensor(operand)
    require_real("cummax", tensor)
    first = lowest(tensor.array_shape.element_type)
    return cumulative(tensor, "maximum", first, normalize_axis(axis, tensor.ndim), reverse)


@evaluable
def cummin(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Tensor:
    """The smallest of all elements up to each along an axis, or of all after; NaN once one is."""
    tensor = as_tensor(operand)
    require_real("cummin", tensor)
    first = highest(tensor.array_shape.element_type)
    return cumulative(tensor, "minimum", first, normalize_axis(axis, tensor.ndim), reverse)


@evaluable
def max_pool(
    x: ArrayLike,
    window: Numbers,
    strides: Numbers | None = None,
    padding: Padding = "VALID",
    data_format: str | None = None,
) -> Tensor:
    """The largest element in each window over the dimensions between batch and channels.

    Args:
        window: the window's size, one number for all of those dimensions or one for each.
        strides: how far windows are apart; as far as they are large if left out.
        padding: "VALID" for windows inside the array; "SAME" for ceil(size / stride) windows, the
            smaller half of the padding first, "SAME_LOWER" the larger; or (low, high) for each of
            those dimensions.
        data_format: what the dimensions are: NHWC, or NCHW for channels first; NWC and NCW for one
            dimension to pool, NDHWC and NCDHW for three.

    Raises:
        ShapeError: the numbers do not fit the array.
    """
    tensor = as_tensor(x)
    require_real("max_pool", tensor)
    made, _ = _pooling("max_pool", tensor, window, strides, padding, data_format)
    return reduce_window(tensor, "maximum", lowest(tensor.array_shape.element_type), made)


@evaluable
def avg_pool(
    x: ArrayLike,
    window: Numbers,
    strides: Numbers | None = None,
    padding: Padding = "VALID",
    data_format: str | None = None,
    count_include_pad: bool = False,
) -> Tensor:
    """The mean of each window over the dimensions between batch and channels; see `max_pool`.

    Args:
        count_include_pad: divide by the size of the window, rather than by the number of elements
            that it has inside the array.
    """
    tensor = as_inexact(x)
    require_real("avg_pool", tensor)
    made, spatial = _pooling("avg_pool", tensor, window, strides, padding, data_format)
    element_type = tensor.array_shape.element_type
    wide = widen(tensor)
    total = reduce_window(wide, "add", 0, made)
    counts = np.ones((), np.int64)
    for d in spatial:
        along = made.dimensions[d]
        inside = _inside(along, tensor.shape[d], total.shape[d])
        counts = np.multiply.outer(counts, np.full_like(inside, along.size)
                                   if count_include_pad else inside)  # fmt: skip
    divisor = ops.constant(counts.astype(wide.dtype))
    mean = operation("divide", total, ops.broadcast(divisor, total.shape, spatial))
    return ops.convert(mean, element_type)


def _inside(d: WindowDimension, size: int, count: int) -> np.ndarray:
    """How many elements of each window along a dimension are inside an array of that size."""
    first = np.arange(count) * d.stride - d.low
    return np.minimum(first + d.size, size) - np.maximum(first, 0)


def _pooling(
    name: str,
    tensor: Tensor,
    window: Numbers,
    strides: Numbers | None,
    padding: Padding,
    data_format: str | None,
) -> tuple[Window, tuple[int, ...]]:
    """The window over all dimensions, and the dimensions between batch and channels."""
    _, (_, _, *spatial) = data_format_of(name, data_format, tensor, least=3)
    sizes = spatial_numbers(name, window, len(spatial))
    steps = sizes if strides is None else spatial_numbers(name, strides, len(spatial))
    if min(*sizes, *steps) < 1:
        raise ShapeError(
            f"{name} requires windows and strides of 1 or more, got {sizes} and {steps}"
        )
    plain = [WindowDimension(size, step) for size, step in zip(sizes, steps)]
    pads = padding_pairs(name, padding, plain, [tensor.shape[d] for d in spatial])
    dimensions = [WindowDimension(1)] * tensor.ndim
    for d, (size, step, (low, high)) in zip(spatial, zip(sizes, steps, pads)):
        dimensions[d] = WindowDimension(size, step, low, high)
        if low >= size or high >= size or min(low, high) < 0:
            raise ShapeError(
                f"{name} requires padding of 0 or more that is less than the window's {size}, "
                f"got {(low, high)}"
            )
    return Window(tuple(dimensions)), tuple(spatial)
