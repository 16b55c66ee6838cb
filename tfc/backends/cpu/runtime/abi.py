"""The entry point of an object file: one C function for every module.

    int32_t NAME(void* const* args, void* const* results, void* arena);

args[i] and results[i] point to the leaves of the parameters and of the result, laid out as their
shapes say; arena has the bytes that the buffer plan asks for, aligned to 64. An object file carries
its constants as read-only data; code loaded into this process gets their address from its context
(bytecode_interpreter.py), so that weights are never copied through text. The function returns 0, or
another number if a function that it calls in this process has failed. Where the caller of an object
file brings threads, a clock or the constants, or chooses among several programs, `arena` points to

    {arena, parallel_for, pool, clock, constants, program}

of pointers and a number as wide as one; the three after the first are null pointers or as in
bytecode_interpreter.c, and the last two are read where there is something to give or to choose. The
function of an object file for x86-64 returns WRONG_PROCESSOR where instructions are missing that it
is made of; beside it then stands

    const char* NAME_cpu(void);

which gives the name of the processor whose version of the code runs here, "" where none does.
"""

import hashlib
from collections.abc import Iterable

from tfc.errors import InternalError

ALIGNMENT = 64
WRONG_PROCESSOR = 2
_LARGE = 1 << 16  # bytes of constants that do not travel as text


def constant_pool(name: str, constants: bytes, linkage: str = "private unnamed_addr ") -> str:
    """The LLVM IR of read-only data, of the program's own or, with linkage "", for others.

    Large ones, as text, would take longer than the code: there a mark and zeros stand for them,
    which `with_constants` replaces in the object file. LLVM is told not to look at those.
    """
    size, mark = len(constants), _mark(constants)
    if size < _LARGE:
        kind, value = f"[{size} x i8]", f'c"{_escaped(constants)}"'
        return f'@"{name}" = {linkage}constant {kind} {value}, align {ALIGNMENT}\n'
    first, rest = f"[{len(mark)} x i8]", f"[{size - len(mark)} x i8]"
    value = f'<{{ {first} c"{_escaped(mark)}", {rest} zeroinitializer }}>'
    kind = f"externally_initialized constant <{{ {first}, {rest} }}>"
    return f'@"{name}" = {linkage}{kind} {value}, align {ALIGNMENT}\n'


def with_constants(code: bytes, pools: Iterable[bytes]) -> bytes:
    """An object file with the bytes of the constants that stand in it as marks.

    Raises:
        InternalError: a mark is not there, or not followed by the room for the constants.
    """
    found = {_mark(constants): constants for constants in pools if len(constants) >= _LARGE}
    if not found:
        return code
    filled = bytearray(code)
    for mark, constants in found.items():
        size, at = len(constants), filled.find(mark)
        if at < 0:
            raise InternalError("an object file has lost the place of its constants")
        while at >= 0:
            if filled[at + len(mark) : at + size] != bytes(size - len(mark)):
                raise InternalError("the constants of an object file lie in several pieces")
            filled[at : at + size] = constants
            at = filled.find(mark, at + size)
    return bytes(filled)


def _mark(constants: bytes) -> bytes:
    """What stands for constants: 64 bytes that nothing else has."""
    return hashlib.blake2b(constants, digest_size=64).digest()


def _escaped(data: bytes) -> str:
    return "".join(_ESCAPES[b] for b in data)


def linked_constants(name: str) -> str:
    """The symbol of the constants of an entry point where they lie in an object of their own."""
    return f"{name}_constants"


def external_constants(symbol: str) -> str:
    """The LLVM IR that names constants which are defined elsewhere."""
    return f'@"{symbol}" = external constant i8\n'


_ESCAPES = [f"\\{b:02X}" for b in range(256)]
