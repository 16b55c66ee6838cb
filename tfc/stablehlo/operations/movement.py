"""Data movement, by fixed positions and by indices."""

from typing import Any

from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.indexed import GATHER, SCATTER
from tfc.hlo.shape import Shape
from tfc.stablehlo.operations.emission import Emission
from tfc.stablehlo.operations.fields import columns, flag, integer, ints, numbers, regions, single
from tfc.stablehlo.operations.operation import Operation
from tfc.stablehlo.operations.row import Values, row


def _make_broadcast(operation: Operation, _: str, attributes: Values) -> Instruction:
    """Sizes of one may become larger, which HLO leaves to a reshape."""
    operand, dims = operation.operands[0], operation.shape.dims
    dimensions = attributes["dimensions"]
    kept = [k for k, d in enumerate(dimensions) if operand.array_shape.dims[k] == dims[d]]
    squeezed = builder.reshape(operand, [operand.array_shape.dims[k] for k in kept])
    made = builder.broadcast(squeezed, dims, [dimensions[k] for k in kept])
    return made.with_(metadata=operation.metadata)


def _starts(e: Emission, first: int, rank: int) -> list[Any]:
    """Start indices as scalars, which HLO may have in a vector."""
    starts = e.operands[first:]
    shapes = [o.array_shape for o in e.instruction.operands[first:]]
    if len(starts) != 1 or not shapes[0].rank:
        return list(starts)
    element_type, scalars = shapes[0].element_type, []
    for d in range(rank):
        part = e.create(
            "stablehlo.slice", starts, Shape(element_type, (1,)),
            start_indices=(d,), limit_indices=(d + 1,), strides=(1,),
        )  # fmt: skip
        scalars.append(e.create("stablehlo.reshape", [part], Shape(element_type)))
    return scalars


def _create_dynamic_slice(e: Emission, name: str, said: Values) -> Any:
    starts = _starts(e, 1, len(said["slice_sizes"]))
    return e.create(name, [e.operands[0], starts], **said)


def _create_dynamic_update_slice(e: Emission, name: str, _: Values) -> Any:
    return e.create(name, [*e.operands[:2], _starts(e, 2, e.instruction.array_shape.rank)])


_VECTOR = {"index_vector_dim": "index_vector_dim"}
GATHER_NUMBERS = numbers(
    "GatherDimensionNumbers", "dimension_numbers", {name: name for name in GATHER} | _VECTOR
)
SCATTER_NUMBERS = numbers(
    "ScatterDimensionNumbers",
    "scatter_dimension_numbers",
    # One of the names differs from HLO's.
    {name: name.replace("scatter_dims", "scattered_dims") for name in SCATTER} | _VECTOR,
)
GATHERED = row("gather", GATHER_NUMBERS, ints("slice_sizes"), flag("indices_are_sorted"))
BROADCAST = row(
    "broadcast",
    ints("dimensions", "broadcast_dimensions"),
    name="stablehlo.broadcast_in_dim",
    make=_make_broadcast,
)
RESHAPE = row("reshape")
IOTA = row("iota", integer("iota_dimension"))

ROWS = (
    BROADCAST,
    RESHAPE,
    IOTA,
    row("transpose", ints("dimensions", "permutation")),
    row("reverse", ints("dimensions")),
    row("concatenate", single("dimensions", "dimension")),
    row("slice", columns("slice", "start_indices", "limit_indices", "strides")),
    row("pad", columns("padding", "edge_padding_low", "edge_padding_high", "interior_padding")),
    row(
        "dynamic-slice",
        ints("dynamic_slice_sizes", "slice_sizes"),
        create=_create_dynamic_slice,
    ),
    row("dynamic-update-slice", create=_create_dynamic_update_slice),
    GATHERED,
    row(
        "scatter",
        SCATTER_NUMBERS,
        flag("indices_are_sorted"),
        flag("unique_indices"),
        regions(to_apply="scatter_combiner"),
    ),
)
