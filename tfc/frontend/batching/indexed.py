"""Batching of movement by indices: gather, scatter and dynamic slices.

Where operand and indices both differ by batch element, the batch runs along both as one of their
batching dimensions. A dynamic slice whose starts differ is a gather, which clamps as it does; an
update whose starts differ is a scatter, which leaves out what does not fit, so the starts are
clamped before.
"""

from collections.abc import Sequence
from typing import Any

from tfc.frontend import operations as ops
from tfc.frontend.batching.movement import moved
from tfc.frontend.batching.values import Nest, Value, is_batched, tensor_of
from tfc.frontend.batching.walk import Batch, batches
from tfc.frontend.tensor import Tensor
from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.ops.indexed import GATHER, SCATTER
from tfc.hlo.shape import S64, ElementType, Shape


def _numbers(x: Instruction, names: Sequence[str], operand: bool, indices: bool) -> dict[str, Any]:
    """The dimension numbers of a gather or scatter, with the batch first in what is batched.

    names: what windows.GATHER and SCATTER list: window dimensions; dropped dimensions and index map
        of the operand; batching dimensions of the operand and of the indices.
    """
    window, dropped, index_map, of_operand, of_indices = (x.attributes.get(n, ()) for n in names)
    vector = x["index_vector_dim"] + indices
    if operand:
        dropped, index_map, of_operand = moved(dropped), moved(index_map), moved(of_operand)
    if indices:
        of_indices = moved(of_indices)
    window = moved(window)
    if operand and indices:
        of_operand, of_indices = (0, *of_operand), (0, *of_indices)
    elif operand:
        window = (0, *window)  # each window goes through the whole batch
    values = window, dropped, index_map, of_operand or None, of_indices or None
    return {**dict(zip(names, values)), "index_vector_dim": vector}


@batches("gather")
def _gather(batch: Batch, x: Instruction, operand: Value, indices: Value) -> Nest:
    sizes = x["slice_sizes"]
    if operand.batched:
        sizes = (1 if indices.batched else batch.size, *sizes)
    is_sorted = x.attributes.get("indices_are_sorted")
    made = ops.operation(
        "gather", operand.tensor, indices.tensor, slice_sizes=sizes,
        **_numbers(x, GATHER, operand.batched, indices.batched),
        indices_are_sorted=None if indices.batched else is_sorted,
    )  # fmt: skip
    return Value(made, True)


@batches("scatter")
def _scatter(batch: Batch, x: Instruction, *operands: Value) -> Nest:
    count = len(operands) // 2
    indices = operands[count]
    tensors = [batch.stacked(o) for o in operands]
    tensors[count] = indices.tensor
    is_sorted = x.attributes.get("indices_are_sorted")
    made = ops.operation(
        "scatter", *tensors, **_numbers(x, SCATTER, True, indices.batched), to_apply=x["to_apply"],
        indices_are_sorted=None if indices.batched else is_sorted,
        unique_indices=x.attributes.get("unique_indices"),
    )  # fmt: skip
    return batch.result(made)


@batches("dynamic-slice")
def _dynamic_slice(batch: Batch, x: Instruction, operand: Value, *starts: Value) -> Nest:
    sizes, rank = x["dynamic_slice_sizes"], len(x["dynamic_slice_sizes"])
    if not any(map(is_batched, starts)):
        first = [_zero(starts), *_scalars(starts, rank)]
        return Value(ops.dynamic_slice(operand.tensor, first, (batch.size, *sizes)), True)
    limits = [n - s for n, s in zip(x.operands[0].array_shape.dims, sizes)]
    dims, own = tuple(range(rank)), operand.batched
    made = ops.operation(
        "gather", operand.tensor, _vectors(batch, starts, limits),
        offset_dims=moved(dims), collapsed_slice_dims=(), index_vector_dim=1,
        start_index_map=moved(dims) if own else dims,
        operand_batching_dims=(0,) if own else None,
        start_indices_batching_dims=(0,) if own else None,
        slice_sizes=(1, *sizes) if own else sizes,
    )  # fmt: skip
    return Value(made, True)


@batches("dynamic-update-slice")
def _dynamic_update(
    batch: Batch, x: Instruction, operand: Value, update: Value, *starts: Value
) -> Nest:
    rank = x.array_shape.rank
    whole, part = batch.stacked(operand), batch.stacked(update)
    if not any(map(is_batched, starts)):
        first = [_zero(starts), *_scalars(starts, rank)]
        return Value(ops.dynamic_update_slice(whole, part, first), True)
    limits = [n - u for n, u in zip(x.array_shape.dims, x.operands[1].array_shape.dims)]
    made = ops.operation(
        "scatter", whole, _vectors(batch, starts, limits), part,
        update_window_dims=moved(range(rank)), inserted_window_dims=(), index_vector_dim=1,
        scatter_dims_to_operand_dims=moved(range(rank)), input_batching_dims=(0,),
        scatter_indices_batching_dims=(0,), indices_are_sorted=True, unique_indices=True,
        to_apply=_second(x.array_shape.element_type),
    )  # fmt: skip
    return Value(made, True)


def _second(element_type: ElementType) -> Computation:
    """(x, y) -> y on scalars."""
    x, y = (builder.parameter(n, Shape(element_type)) for n in range(2))
    return Computation.make("second", [x, y], y)


def _zero(starts: Sequence[Value]) -> Tensor:
    """The start of the batch's own dimension."""
    element_type = tensor_of(starts[0]).array_shape.element_type if starts else S64
    return ops.constant(0, element_type)


def _scalars(starts: Sequence[Value], rank: int) -> list[Tensor]:
    """Start indices, which may be one vector, as scalars: batched ones as an array of them."""
    if len(starts) != 1 or tensor_of(starts[0]).ndim == starts[0].batched:
        return [s.tensor for s in starts]
    vector = starts[0].tensor
    columns = [ops.slice_along(vector, vector.ndim - 1, d, d + 1) for d in range(rank)]
    return [ops.reshape(c, vector.shape[:-1]) for c in columns]


def _vectors(batch: Batch, starts: Sequence[Value], limits: Sequence[int]) -> Tensor:
    """s64[n,rank]: where each batch element's window begins, clamped to 0 … limit."""
    columns = []
    for start, limit in zip(_scalars(starts, len(limits)), limits):
        element_type = start.array_shape.element_type
        most = min(limit, int(element_type.limits[1]))
        bounds = [ops.constant(bound, element_type) for bound in (0, most)]
        inside = ops.convert(ops.operation("clamp", bounds[0], start, bounds[1]), S64)
        stacked = batch.stacked(Value(inside, start.ndim == 1))
        columns.append(ops.reshape(stacked, (batch.size, 1)))
    return ops.concatenate(columns, 1) if columns else ops.full(0, (batch.size, 0), S64)
