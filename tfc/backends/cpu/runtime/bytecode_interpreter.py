"""What the interpreter of bytecode runs, and the interpreter itself, for this process or an object.

In this process the interpreter (bytecode_interpreter.c) is made once, and a program is data:

    NAME.program = {arguments, results, most buffers, callers, NAME.code, NAME.functions}
    interpret(NAME.program, context, args, results, arena)

In an object file the two are one, with an entry point around them; see abi.py.

    int32_t NAME(args, results, arena)
        return interpret(NAME.program, {NAME.constants, null, null, null}, args, results, arena)

or, where it takes a pool of threads or a clock from its caller,

    int32_t NAME(args, results, run)
        return interpret(NAME.program, {NAME.constants, run->parallel_for, run->pool, run->clock},
                         args, results, run->arena)

The functions are callers, which pass so many buffers on, and then what they call.
"""

import ctypes
from functools import cache

from tfc.backends.cpu.runtime.abi import constant_pool
from tfc.backends.cpu.runtime.bytecode import Arity, Bytecode
from tfc.backends.cpu.runtime.generated import runtime_ir
from tfc.backends.llvm.compilation import LoadedCode, compile_ir
from tfc.backends.target import Target

INTERPRET = "tfc_interpret"
_COMMON: list[Arity] = [(count, False) for count in range(13)]  # what most programs need


class Context(ctypes.Structure):
    """What a program runs with, in this process; see bytecode_interpreter.c."""

    _fields_ = (
        ("constants", ctypes.c_void_p),
        ("parallel_for", ctypes.c_void_p),
        ("pool", ctypes.c_void_p),
        ("clock", ctypes.c_void_p),
    )


# --- In this process ----------------------------------------------------------------------------


@cache
def interpreter() -> LoadedCode:
    """The interpreter, which must live as long as programs may be run."""
    callers = "".join(_caller(arity, "") for arity in _COMMON)
    text = runtime_ir("bytecode_interpreter.64", {}) + callers
    return compile_ir(text, Target.host(), optimise=False).load()


def interpreter_symbols(code: LoadedCode) -> dict[str, int]:
    """The addresses of what `program_data` may leave undefined."""
    return {name: code.address(name) for name in map(_caller_name, _COMMON)}


def program_data(name: str, bytecode: Bytecode, arguments: int, results: int) -> str:
    """The LLVM IR of a program that `interpreter` runs.

    Args:
        arguments, results: how many buffers it is given.
    """
    callers = "".join(
        f"declare void @{_caller_name(arity)}(ptr, i64)\n"
        if arity in _COMMON
        else _caller(arity, "internal ")
        for arity in bytecode.arities
    )
    return callers + _tables(name, bytecode, arguments, results, "hidden ", "")


# --- In an object file --------------------------------------------------------------------------


def whole_program(
    name: str, bytecode: Bytecode, arguments: int, results: int, constants: bytes | None,
    pointer_bits: int, entry: str, *, is_served: bool = False,
) -> str:  # fmt: skip
    """The LLVM IR of a program, its interpreter, and an entry point around them.

    Args:
        constants: the constant pool to put into the object file; None to only name it.
        pointer_bits: the width of an address on the target, and of sizes of memory.
        entry: what the entry point is called; seen by others if that is the program's name.
        is_served: whether the caller gives a pool of threads and a clock.
    """
    pool = f'@"{name}.constants" = external constant i8'
    if constants is not None:
        pool = constant_pool(f"{name}.constants", constants)
    interpret = runtime_ir(f"bytecode_interpreter.{pointer_bits}", {})
    interpret = interpret.replace("define i32 @", "define internal i32 @")
    callers = "".join(_caller(arity, "internal ") for arity in bytecode.arities)
    tables = _tables(name, bytecode, arguments, results, "internal ", "internal ")
    linkage = "" if entry == name else "internal "
    body = _served_entry(name) if is_served else _entry(name)
    return f"""{pool}
{tables}{callers}{interpret}
@"{name}.context" = internal constant {{ ptr, ptr, ptr, ptr }} \
{{ ptr @"{name}.constants", ptr null, ptr null, ptr null }}

define {linkage}i32 @"{entry}"(ptr %args, ptr %results, ptr %arena) {{
{body}  ret i32 %status
}}
"""


def _entry(name: str) -> str:
    """The body of an entry point for one thread, without a clock."""
    return f"""\
  %status = call i32 @{INTERPRET}(ptr @"{name}.program", ptr @"{name}.context",
                                  ptr %args, ptr %results, ptr %arena)
"""


def _served_entry(name: str) -> str:
    """The body of an entry point whose third argument is {arena, parallel_for, pool, clock}."""
    context = "{ ptr, ptr, ptr, ptr }"
    copies = "".join(
        f"""\
  %from.{n} = getelementptr {context}, ptr %arena, i32 0, i32 {n}
  %word.{n} = load ptr, ptr %from.{n}
  %to.{n} = getelementptr {context}, ptr %context, i32 0, i32 {n}
  store ptr %word.{n}, ptr %to.{n}
"""
        for n in (1, 2, 3)
    )
    return f"""\
  %context = alloca {context}
  store ptr @"{name}.constants", ptr %context
{copies}\
  %memory = load ptr, ptr %arena
  %status = call i32 @{INTERPRET}(ptr @"{name}.program", ptr %context,
                                  ptr %args, ptr %results, ptr %memory)
"""


# --- Both ---------------------------------------------------------------------------------------


def _tables(
    name: str, bytecode: Bytecode, arguments: int, results: int, linkage: str, seen: str
) -> str:
    """The data of a program; `seen` is the linkage of the one that refers to the others."""
    called = [*map(_caller_name, bytecode.arities), *bytecode.functions]
    code = ", ".join(f"i64 {word}" for word in bytecode.words)
    functions = ", ".join(f'ptr @"{symbol}"' for symbol in called)
    counts = (arguments, results, bytecode.most, len(bytecode.arities))
    return f"""\
@"{name}.code" = {linkage}constant [{len(bytecode.words)} x i64] [{code}]
@"{name}.functions" = {linkage}constant [{len(called)} x ptr] [{functions}]
@"{name}.program" = {seen}constant {{ i64, i64, i64, i64, ptr, ptr }} \
{{ {", ".join(f"i64 {count}" for count in counts)}, ptr @"{name}.code", ptr @"{name}.functions" }}
"""


def _caller_name(arity: Arity) -> str:
    count, has_status = arity
    return f"tfc_call_with_{count}{'_status' if has_status else ''}"


def _caller(arity: Arity, linkage: str) -> str:
    """The function that calls a function with so many buffers, which lie in a frame.

    A frame is words of 64 bits: the function, the bytes of scratch memory of a chunk, the buffers.
    A kernel is told its chunk, and finds the scratch memory for it in the last buffer.
    """
    count, has_status = arity
    result = "i32" if has_status else "void"
    buffers = "".join(
        f"  %place.{n} = getelementptr i64, ptr %frame, i64 {2 + n}\n"
        f"  %buffer.{n} = load ptr, ptr %place.{n}, align 8\n"
        for n in range(count)
    )
    passed = [f"ptr %buffer.{n}" for n in range(count)]
    call, end = "call void", "ret void"
    if has_status:
        call, end = "%status = call i32", "ret i32 %status"
    else:
        if passed:
            passed[-1] = "ptr %scratch"
            buffers += f"""\
  %place.bytes = getelementptr i64, ptr %frame, i64 1
  %bytes = load i64, ptr %place.bytes, align 8
  %offset = mul i64 %chunk, %bytes
  %scratch = getelementptr i8, ptr %buffer.{count - 1}, i64 %offset
"""
        passed.append("i64 %chunk")
    return f"""define {linkage}{result} @{_caller_name(arity)}(ptr %frame, i64 %chunk) {{
  %function = load ptr, ptr %frame, align 8
{buffers}  {call} %function({", ".join(passed)})
  {end}
}}
"""
