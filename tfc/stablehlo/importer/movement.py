"""Data movement, by fixed positions and by indices; and the dynamic forms of fixed sizes."""

from collections.abc import Sequence
from typing import Any

from tfc.backends.mlir import provider
from tfc.errors import UnsupportedError
from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.indexed import GATHER, SCATTER
from tfc.stablehlo.importer.operation import Operation, row


def _spread(operand: Instruction, dims: Sequence[int], dimensions: Sequence[int]) -> Instruction:
    """Broadcast; sizes of one may become larger, which HLO leaves to a reshape."""
    kept = [k for k, d in enumerate(dimensions) if operand.array_shape.dims[k] == dims[d]]
    squeezed = builder.reshape(operand, [operand.array_shape.dims[k] for k in kept])
    return builder.broadcast(squeezed, dims, [dimensions[k] for k in kept])


@row("stablehlo.broadcast_in_dim", "stablehlo.dynamic_broadcast_in_dim")
def _broadcast_in_dim(operation: Operation) -> Instruction:
    made = _spread(
        operation.operands[0], operation.shape.dims, operation.ints("broadcast_dimensions")
    )
    return made.with_(metadata=operation.metadata)


@row("stablehlo.broadcast")
def _broadcast(operation: Operation) -> Instruction:
    return builder.broadcast_left(operation.operands[0], operation.ints("broadcast_sizes"))


# The dynamic forms take sizes as operands; where the result's type has them, they must agree.
@row("stablehlo.reshape", "stablehlo.dynamic_reshape")
def _reshape(operation: Operation) -> Instruction:
    return operation.make("reshape", operation.operands[:1])


@row("stablehlo.iota", "stablehlo.dynamic_iota")
def _iota(operation: Operation) -> Instruction:
    return operation.make("iota", [], iota_dimension=operation.integer("iota_dimension"))


@row("stablehlo.get_dimension_size")
def _get_dimension_size(operation: Operation) -> Instruction:
    size = operation.operands[0].array_shape.dims[operation.integer("dimension")]
    return builder.constant(size, operation.shape.element_type)


@row("stablehlo.set_dimension_size")
def _set_dimension_size(operation: Operation) -> Instruction:
    size = operation.operands[0].array_shape.dims[operation.integer("dimension")]
    if int(operation.constant(1)) != size:
        raise UnsupportedError("set_dimension_size is supported only where it changes nothing")
    return operation.operands[0]


@row("stablehlo.transpose")
def _transpose(operation: Operation) -> Instruction:
    return operation.make("transpose", dimensions=operation.ints("permutation"))


@row("stablehlo.reverse")
def _reverse(operation: Operation) -> Instruction:
    return operation.make("reverse", dimensions=operation.ints("dimensions"))


@row("stablehlo.concatenate")
def _concatenate(operation: Operation) -> Instruction:
    return operation.make("concatenate", dimensions=(operation.integer("dimension"),))


@row("stablehlo.slice")
def _slice(operation: Operation) -> Instruction:
    names = ("start_indices", "limit_indices", "strides")
    return operation.make("slice", slice=tuple(zip(*(operation.ints(n) for n in names))))


@row("stablehlo.real_dynamic_slice")
def _real_dynamic_slice(operation: Operation) -> Instruction:
    bounds = zip(*(operation.constant(n).tolist() for n in (1, 2, 3)))
    return operation.make("slice", operation.operands[:1], slice=tuple(bounds))


@row("stablehlo.pad")
def _pad(operation: Operation) -> Instruction:
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    return operation.make("pad", padding=tuple(zip(*(operation.ints(n) for n in names))))


@row("stablehlo.dynamic_pad")
def _dynamic_pad(operation: Operation) -> Instruction:
    padding = zip(*(operation.constant(n).tolist() for n in (2, 3, 4)))
    return operation.make("pad", operation.operands[:2], padding=tuple(padding))


@row("stablehlo.dynamic_slice")
def _dynamic_slice(operation: Operation) -> Instruction:
    return operation.make("dynamic-slice", dynamic_slice_sizes=operation.ints("slice_sizes"))


@row("stablehlo.dynamic_update_slice")
def _dynamic_update_slice(operation: Operation) -> Instruction:
    return operation.make("dynamic-update-slice")


def _gather_sizes(operation: Operation) -> tuple[int, ...]:
    if operation.name == "stablehlo.gather":
        return operation.ints("slice_sizes")
    return tuple(operation.constant(2).tolist())


@row("stablehlo.gather", "stablehlo.dynamic_gather")
def _gather(operation: Operation) -> Instruction:
    found = provider.stablehlo().GatherDimensionNumbers(operation.attribute("dimension_numbers"))
    numbers: dict[str, Any] = {name: tuple(getattr(found, name)) for name in GATHER}
    return operation.make(
        "gather",
        operation.operands[:2],
        **numbers,
        index_vector_dim=found.index_vector_dim,
        slice_sizes=_gather_sizes(operation),
        indices_are_sorted=operation.flag("indices_are_sorted"),
    )


@row("stablehlo.scatter")
def _scatter(operation: Operation) -> Instruction:
    attribute = operation.attribute("scatter_dimension_numbers")
    found = provider.stablehlo().ScatterDimensionNumbers(attribute)
    # One of the names differs from HLO's.
    numbers: dict[str, Any] = {
        name: tuple(getattr(found, name.replace("scatter_dims", "scattered_dims")))
        for name in SCATTER
    }
    return operation.make(
        "scatter",
        **numbers,
        index_vector_dim=found.index_vector_dim,
        indices_are_sorted=operation.flag("indices_are_sorted"),
        unique_indices=operation.flag("unique_indices"),
        to_apply=operation.region(0, "scatter_combiner"),
    )


@row("stablehlo.torch_index_select")
def _index_select(operation: Operation) -> Instruction:
    """Rows of an array by a vector of indices; with batch dimensions, from each batch its own."""
    operand, index = operation.operands
    dim, batch = operation.integer("dim"), operation.integer("batch_dims")
    sizes, batches = operand.array_shape.dims, tuple(range(batch))
    rank = index.array_shape.rank
    inside = [d for d in range(operation.shape.rank) if not dim <= d < dim + rank - batch]
    return operation.make(
        "gather",
        offset_dims=tuple(d for d in inside if d >= batch),
        collapsed_slice_dims=(dim,),
        start_index_map=(dim,),
        operand_batching_dims=batches,
        start_indices_batching_dims=batches,
        index_vector_dim=rank,
        slice_sizes=tuple(1 if d == dim or d < batch else n for d, n in enumerate(sizes)),
    )
