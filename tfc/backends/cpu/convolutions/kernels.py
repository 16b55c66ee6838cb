"""A kernel of a convolution in the algorithm that suits it, with what comes after it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tfc.backends.cpu.convolutions.depthwise import emit_depthwise
from tfc.backends.cpu.convolutions.depthwise_weight_gradient import emit_depthwise_weight_gradient
from tfc.backends.cpu.convolutions.direct import emit_direct_convolution
from tfc.backends.cpu.convolutions.small_channels import emit_small_channels
from tfc.backends.cpu.convolutions.spec import Algorithm, ConvolutionSpec, convolution_spec
from tfc.backends.cpu.convolutions.tap_by_tap import emit_by_taps
from tfc.backends.cpu.convolutions.weight_gradient import emit_weight_gradient
from tfc.backends.cpu.convolutions.work import ConvolutionWork, Finish, OutputBlock
from tfc.backends.cpu.loops.nests import Chunk
from tfc.backends.cpu.products.epilogues import Epilogue, is_apart
from tfc.backends.cpu.products.functions import SharedPart
from tfc.backends.cpu.products.panels import panel_width
from tfc.backends.cpu.products.words import words_of_bytes
from tfc.backends.mlir.elements import Buffer
from tfc.backends.mlir.kernels import Kernel
from tfc.backends.mlir.vectors import Position, add, index_value, multiply, subtract
from tfc.backends.target import Target
from tfc.hlo.index_maps import variable
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import Shape
from tfc.passes.analysis.products import is_byte_convolution


def convolution_of(kernel: Kernel, target: Target) -> ConvolutionSpec | None:
    """The tiled convolution that a kernel is, or None."""
    product = kernel.product
    spec = convolution_spec(product) if product is not None else None
    if product is None or spec is None:
        return None
    if is_byte_convolution(product):
        spec = _in_words(spec, product, target)
    elif any(o.opcode != "parameter" for o in product.operands):
        return None
    alone, panels = product is kernel.root, panel_width(kernel)
    return replace(spec, apart=is_apart(kernel), alone=alone, panels=panels)


def _in_words(spec: ConvolutionSpec, product: Instruction, target: Target) -> ConvolutionSpec:
    """The convolution of words that each hold four bytes along the features of the array."""
    types = [o.operands[0].array_shape.element_type for o in product.operands]
    lhs, rhs = spec.lhs.dims, spec.rhs.dims
    words = words_of_bytes(types[0], types[1], target)
    sums = spec.out.element_type
    return replace(spec, lhs=Shape(sums, (*lhs[:-1], lhs[-1] // 4)),
                   rhs=Shape(sums, (*rhs[:-2], rhs[-2] // 4, rhs[-1])), words=words)  # fmt: skip


def emit_convolution_kernel(
    spec: ConvolutionSpec, target: Target, kernel: Kernel, buffers: Sequence[Buffer],
    workspace: Any, chunk: Chunk | None = None,
) -> None:  # fmt: skip
    """Emit a kernel whose product is a convolution with a spec.

    Args:
        workspace: memory of the spec's `workspace_size`.
        chunk: the share of the convolution to emit, all of it by default.
    """
    product = kernel.product
    assert product is not None
    memory = {p: b.memref for p, b in zip(kernel.computation.parameters, buffers)}
    lhs, rhs = (memory[o.operands[0] if spec.words else o] for o in product.operands)
    finish = None if product is kernel.root else _finish(spec, kernel, buffers, workspace)
    out = buffers[-1].memref
    work = ConvolutionWork(spec, target, lhs, rhs, out, workspace, finish, chunk)
    _EMIT[spec.algorithm(target)](work)


_EMIT: dict[Algorithm, Callable[[ConvolutionWork], None]] = {
    "depthwise weight gradient": emit_depthwise_weight_gradient,
    "weight gradient": emit_weight_gradient,
    "small channels": emit_small_channels,
    "depthwise": emit_depthwise,
    "tap by tap": emit_by_taps,
    "direct": emit_direct_convolution,
}


def _finish(
    spec: ConvolutionSpec, kernel: Kernel, buffers: Sequence[Buffer], workspace: Any
) -> Finish:
    """What finishes a block, in one function for blocks of all algorithms."""
    batch, *places, features = spec.out.dims
    names = [f"p{n}" for n in range(len(places))]
    last = names[-1]
    feature = variable("g", features // spec.columns) * spec.columns + variable("c", spec.columns)
    index = (variable("b", batch), *map(variable, names, places), feature)
    memories = [*(b.memref for b in buffers), *([workspace] if spec.apart else [])]

    def finish(block: OutputBlock, sums: tuple[Any, Position]) -> None:
        across, along = (1, block.count) if block.along else (block.count, 1)
        values = list(map(index_value, (block.group, *block.places, along)))
        values += map(index_value, (block.batch, across)) if batch > 1 else (0, 1)
        values.append(index_value(sums[1]) if spec.apart else 0)
        values += block.features or (0, spec.columns)
        part.call(memories, values)

    def emit(memories: list[Any], values: list[Position]) -> None:
        group, *at, along, first, across, start, feature, features = values

        def place(point: Mapping[str, Position]) -> tuple[Any, Position]:
            member = add(subtract(point["b"], first), subtract(point[last], at[-1]))
            return memories[-1], add(start, multiply(member, spec.columns), point["c"])

        outer = {"g": group, **dict(zip(names[:-1], at))}
        loops = [
            ("b", first, add(first, across)), (last, at[-1], add(at[-1], along)),
            ("c", feature, add(feature, features)),
        ]  # fmt: skip
        epilogue = Epilogue(kernel, [Buffer(m, b.shape) for m, b in zip(memories, buffers)])
        epilogue.finish(index, outer, loops, place if spec.apart else None)

    part = SharedPart("epilogue", emit)
    return finish
