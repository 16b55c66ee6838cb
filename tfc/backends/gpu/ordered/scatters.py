"""Scatter: updates go to threads that never meet at one element.

These are all of them where the program says that indices differ. Integers of 32 and 64 bits, which
combine in any order to the same bits, are combined atomically; else each thread takes all windows
in turn, for the elements at its place in a window, so that results never depend on who was first.
Of many windows the updates are sorted instead (`sorting/scatters.py`).
"""

from collections.abc import Sequence
from math import prod
from typing import Any

from tfc.backends.gpu.assembly import assembly, global_address
from tfc.backends.gpu.grid import Grid
from tfc.backends.gpu.movement.placing import put_in_place
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.mlir.elements import Elements
from tfc.backends.mlir.kernels import Kernel, sources
from tfc.backends.mlir.loops import each_point
from tfc.backends.mlir.ordered.scatters import Scatter
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.spaces import bind, make_space
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.index_maps import Index
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.indexed import scatter_windows, window_sizes

# What PTX calls them, and the letter of their type: s or u by the sign where it is left out.
_ATOMICS = {
    "add": ("add", "u"), "minimum": ("min", ""), "maximum": ("max", ""), "and": ("and", "b"),
    "or": ("or", "b"), "xor": ("xor", "b"),
}  # fmt: skip


def operand_parts(kernel: Kernel) -> list[Part]:
    """The operands, put where the results will be."""
    count = len(kernel.root.operands) // 2
    return [p for n in range(count) for p in put_in_place(kernel, kernel.root.operands[n], n)]


def turns_part(kernel: Kernel) -> Part:
    """The updates, those that may meet one after the other."""
    dims = kernel.root.operands[-1].array_shape.dims
    return Part(_emit_scatter, prod(dims[d] for d in dimensions_apart(kernel)))


def dimensions_apart(kernel: Kernel) -> list[int]:
    """The dimensions of the updates along which two elements never go to the same place."""
    root = kernel.root
    operand, update = root.operands[0].array_shape, root.operands[-1].array_shape
    if root.attributes.get("unique_indices", False) or _atomic(root) is not None:
        return list(range(update.rank))
    windows = scatter_windows(root)
    sizes = window_sizes(windows, operand, update)
    still = [d for d in range(operand.rank)
             if d not in windows.index_map or sizes[d] == operand.dims[d]]  # fmt: skip
    inside = dict(zip(windows.kept(operand.rank), windows.window_dims))
    batch = [d for d in range(update.rank) if d not in windows.window_dims]
    batched = [batch[windows.batch_dims.index(i)] for i in windows.indices_batch]
    return sorted([*batched, *(inside[d] for d in still if d in inside)])


def _atomic(root: Instruction) -> str | None:
    """What PTX calls the combination of a scatter of one array, if it gives the same bits in any
    order; it has these for integers of 32 and 64 bits."""
    combine = root["to_apply"]
    result, (name, letter) = combine.root, _ATOMICS.get(combine.root.opcode, ("", ""))
    if len(root.operands) != 3 or set(result.operands) != set(combine.parameters) or not name:
        return None
    element_type = root.operands[0].array_shape.element_type
    if not element_type.is_integer or element_type.bits < 32:
        return None
    return f"{name}.{letter or element_type.kind[0]}{element_type.bits}"


def _emit_scatter(work: Work) -> None:
    scatter = Scatter(work.kernel, work.buffers)
    dims = scatter.updates[0].array_shape.dims
    apart, atomic = dimensions_apart(work.kernel), _atomic(work.root)
    windows = [d for d in range(len(dims)) if d not in scatter.windows.window_dims]
    turns = [*(d for d in windows if d not in apart),
             *(d for d in scatter.windows.window_dims if d not in apart)]  # fmt: skip
    space = make_space(dims, [[d] for d in (*apart, *turns)], "u")

    def thread(points: Sequence[Any]) -> None:
        own = Elements(
            sources(work.kernel, work.buffers), bind(space.variables[: len(apart)], points)
        )

        def one(inside: Sequence[Any]) -> None:
            here = own.with_variables(**bind(space.variables[len(apart) :], inside))
            corner, fits = scatter.corner(here, [space.index[d] for d in windows])
            with ir.InsertionPoint(scf.IfOp(fits).then_block):
                found = here.with_variables(**corner)
                if atomic is None:
                    scatter.update(found, space.index)
                else:
                    _combine(atomic, scatter, found, space.index)
                scf.yield_([])

        each_point(space.sizes[len(apart) :], one)

    Grid().each(space.sizes[: len(apart)], thread)


def _combine(atomic: str, scatter: Scatter, scope: Elements, index: Sequence[Index]) -> None:
    """Combine an element with what other threads may be combining at the same time."""
    (result,), (update,) = scatter.results, scatter.updates
    value = scope.element(update, tuple(index))
    position = scope.index_value(result.position(scatter.place(index)))
    size = index_value(value.element_type.bytes)
    offset = arith.index_castui(ir.Type.parse("i64"), arith.muli(position, size))
    address = arith.addi(global_address(result.memref), offset)
    assembly(f"red.global.{atomic} [$0], $1;", [], [address, value.value], memory=True)
