"""Functions that go over axes: sums, extremes, their places, running sums."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.graph.building import result
from tfc.graph.constants import constant, convert_to_tensor
from tfc.graph.functions.arithmetic import add, exp, log, subtract
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Tensor
from tfc.graph.types.dtypes import as_dtype, int64


def axes_of(x: Tensor, axis: Any) -> Any:
    """The axes stated, or all that a tensor has.

    Raises:
        ValueError: an axis is not one of the tensor's.
    """
    if axis is None:
        rank = x.shape.ndims
        if rank is not None:
            return constant(np.arange(rank, dtype=np.int32))
        with get_default_graph().name_scope("range"):
            return result("Range", np.int32(0), result("Rank", x), np.int32(1))
    rank = x.shape.ndims
    if rank is not None and not hasattr(axis, "op"):
        for n in np.ravel(np.asarray(axis)):
            if not -rank <= n < rank:
                raise ShapeError(f"invalid reduction dimension {n} for a tensor of rank {rank}")
    return axis


def either(one: Any, other: Any, names: str, default: Any = None) -> Any:
    """The argument that was given, of a new and an old name.

    Raises:
        ValueError: both were given.
    """
    if one is not None and other is not None:
        raise ShapeError(f"cannot specify both of {names}: they mean the same")
    return one if one is not None else other if other is not None else default


def _reduction(type: str, what: str) -> Callable[..., Tensor]:
    def function(
        input_tensor: Any,
        axis: Any = None,
        keepdims: Any = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: Any = None,
    ) -> Tensor:
        keep = bool(either(keepdims, keep_dims, "keepdims and keep_dims", False))
        axis = either(axis, reduction_indices, "axis and reduction_indices")
        x = convert_to_tensor(input_tensor, name="input_tensor")
        return result(type, x, axes_of(x, axis), name=name, keep_dims=keep)

    function.__name__ = f"reduce_{type.lower()}"
    function.__doc__ = f"""{what} over axes, or over all.

    Args:
        axis, reduction_indices: an axis or several; all if left out.
        keepdims, keep_dims: whether they stay, as dimensions of 1.
    """
    return function


reduce_sum = _reduction("Sum", "The sum")
reduce_mean = _reduction("Mean", "The mean; of integers without what follows the point")
reduce_prod = _reduction("Prod", "The product")
reduce_max = _reduction("Max", "The largest element")
reduce_min = _reduction("Min", "The smallest element")
reduce_all = _reduction("All", "Whether all elements are true")
reduce_any = _reduction("Any", "Whether an element is true")
reduce_euclidean_norm = _reduction("EuclideanNorm", "The root of the sum of squares")


def reduce_logsumexp(
    input_tensor: Any,
    axis: Any = None,
    keepdims: Any = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: Any = None,
) -> Tensor:
    """The logarithm of the sum of exponentials, which neither overflow nor vanish."""
    keep = bool(either(keepdims, keep_dims, "keepdims and keep_dims", False))
    axis = either(axis, reduction_indices, "axis and reduction_indices")
    with get_default_graph().name_scope(name or "ReduceLogSumExp") as scope:
        x = convert_to_tensor(input_tensor, name="input_tensor")
        largest = reduce_max(x, axis, keepdims=True)
        is_finite = result("IsFinite", largest)
        zero = result("ZerosLike", largest)
        shift = result("StopGradient", result("Select", is_finite, largest, zero))
        total = reduce_sum(exp(subtract(x, shift)), axis, keepdims=True)
        made = add(log(total), shift, name=None if not keep else scope)
        if keep:
            return made
        return reduce_sum(made, axis, name=scope)  # of one element each


def count_nonzero(
    input_tensor: Any,
    axis: Any = None,
    keepdims: Any = None,
    dtype: Any = int64,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: Any = None,
) -> Tensor:
    """How many elements are not 0."""
    keep = bool(either(keepdims, keep_dims, "keepdims and keep_dims", False))
    axis = either(axis, reduction_indices, "axis and reduction_indices")
    with get_default_graph().name_scope(name or "count_nonzero"):
        x = convert_to_tensor(input_tensor, name="input_tensor")
        hit = result("NotEqual", x, constant(0, x.dtype))
        return reduce_sum(result("Cast", hit, DstT=as_dtype(dtype)), axis, keep)


def _place(type: str, default_name: str) -> Callable[..., Tensor]:
    def function(
        input: Any,
        axis: Any = None,
        name: str | None = None,
        dimension: Any = None,
        output_type: Any = int64,
    ) -> Tensor:
        along = either(axis, dimension, "axis and dimension", 0)
        x = convert_to_tensor(input, name="input")
        return result(type, x, along, name=name, output_type=as_dtype(output_type))

    function.__name__ = default_name
    function.__doc__ = "The place of the first such element along an axis, or along the first."
    return function


argmax, argmin = _place("ArgMax", "argmax"), _place("ArgMin", "argmin")
arg_max, arg_min = argmax, argmin


def cumsum(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """The sums of the elements up to each along an axis."""
    return result("Cumsum", x, axis, name=name, exclusive=exclusive, reverse=reverse)


def cumprod(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """The products of the elements up to each along an axis."""
    return result("Cumprod", x, axis, name=name, exclusive=exclusive, reverse=reverse)


def accumulate_n(
    inputs: Any, shape: Any = None, tensor_dtype: Any = None, name: str | None = None
) -> Tensor:
    """The sum of tensors of one shape and dtype."""
    tensors = [convert_to_tensor(x, tensor_dtype) for x in inputs]
    for x in tensors if shape is not None else ():
        x.shape.assert_is_compatible_with(shape)
    return result("AddN", *tensors, name=name or "AccumulateNV2", N=len(tensors))
