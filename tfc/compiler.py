"""The whole compiler as one readable recipe.

module ─verify─► backend: HLO passes ─► buffer plan ─► MLIR ─► LLVM ─► Executable
                                                                   └► object file
"""

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from tfc.backends.interfaces import Executable, ObjectCode, ObjectOptions
from tfc.backends.registry import get_backend
from tfc.backends.target import Target
from tfc.backends.whole_arrays import WholeArrays
from tfc.errors import KindError, UnsupportedError
from tfc.hlo.ir import Module
from tfc.hlo.shape import leaves
from tfc.hlo.verification.verifier import verify
from tfc.options import Options
from tfc.passes.spmd.spmd import Spmd, is_partitionable
from tfc.runtime.collection import paused_collection
from tfc.tracebacks import api_boundary


@api_boundary
@paused_collection()
def compile(
    module: Module,
    backend: str = "cpu",
    options: Options | None = None,
    target: Target | None = None,
) -> Executable:
    """Compile a module into something that can be called.

    Args:
        backend: "cpu", "gpu", "interpreter", or one that another package offers.
        options: how to compile; taken from the environment when left out.
        target: the machine to make code for; the one at hand when left out.

    Raises:
        KindError: it is no module.
        VerificationError: the module breaks an invariant.
        UnsupportedError: the backend lacks something that the module needs.
    """
    chosen = get_backend(backend)
    _check(module)
    parts = Spmd()(module)
    return chosen.compiler.compile(parts, options or Options.from_environment(), target)


def compile_whole(
    module: Module, backend: str = "cpu", options: Options | None = None
) -> Executable:
    """Compile a module into something that is called with whole arrays.

    One whose shardings divide it among several partitions runs on all of them at each call.

    Raises:
        VerificationError: the module breaks an invariant.
        UnsupportedError: the backend lacks something that the module needs.
    """
    if not is_partitionable(module):
        return compile(module, backend, options)
    _check(module)
    parts = Spmd()(module)
    return WholeArrays(module, parts, compile(parts, backend, options))


@api_boundary
def emit_text(
    module: Module,
    stage: str,
    backend: str = "cpu",
    options: Options | None = None,
    target: Target | None = None,
) -> str:
    """The text of a module at a stage of its compilation; nothing is loaded or run.

    Args:
        stage: "hlo", "stablehlo", "optimized", "mlir", "llvm", "asm" (CPU), "ptx" (GPU).
        target: the machine to make code for, which need not be this one.

    Raises:
        VerificationError: the module breaks an invariant.
        UnsupportedError: the backend has no such stage, or cannot compile the module.
    """
    chosen = get_backend(backend)
    if stage in ("hlo", "stablehlo"):
        _require_module(module)
        verify(module)
    else:
        _check(module)
    if stage == "stablehlo":
        return module_text(module, stage)
    return chosen.compiler.emit_text(module, stage, options or Options.from_environment(), target)


@api_boundary
def module_text(module: Module, dialect: str) -> str:
    """The text of a module, not yet compiled, as "hlo" or "stablehlo".

    Raises:
        UnsupportedError: another dialect is asked for, or StableHLO has no counterpart.
    """
    if dialect == "hlo":
        return str(module)
    if dialect != "stablehlo":
        raise UnsupportedError(f"a module is printed as 'hlo' or 'stablehlo', not as '{dialect}'")
    # Loading MLIR takes a while, which those who need none of it are spared.
    exporter: Any = import_module("tfc.stablehlo.exporter.module")
    return exporter.export_text(module)


@api_boundary
@paused_collection()
def compile_object(
    module: Module,
    name: str,
    target: Target | Sequence[Target] | None = None,
    options: Options | None = None,
    asked: ObjectOptions | None = None,
    others: Sequence[Module] = (),
) -> ObjectCode:
    """Compile a module ahead of time into an object file for a CPU.

    Args:
        name: the C name of the entry point (see backends/cpu/runtime/abi.py).
        target: the machine to make code for, or several, of which the code takes the last that it
            can run on, in the order of what they need; `Target.portable` when left out.
        asked: what the object file is to be like.
        others: further modules, each of which the object file has a program for; they share
            constants. The caller of the code says which is to run.

    Raises:
        VerificationError: the module breaks an invariant.
        UnsupportedError: the target is no CPU, or some op has no CPU code, or the targets do not go
            together, or the module's shardings divide it.
        TfcError: the code for one of the targets would never run.
    """
    for each in (module, *others):
        _check(each)
        require_undivided(each)
    chosen = options or Options.from_environment()
    compiler = get_backend("cpu").compiler
    machines = (target,) if isinstance(target, Target) else target or Target.portable()
    return compiler.compile_object(module, name, machines, chosen, asked or ObjectOptions(), others)


def require_undivided(module: Module) -> None:
    """Refuse to compile ahead of time what several partitions are to share.

    Raises:
        UnsupportedError: the module's shardings divide it.
    """
    if is_partitionable(module):
        raise UnsupportedError(
            f"{module.name} is over whole arrays that several partitions share: compile ahead of "
            "time the program of a partition, which tfc opt --passes spmd prints"
        )


def _require_module(module: Any) -> None:
    """Refuse what is no module.

    Raises:
        KindError: it is something else; the message says what makes a module of it.
    """
    if isinstance(module, Module):
        return
    how = "make one of text with tfc.hlo.parse"
    if isinstance(module, (bytes, os.PathLike)):
        how = "make one of HLO text with tfc.hlo.parse, of StableHLO with tfc.from_stablehlo"
    elif callable(module):
        how = "compile a function with tfc.jit"
    raise KindError(f"expected a tfc.hlo.Module to compile, got {type(module).__name__}: {how}")


def _check(module: Module) -> None:
    """Refuse a module that is malformed, or that no backend can make code for.

    Raises:
        KindError: it is no module.
        VerificationError: the module breaks an invariant.
        UnsupportedError: an array in it is tiled.
    """
    _require_module(module)
    verify(module)
    for computation in module.computations:
        for instruction in computation.instructions:
            for shape in leaves(instruction.shape):
                if shape.layout.is_tiled:
                    raise UnsupportedError(
                        f"{instruction.name} has the tiled layout {shape}, for which no code can "
                        "be made: leave the tiles, T(…), out of the text"
                    )
