"""The CPU compiler: HLO passes, buffer plan, MLIR, LLVM, machine code."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tfc.backends.cache.code_cache import CodeCache, code_key
from tfc.backends.cache.kept_choices import KeptChoices, kept_choices
from tfc.backends.cache.kept_parts import KeptParts
from tfc.backends.choices import Question, Source, asking, questions_about
from tfc.backends.cpu.calls import Callee, Place, callees
from tfc.backends.cpu.constants import (
    ConstantPanels,
    constant_panels,
    with_shared_constants,
)
from tfc.backends.cpu.executable import CpuExecutable, MachineCode
from tfc.backends.cpu.kernels import has_tiled_code
from tfc.backends.cpu.products.functions import leaving_out
from tfc.backends.cpu.program import Planned, Program, emit_program, emit_programs
from tfc.backends.cpu.runtime.abi import (
    constant_pool,
    external_constants,
    linked_constants,
    with_constants,
)
from tfc.backends.cpu.runtime.bytecode_interpreter import program_data, whole_program
from tfc.backends.cpu.runtime.processor_check import (
    Version,
    checked_entry,
    cpu_symbol,
    in_order,
    is_checked,
    processor_name,
)
from tfc.backends.cpu.runtime.threads import sharing_cores
from tfc.backends.cpu.runtime.timing import Site
from tfc.backends.cpu.sharing import panel_form, scratch_bytes
from tfc.backends.cpu.windows.pooling_gradients import is_pooling_gradient
from tfc.backends.interfaces import Compiler, Constants, ObjectCode, ObjectOptions
from tfc.backends.llvm.code_maker import Code, CodeMaker
from tfc.backends.llvm.compilation import (
    CompiledModule,
    compile_ir,
    lower_to_llvm,
    to_llvm_ir,
)
from tfc.backends.llvm.library import LIBRARY
from tfc.backends.llvm.parts import emit_assembly, emit_ir, emit_object, unseen
from tfc.backends.llvm.versions import VersionText, compile_versions
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
    row_steps=True,
    epilogues=True,
    byte_products=True,
    several_results=True,
    whole_loops=True,
    reducing_stores=True,
    selections=True,
    equal_once=True,
    begins_collectives=True,
    takes_layouts=has_tiled_code,
    takes_edges=is_pooling_gradient,
)
STAGES = ("hlo", "optimized", "mlir", "llvm", "asm")


@dataclass(frozen=True)
class Compilation:
    """A module on its way to code: optimised HLO, its buffers, and how to emit its MLIR.

    cores: how many threads share large kernels.
    cache: where code for this process is kept for later ones.
    parts: where functions that programs have in common are.
    panels: which constants lie in panels.
    choices: who knows which schedules were measured to be best, if anybody does.
    """

    name: str
    module: Module
    assignment: BufferAssignment
    target: Target
    callees: Mapping[Instruction, Callee]
    cores: int = 1
    cache: CodeCache | None = None
    parts: KeptParts | None = None
    panels: ConstantPanels = field(default_factory=ConstantPanels)
    choices: Source | None = None

    def emit(self, take: Callable[[Any], None] | None = None) -> Program:
        """The MLIR program, made anew at each call; see `emit_program`."""
        with asking(self.choices):
            return emit_program(
                self.module,
                self.assignment,
                self.name,
                self.target,
                self.callees,
                self.cores,
                take,
                self.panels.readers,
            )

    def questions(
        self, kernels: Iterable[Instruction]
    ) -> Mapping[Instruction, tuple[Question, ...]]:
        """Which of some kernels have alternatives of schedule, and which ones."""

        def ask(kernel: Instruction) -> None:
            scratch_bytes((self.target,), self.cores)(kernel)  # one that knows no kernel yet

        return questions_about(kernels, ask)

    def with_panels(self, targets: Sequence[Target]) -> "Compilation":
        """The same with constants in panels where kernels, on all targets, read them so."""
        form_of = panel_form(targets, self.cores)
        return replace(self, panels=constant_panels(self.assignment, form_of))

    def made_anew(self) -> "Compilation":
        """The same, whose sites are known: they are not kept with code."""
        return replace(self, cache=None)

    def machine_code(self) -> MachineCode:
        """The code for this process: made, or that of an earlier compilation."""
        if self.cache is None or self.callees:
            return self._made()
        used = self.choices.used if self.choices is not None else ()
        key = code_key(self.module, self.name, str(self.target), self.cores, *used)
        found = self.cache.get(key)
        if found is not None:
            shared, *objects = found
            return MachineCode(tuple(objects), bool(shared))
        made = self._made()
        self.cache.put(key, [b"shared" if made.shared else b"", *made.objects])
        return made

    def _made(self) -> MachineCode:
        """The code, but for functions that an earlier program of this process has, too."""
        made: dict[tuple[str, ...], bytes] = {}

        def keep(names: Sequence[str], code: bytes) -> None:
            LIBRARY.keep(self.target, names, code)
            made[tuple(names)] = code

        found = LIBRARY.look(self.target, self.parts.get if self.parts else None)
        with leaving_out(found.has):
            program, objects = self._in_parts(emit_object, keep)
        for taken in found.taken:
            LIBRARY.keep(self.target, *taken)
        if self.parts and made:
            self.parts.put(made)
        return MachineCode((*objects, *found.objects), program.bytecode.shared, program.sites)

    def text(self, stage: str) -> str:
        """The modules of `machine_code` as "llvm", optimised, or as "asm", one after the other."""
        _, parts = self._in_parts(emit_assembly if stage == "asm" else emit_ir)
        return "\n".join(parts)

    def _in_parts(
        self,
        emit: Callable[[Any, Any], Code],
        keep: Callable[[Sequence[str], Code], None] | None = None,
    ) -> tuple[Program, list[Code]]:
        """The program in the modules that this process runs, with the tables of its bytecode."""
        with CodeMaker(self.target, emit, keep) as maker:
            program = self.emit(lambda module: maker.start(_kernels(module)))
            data = program_data(self.name, program.bytecode, *self.counts)
            return program, maker.finish(_kernels(program.module) + data)

    @property
    def counts(self) -> tuple[int, int]:
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
            if offset in self.panels.forms:
                self.panels.forms[offset].arrange(place)


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
                return _whole(compilation).llvm_ir
            case "asm":
                return _whole(compilation).assembly
            case _:
                return str(compilation.module)

    def compile_object(
        self,
        module: Module,
        name: str,
        targets: Sequence[Target],
        options: Options,
        asked: ObjectOptions,
        others: Sequence[Module] = (),
    ) -> ObjectCode:
        """Compile to an object file whose entry point is called `name`.

        Raises:
            UnsupportedError: some op has no CPU code, or the targets do not go together.
            TfcError: the code for one of the targets would never run.
        """
        targets = in_order(targets)
        prepared = [
            self.prepare(each, name, targets[0], options, "object", asked.threads, targets[1:])
            for each in (module, *others)
        ]
        if others:
            plans = with_shared_constants([each.assignment for each in prepared])
            prepared = [replace(c, assignment=plan) for c, plan in zip(prepared, plans)]
        else:
            prepared = [prepared[0].with_panels(targets)]
        first = prepared[0]
        pool = np.zeros(first.assignment.constant_size, np.uint8)
        first.write_constants(pool)
        constants = pool.tobytes()
        del pool
        code, sites = _object_code(prepared, targets, asked, constants)
        inside = asked.constants is Constants.INSIDE
        called = [callee.symbol for each in prepared for callee in each.callees.values()]
        return ObjectCode(
            name, code, first.module, max(each.assignment.arena_size for each in prepared),
            len(constants), targets[0], is_checked(targets[0]), tuple(map(processor_name, targets)),
            tuple(site.instruction for site in sites), tuple(dict.fromkeys(called)),
            b"" if inside else constants,
        )  # fmt: skip

    def choices(self, options: Options) -> KeptChoices | None:
        """What was measured on processors like this one, with as many cores."""
        host = Target.host()
        caches = host.l1_bytes, host.l2_bytes, host.l3_bytes
        return kept_choices(options, f"{host} {caches} {sharing_cores()}")

    def prepare(
        self,
        module: Module,
        name: str,
        target: Target,
        options: Options,
        place: Place,
        threads: int = 1,
        others: Sequence[Target] = (),
    ) -> Compilation:
        """Optimise a module, plan its memory, and find what it calls outside of its code.

        Args:
            threads: how many share large kernels; in this process it is the processor's cores.
            others: further targets for which the same plan is to do.
        """
        if target.is_gpu:
            raise UnsupportedError(f"the CPU backend makes no code for {target}; use backend='gpu'")
        optimized = self.optimize(module, options)
        cores = sharing_cores() if place == "process" else threads
        choices = self.source_for(options) if place != "object" else None
        with asking(choices):
            assignment = assign_buffers(optimized, scratch_bytes((target, *others), cores))
        found = callees(optimized, place)
        kept, shared = options.cache_dir, options.parts_dir
        cache = CodeCache(Path(kept)) if kept and place == "process" else None
        parts = KeptParts(Path(shared), target) if shared and place == "process" else None
        made = Compilation(
            name, optimized, assignment, target, found, cores, cache, parts, choices=choices
        )
        if place == "object":
            return made
        with asking(choices):
            return made.with_panels([target])


def _whole(compilation: Compilation) -> CompiledModule:
    """A program and its interpreter, whose constants and processor are somewhere else."""
    pool = f"{compilation.name}.constants"
    text, _ = _joined([compilation], ObjectOptions(), pool)
    return compile_ir(text + external_constants(pool), compilation.target)


def _joined(
    compilations: Sequence[Compilation], asked: ObjectOptions, pool: str
) -> tuple[str, tuple[Site, ...]]:
    """The LLVM IR of programs in one module with their interpreter, and the sites of all.

    Args:
        pool: the symbol of the constants, which is defined elsewhere; see `whole_program`.
    """
    first = compilations[0]
    name, target = first.name, first.target
    planned = [
        Planned(each.module, each.assignment, each.callees, each.panels.readers)
        for each in compilations
    ]
    programs = emit_programs(planned, name, target, first.cores)
    text = _kernels(programs[0].module) + whole_program(
        name, [program.bytecode for program in programs], *first.counts, pool,
        target.pointer_bits, is_served=asked.is_served or len(programs) > 1,
    )  # fmt: skip
    return text, programs[0].sites


def _object_code(
    compilations: Sequence[Compilation],
    targets: Sequence[Target],
    asked: ObjectOptions,
    constants: bytes,
) -> tuple[bytes, tuple[Site, ...]]:
    """An object file with a version of the programs for each target, and the sites of all.

    The versions have the same plan, and so the same constants and sites.
    """
    name, target = compilations[0].name, targets[0]
    held = [array for _, array in asked.data]
    held += [constants] if asked.constants is Constants.INSIDE else []
    if len(targets) == 1 and not is_checked(target):
        pool, data = _data(name, asked, constants, "private unnamed_addr ")
        text, sites = _joined(compilations, asked, pool)
        made = compile_ir(text + data, target, is_small=asked.is_small)
        return with_constants(made.object_code, held), sites
    pool, data = _data(name, asked, constants, "hidden unnamed_addr ")
    texts, versions, sites = [], [], ()
    for number, version in enumerate(targets):
        run = f"{name}.{number}.{version.cpu}".replace("-", "_")
        each = [replace(c, name=run, target=version) for c in compilations]
        text, sites = _joined(each, asked, pool)
        text += external_constants(pool) if pool else ""
        texts.append(VersionText(text, version, asked.is_small))
        versions.append(Version(run, version))
    seen = (name, cpu_symbol(name), *(symbol for symbol, _ in asked.data))
    made = compile_versions(texts, data + checked_entry(name, versions), seen)
    return with_constants(made.object_code, held), sites


def _data(name: str, asked: ObjectOptions, constants: bytes, linkage: str) -> tuple[str, str]:
    """The symbol of the constants, and the LLVM IR of all data that programs share."""
    data = "".join(constant_pool(symbol, array, "") for symbol, array in asked.data)
    match asked.constants:
        case Constants.INSIDE:
            pool = f"{name}.constants"
            return pool, data + constant_pool(pool, constants, linkage)
        case Constants.LINKED:
            pool = linked_constants(name)
            return pool, data + external_constants(pool)
        case Constants.GIVEN:
            return "", data


def _kernels(module: Any) -> str:
    """The LLVM IR of emitted functions, which no linker sees; the module is used up."""
    return unseen(to_llvm_ir(lower_to_llvm(module)))
