"""A kernel of a dot as a tiled matrix product, with what comes before and after it.

Integers of up to 16 bits that are summed in 32, and bf16, are computed as words of several that are
neighbours along the sums: CPUs multiply two such words and add up the products in one instruction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from tfc.backends.cpu.loops.nests import Chunk
from tfc.backends.cpu.products.epilogues import Epilogue, is_apart
from tfc.backends.cpu.products.functions import SharedPart
from tfc.backends.cpu.products.matmul import Around, Computed, Finish, Result, emit_product
from tfc.backends.cpu.products.panels import PanelForm, panel_width
from tfc.backends.cpu.products.schedule import MatmulSpec, make_schedule
from tfc.backends.cpu.products.word_tiles import packed
from tfc.backends.cpu.products.words import Words, words_of
from tfc.backends.mlir.arithmetic.value import mlir_type
from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.kernels import Kernel, sources
from tfc.backends.mlir.provider import arith
from tfc.backends.mlir.vectors import Position, add, index_value, minimum, multiply, subtract
from tfc.backends.target import Target
from tfc.hlo.index_maps import delinearize, variable
from tfc.passes.analysis.products import dot_groups


def around_product(spec: MatmulSpec, kernel: Kernel, target: Target) -> MatmulSpec:
    """The spec of a kernel's dot, changed for what else the kernel computes."""
    assert kernel.product is not None
    lhs, rhs = (o.opcode != "parameter" for o in kernel.product.operands)
    spec = replace(spec, lhs_computed=lhs, rhs_computed=rhs)
    width = panel_width(kernel)
    if width:
        # Elements of a line are a panel's columns apart, lines as far as a panel has elements each.
        strides = (spec.rhs_strides[0], width, spec.k)
        spec = replace(spec, rhs_strides=strides, rhs_panels=width)
    words = words_of(kernel.product, spec.element_type, target)
    if words:
        spec = replace(spec, words=words, k=-(-spec.k // words.count))
    if not is_apart(kernel):
        return spec
    outer = spec.outer and (spec.outer[0], (*spec.outer[1][:2], 0))
    return replace(spec, apart=True, out_strides=(spec.m * spec.n, spec.n, 1), outer=outer)


def product_panels(spec: MatmulSpec, target: Target) -> PanelForm | None:
    """The panels in which tiles read the right operand, if it could lie so."""
    flat, schedule = spec.flattened(), make_schedule(spec, target)
    batch = flat.batch if flat.rhs_strides[0] else 1
    size = batch * spec.k * spec.n
    if schedule.stream or spec.rhs_computed or spec.outer or size != spec.rhs_size or not size:
        return None
    return PanelForm(batch, spec.k, spec.n, spec.rhs_strides, schedule.tile_columns)


def emit_dot_kernel(
    spec: MatmulSpec, target: Target, kernel: Kernel, buffers: Sequence[Buffer], workspace: Any,
    chunk: Chunk | None = None,
) -> None:  # fmt: skip
    """Emit a kernel whose product is a dot with a spec.

    Args:
        workspace: memory of the spec's `workspace_size`.
        chunk: the share of the product to emit, all of it by default.
    """
    dot = kernel.product
    assert dot is not None
    memory = {p: b.memref for p, b in zip(kernel.computation.parameters, buffers)}
    lhs, rhs = dot.operands
    around = Around(
        _finish(spec, kernel, buffers, workspace) if dot is not kernel.root else None,
        _computed(spec, kernel, buffers, 0) if spec.lhs_computed else None,
        _computed(spec, kernel, buffers, 1) if spec.rhs_computed else None,
    )
    memories = [memory.get(lhs), memory.get(rhs), buffers[-1].memref, workspace]
    emit_product(spec, target, memories, around, chunk)


def _finish(spec: MatmulSpec, kernel: Kernel, buffers: Sequence[Buffer], workspace: Any) -> Finish:
    """What finishes a block, in one function for blocks of all sizes."""
    dot, flat = kernel.product, spec.flattened()
    assert dot is not None
    _, _, (shape, (batch_dims, row_dims, _)) = dot_groups(dot)
    dims, rows = shape.dims, len(batch_dims) + len(row_dims)
    line = variable("b", flat.batch) * flat.m + variable("i", flat.m)
    index = (*delinearize(line, dims[:rows]), *delinearize(variable("j", flat.n), dims[rows:]))
    memories = [*(b.memref for b in buffers), *([workspace] if spec.apart else [])]

    def finish(
        batch: Position, row: Position, column: Position, height: Position, width: Position,
        sums: Result,
    ) -> None:  # fmt: skip
        values = list(map(index_value, (batch, row, column, height, width)))
        values += [index_value(sums.position), sums.row_step] if spec.apart else [0, 0]
        part.call(memories, values)

    def emit(memories: list[Any], values: list[Position]) -> None:
        batch, row, column, height, width, start, step = values

        def place(point: Mapping[str, Position]) -> tuple[Any, Position]:
            down = multiply(subtract(point["i"], row), step)
            return memories[-1], add(start, down, subtract(point["j"], column))

        loops = [("i", row, add(row, height)), ("j", column, add(column, width))]
        epilogue = Epilogue(kernel, [Buffer(m, b.shape) for m, b in zip(memories, buffers)])
        epilogue.finish(index, {"b": batch}, loops, place if spec.apart else None)

    part = SharedPart("epilogue", emit)
    return finish


def _computed(spec: MatmulSpec, kernel: Kernel, buffers: Sequence[Buffer], number: int) -> Computed:
    """The elements of an operand that is computed in the kernel."""
    dot, flat = kernel.product, spec.flattened()
    assert dot is not None
    operand, (shape, groups) = dot.operands[number], dot_groups(dot)[number]
    sizes = [[shape.dims[d] for d in group] for group in groups]
    total = prod(sizes[1 if number else 2])
    batch, depth = variable("b", flat.batch), variable("p", total)
    if number == 0:
        line = delinearize(batch * flat.m + variable("i", flat.m), [*sizes[0], *sizes[1]])
        order = (*line, *delinearize(depth, sizes[2]))
    else:
        line = delinearize(variable("i", flat.n), sizes[2])
        order = (*delinearize(batch, sizes[0]), *delinearize(depth, sizes[1]), *line)
    placed = dict(zip((d for group in groups for d in group), order))
    index = tuple(placed[d] for d in range(shape.rank))

    def element(b: Position, i: Position, p: Position) -> Any:
        values = {"b": index_value(b), "i": index_value(i), "p": index_value(p)}
        return Elements(sources(kernel, buffers), values).element(operand, index).value

    def word_of(b: Position, i: Position, p: Position) -> Any:
        words, first, found = spec.words, multiply(p, count), list[Any]()
        assert words is not None
        zero = arith.constant(mlir_type(spec.element_type), 0.0 if words is Words.BF16_PAIRS else 0)
        for place in range(count):
            at = add(first, place)
            if place < (total % count or count):
                found.append(element(b, i, at))
                continue
            # The last word may begin before the end and reach beyond it.
            inside = arith.cmpi(arith.CmpIPredicate.slt, index_value(at), index_value(total))
            value = element(b, i, minimum(at, total - 1))
            found.append(arith.select(inside, value, zero))
        return packed(words, found, left=number == 0)

    count = spec.words.count if spec.words else 1
    return word_of if spec.words else element
