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

ALIGNMENT = 64
WRONG_PROCESSOR = 2


def constant_pool(name: str, constants: bytes, linkage: str = "private unnamed_addr ") -> str:
    """The LLVM IR of read-only data, of the program's own or, with linkage "", for others."""
    escaped = "".join(_ESCAPES[b] for b in constants)
    return (
        f'@"{name}" = {linkage}constant [{len(constants)} x i8] c"{escaped}", align {ALIGNMENT}\n'
    )


def linked_constants(name: str) -> str:
    """The symbol of the constants of an entry point where they lie in an object of their own."""
    return f"{name}_constants"


def external_constants(symbol: str) -> str:
    """The LLVM IR that names constants which are defined elsewhere."""
    return f'@"{symbol}" = external constant i8\n'


_ESCAPES = [f"\\{b:02X}" for b in range(256)]
