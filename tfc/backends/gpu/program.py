"""The GPU's kernels: one gpu.func each, in a gpu.module; one thread for each result element."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from tfc.backends.mlir import provider
from tfc.backends.mlir.bodies import emit_body
from tfc.backends.mlir.kernels import Kernel, Stores, buffer_types, is_silent, kernel_of
from tfc.backends.mlir.provider import arith, ir, new_context, scf
from tfc.backends.mlir.vectors import index_value
from tfc.errors import UnsupportedError
from tfc.hlo.ir import Instruction, Module
from tfc.hlo.op import op_named

THREADS = 256

gpu: Any = provider.gpu()


@dataclass(frozen=True)
class Launch:
    """One kernel call: which function, for which instruction, over how many blocks of threads."""

    kernel: str
    instruction: Instruction
    operands: tuple[Instruction, ...]
    blocks: int
    threads: int = THREADS


@dataclass(frozen=True)
class GpuProgram:
    """The emitted MLIR module and the launches, in order, that run it."""

    module: Any
    launches: tuple[Launch, ...]


class Grid:
    """The GPU's way through a space: one thread a point, threads beyond the space do nothing."""

    flat = True

    def store(self, work: Stores, points: Sequence[Any]) -> None:
        """Emit what a thread stores: an element of each value."""
        work.emit_each(self, points)

    def each(self, sizes: Sequence[int], body: Callable[[Sequence[Any]], None]) -> None:
        """Emit `body` for the point whose row-major number is the thread's."""
        block = gpu.block_id(gpu.Dimension.x)
        thread = gpu.thread_id(gpu.Dimension.x)
        number = arith.addi(arith.muli(block, index_value(THREADS)), thread)
        inside = arith.cmpi(arith.CmpIPredicate.ult, number, index_value(prod(sizes)))
        guarded = scf.IfOp(inside)
        with ir.InsertionPoint(guarded.then_block):
            points: list[Any] = []
            for size in reversed(sizes[1:]):
                points.append(arith.remui(number, index_value(size)))
                number = arith.divui(number, index_value(size))
            body([*([number] if sizes else []), *reversed(points)])
            scf.yield_([])


def emit_gpu_program(module: Module) -> GpuProgram:
    """Emit the kernels of a module whose calls are inlined.

    Raises:
        UnsupportedError: the module has control flow or an op that has no GPU code.
    """
    with new_context("gpu", "nvvm"), ir.Location.unknown():
        mlir = ir.Module.create()
        mlir.operation.attributes["gpu.container_module"] = ir.UnitAttr.get()
        with ir.InsertionPoint(mlir.body):
            kernels = gpu.GPUModuleOp(ir.StringAttr.get("kernels"))
        block = kernels.regions[0].blocks[0] if len(kernels.regions[0].blocks) else None
        block = block or kernels.regions[0].blocks.append()
        names: dict[Hashable, str] = {}
        launches = []
        for instruction in module.entry.instructions:
            if is_silent(instruction):
                continue
            on_host = op_named(instruction.opcode).on_host
            if on_host or instruction.opcode in ("while", "conditional", "custom-call"):
                raise UnsupportedError(
                    f"the GPU backend does not support '{instruction.opcode}'; use backend='cpu'"
                )
            kernel = kernel_of(instruction)
            if kernel.key not in names:
                name = f"{kernel.root.opcode}_{len(names)}".replace("-", "_")
                with ir.InsertionPoint(block):
                    _emit_kernel(name, kernel)
                names[kernel.key] = name
            count = max(s.size for s in kernel.results)
            blocks = -(-count // THREADS)
            if blocks:
                launches.append(Launch(names[kernel.key], instruction, kernel.operands, blocks))
        return GpuProgram(mlir, tuple(launches))


def _emit_kernel(name: str, kernel: Kernel) -> None:
    types = buffer_types(kernel)
    function_type = ir.TypeAttr.get(ir.FunctionType.get(types, []))
    function = gpu.GPUFuncOp(function_type, sym_name=name, kernel=True)
    block = function.add_entry_block()
    with ir.InsertionPoint(block):
        emit_body(kernel, kernel.buffers(list(block.arguments)), Grid())
        gpu.return_([])
