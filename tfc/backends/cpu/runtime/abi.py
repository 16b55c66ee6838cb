"""The entry point of an object file: one C function for every module.

    int32_t NAME(void* const* args, void* const* results, void* arena);

args[i] and results[i] point to the leaves of the parameters and of the result, laid out as their
shapes say; arena has the bytes that the buffer plan asks for, aligned to 64. An object file carries
its constants as read-only data; code loaded into this process gets their address from its context
(bytecode_interpreter.py), so that weights are never copied through text. The function returns 0, or
another number if a function that it calls in this process has failed. Where the caller of an object
file brings threads or a clock, `arena` points to {arena, parallel_for, pool, clock}, each but the
first a null pointer or as in bytecode_interpreter.c. The function of an object file for x86-64
returns WRONG_PROCESSOR where instructions are missing that it is made of.
"""

ALIGNMENT = 64
WRONG_PROCESSOR = 2


def constant_pool(name: str, constants: bytes) -> str:
    """The LLVM IR of read-only data."""
    escaped = "".join(_ESCAPES[b] for b in constants)
    return (
        f'@"{name}" = private unnamed_addr constant [{len(constants)} x i8] '
        f'c"{escaped}", align {ALIGNMENT}'
    )


_ESCAPES = [f"\\{b:02X}" for b in range(256)]
