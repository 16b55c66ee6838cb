"""A kernel of a dot as a tiled matrix product, with what comes before and after it."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.epilogues import Epilogue, is_apart
from tfc.backends.mlir.kernels import Kernel, sources
from tfc.backends.mlir.matmul import Around, Computed, Finish, Result, emit_product
from tfc.backends.mlir.matmul_schedule import MatmulSpec
from tfc.backends.mlir.vectors import Position, add, divide, index_value, multiply, subtract
from tfc.backends.target import Target
from tfc.hlo.contraction import dot_dimensions, free_dimensions
from tfc.hlo.indexing import delinearize, variable
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import F32, F64, Shape
from tfc.passes.dots import group_stride

Groups = tuple[Sequence[int], Sequence[int], Sequence[int]]


def operand_groups(dot: Instruction) -> tuple[Groups, Groups]:
    """The batch, free and contracting dimensions of the left operand, and of the right one."""
    lhs_batch, lhs_contracting, rhs_batch, rhs_contracting = dot_dimensions(dot.attributes)
    lhs, rhs = (o.array_shape for o in dot.operands)
    lhs_free = free_dimensions(lhs.rank, lhs_batch, lhs_contracting)
    rhs_free = free_dimensions(rhs.rank, rhs_batch, rhs_contracting)
    return (lhs_batch, lhs_free, lhs_contracting), (rhs_batch, rhs_free, rhs_contracting)


def matmul_spec(kernel: Kernel) -> MatmulSpec | None:
    """The tiled matrix product that a kernel is, or None: other types, or scattered dimensions."""
    dot = kernel.product
    if dot is None or dot.opcode != "dot":
        return None
    lhs, rhs = (o.array_shape for o in dot.operands)
    result = dot.array_shape
    if {lhs.element_type, rhs.element_type, result.element_type} not in ({F32}, {F64}):
        return None
    (lhs_batch, lhs_free, lhs_summed), (rhs_batch, rhs_free, rhs_summed) = operand_groups(dot)
    batch, rows = len(lhs_batch), len(lhs_batch) + len(lhs_free)
    lhs_strides = _strides(lhs, lhs_batch, lhs_free, lhs_summed)
    rhs_strides = _strides(rhs, rhs_batch, rhs_summed, rhs_free)
    out_strides = _strides(result, range(batch), range(batch, rows), range(rows, result.rank))
    m, n = _count(lhs, lhs_free), _count(rhs, rhs_free)
    apart = is_apart(kernel)
    if apart:
        out_strides = (m * n, n, 1)
    if lhs_strides is None or rhs_strides is None or out_strides is None:
        return None
    if n > 1 and out_strides[2] != 1:
        return None
    return MatmulSpec(
        element_type=result.element_type,
        batch=_count(lhs, lhs_batch),
        m=m,
        n=n,
        k=_count(lhs, lhs_summed),
        lhs_strides=lhs_strides,
        rhs_strides=rhs_strides,
        out_strides=(*out_strides[:2], 1),
        lhs_size=lhs.storage_size,
        rhs_size=rhs.storage_size,
        out_size=result.storage_size,
        apart=apart,
        lhs_computed=dot.operands[0].opcode != "parameter",
        rhs_computed=dot.operands[1].opcode != "parameter",
    )


def _strides(shape: Shape, *groups: Sequence[int]) -> tuple[int, int, int] | None:
    """The strides of the batch, row and column directions, if each has one."""
    first, second, third = (group_stride(shape, g) for g in groups)
    return None if None in (first, second, third) else (first or 0, second or 0, third or 0)


def _count(shape: Shape, dimensions: Sequence[int]) -> int:
    return prod(shape.dims[d] for d in dimensions)


def emit_dot_kernel(
    spec: MatmulSpec, target: Target, kernel: Kernel, buffers: Sequence[Buffer], workspace: Any
) -> None:
    """Emit a kernel whose product is a dot with a spec.

    Args:
        workspace: memory of the spec's `workspace_size`.
    """
    dot = kernel.product
    assert dot is not None
    memory = {p: b.memref for p, b in zip(kernel.computation.parameters, buffers)}
    lhs, rhs = dot.operands
    around = Around(
        _finish(spec, kernel, buffers) if dot is not kernel.root else None,
        _computed(spec, kernel, buffers, 0) if spec.lhs_computed else None,
        _computed(spec, kernel, buffers, 1) if spec.rhs_computed else None,
    )
    memories = [memory.get(lhs), memory.get(rhs), buffers[-1].memref, workspace]
    emit_product(spec, target, memories, around)


def _finish(spec: MatmulSpec, kernel: Kernel, buffers: Sequence[Buffer]) -> Finish:
    dot, flat = kernel.product, spec.flattened()
    assert dot is not None
    epilogue = Epilogue(kernel, buffers)
    (batch_dims, free, _), _ = operand_groups(dot)
    dims, rows = dot.array_shape.dims, len(batch_dims) + len(free)
    line = variable("b", flat.batch) * flat.m + variable("i", flat.m)

    def finish(
        batch: Position, row: Position, column: Position, height: Position, width: int,
        sums: Result,
    ) -> None:  # fmt: skip
        # A column in terms of the tile's number, so that what is in a tile is known to LLVM.
        across, outer = variable("c", width), {"b": batch}
        if isinstance(column, int):
            across = across + column
        else:
            across = across + variable("t", flat.n // width) * width
            outer["t"] = divide(column, width)

        def place(values: Mapping[str, Position]) -> tuple[Any, Position]:
            down = multiply(subtract(values["i"], row), sums.row_step)
            return sums.memory, add(sums.position, down, values["c"])

        index = (*delinearize(line, dims[:rows]), *delinearize(across, dims[rows:]))
        loops = [("i", row, add(row, height)), ("c", 0, width)]
        epilogue.finish(index, outer, loops, place if spec.apart else None)

    return finish


def _computed(
    spec: MatmulSpec, kernel: Kernel, buffers: Sequence[Buffer], number: int
) -> Computed:
    """The elements of an operand that is computed in the kernel."""
    dot, flat = kernel.product, spec.flattened()
    assert dot is not None
    operand, groups = dot.operands[number], operand_groups(dot)[number]
    dims = operand.array_shape.dims
    sizes = [[dims[d] for d in group] for group in groups]
    batch, depth = variable("b", flat.batch), variable("p", flat.k)
    if number == 0:
        line = delinearize(batch * flat.m + variable("i", flat.m), [*sizes[0], *sizes[1]])
    else:
        line = (*delinearize(batch, sizes[0]), *delinearize(variable("i", flat.n), sizes[1]))
    order = [*groups[0], *groups[1], *groups[2]]
    placed = dict(zip(order, (*line, *delinearize(depth, sizes[2]))))
    index = tuple(placed[d] for d in range(len(dims)))

    def element(b: Position, i: Position, p: Position) -> Any:
        values = {"b": index_value(b), "i": index_value(i), "p": index_value(p)}
        return Elements(sources(kernel, buffers), values).element(operand, index).value

    return element
