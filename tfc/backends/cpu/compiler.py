"""The CPU compiler: HLO passes, buffer plan, MLIR, LLVM, machine code."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tfc.backends.cpu.calls import Callee, Place, callees
from tfc.backends.cpu.code_cache import CodeCache, code_key
from tfc.backends.cpu.executable import CpuExecutable, MachineCode
from tfc.backends.cpu.kernels import has_tiled_code
from tfc.backends.cpu.program import Program, emit_program
from tfc.backends.cpu.runtime.bytecode_interpreter import program_data, whole_program
from tfc.backends.cpu.runtime.processor_check import checked_entry, checked_processor
from tfc.backends.cpu.runtime.threads import sharing_cores
from tfc.backends.cpu.sharing import scratch_bytes
from tfc.backends.cpu.windows.pooling_gradients import is_pooling_gradient
from tfc.backends.interfaces import Compiler, ObjectCode
from tfc.backends.llvm.code_maker import Code, CodeMaker
from tfc.backends.llvm.compilation import (
    CompiledModule,
    compile_ir,
    lower_to_llvm,
    to_llvm_ir,
)
from tfc.backends.llvm.parts import emit_assembly, emit_ir, emit_object, unseen
from tfc.backends.target import Target
from tfc.errors import UnsupportedError
from tfc.hlo.ir import Instruction, Module
from tfc.hlo.shape import leaves
from tfc.options import Options
from tfc.passes import KernelKinds, PipelineReport, default_pipeline
from tfc.passes.memory.buffers import BufferAssignment, assign_buffers

JIT_NAME = "tfc_entry"
KERNEL_KINDS = KernelKinds(
    rows=True,
    epilogues=True,
    byte_products=True,
    several_results=True,
    whole_loops=True,
    reducing_stores=True,
    selections=True,
    equal_once=True,
    takes_layouts=has_tiled_code,
    takes_edges=is_pooling_gradient,
)
STAGES = ("hlo", "optimized", "mlir", "llvm", "asm")


@dataclass(frozen=True)
class Compilation:
    """A module on its way to code: optimised HLO, its buffers, and how to emit its MLIR.

    cores: how many threads share large kernels.
    is_served: whether an object's caller gives it threads or a clock.
    is_small: whether few bytes of an object's code are worth more than speed.
    cache: where code for this process is kept for later ones.
    """

    name: str
    module: Module
    assignment: BufferAssignment
    target: Target
    callees: Mapping[Instruction, Callee]
    cores: int = 1
    cache: CodeCache | None = None
    is_served: bool = False
    is_small: bool = False

    def emit(self, take: Callable[[Any], None] | None = None) -> Program:
        """The MLIR program, made anew at each call; see `emit_program`."""
        return emit_program(
            self.module,
            self.assignment,
            self.name,
            self.target,
            self.callees,
            self.cores,
            take,
        )

    def made_anew(self) -> "Compilation":
        """The same, whose sites are known: they are not kept with code."""
        return replace(self, cache=None)

    def to_llvm(self, program: Program, constants: bytes | None) -> CompiledModule:
        """Optimised LLVM IR and machine code of a program, which is used up.

        Args:
            constants: see `whole_program`.
        """
        text = _kernels(program.module)
        # Code that stays in this process need not be checked.
        is_checked = constants is not None and checked_processor(self.target) != ""
        entry = f"{self.name}.run" if is_checked else self.name
        text += whole_program(
            self.name, program.bytecode, *self._counts, constants, self.target.pointer_bits, entry,
            is_served=self.is_served,
        )  # fmt: skip
        if is_checked:
            text += checked_entry(self.name, entry, self.target)
        return compile_ir(text, self.target, is_small=self.is_small)

    def machine_code(self) -> MachineCode:
        """The code for this process: made, or that of an earlier compilation."""
        if self.cache is None or self.callees:
            return self._made()
        key = code_key(self.module, self.name, str(self.target), self.cores)
        found = self.cache.get(key)
        if found is not None:
            shared, *objects = found
            return MachineCode(tuple(objects), bool(shared))
        made = self._made()
        self.cache.put(key, [b"shared" if made.shared else b"", *made.objects])
        return made

    def _made(self) -> MachineCode:
        program, objects = self._in_parts(emit_object)
        return MachineCode(tuple(objects), program.bytecode.shared, program.sites)

    def text(self, stage: str) -> str:
        """The modules of `machine_code` as "llvm", optimised, or as "asm", one after the other."""
        _, parts = self._in_parts(emit_assembly if stage == "asm" else emit_ir)
        return "\n".join(parts)

    def _in_parts(self, emit: Callable[[Any, Any], Code]) -> tuple[Program, list[Code]]:
        """The program in the modules that this process runs, with the tables of its bytecode."""
        with CodeMaker(self.target, emit) as maker:
            program = self.emit(lambda module: maker.start(_kernels(module)))
            data = program_data(self.name, program.bytecode, *self._counts)
            return program, maker.finish(_kernels(program.module) + data)

    @property
    def _counts(self) -> tuple[int, int]:
        """How many buffers the entry point is given for arguments and for results."""
        entry = self.module.entry
        arguments = sum(1 for p in entry.parameters for _ in leaves(p.shape))
        return arguments, sum(1 for _ in leaves(entry.root.shape))

    def write_constants(self, pool: np.ndarray) -> None:
        """Write the bytes of the constants to where the buffer plan puts them."""
        for offset, literal in self.assignment.constants:
            elements = literal.strided
            place = pool[offset : offset + elements.nbytes].view(elements.dtype)
            place.reshape(elements.shape)[...] = elements


class CpuCompiler(Compiler):
    """Compiles for the host, or for any CPU that LLVM knows."""

    def optimize(
        self, module: Module, options: Options, report: PipelineReport | None = None
    ) -> Module:
        """The HLO passes that every backend that makes code shares."""
        passes = default_pipeline(kinds=KERNEL_KINDS, memory_limit=options.memory_limit)
        return passes.run(module, options, report)

    def compile(self, module: Module, options: Options, target: Target | None) -> CpuExecutable:
        """Compile for this process and load the code.

        Raises:
            UnsupportedError: some op has no CPU code, or the target is another machine.
        """
        compilation = self.prepare(module, JIT_NAME, target or Target.host(), options, "process")
        return CpuExecutable(module, compilation, JIT_NAME)

    def emit_text(self, module: Module, stage: str, options: Options, target: Target | None) -> str:
        """The program at one of `STAGES`, for any CPU; no code is loaded.

        Raises:
            UnsupportedError: there is no such stage, or some op has no CPU code.
        """
        if stage not in STAGES:
            raise UnsupportedError(
                f"the CPU backend has no stage '{stage}'; it has {', '.join(STAGES)}"
            )
        if stage == "hlo":
            return str(module)
        compilation = self.prepare(module, JIT_NAME, target or Target.host(), options, "text")
        match stage:
            case "mlir":
                return str(compilation.emit())
            case "llvm":
                return compilation.to_llvm(compilation.emit(), None).llvm_ir
            case "asm":
                return compilation.to_llvm(compilation.emit(), None).assembly
            case _:
                return str(compilation.module)

    def compile_object(
        self,
        module: Module,
        name: str,
        target: Target,
        options: Options,
        threads: int = 1,
        is_timed: bool = False,
        is_small: bool = False,
    ) -> ObjectCode:
        """Compile to an object file whose entry point is called `name`.

        Raises:
            UnsupportedError: some op has no CPU code, or the target is no CPU.
        """
        prepared = self.prepare(module, name, target, options, "object", threads)
        compilation = replace(prepared, is_served=threads > 1 or is_timed, is_small=is_small)
        pool = np.zeros(compilation.assignment.constant_size, np.uint8)
        compilation.write_constants(pool)
        constants = pool.tobytes()
        del pool
        program = compilation.emit()
        code = compilation.to_llvm(program, constants).object_code
        plan = compilation.assignment
        sites = tuple(site.instruction for site in program.sites)
        called = tuple(dict.fromkeys(callee.symbol for callee in compilation.callees.values()))
        return ObjectCode(
            name, code, compilation.module, plan.arena_size, plan.constant_size, target,
            checked_processor(target), sites, called,
        )  # fmt: skip

    def prepare(
        self,
        module: Module,
        name: str,
        target: Target,
        options: Options,
        place: Place,
        threads: int = 1,
    ) -> Compilation:
        """Optimise a module, plan its memory, and find what it calls outside of its code.

        Args:
            threads: how many share large kernels; in this process it is the processor's cores.
        """
        if target.is_gpu:
            raise UnsupportedError(f"the CPU backend makes no code for {target}; use backend='gpu'")
        optimized = self.optimize(module, options)
        cores = sharing_cores() if place == "process" else threads
        assignment = assign_buffers(optimized, scratch_bytes(target, cores))
        found = callees(optimized, place)
        kept = place == "process" and bool(options.cache_dir)
        cache = CodeCache(Path(options.cache_dir)) if kept else None
        return Compilation(name, optimized, assignment, target, found, cores=cores, cache=cache)


def _kernels(module: Any) -> str:
    """The LLVM IR of emitted functions, which no linker sees; the module is used up."""
    return unseen(to_llvm_ir(lower_to_llvm(module)))
