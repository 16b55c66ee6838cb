"""Compiling ahead of time: an object file, and the header to call it by (AOT-1 … AOT-6).

function or module ─module_of─► Module ─compile_object─► ObjectCode ─► mat_mul_comp.o
                                   └─signature_of─► Signature ─header_text─► mat_mul_comp.h
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tfc.aot.header import header_text
from tfc.aot.signature import CppClass, Signature, signature_of
from tfc.aot.source import module_of
from tfc.backends.target import Target
from tfc.compiler import compile_object
from tfc.errors import TfcError, UnsupportedError
from tfc.files import write_files
from tfc.hlo.ir import Module
from tfc.options import Options
from tfc.tracebacks import api_boundary


@dataclass(frozen=True)
class AotResult:
    """The files that a compilation has written, and what they offer.

    header, object: their paths; the header is C++11, the object for `target`.
    object_size: bytes of the object file, constants included.
    """

    header: Path
    object: Path
    signature: Signature
    target: Target
    object_size: int


@api_boundary
def compile(
    source: Any,
    *args: Any,
    cpp_class: str,
    out_dir: str | os.PathLike[str] = ".",
    name: str | None = None,
    target: Target | str | None = None,
    entry_point: str | None = None,
    options: Options | None = None,
) -> AotResult:
    """Compile a function or module into `name`.o and `name`.h (TL-3).

    What the function closes over becomes constants in the object (AOT-6); it needs nothing at run
    time but the C library (AOT-2).

    Args:
        source: a function, plain or made by tfc.jit, or a tfc.hlo.Module.
        args: the arguments as arrays, as ArgumentSpecs, or as text such as "f32[2,3]"; only shape
            and dtype matter.
        cpp_class: the class to generate, such as "foo::bar::MatMulComp".
        out_dir: where to write; made if it is not there.
        name: of the files; the class's in snake case when left out.
        target: the machine to make code for (AOT-7): a Target, the text of one, or "native", which
            uses all that the processor at hand offers. Left out, the code is for machines of this
            kind in general: on x86-64 for x86-64-v3, which is checked when the code runs.
        entry_point: the C name of the code in the object; made of `cpp_class` when left out.
        options: how to compile; taken from the environment when left out.

    Raises:
        TfcError: the class or file name cannot be used, the arguments do not fit, or a file cannot
            be written.
        UnsupportedError: some op has no CPU code, or the target is no CPU that tfc knows.
    """
    chosen = CppClass.parse(cpp_class)
    stem = name or chosen.file_name
    if Path(stem).name != stem:
        raise TfcError(f"the name of the files must not have a folder in it, got '{stem}'")
    folder = Path(out_dir)
    module = module_of(source, args)
    machine = Target.parse(target) if isinstance(target, str) else target or Target.portable()
    header, code, signature = generate(module, chosen, machine, entry_point, options)
    paths = folder / f"{stem}.h", folder / f"{stem}.o"
    write_files((paths[0], header.encode()), (paths[1], code))
    return AotResult(*paths, signature, machine, len(code))


def generate(
    module: Module,
    cpp_class: CppClass,
    target: Target,
    entry_point: str | None = None,
    options: Options | None = None,
) -> tuple[str, bytes, Signature]:
    """The text of the header, the bytes of the object, and their signature.

    Raises:
        TfcError: the class or the entry point has a name that cannot be used.
        UnsupportedError: some op has no CPU code, or an argument has no C++ type.
    """
    signature = signature_of(module, cpp_class, entry_point)
    header_text(signature)  # refuses what a header cannot say before the long work is done
    made = compile_object(module, signature.entry_point, target, options)
    sized = replace(
        signature,
        pointer_bytes=target.pointer_bits // 8,
        processor=made.checked_processor,
        arena_size=made.arena_size,
        constant_size=made.constant_size,
    )
    _check_memory(sized)
    return header_text(sized), made.code, sized


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
