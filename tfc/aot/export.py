"""Compiling ahead of time: an object file, and the header to call it by (AOT-1 … AOT-6).

function or module ─module_of─► Module ─compile_object─► ObjectCode ─► mat_mul_comp.o
                                   └─signature_of─► Signature ─header_text─► mat_mul_comp.h
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from tfc.aot.batches.programs import Asked, programs
from tfc.aot.batches.sources import batched_model, batched_source
from tfc.aot.bindings.languages import binding_files
from tfc.aot.description import constants_object, description
from tfc.aot.devices.collectives import linked
from tfc.aot.header import header_text
from tfc.aot.interface import Batched, Interface
from tfc.aot.processors import chosen_targets
from tfc.aot.signature import CppClass, Signature, signature_of
from tfc.aot.source import module_of
from tfc.aot.state import with_state
from tfc.aot.weights import checksum
from tfc.backends.interfaces import Constants, ObjectCode, ObjectOptions
from tfc.backends.target import Target
from tfc.compiler import compile_object
from tfc.errors import TfcError, UnsupportedError
from tfc.files import write_files
from tfc.hlo.ir import Instruction, Module
from tfc.options import Options
from tfc.quantization.modules import store_weights
from tfc.quantization.report import Report
from tfc.quantization.weights import Storage
from tfc.runtime.threads import MOST_THREADS
from tfc.tracebacks import api_boundary

Weights = Literal["inside", "file", "separate"]
_PLACES = {
    "inside": Constants.INSIDE, "file": Constants.GIVEN, "separate": Constants.LINKED
}  # fmt: skip


@dataclass(frozen=True)
class AotResult:
    """The files that a compilation has written, and what they offer.

    header, object: their paths; the header is C++11, the object for `target`.
    object_size: bytes of the object file, constants included that lie in it.
    weights: the file, or the other object file, that constants lie in; None if they do not.
    """

    header: Path
    object: Path
    signature: Signature
    target: Target
    object_size: int
    weights: Path | None = None


@api_boundary
def compile(
    source: Any,
    *args: Any,
    cpp_class: str,
    out_dir: str | os.PathLike[str] = ".",
    name: str | None = None,
    target: Target | str | None = None,
    cpus: str | Sequence[str] = (),
    entry_point: str | None = None,
    options: Options | None = None,
    threads: int = 1, profile: bool = False, small: bool = False, describe: bool = False,
    state: int = 0, batch_sizes: Sequence[int] = (), dynamic_batch: int | None = None,
    weights: Weights = "inside", bindings: Sequence[str] = (),
) -> AotResult:  # fmt: skip
    """Compile a function or module into `name`.o and `name`.h (TL-3).

    What it closes over becomes constants (AOT-6); the object needs only the C library (AOT-2).

    Args:
        source: a function, plain or made by tfc.jit, a tfc.hlo.Module, or what `read_graph` gives.
        args: the arguments, of which shape and dtype count: arrays, ArgumentSpecs, or "f32[2,3]".
        cpp_class: the class to generate, such as "foo::bar::MatMulComp".
        out_dir: where to write; made if it is not there.
        name: of the files; the class's in snake case when left out.
        target: the machine (AOT-7): a Target, its text, or "native"; of this kind when left out.
        cpus: its processors to have code for, such as "x86-64,x86-64-v4"; see `chosen_targets`.
        entry_point: the C name of the code in the object; made of `cpp_class` when left out.
        options: how to compile; taken from the environment when left out.
        threads: the most that share the work of a Run(), of a pool that the C++ program brings.
        profile: whether the class counts the time that each kernel takes.
        small: whether few bytes of code are worth more than speed.
        state: how many of the first arguments are state, which the class keeps: variables, of which
            the function gives the next values as the first results. They are zero at first.
        describe: whether to write `name`.json too: signature, sizes, target and digest.
        batch_sizes: sizes of batch to have code for, of arguments such as "f32[?,8]". Where rows
            are independent, all sizes from the least to the largest will do; else these alone.
        dynamic_batch: the most rows of a batch of any size; rows must be independent.
        weights: where constants lie: "inside" the object; in a "file" `name`.weights, which the
            class maps into memory; or in a "separate" object `name`_constants.o to link beside.
        bindings: what else is to call it: any of "js", "rust" and "python" (bindings/languages.py).

    Raises:
        TfcError: a name cannot be used, the arguments do not fit, or a file cannot be written.
        UnsupportedError: some op has no CPU code, or the target is no CPU that tfc knows.
    """
    chosen = CppClass.parse(cpp_class)
    paths = _paths(Path(out_dir), name or chosen.file_name)
    asked = Asked.of(batch_sizes, dynamic_batch)
    found = _batched(source, args, state, asked) if asked else _interface(source, args, state)
    features = Features(True, True, threads, profile, small, constants_of(weights))
    targets = chosen_targets(target, cpus)
    header, made, signature = generate(found, chosen, targets, entry_point, options, features)
    files = {"h": header.encode(), "o": made.code, **_beside(signature, made, describe)}
    beside = binding_files(bindings, paths["h"].stem, signature, made.target, made.code)
    write_files(
        *((paths[kind], content) for kind, content in files.items()),
        *((paths["h"].with_name(file), content) for file, content in beside),
    )
    other = next((paths[kind] for kind in ("weights", "constants") if kind in files), None)
    return AotResult(paths["h"], paths["o"], signature, made.target, len(made.code), other)


def _paths(folder: Path, stem: str) -> dict[str, Path]:
    """Where each kind of file is written.

    Raises:
        TfcError: the name has a folder in it.
    """
    if Path(stem).name != stem:
        raise TfcError(f"the name of the files must not have a folder in it, got '{stem}'")
    kinds = {kind: folder / f"{stem}.{kind}" for kind in ("h", "o", "json", "weights")}
    return {**kinds, "constants": folder / f"{stem}_constants.o"}


def constants_of(weights: str) -> Constants:
    """Where constants lie, by the word for it.

    Raises:
        TfcError: there is no such word.
    """
    if weights not in _PLACES:
        raise TfcError(f"weights must be one of {', '.join(_PLACES)}, got '{weights}'")
    return _PLACES[weights]


def _beside(signature: Signature, made: ObjectCode, describe: bool) -> dict[str, bytes]:
    """The files beside header and object: constants that lie elsewhere, and a description."""
    files: dict[str, bytes] = {}
    match signature.constants:
        case Constants.GIVEN:
            files["weights"] = made.constants
        case Constants.LINKED:
            files["constants"] = constants_object(signature.entry_point, made)
        case Constants.INSIDE:
            pass
    if describe:
        files["json"] = description(signature, made).encode()
    return files


def _interface(source: Any, args: Sequence[Any], state: int) -> Module | Interface | Batched:
    """What a source is for arguments, of which the first may be state.

    Raises:
        TfcError: they do not go together.
    """
    if isinstance(source, Interface) and (args or state):
        raise TfcError("the arguments of a configured graph are its feeds: give no others")
    if isinstance(source, Batched):
        return source
    if state:
        return with_state(source, args, state)
    return source if isinstance(source, Interface) else module_of(source, args)


def _batched(source: Any, args: Sequence[Any], state: int, asked: Asked) -> Batched:
    """What a source is for several sizes of batch.

    Raises:
        TfcError: it has no open size, or cannot be compiled for one.
    """
    if isinstance(source, Interface):
        raise TfcError("a configured graph has one size: let tfcompile read it for several")
    is_model = not args and hasattr(source, "inputs") and hasattr(source, "lower")
    return programs(
        batched_model(source) if is_model else batched_source(source, args, state), asked
    )


@dataclass(frozen=True)
class Features:
    """What a generated class offers beyond the documents' one.

    names, shape: whether it can be asked for indices by name, and for the program's shape.
    threads: the most that may share the work of a run, of a pool that its user gives it.
    is_timed: whether it counts how long each kernel takes.
    is_small: whether few bytes of code are worth more than speed.
    constants: where they lie.
    """

    names: bool = True
    shape: bool = True
    threads: int = 1
    is_timed: bool = False
    is_small: bool = False
    constants: Constants = Constants.INSIDE


def generate(
    source: Module | Interface | Batched,
    cpp_class: CppClass,
    targets: Sequence[Target],
    entry_point: str | None = None,
    options: Options | None = None,
    features: Features | None = None,
) -> tuple[str, ObjectCode, Signature]:
    """The text of the header, the object, and their signature.

    Args:
        targets: of the versions of the code.

    Raises:
        TfcError: the class or the entry point has a name that cannot be used, constants are to lie
            elsewhere of which there are none, or the code for one of the targets would never run.
        UnsupportedError: some op has no CPU code, or the target cannot be timed.
    """
    chosen, target = features or Features(), targets[0]
    if chosen.is_timed and target.pointer_bits != 64:
        raise UnsupportedError(
            f"counters of time need a target with pointers of 64 bits, {target} has "
            f"{target.pointer_bits}"
        )
    if not 1 <= chosen.threads <= MOST_THREADS:
        raise TfcError(f"threads must be 1 to {MOST_THREADS}, got {chosen.threads}")
    several = source if isinstance(source, Batched) else None
    found = source.programs[-1] if isinstance(source, Batched) else source
    signature = replace(
        signature_of(found, cpp_class, entry_point),
        has_names=chosen.names, has_shape=chosen.shape, threads=chosen.threads,
        batch=several and several.batch, constants=chosen.constants,
    )  # fmt: skip
    header_text(signature)  # refuses what a header cannot say before the long work is done
    modules = [p.module for p in several.programs] if several else [module_in(found)]
    modules = [linked(module) for module in modules]
    asked = ObjectOptions(
        chosen.threads, chosen.is_timed, chosen.is_small, chosen.constants,
        signature.initial_arrays,
    )  # fmt: skip
    made = compile_object(modules[0], signature.entry_point, targets, options, asked, modules[1:])
    sized = replace(
        signature,
        pointer_bytes=target.pointer_bits // 8,
        cpus=made.cpus,
        is_checked=made.is_checked,
        arena_size=made.arena_size,
        constant_size=made.constant_size,
        sites=tuple(map(_site, made.sites)) if chosen.is_timed else None,
        symbols=made.symbols,
    )
    _check_memory(sized)
    if chosen.constants is not Constants.INSIDE and not made.constants:
        raise TfcError("the program has no weights: leave out what puts them into a file")
    if chosen.constants is Constants.GIVEN:
        sized = replace(sized, constant_sum=checksum(made.constants))
    return header_text(sized), made, sized


def module_in(source: Module | Interface | Batched) -> Module:
    """The module of a source; of several, that for the largest batch."""
    if isinstance(source, Batched):
        return source.programs[-1].module
    return source.module if isinstance(source, Interface) else source


def _site(instruction: Instruction) -> str:
    """An instruction as a profile shows it: %dot = f32[2,2]{1,0} dot(%x, %y)."""
    operands = ", ".join(f"%{o.name}" for o in instruction.operands)
    return f"%{instruction.name} = {instruction.shape} {instruction.opcode}({operands})"


def _check_memory(signature: Signature) -> None:
    """Refuse what the machine has no addresses for.

    Raises:
        UnsupportedError: all arrays together need more than half of what a pointer can tell apart.
    """
    arrays = sum(leaf.shape.byte_size for leaf in (*signature.arguments, *signature.results))
    needed = arrays + signature.arena_size + signature.constant_size
    most = 1 << (8 * signature.pointer_bytes - 1)
    if needed > most:
        raise UnsupportedError(
            f"the program needs {needed} bytes of memory, of which the target's pointers of "
            f"{8 * signature.pointer_bytes} bits reach {most}; make its arrays smaller"
        )


def with_stored_weights(
    source: Module | Interface | Batched, storage: Storage
) -> tuple[Module | Interface | Batched, Report]:
    """What to compile with weights in few bits, and what that changes.

    Raises:
        TfcError: a weight has an element that is NaN or infinite.
    """
    made, report = store_weights(module_in(source), storage)
    if isinstance(source, Batched):
        smaller = [store_weights(p.module, storage)[0] for p in source.programs[:-1]]
        found = [replace(p, module=m) for p, m in zip(source.programs, [*smaller, made])]
        return replace(source, programs=tuple(found)), report
    return (replace(source, module=made) if isinstance(source, Interface) else made), report
