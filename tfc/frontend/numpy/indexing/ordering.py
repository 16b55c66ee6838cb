"""Orders besides sort: partitions, several keys, complex numbers, and extremes without NaN."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.arithmetic import where
from tfc.frontend.numpy.comparisons import is_nan
from tfc.frontend.numpy.indexing.known import numpy_if_known
from tfc.frontend.numpy.indexing.taking import refuse_out
from tfc.frontend.numpy.manipulation import normalize_axis, ravel
from tfc.frontend.numpy.reductions import all as all_of
from tfc.frontend.numpy.reductions import argmax, argmin
from tfc.frontend.numpy.sorting import argsort, comes_before, sort
from tfc.frontend.operations import operation
from tfc.frontend.promotion import as_tensor, cast
from tfc.frontend.python_numbers import sizes
from tfc.frontend.tensor import ArrayLike, Tensor, traceable
from tfc.frontend.trace import Trace, current_trace
from tfc.hlo.ir import Computation
from tfc.hlo.shape import S64, ElementType, Shape


@numpy_if_known(np.partition)
def partition(
    a: ArrayLike, kth: Any, axis: int | None = -1, kind: str = "introselect", order: None = None
) -> Tensor:
    """The elements along an axis with the kth in its sorted place and no larger one before it.

    All are sorted, which is a partition at each place.

    Raises:
        ShapeError: there is no kth element.
    """
    tensor = _partitioned("partition", a, kth, axis)
    return sort(tensor, axis=-1 if axis is None else axis)


@numpy_if_known(np.argpartition)
def argpartition(
    a: ArrayLike, kth: Any, axis: int | None = -1, kind: str = "introselect", order: None = None
) -> Tensor:
    """The int64 indices along an axis that put the elements in the order of `partition`."""
    tensor = _partitioned("argpartition", a, kth, axis)
    return argsort(tensor, axis=-1 if axis is None else axis)


def _partitioned(name: str, a: ArrayLike, kth: Any, axis: int | None) -> Tensor:
    tensor = ravel(a) if axis is None else as_tensor(a)
    size = tensor.shape[normalize_axis(-1 if axis is None else axis, tensor.ndim)]
    for place in sizes(kth, "kth"):
        if not -size <= place < size:
            raise ShapeError(f"{name} requires kth within the {size} elements, got {place}")
    return tensor


@traceable
def lexsort(keys: ArrayLike | Sequence[ArrayLike], axis: int = -1) -> Tensor:
    """The int64 indices that sort by the last key, equals by the one before it, and so on.

    Args:
        keys: arrays of one shape, or an array of them along its first dimension.

    Raises:
        ShapeError: there is no key, or their shapes differ.
    """
    if isinstance(keys, (list, tuple)):
        tensors = [as_tensor(key) for key in keys]
    else:
        whole = as_tensor(keys)
        tensors = [whole[k] for k in range(whole.shape[0] if whole.ndim else 0)]
    if not tensors or any(t.shape != tensors[0].shape for t in tensors):
        shapes = [list(t.shape) for t in tensors]
        raise ShapeError(f"lexsort requires keys of one shape, got {shapes}")
    dims = tensors[0].shape
    if not dims:
        return ops.full(0, (), S64)
    dimension = normalize_axis(axis, len(dims))
    return lexically_sorted(tensors[::-1], dimension)[-1]


def lexically_sorted(keys: Sequence[Tensor], dimension: int) -> list[Tensor]:
    """Arrays in the order of the first, equals by the next and so on; and their old indices."""
    numbers = ops.iota(S64, keys[0].shape, dimension)
    operands = [*keys, numbers]
    made = operation(
        "sort", *operands, dimensions=(dimension,), is_stable=True,
        to_apply=_comparator([o.array_shape.element_type for o in operands]),
    )  # fmt: skip
    return ops.elements(made)


def _comparator(types: Sequence[ElementType]) -> Computation:
    """Whether the left elements come first; the last operand is no key."""
    trace = Trace("lexical", current_trace())
    with trace:
        sides = [ops.wrap(trace.parameter(Shape(t))) for t in types for _side in range(2)]
        pairs = list(zip(sides[::2], sides[1::2]))[:-1]
        before = comes_before(*pairs[-1])
        for left, right in reversed(pairs[:-1]):
            first, second = comes_before(left, right), comes_before(right, left)
            rest = operation("and", before, operation("not", second))
            before = operation("or", first, rest)
    return trace.computation(before.instruction)


@traceable
def sort_complex(a: ArrayLike) -> Tensor:
    """The elements of the last dimension in order, as complex numbers."""
    tensor = sort(a)
    element_type = tensor.array_shape.element_type
    if element_type.is_complex:
        return tensor
    narrow = element_type.is_integer and element_type.bits <= 16
    return cast(tensor, np.complex64 if narrow else np.complex128)


def _without_nan(name: str, a: ArrayLike, axis: int | None, keepdims: bool) -> Tensor:
    """The index of the extreme of what is not NaN; -1 where there is nothing else."""
    tensor = as_tensor(a)
    largest = name == "nanargmax"
    find = argmax if largest else argmin
    element_type = tensor.array_shape.element_type
    if not element_type.is_float and not element_type.is_complex:
        return find(tensor, axis, keepdims=keepdims)
    missing = is_nan(tensor)
    worst = cast(as_tensor(-np.inf if largest else np.inf), tensor.dtype)
    found = find(where(missing, worst, tensor), axis, keepdims=keepdims)
    return where(all_of(missing, axis=axis, keepdims=keepdims), -1, found)


@numpy_if_known(np.nanargmax)
def nanargmax(
    a: ArrayLike, axis: int | None = None, out: None = None, *, keepdims: bool = False
) -> Tensor:
    """The index of the first largest element that is not NaN; -1 if a traced array has none."""
    refuse_out("nanargmax", out)
    return _without_nan("nanargmax", a, axis, keepdims)


@numpy_if_known(np.nanargmin)
def nanargmin(
    a: ArrayLike, axis: int | None = None, out: None = None, *, keepdims: bool = False
) -> Tensor:
    """The index of the first smallest element that is not NaN; -1 if a traced array has none."""
    refuse_out("nanargmin", out)
    return _without_nan("nanargmin", a, axis, keepdims)
