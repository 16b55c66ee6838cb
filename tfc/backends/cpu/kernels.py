"""The CPU's choice of code for each kernel."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from tfc.backends.cpu.convolutions.alternatives import with_choice as with_convolution_choice
from tfc.backends.cpu.convolutions.direct import convolution_panels
from tfc.backends.cpu.convolutions.kernels import convolution_of, emit_convolution_kernel
from tfc.backends.cpu.convolutions.spec import ConvolutionSpec, convolution_spec
from tfc.backends.cpu.convolutions.splits import convolution_chunks
from tfc.backends.cpu.loop_kernels import emit_loop, loop_workspace
from tfc.backends.cpu.loops.nests import Chunk, LoopNest, SplitNest
from tfc.backends.cpu.loops.rows import emit_rows, row_workspace
from tfc.backends.cpu.ordered.scans import emit_scan, has_loops_around
from tfc.backends.cpu.ordered.scatters import emit_scatter
from tfc.backends.cpu.ordered.triangular import (
    cholesky_workspace,
    emit_cholesky,
    emit_solve,
    solve_workspace,
)
from tfc.backends.cpu.ordered.updates import emit_update
from tfc.backends.cpu.products.alternatives import with_choice as with_product_choice
from tfc.backends.cpu.products.dot_kernels import (
    around_product,
    emit_dot_kernel,
    product_panels,
)
from tfc.backends.cpu.products.functions import enclosing_function, keep_apart, set_noalias
from tfc.backends.cpu.products.matmul import MatmulSpec
from tfc.backends.cpu.products.panels import PanelForm
from tfc.backends.cpu.products.schedule import Strides
from tfc.backends.cpu.products.splits import can_be_split, product_chunks, split_product
from tfc.backends.cpu.runtime.threads import sharing_cores
from tfc.backends.cpu.sorting.selections import emit_selection, selection_workspace
from tfc.backends.cpu.sorting.sorts import emit_sort, sort_workspace
from tfc.backends.cpu.windows.pooling_gradients import emit_pooling_gradient, is_pooling_gradient
from tfc.backends.cpu.windows.reduce_window import emit_reduce_window, is_one_walk
from tfc.backends.cpu.windows.select_and_scatter import emit_select_and_scatter
from tfc.backends.mlir.bodies import emit_body
from tfc.backends.mlir.elements import Buffer
from tfc.backends.mlir.kernels import Kernel, buffer_types, byte_types, memref_type
from tfc.backends.mlir.ordered.program_state import emit_state_update
from tfc.backends.mlir.provider import func, ir
from tfc.backends.mlir.vectors import index_value
from tfc.backends.target import Target
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import Shape
from tfc.passes.analysis.cost import kernel_cost
from tfc.passes.analysis.padded_windows import windows_in
from tfc.passes.analysis.products import DotGroups, dot_groups, group_stride, tiled_type
from tfc.passes.analysis.row_plan import row_plan

_LEAST_CALLED = 16  # elements that are made in a loop
_LEAST_TILED = 512  # operations of a product in a loop, below which preparing tiles takes longer


@dataclass(frozen=True)
class Sequential:
    """A kernel whose steps run in order, in one thread, rather than at each point of a space.

    emit: (kernel, buffers, scratch memref if there is any) emits the body.
    workspace: the array of scratch memory that a root needs.
    shared: whether the outer steps of a root are apart; `emit` takes the loops over them last.
    """

    emit: Callable[..., None]
    workspace: Callable[[Instruction], Shape | None] | None = None
    shared: Callable[[Instruction], bool] | None = None


SEQUENTIAL: dict[str, Sequential] = {
    "scatter": Sequential(emit_scatter),
    "sort": Sequential(emit_sort, sort_workspace, lambda root: True),
    "topk": Sequential(emit_selection, selection_workspace, lambda root: True),
    "cholesky": Sequential(emit_cholesky, cholesky_workspace),
    "triangular-solve": Sequential(emit_solve, solve_workspace),
    "rng-get-and-update-state": Sequential(emit_state_update),
    "reduce-window": Sequential(emit_reduce_window, None, lambda root: not is_one_walk(root)),
    "select-and-scatter": Sequential(emit_select_and_scatter),
    "scan": Sequential(emit_scan, None, lambda root: has_loops_around(root, root["dimensions"][0])),
    "dynamic-update-slice": Sequential(emit_update),
}


def emit_kernel(name: str, kernel: Kernel, target: Target, chunks: int = 1) -> None:
    """Emit a kernel as a private function of its operand and result buffers.

    A kernel that needs scratch memory takes a buffer of its `workspace_shape` besides. The last
    argument is the number of the chunk to run, an `index`.

    Raises:
        UnsupportedError: the CPU backend has no code for the kernel's root.
    """
    types = buffer_types(kernel) if kernel.loop is None else byte_types(kernel)
    scratch = workspace_shape(kernel, target, chunks)
    if scratch is not None:
        types.append(memref_type(scratch))
    function = func.FuncOp(name, ([*types, ir.IndexType.get()], []), visibility="private")
    set_noalias(function, len(types))
    keep_apart(function)
    block = function.add_entry_block()
    with ir.InsertionPoint(block):
        memrefs = list(block.arguments)[: len(types)]
        memory = memrefs.pop() if scratch is not None else None
        if kernel.loop is not None:
            inside = _Inside(name, target)
            emit_loop(kernel, memrefs, memory, inside.workspace, inside.emit)
        else:
            chunk = Chunk(block.arguments[-1], chunks) if chunks > 1 else None
            _emit_code(target, kernel, kernel.buffers(memrefs), memory, chunk)
        func.return_([])


@dataclass
class _Inside:
    """The kernels that a loop's kernel runs: emitted in place, or as functions that it calls.

    functions: the names of those so far.
    """

    name: str
    target: Target
    functions: dict[Hashable, str] = field(default_factory=dict)

    def workspace(self, kernel: Kernel, repeated: bool) -> Shape | None:
        """The scratch memory of one of them."""
        in_place = self._is_in_place(kernel, repeated)
        return _plain_workspace(kernel) if in_place else workspace_shape(kernel, self.target)

    def _is_in_place(self, kernel: Kernel, repeated: bool) -> bool:
        """False for tiled products, and for arrays that are made several times in the same way.

        These take longer than a call, and much longer to compile in each place.
        """
        if kernel.product is not None:
            return not repeated and kernel_cost(kernel.product).flops <= _LEAST_TILED
        return not repeated or all(s.size <= _LEAST_CALLED for s in kernel.results)

    def emit(self, kernel: Kernel, buffers: Sequence[Buffer], scratch: Any, repeated: bool) -> None:
        """The code of one of them, at the insertion point."""
        if self._is_in_place(kernel, repeated):
            _emit_plain(self.target, kernel, buffers, scratch, LoopNest())
            return
        if kernel.key not in self.functions:
            made = f"{self.name}.{len(self.functions)}.{kernel.opcode}".replace("-", "_")
            self.functions[kernel.key] = made
            with ir.InsertionPoint(enclosing_function()):
                emit_kernel(made, kernel, self.target)
        passed = [buffers[n].memref for n in kernel.arguments]
        passed += [b.memref for b in buffers[len(kernel.operands) :]]
        passed += [] if scratch is None else [scratch]
        func.CallOp([], self.functions[kernel.key], [*passed, index_value(0)])


def _emit_code(
    target: Target, kernel: Kernel, buffers: Sequence[Buffer], scratch: Any, chunk: Chunk | None
) -> None:
    """The code of a kernel, at the insertion point."""
    spec, convolution = matmul_of(kernel, target), _convolution_of(kernel, target)
    if spec is not None:
        emit_dot_kernel(spec, target, kernel, buffers, scratch, chunk)
    elif convolution is not None:
        emit_convolution_kernel(convolution, target, kernel, buffers, scratch, chunk)
    else:
        loops = SplitNest(chunk) if chunk else LoopNest()
        _emit_plain(target, kernel, buffers, scratch, loops)


def _emit_plain(
    target: Target,
    kernel: Kernel,
    buffers: Sequence[Buffer],
    scratch: Any,
    loops: LoopNest,
) -> None:
    """The code of any kernel that is not tiled, at the insertion point."""
    sequential = SEQUENTIAL.get(kernel.root.opcode)
    rows = row_plan(kernel.root) if kernel.product is None else None
    if rows is not None:
        emit_rows(rows, kernel, buffers, scratch, loops)
    elif _is_pooling_gradient(kernel):
        emit_pooling_gradient(kernel, buffers, target, loops)
    elif sequential is not None:
        extra = [scratch] if scratch is not None else []
        if sequential.shared is not None:
            extra.append(loops)
        sequential.emit(kernel, buffers, *extra)
    else:
        emit_body(kernel, buffers, loops)


def matmul_spec(root: Instruction) -> MatmulSpec | None:
    """The tiled matrix product that a dot is, or None: other types, or scattered dimensions."""
    if root.opcode != "dot" or tiled_type(root) is None:
        return None
    lhs, rhs = (o.array_shape for o in root.operands)
    result = root.array_shape
    arrays = dot_groups(root)
    batch = _batch_directions(arrays)
    strides = [[group_stride(s, g) for g in groups[1:]] for s, groups in arrays]
    if batch is None or any(None in each for each in strides):
        return None
    m, n, k = (
        _count(lhs, arrays[0][1][1]),
        _count(rhs, arrays[1][1][2]),
        _count(lhs, arrays[0][1][2]),
    )
    if n > 1 and strides[2][1] != 1:
        return None
    (inner, steps), *outer = reversed(batch)
    lhs_strides, rhs_strides, (first, second, _) = (
        (step, row or 0, column or 0) for step, (row, column) in zip(steps, strides)
    )
    return MatmulSpec(
        element_type=result.element_type,
        batch=prod(count for count, _ in batch),
        m=m,
        n=n,
        k=k,
        lhs_strides=lhs_strides,
        rhs_strides=rhs_strides,
        out_strides=(first, second, 1),
        lhs_size=lhs.storage_size,
        rhs_size=rhs.storage_size,
        out_size=result.storage_size,
        outer=(inner, outer[0][1]) if outer else None,
    )


def _batch_directions(arrays: DotGroups) -> list[tuple[int, Strides]] | None:
    """The one or two directions that the batch of a dot is: steps, and a step's lengths.

    Two are needed for rows of heads that lie in rows of other arrays, say.
    """
    rank = len(arrays[0][1][0])
    for split in range(max(rank, 1)):
        parts = [slice(split, rank)] if not split else [slice(split), slice(split, rank)]
        strides = [[group_stride(s, groups[0][p]) for s, groups in arrays] for p in parts]
        if not any(None in each for each in strides):
            shape, (dims, *_) = arrays[2]
            return [
                (_count(shape, dims[p]), (x or 0, y or 0, z or 0))
                for p, (x, y, z) in zip(parts, strides)
            ]
    return None


def has_tiled_code(root: Instruction) -> bool:
    """True for a dot or convolution whose arrays lie so that tiled code computes it at full speed.

    That of convolutions takes others too, but reads features one at a time.
    """
    if matmul_spec(root) is not None:
        return True
    convolution = convolution_spec(root)
    return convolution is not None and (
        convolution.lhs.strides[-1] == 1 or convolution.is_weight_gradient
    )


def _is_pooling_gradient(kernel: Kernel) -> bool:
    is_scatter = windows_in(kernel.root).opcode == "select-and-scatter"
    return is_scatter and is_pooling_gradient(kernel.root)


def matmul_of(kernel: Kernel, target: Target) -> MatmulSpec | None:
    """The tiled matrix product that a kernel is, with what comes before and after it, or None."""
    spec = matmul_spec(kernel.product) if kernel.product is not None else None
    if spec is None:
        return None
    made = around_product(spec, kernel, target)
    if not kernel.panels:
        return with_product_choice(made, target, sharing_cores)
    # What a kernel reads in panels goes by the choice that made these so wide.
    plain = around_product(spec, replace(kernel, panels=()), target)
    choice = with_product_choice(plain, target, sharing_cores).choice
    return replace(made, choice=choice)


def _convolution_of(kernel: Kernel, target: Target) -> ConvolutionSpec | None:
    """The tiled convolution that a kernel is, with what was measured to be best for it, or None."""
    spec = convolution_of(kernel, target)
    if spec is None:
        return None
    plain = with_convolution_choice(replace(spec, panels=0), target, sharing_cores)
    return replace(plain, panels=spec.panels)


def chunk_count(kernel: Kernel, target: Target, cores: int, most: int) -> int:
    """In how many chunks, `most` at the most, cores share the work of a kernel."""
    spec, convolution = matmul_of(kernel, target), _convolution_of(kernel, target)
    if spec is not None:
        return product_chunks(spec, target, cores, most)
    if convolution is not None:
        return convolution_chunks(convolution, target, cores, most)
    if kernel.loop is not None:
        return 1
    sequential = SEQUENTIAL.get(kernel.root.opcode)
    if _is_pooling_gradient(kernel):
        return most
    if sequential is not None and not (sequential.shared and sequential.shared(kernel.root)):
        return 1
    return most


def tile_panels(kernel: Kernel, target: Target) -> PanelForm | None:
    """The panels in which a kernel's tiles read the right operand of its product, if they do."""
    spec, convolution = matmul_of(kernel, target), _convolution_of(kernel, target)
    if spec is not None:
        return product_panels(spec, target)
    return convolution_panels(convolution, target) if convolution is not None else None


def can_be_shared(kernel: Kernel, target: Target, chunks: int) -> bool:
    """Whether there is a way to run a kernel in so many chunks."""
    spec, convolution = matmul_of(kernel, target), _convolution_of(kernel, target)
    if convolution is not None and convolution.algorithm(target) == "tap by tap":
        plan = convolution.tap_plan(target)
        return plan is not None and convolution.panels in (0, plan.tile_columns)
    return spec is None or can_be_split(spec, target, chunks)


def workspace_shape(kernel: Kernel, target: Target, chunks: int = 1) -> Shape | None:
    """The array of scratch memory that a kernel, or each of its chunks, needs, if any."""
    spec = matmul_of(kernel, target)
    if spec is not None:
        size = split_product(spec, target, chunks).workspace_size(target)
        return Shape(spec.element_type, (size,))
    convolution = _convolution_of(kernel, target)
    if convolution is not None:
        return Shape(convolution.out.element_type, (convolution.workspace_size(target),))
    if kernel.loop is not None:
        return loop_workspace(kernel, _Inside("", target).workspace)
    return _plain_workspace(kernel)


def _plain_workspace(kernel: Kernel) -> Shape | None:
    """The scratch memory of a kernel that is not tiled."""
    root = kernel.root
    rows = row_plan(root) if kernel.product is None else None
    if rows is not None:
        return row_workspace(rows)
    sequential = SEQUENTIAL.get(root.opcode)
    return sequential.workspace(root) if sequential and sequential.workspace else None


def _count(shape: Shape, dimensions: Sequence[int]) -> int:
    count = 1
    for d in dimensions:
        count *= shape.dims[d]
    return count
