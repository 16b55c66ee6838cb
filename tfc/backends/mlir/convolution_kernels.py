"""A kernel of a convolution in its tiled form, with what comes after it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tfc.backends.mlir.convolution_spec import ConvolutionSpec, convolution_spec
from tfc.backends.mlir.direct_convolution import Block, Finish, emit_direct_convolution
from tfc.backends.mlir.elements import Buffer
from tfc.backends.mlir.epilogues import Epilogue, is_apart
from tfc.backends.mlir.kernels import Kernel
from tfc.backends.mlir.loops import Chunk
from tfc.backends.mlir.vectors import Position, add, multiply, subtract
from tfc.backends.target import Target
from tfc.hlo.indexing import variable


def convolution_of(kernel: Kernel) -> ConvolutionSpec | None:
    """The tiled convolution that a kernel is, or None."""
    product = kernel.product
    if product is None or any(o.opcode != "parameter" for o in product.operands):
        return None
    spec = convolution_spec(product)
    return spec and replace(spec, apart=is_apart(kernel))


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
    memories = [*(memory[o] for o in product.operands), buffers[-1].memref, workspace]
    finish = _finish(spec, Epilogue(kernel, buffers)) if product is not kernel.root else None
    emit_direct_convolution(spec, target, memories, finish, chunk)


def _finish(spec: ConvolutionSpec, epilogue: Epilogue) -> Finish:
    batch, *places, features = spec.out.dims
    names = [f"p{n}" for n in range(len(places))]
    feature = variable("g", features // spec.columns) * spec.columns + variable("c", spec.columns)
    index = (variable("b", batch), *map(variable, names, places), feature)

    def finish(block: Block, sums: tuple[Any, Position]) -> None:
        outer = {"b": block.batch, "g": block.group, **dict(zip(names, block.places))}
        member = names[-1] if block.along else "b"
        first = outer.pop(member)

        def place(values: Mapping[str, Position]) -> tuple[Any, Position]:
            down = multiply(subtract(values[member], first), spec.columns)
            return sums[0], add(sums[1], down, values["c"])

        loops = [(member, first, add(first, block.count)), ("c", 0, spec.columns)]
        epilogue.finish(index, outer, loops, place if spec.apart else None)

    return finish
