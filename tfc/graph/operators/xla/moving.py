"""XLA's operations that move elements, order them, or only say something of them."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

import tfc.frontend.operations as ops
from tfc import nn
from tfc import numpy as tnp
from tfc.errors import ShapeError, UnsupportedError
from tfc.frontend.numpy.sorting import sorted_together
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import evaluable
from tfc.graph.operators.inference import same
from tfc.graph.operators.registry import Attributes, Spec, known_numbers, operator
from tfc.graph.operators.xla.dimension_numbers import dimension_numbers
from tfc.graph.types.dtypes import int32
from tfc.graph.types.shapes import TensorShape
from tfc.hlo.shape import TupleShape


@operator("XlaPad", types="T T Tindices", known=(2, 3, 4))
def pad(
    input: Any, padding_value: Any, padding_low: Any, padding_high: Any, padding_interior: Any
) -> Any:
    """A value around and between elements; negative widths take elements away."""
    given = padding_low, padding_high, padding_interior
    widths = list(zip(*(known_numbers(n, "the widths of a padding") for n in given)))
    made = evaluable(lambda x, value: ops.pad(as_tensor(x), as_tensor(value), widths))
    return made(input, padding_value)


def _places(indices: Any, rank: int) -> list[Any]:
    if tuple(indices.shape) != (rank,):
        raise ShapeError(f"an array of rank {rank} needs as many start indices")
    return [as_tensor(indices[n]) for n in range(rank)]


@operator("XlaDynamicSlice", types="T Tindices", known=(2,))
def dynamic_slice(input: Any, start_indices: Any, size_indices: Any) -> Any:
    """A window of a size, moved so that it lies within the array."""
    sizes = known_numbers(size_indices, "the size of a slice")
    made = evaluable(
        lambda x, at: ops.dynamic_slice(as_tensor(x), _places(as_tensor(at), x.ndim), sizes)
    )
    return made(input, start_indices)


@operator("XlaDynamicUpdateSlice", types="T T Tindices")
def dynamic_update_slice(input: Any, update: Any, indices: Any) -> Any:
    """The array with a window replaced, which is moved so that it lies within."""

    def put(x: Any, part: Any, at: Any) -> Any:
        places = _places(as_tensor(at), x.ndim)
        return ops.dynamic_update_slice(as_tensor(x), as_tensor(part), places)

    return evaluable(put)(input, update, indices)


@operator("XlaGather", types="T Tindices Tindices", known=(2,))
def gather(operand: Any, start_indices: Any, slice_sizes: Any, *, dimension_numbers: Any) -> Any:
    """The windows that begin at rows of indices."""
    return _gathered(operand, start_indices, slice_sizes, dimension_numbers)


def _gathered(operand: Any, indices: Any, slice_sizes: Any, stated: Any) -> Any:
    fields = dimension_numbers(stated)
    if fields.get(5) or fields.get(6):
        raise UnsupportedError("XlaGather with batching dimensions is not offered")

    def taken(x: Any, at: Any) -> Any:
        return ops.operation(
            "gather",
            as_tensor(x),
            as_tensor(at),
            offset_dims=fields.get(1, ()),
            collapsed_slice_dims=fields.get(2, ()),
            start_index_map=fields.get(3, ()),
            index_vector_dim=fields.get(4, (0,))[0],
            slice_sizes=known_numbers(slice_sizes, "the size of windows"),
        )

    return evaluable(taken)(operand, indices)


@operator("XlaSort", infer=same)
def sort(input: Any) -> Any:
    """The elements of each row from the least."""
    return tnp.sort(input)


def _both(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(x.dtype, x.shape) for x in inputs]


@operator("XlaKeyValueSort", types="K V", infer=_both)
def sort_with_values(keys: Any, values: Any) -> Any:
    """Keys from the least, and values in the same order."""
    made = evaluable(lambda *both: tuple(sorted_together([*map(as_tensor, both)], keys.ndim - 1)))
    return made(keys, values)


def _best(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    x, axis = inputs[0], int(attributes.get("reduction_dimension", -1))
    dims = x.shape.dims
    if dims is None:
        return [(x.dtype, TensorShape(None)), (int32, TensorShape(None))]
    kept = [attributes["k"] if n == axis % len(dims) else d for n, d in enumerate(dims)]
    return [(x.dtype, TensorShape(kept)), (int32, TensorShape(kept))]


@operator("ApproxTopK", infer=_best)
def approximate_top_k(
    input: Any,
    *,
    k: int,
    reduction_dimension: int = -1,
    is_max_k: bool = True,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> Any:
    """The largest elements along a dimension, or the least, and where they are: all of them."""
    if not aggregate_to_topk:
        raise UnsupportedError("ApproxTopK without aggregate_to_topk is not offered")
    x = tnp.moveaxis(input, reduction_dimension, -1)
    values, places = nn.top_k(x if is_max_k else -x, k)
    made = values if is_max_k else -values, tnp.astype(places, np.dtype(np.int32))
    return tuple(tnp.moveaxis(part, -1, reduction_dimension) for part in made)


@operator("XlaReducePrecision", infer=same)
def reduce_precision(operand: Any, *, exponent_bits: int, mantissa_bits: int) -> Any:
    """The elements rounded to so many bits."""

    def rounded(x: Any) -> Any:
        return ops.operation(
            "reduce-precision",
            as_tensor(x),
            exponent_bits=exponent_bits,
            mantissa_bits=mantissa_bits,
        )

    return evaluable(rounded)(operand)


@operator("XlaOptimizationBarrier", types="", infer=_both)
def barrier(*input: Any) -> Any:
    """The values themselves, which no operation behind them is moved across."""

    def held(*values: Any) -> Any:
        tensors = [as_tensor(x) for x in values]
        shape = TupleShape(tuple(x.array_shape for x in tensors))
        together = ops.make_tuple(tensors)
        return tuple(ops.elements(ops.operation("opt-barrier", together, shape=shape)))

    return evaluable(held)(*input)


@operator("XlaSharding", infer=same)
def unsharded(input: Any) -> Any:
    """The value itself: programs run on one device."""
    return input


@operator("XlaReplicaId", types="", infer=lambda *_: [(int32, TensorShape(()))])
def replica() -> np.ndarray:
    """The number of the one replica that there is."""
    return np.asarray(0, np.int32)


@operator("XlaBroadcastHelper", types="T T Tindices", known=(2,))
def aligned(lhs: Any, rhs: Any, broadcast_dims: Any) -> Any:
    """Both arrays in one rank: the dimensions of the smaller one are those that are stated."""
    at = known_numbers(broadcast_dims, "the dimensions of a broadcast")
    if not at and (lhs.ndim == rhs.ndim or 0 in (lhs.ndim, rhs.ndim)):
        return lhs, rhs
    small, large = (lhs, rhs) if lhs.ndim < rhs.ndim else (rhs, lhs)
    if len(at) != small.ndim or any(n >= large.ndim for n in at):
        raise ShapeError(f"an array of rank {small.ndim} does not lie along dimensions {list(at)}")
    sizes = dict(zip(at, small.shape))
    spread = tnp.reshape(small, [sizes.get(n, 1) for n in range(large.ndim)])
    return (spread, rhs) if lhs.ndim < rhs.ndim else (lhs, spread)


@operator("XlaSplitND")
def split(
    input: Any, *, N: int, num_splits: Sequence[int], paddings: Sequence[int] = ()
) -> list[Any]:
    """Blocks of an array, which is padded with zeros before."""
    widths = [(0, n) for n in paddings] or [(0, 0)] * input.ndim
    whole = tnp.pad(input, widths)
    if len(num_splits) != whole.ndim or any(d % n for d, n in zip(whole.shape, num_splits)):
        raise ShapeError(f"an array of {tuple(whole.shape)} has no {list(num_splits)} blocks")
    sizes = [d // n for d, n in zip(whole.shape, num_splits)]
    return [
        whole[tuple(slice(n * size, (n + 1) * size) for n, size in zip(place, sizes))]
        for place in product(*map(range, num_splits))
    ]


@operator("XlaConcatND")
def concat(*inputs: Any, num_concats: Sequence[int], paddings: Sequence[int] = ()) -> Any:
    """Blocks put together, and their padding cut off."""
    parts = list(inputs)
    for axis, count in reversed(list(enumerate(num_concats))):
        groups = [parts[n : n + count] for n in range(0, len(parts), count)]
        parts = [tnp.concatenate(group, axis=axis) for group in groups]
    (whole,) = parts
    ends = [d - n for d, n in zip(whole.shape, paddings or (0,) * whole.ndim)]
    return whole[tuple(slice(end) for end in ends)]
