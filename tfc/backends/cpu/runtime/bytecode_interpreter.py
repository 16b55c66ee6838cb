"""What the interpreter of bytecode runs, and the interpreter itself, for this process or an object.

In this process the interpreter (bytecode_interpreter.c) is made once, and a program is data:

    NAME.program = {arguments, results, most buffers, callers, NAME.code, NAME.functions}
    interpret(NAME.program, context, args, results, arena)

In an object file the two are one, with an entry point around them; see abi.py.

    int32_t NAME(args, results, arena)
        return interpret(NAME.program, {NAME.constants, null ...}, args, results, arena)

or, where it takes a pool of threads, a clock or the constants from its caller, or has several
programs, of which its caller says one,

    int32_t NAME(args, results, run)
        return interpret(NAME.programs[run->program],
                         {run->constants or NAME.constants, run->parallel_for, run->pool,
                          run->clock, null}, args, results, run->arena)

The functions are callers, which pass so many buffers on, and then what they call.
"""

import ctypes
from collections.abc import Sequence
from functools import cache

from tfc.backends.cpu.runtime.bytecode import Arity, Bytecode, Called
from tfc.backends.cpu.runtime.generated import runtime_ir
from tfc.backends.llvm.compilation import LoadedCode, compile_ir
from tfc.backends.target import Target

INTERPRET = "tfc_interpret"
BOUND_CALL = "tfc_bound_call"  # the caller of what is bound (bound_calls.py)
_COMMON: list[Arity] = [(count, Called.KERNEL) for count in range(13)]  # what most programs need
_CONTEXT = "{ ptr, ptr, ptr, ptr, ptr }"


class Context(ctypes.Structure):
    """What a program runs with, in this process; see bytecode_interpreter.c."""

    _fields_ = (
        ("constants", ctypes.c_void_p),
        ("parallel_for", ctypes.c_void_p),
        ("pool", ctypes.c_void_p),
        ("clock", ctypes.c_void_p),
        ("participant", ctypes.c_void_p),
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
    name: str, bytecodes: Sequence[Bytecode], arguments: int, results: int, pool: str,
    pointer_bits: int, *, is_served: bool = False,
) -> str:  # fmt: skip
    """The LLVM IR of programs, their interpreter, and an entry point around them.

    Args:
        name: what the entry point is called, and the tables after it.
        bytecodes: one, or those of which the caller says one; they share the constants.
        pool: the symbol of the constants, which is to be defined beside; empty if the caller gives
            their address.
        pointer_bits: the width of an address on the target, and of sizes of memory.
        is_served: whether the caller gives more than memory; it must where there is more to give.
    """
    assert is_served or (pool and len(bytecodes) == 1)
    interpret = runtime_ir(f"bytecode_interpreter.{pointer_bits}", {})
    interpret = interpret.replace("define i32 @", "define internal i32 @")
    arities = dict.fromkeys(arity for bytecode in bytecodes for arity in bytecode.arities)
    callers = "".join(_caller(arity, "internal ") for arity in arities)
    programs = [name] if len(bytecodes) == 1 else [f"{name}.{n}" for n in range(len(bytecodes))]
    local = "internal unnamed_addr "
    tables = "".join(
        _tables(program, bytecode, arguments, results, local, local)
        for program, bytecode in zip(programs, bytecodes)
    )
    if is_served:
        data, body = _served_entry(name, programs, pool, pointer_bits)
    else:
        data, body = _entry(name, pool)
    return f"""{tables}{callers}{interpret}{data}
define i32 @"{name}"(ptr %args, ptr %results, ptr %arena) {{
{body}  ret i32 %status
}}
"""


def _entry(name: str, pool: str) -> tuple[str, str]:
    """Data and body of an entry point for one thread, without a clock."""
    data = f"""@"{name}.context" = internal constant {_CONTEXT} \
{{ ptr @"{pool}", ptr null, ptr null, ptr null, ptr null }}
"""
    body = f"""\
  %status = call i32 @{INTERPRET}(ptr @"{name}.program", ptr @"{name}.context",
                                  ptr %args, ptr %results, ptr %arena)
"""
    return data, body


def _served_entry(
    name: str, programs: Sequence[str], pool: str, pointer_bits: int
) -> tuple[str, str]:
    """Data and body of an entry point whose third argument is the struct that abi.py says."""
    word = f"i{pointer_bits}"
    run = f"{{ ptr, ptr, ptr, ptr, ptr, {word} }}"
    body = f"""\
  %context = alloca {_CONTEXT}
  store {_CONTEXT} zeroinitializer, ptr %context
"""
    for n in (1, 2, 3):
        body += f"""\
  %from.{n} = getelementptr {run}, ptr %arena, i32 0, i32 {n}
  %word.{n} = load ptr, ptr %from.{n}
  %to.{n} = getelementptr {_CONTEXT}, ptr %context, i32 0, i32 {n}
  store ptr %word.{n}, ptr %to.{n}
"""
    data, constants, program = "", f'@"{pool}"', f'@"{programs[0]}.program"'
    if not pool:
        constants = "%constants"
        body += f"""\
  %from.constants = getelementptr {run}, ptr %arena, i32 0, i32 4
  %constants = load ptr, ptr %from.constants
"""
    if len(programs) > 1:
        program, listed = "%program", ", ".join(f'ptr @"{p}.program"' for p in programs)
        data = f'@"{name}.programs" = internal constant [{len(programs)} x ptr] [{listed}]\n'
        body += f"""\
  %from.number = getelementptr {run}, ptr %arena, i32 0, i32 5
  %number = load {word}, ptr %from.number
  %entry = getelementptr ptr, ptr @"{name}.programs", {word} %number
  %program = load ptr, ptr %entry
"""
    body += f"""\
  store ptr {constants}, ptr %context
  %memory = load ptr, ptr %arena
  %status = call i32 @{INTERPRET}(ptr {program}, ptr %context,
                                  ptr %args, ptr %results, ptr %memory)
"""
    return data, body


# --- Both ---------------------------------------------------------------------------------------


def _tables(
    name: str, bytecode: Bytecode, arguments: int, results: int, linkage: str, seen: str
) -> str:
    """The data of a program; `seen` is the linkage of the one that refers to the others."""
    called = [*map(_caller_name, bytecode.arities), *bytecode.functions]
    code = ", ".join(f"i64 {word}" for word in bytecode.words)
    functions = ", ".join(f'ptr @"{symbol}"' for symbol in called)
    counts = (arguments, results, bytecode.most, len(bytecode.arities))
    bound = "".join(f'@"{symbol}" = external global i8\n' for symbol in bytecode.bound)
    return f"""\
{bound}@"{name}.code" = {linkage}constant [{len(bytecode.words)} x i64] [{code}]
@"{name}.functions" = {linkage}constant [{len(called)} x ptr] [{functions}]
@"{name}.program" = {seen}constant {{ i64, i64, i64, i64, ptr, ptr }} \
{{ {", ".join(f"i64 {count}" for count in counts)}, ptr @"{name}.code", ptr @"{name}.functions" }}
"""


def _caller_name(arity: Arity) -> str:
    count, kind = arity
    if kind is Called.BOUND:
        return BOUND_CALL
    return f"tfc_call_with_{count}{'_status' if kind is Called.FUNCTION else ''}"


def _caller(arity: Arity, linkage: str) -> str:
    """The function that calls a function with so many buffers, which lie in a frame.

    A frame is words of 64 bits: the function, the bytes of scratch memory of a chunk, the buffers.
    A kernel is told its chunk, and finds the scratch memory for it in the last buffer.
    """
    count, kind = arity
    if kind is Called.BOUND:
        return f"declare i32 @{BOUND_CALL}(ptr, i64)\n"
    has_status = kind is Called.FUNCTION
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
