"""The CPU's choice of code for each kernel."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.mlir.bodies import emit_body
from tfc.backends.mlir.convolution_kernels import convolution_of, emit_convolution_kernel
from tfc.backends.mlir.dot_kernels import around_product, emit_dot_kernel
from tfc.backends.mlir.elements import Buffer
from tfc.backends.mlir.kernels import Kernel, buffer_types, memref_type
from tfc.backends.mlir.loops import LoopNest
from tfc.backends.mlir.matmul import MatmulSpec
from tfc.backends.mlir.program_state import emit_state_update
from tfc.backends.mlir.provider import func, ir
from tfc.backends.mlir.scans import emit_scan
from tfc.backends.mlir.scatters import emit_scatter
from tfc.backends.mlir.sorts import emit_sort, sort_workspace
from tfc.backends.mlir.triangular import (
    cholesky_workspace,
    emit_cholesky,
    emit_solve,
    solve_workspace,
)
from tfc.backends.mlir.windows import emit_reduce_window, emit_select_and_scatter
from tfc.backends.target import Target
from tfc.hlo.contraction import dot_dimensions, free_dimensions
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import F32, F64, Shape
from tfc.passes.dots import group_stride


@dataclass(frozen=True)
class Sequential:
    """A kernel whose steps run in order, in one thread, rather than at each point of a space.

    emit: (kernel, buffers, scratch memref if there is any) emits the body.
    workspace: the array of scratch memory that a root needs.
    """

    emit: Callable[..., None]
    workspace: Callable[[Instruction], Shape | None] | None = None


SEQUENTIAL: dict[str, Sequential] = {
    "scatter": Sequential(emit_scatter),
    "sort": Sequential(emit_sort, sort_workspace),
    "cholesky": Sequential(emit_cholesky, cholesky_workspace),
    "triangular-solve": Sequential(emit_solve, solve_workspace),
    "rng-get-and-update-state": Sequential(emit_state_update),
    "reduce-window": Sequential(emit_reduce_window),
    "select-and-scatter": Sequential(emit_select_and_scatter),
    "scan": Sequential(emit_scan),
}


def emit_kernel(name: str, kernel: Kernel, target: Target) -> None:
    """Emit a kernel as a private function of its operand and result buffers.

    A kernel that needs scratch memory takes a buffer of its `workspace_shape` besides.

    Raises:
        UnsupportedError: the CPU backend has no code for the kernel's root.
    """
    types = buffer_types(kernel)
    scratch = workspace_shape(kernel, target)
    if scratch is not None:
        types.append(memref_type(scratch))
    function = func.FuncOp(name, ([*types], []), visibility="private")
    noalias = ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get()})
    function.arg_attrs = ir.ArrayAttr.get([noalias] * len(types))
    make_internal(function)
    block = function.add_entry_block()
    with ir.InsertionPoint(block):
        shapes = (*kernel.operand_shapes, *kernel.results)
        buffers = [Buffer(m, s) for m, s in zip(block.arguments, shapes)]
        sequential = SEQUENTIAL.get(kernel.root.opcode)
        spec, convolution = matmul_of(kernel), convolution_of(kernel)
        if spec is not None:
            emit_dot_kernel(spec, target, kernel, buffers, block.arguments[-1])
        elif convolution is not None:
            emit_convolution_kernel(convolution, target, kernel, buffers, block.arguments[-1])
        elif sequential is not None:
            sequential.emit(kernel, buffers, *block.arguments[len(shapes) :])
        else:
            emit_body(kernel, buffers, LoopNest(), flat=False)
        func.return_([])


def make_internal(function: Any) -> None:
    """Give a function a name that no linker sees, and keep it a function of its own.

    LLVM's work then stays linear in the number of kernels, and a profile shows their names.
    """
    function.attributes["llvm.linkage"] = ir.Attribute.parse("#llvm.linkage<internal>")
    function.attributes["llvm.no_inline"] = ir.UnitAttr.get()


def matmul_spec(root: Instruction) -> MatmulSpec | None:
    """The tiled matrix product that a dot is, or None: other types, or scattered dimensions."""
    if root.opcode != "dot":
        return None
    lhs, rhs = (o.array_shape for o in root.operands)
    result = root.array_shape
    if {lhs.element_type, rhs.element_type, result.element_type} not in ({F32}, {F64}):
        return None
    lhs_batch, lhs_contracting, rhs_batch, rhs_contracting = dot_dimensions(root.attributes)
    lhs_free = free_dimensions(lhs.rank, lhs_batch, lhs_contracting)
    rhs_free = free_dimensions(rhs.rank, rhs_batch, rhs_contracting)
    batch, rows = len(lhs_batch), len(lhs_batch) + len(lhs_free)
    lhs_strides = _strides(lhs, lhs_batch, lhs_free, lhs_contracting)
    rhs_strides = _strides(rhs, rhs_batch, rhs_contracting, rhs_free)
    out_strides = _strides(result, range(batch), range(batch, rows), range(rows, result.rank))
    n = _count(rhs, rhs_free)
    if lhs_strides is None or rhs_strides is None or out_strides is None:
        return None
    if n > 1 and out_strides[2] != 1:
        return None
    return MatmulSpec(
        element_type=result.element_type,
        batch=_count(lhs, lhs_batch),
        m=_count(lhs, lhs_free),
        n=n,
        k=_count(lhs, lhs_contracting),
        lhs_strides=lhs_strides,
        rhs_strides=rhs_strides,
        out_strides=(*out_strides[:2], 1),
        lhs_size=lhs.storage_size,
        rhs_size=rhs.storage_size,
        out_size=result.storage_size,
    )


def matmul_of(kernel: Kernel) -> MatmulSpec | None:
    """The tiled matrix product that a kernel is, with what comes before and after it, or None."""
    spec = matmul_spec(kernel.product) if kernel.product is not None else None
    return spec and around_product(spec, kernel)


def workspace_shape(kernel: Kernel, target: Target) -> Shape | None:
    """The array of scratch memory that a kernel needs, if any."""
    spec = matmul_of(kernel)
    if spec is not None:
        return Shape(spec.element_type, (spec.workspace_size(target),))
    convolution = convolution_of(kernel)
    if convolution is not None:
        return Shape(convolution.out.element_type, (convolution.workspace_size(target),))
    sequential = SEQUENTIAL.get(kernel.root.opcode)
    return sequential.workspace(kernel.root) if sequential and sequential.workspace else None


def _strides(shape: Shape, *groups: Sequence[int]) -> tuple[int, int, int] | None:
    """The strides of the batch, row and column directions, if each has one."""
    first, second, third = (group_stride(shape, g) for g in groups)
    return None if None in (first, second, third) else (first or 0, second or 0, third or 0)


def _count(shape: Shape, dimensions: Sequence[int]) -> int:
    count = 1
    for d in dimensions:
        count *= shape.dims[d]
    return count
