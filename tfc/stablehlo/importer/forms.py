"""Operations that are read only: dynamic forms of fixed sizes, old spellings, and tuples.

The dynamic forms take sizes as operands; where the result's type has them, they must agree.
"""

from dataclasses import replace

from tfc.errors import UnsupportedError
from tfc.hlo import builder
from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.hlo.ir import Instruction
from tfc.hlo.op import OPS
from tfc.stablehlo.operations.contractions import CONVOLUTION, PRECISION, make_convolution
from tfc.stablehlo.operations.movement import BROADCAST, GATHERED, IOTA, RESHAPE
from tfc.stablehlo.operations.operation import Operation, Reader
from tfc.stablehlo.operations.row import Row


def _without_sizes(row: Row) -> Reader:
    """Reads a dynamic form as the row reads the operation that takes no sizes."""
    arity = OPS[row.opcode].arity
    return lambda operation: row.read(replace(operation, operands=operation.operands[:arity]))


def _dynamic_gather(operation: Operation) -> Instruction:
    sizes = tuple(operation.constant(2).tolist())
    attributes = {**GATHERED.attributes(operation), "slice_sizes": sizes}
    return operation.make("gather", operation.operands[:2], **attributes)


def _dynamic_convolution(operation: Operation) -> Instruction:
    padding = operation.constant(2).reshape(-1, 2).tolist()
    attributes = CONVOLUTION.attributes(operation)
    stated = attributes["window"].dimensions or (WindowDimension(1),) * len(padding)
    window = (replace(d, low=low, high=high) for d, (low, high) in zip(stated, padding))
    padded = {**attributes, "window": Window(tuple(window))}
    return make_convolution(operation, CONVOLUTION.opcode, padded)


def _real_dynamic_slice(operation: Operation) -> Instruction:
    bounds = zip(*(operation.constant(n).tolist() for n in (1, 2, 3)))
    return operation.make("slice", operation.operands[:1], slice=tuple(bounds))


def _dynamic_pad(operation: Operation) -> Instruction:
    padding = zip(*(operation.constant(n).tolist() for n in (2, 3, 4)))
    return operation.make("pad", operation.operands[:2], padding=tuple(padding))


def _get_dimension_size(operation: Operation) -> Instruction:
    size = operation.operands[0].array_shape.dims[operation.integer("dimension")]
    return builder.constant(size, operation.shape.element_type)


def _set_dimension_size(operation: Operation) -> Instruction:
    size = operation.operands[0].array_shape.dims[operation.integer("dimension")]
    if int(operation.constant(1)) != size:
        raise UnsupportedError("set_dimension_size is supported only where it changes nothing")
    return operation.operands[0]


def _broadcast(operation: Operation) -> Instruction:
    return builder.broadcast_left(operation.operands[0], operation.ints("broadcast_sizes"))


def _dot(operation: Operation) -> Instruction:
    """A product of the last dimension and the first."""
    said = {k: v for field in PRECISION for k, v in field.read(operation).items()}
    last = operation.operands[0].array_shape.rank - 1
    return operation.make("dot", lhs_contracting_dims=(last,), rhs_contracting_dims=(0,), **said)


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


READERS: dict[str, Reader] = {
    "stablehlo.dynamic_broadcast_in_dim": _without_sizes(BROADCAST),
    "stablehlo.dynamic_reshape": _without_sizes(RESHAPE),
    "stablehlo.dynamic_iota": _without_sizes(IOTA),
    "stablehlo.dynamic_gather": _dynamic_gather,
    "stablehlo.dynamic_conv": _dynamic_convolution,
    "stablehlo.real_dynamic_slice": _real_dynamic_slice,
    "stablehlo.dynamic_pad": _dynamic_pad,
    "stablehlo.get_dimension_size": _get_dimension_size,
    "stablehlo.set_dimension_size": _set_dimension_size,
    "stablehlo.broadcast": _broadcast,
    "stablehlo.dot": _dot,
    "stablehlo.torch_index_select": _index_select,
    "stablehlo.create_token": lambda operation: operation.make("after-all"),
    "stablehlo.tuple": lambda operation: operation.make("tuple"),
    "stablehlo.get_tuple_element": lambda operation: operation.make(
        "get-tuple-element", index=operation.integer("index")
    ),
}
