"""Versions of a program for several processors in one module of LLVM.

    version for x86-64      ─optimised for it─► bitcode ─┐
    version for x86-64-v3   ─optimised for it─► bitcode ─┴─ linked into what is around them ─► code

Each function says which processor it is for, so that one module can hold them all.
"""

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import llvmlite.binding as llvmlite
from llvmlite.binding import Linkage

from tfc.backends.llvm.compilation import CompiledModule, optimized, parse
from tfc.backends.llvm.effort import Effort, codegen_level
from tfc.backends.llvm.machines import borrowed_machine, new_machine
from tfc.backends.llvm.parts import run_passes
from tfc.backends.target import Target
from tfc.runtime.threads import available_cores


@dataclass(frozen=True)
class VersionText:
    """The LLVM IR of a version, and the machine that it is for.

    is_small: whether few bytes of code are worth more than speed.
    """

    text: str
    target: Target
    is_small: bool = False


def compile_versions(
    versions: Sequence[VersionText], around: str, seen: Collection[str]
) -> CompiledModule:
    """One module of all versions and what is around them, for the machine of the first.

    Args:
        around: the LLVM IR of what they share and what calls them; used as it is, each function
            with the processor that it is for.
        seen: the names that others see, of all that is defined.

    Raises:
        InternalError: a text is not LLVM IR that llvmlite's LLVM accepts.
    """
    target, level = versions[0].target, codegen_level(Effort.FULL)
    with ThreadPoolExecutor(available_cores()) as pool:
        bitcodes = list(pool.map(_bitcode, versions))
    machine = new_machine(target, level)
    module = parse(around, bitcodes)
    module.triple, module.data_layout = target.triple, str(machine.target_data)
    for symbol in (*module.functions, *module.global_variables):
        if not symbol.is_declaration and symbol.name not in seen:
            symbol.linkage = Linkage.internal
    # Tables of versions that say the same are stored once.
    passes = llvmlite.create_new_module_pass_manager()
    passes.add_constant_merge_pass()
    builder = llvmlite.create_pass_builder(machine, llvmlite.create_pipeline_tuning_options())
    run_passes(passes, module, builder)
    return CompiledModule(module, machine, target)


def _bitcode(version: VersionText) -> bytes:
    """A version, optimised."""
    with borrowed_machine(version.target, codegen_level(Effort.FULL)) as machine:
        module = optimized(version.text, version.target, Effort.FULL, machine, version.is_small)
        return module.as_bitcode()
