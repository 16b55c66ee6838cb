"""The entry point of compiled code: one C function for every module.

    int32_t NAME(void* const* args, void* const* results, void* arena[, const void* constants]);

args[i] and results[i] point to the leaves of the parameters and of the result, laid out as their
shapes say; arena has the bytes that the buffer plan asks for, aligned to 64. Code loaded into this
process gets its constants as a fourth argument, so that weights are never copied through text; an
object file carries them as read-only data. The function returns 0, or another number if a function
that it calls in this process has failed.
"""

ALIGNMENT = 64


def entry_point(name: str, argument_count: int, result_count: int, constants: bytes | None) -> str:
    """The LLVM IR of the entry point, which calls the body function `NAME.body`.

    Args:
        constants: the constant pool to put into the object file; None to take its address as the
            fourth argument.
    """
    lines = []
    parameters = "ptr %args, ptr %results, ptr %arena"
    pool = "%constants"
    if constants is None:
        parameters += ", ptr %constants"
    else:
        pool = f'@"{name}.constants"'
        lines.append(
            f"{pool} = private unnamed_addr constant [{len(constants)} x i8] "
            f'c"{_escaped(constants)}", align {ALIGNMENT}'
        )
    lines.append(f'define i32 @"{name}"({parameters}) {{')
    loaded = _load_pointers("args", argument_count, lines)
    loaded += _load_pointers("results", result_count, lines)
    passed = ", ".join(f"ptr {p}" for p in (*loaded, "%arena", pool))
    lines += [f'  %status = call i32 @"{name}.body"({passed})', "  ret i32 %status", "}", ""]
    return "\n".join(lines)


def _load_pointers(array: str, count: int, lines: list[str]) -> list[str]:
    for n in range(count):
        lines.append(f"  %{array}.{n}.p = getelementptr inbounds ptr, ptr %{array}, i64 {n}")
        lines.append(f"  %{array}.{n} = load ptr, ptr %{array}.{n}.p, align 8")
    return [f"%{array}.{n}" for n in range(count)]


def _escaped(data: bytes) -> str:
    """Bytes in LLVM's string notation."""
    return "".join(_ESCAPES[b] for b in data)


_ESCAPES = [f"\\{b:02X}" for b in range(256)]
