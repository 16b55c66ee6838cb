"""The code that runs a program's steps: the same few functions for every program.

int32_t NAME(args, results, arena[, constants])    the entry point; see abi.py
    bases = where each space begins
    for each step: its buffers' addresses into a table, and then
        caller(table, 0)   or, if threads share the step,   tfc.parallel_for(caller, table, n)

void NAME.with.N(table, chunk)                     calls a kernel with N buffers

table: the kernel, the bytes of scratch memory of a chunk, the buffers
"""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import llvmlite.ir as ir

from tfc.backends.cpu.abi import constant_pool
from tfc.backends.cpu.code import I32, I64, POINTER, VOID, Code, function
from tfc.backends.cpu.pool import PARALLEL_FOR
from tfc.backends.cpu.steps import Step, Steps
from tfc.backends.cpu.timing import Clock

_KERNEL, _SCRATCH, _BUFFERS = range(3)  # words of a table
_MEMORY_MOVE = "llvm.memmove.p0.p0.i64"


def runner(
    name: str, steps: Steps, arguments: int, results: int, constants: bytes | None,
    clock: Clock | None = None,
) -> str:  # fmt: skip
    """The LLVM IR of the entry point and of what it needs; the functions that it calls are not.

    Args:
        arguments, results: how many buffers the entry point is given.
        constants: the constant pool to put into the object file; None to take its address as the
            fourth argument.
        clock: notes when each step begins and ends.
    """
    module = ir.Module(name)
    callers = [
        _define_caller(module, name, count, has_status) for count, has_status in steps.arities
    ]
    parameters = [POINTER] * (3 if constants is not None else 4)
    if clock is not None:
        clock.define(module)
    with function(module, name, parameters, I32) as (code, passed):
        pool = code.symbol(f"{name}.constants") if constants is not None else passed[3]
        bases = code.array(arguments + results + 2)
        for array, first, count in ((passed[0], 0, arguments), (passed[1], arguments, results)):
            with code.repeat(count) as n:
                code.put(code.word(array, n, POINTER), bases, code.add(n, first))
        code.put(passed[2], bases, arguments + results)
        code.put(pool, bases, arguments + results + 1)
        _Runner(code, name, steps, bases, clock).define()
    symbols = [*callers, *steps.functions]
    globals_ = [
        _table(f"{name}.steps", "i64", steps.words),
        _table(f"{name}.functions", "ptr", [f'@"{s}"' for s in symbols]),
    ]
    if constants is not None:
        globals_.append(constant_pool(f"{name}.constants", constants))
    if clock is not None:
        globals_.append(clock.memory)
    functions = [str(f) for f in module.functions]
    return "\n".join([*globals_, *functions, ""])


def declared(names: Iterable[str]) -> str:
    """LLVM IR that declares functions, of which only the addresses matter."""
    return "".join(f'declare void @"{name}"()\n' for name in names)


def visible(text: str, names: Collection[str]) -> str:
    """LLVM IR in which functions can be seen from other parts of the program."""
    return re.sub(
        r'^define internal (.*?@"?([-\w.]+)"?\()',
        lambda m: f"define {'hidden' if m[2] in names else 'internal'} {m[1]}",
        text,
        flags=re.MULTILINE,
    )


def _table(name: str, kind: str, values: Sequence[Any]) -> str:
    """A global array of constants."""
    listed = ", ".join(f"{kind} {v}" for v in values)
    return f'@"{name}" = internal constant [{len(values)} x {kind}] [{listed}]'


def _define_caller(module: ir.Module, name: str, count: int, has_status: bool) -> str:
    """Define what calls a function with so many buffers, and return its name."""
    caller = f"{name}.with.{count}{'.status' if has_status else ''}"
    with function(module, caller, [POINTER, I64], I32 if has_status else VOID, internal=True) as (
        code, (table, chunk),
    ):  # fmt: skip
        buffers = [code.word(table, _BUFFERS + n, POINTER) for n in range(count)]
        called = code.word(table, _KERNEL)
        if has_status:
            code.ret(code.call_pointer(called, I32, *buffers))
            return caller
        if buffers:
            offset = code.multiply(chunk, code.word(table, _SCRATCH))
            buffers[-1] = code.byte(buffers[-1], offset)
        code.call_pointer(called, VOID, *buffers, chunk)
        code.ret()
    return caller


class _Runner:
    """The loop over the steps, in the code of the entry point."""

    def __init__(self, code: Code, name: str, steps: Steps, bases: Any, clock: Clock | None):
        self.code, self.program, self.bases, self.clock = code, steps, bases, clock
        self.steps, self.functions = (code.symbol(f"{name}.{n}") for n in ("steps", "functions"))
        self.table = code.array(_BUFFERS + steps.most)
        self.at = code.variable(I64, 0)  # the word to be read next

    def define(self) -> None:
        """Emit it, with the return."""
        code = self.code
        if self.clock is not None:
            self.clock.begin(code)
        kinds = {
            Step.KERNEL: self._kernel, Step.CALL: self._call, Step.COPY: self._copy,
            Step.UNLESS: self._unless, Step.OTHERWISE: self._otherwise, Step.JUMP: self._jump,
        }  # fmt: skip
        with code.forever():
            kind = self._next()
            for number, emit in kinds.items():
                if number in self.program.kinds:
                    with code.when(code.compare("==", kind, int(number))):
                        emit()
            with code.when(code.compare("==", kind, int(Step.END))):
                code.leave()
        code.ret(0)

    def _next(self) -> Any:
        """The next word."""
        at = self.at.get()
        self.at.set(self.code.add(at, 1))
        return self.code.word(self.steps, at)

    def _address(self) -> Any:
        """The address of the buffer that the next two words are."""
        base = self.code.word(self.bases, self._next(), POINTER)
        return self.code.byte(base, self._next())

    def _function(self, first: int) -> Any:
        number = self.code.add(self._next(), first)
        return self.code.word(self.functions, number)

    def _fill(self) -> None:
        """Put the buffers, whose count is the next word, into the table."""
        with self.code.repeat(self._next()) as n:
            self.code.put(self._address(), self.table, self.code.add(n, _BUFFERS))

    def _kernel(self) -> None:
        code = self.code
        site, caller, kernel = self._next(), self._function(0), self._function(self._callers)
        chunks, scratch = self._next(), self._next()
        code.put(kernel, self.table, _KERNEL)
        code.put(scratch, self.table, _SCRATCH)
        self._fill()
        begin = self._begin()
        with code.when(code.compare("==", chunks, 1)):
            code.call_pointer(caller, VOID, self.table, 0)
        if self.program.shared:
            with code.when(code.compare("!=", chunks, 1)):
                code.call(PARALLEL_FOR, VOID, code.as_pointer(caller), self.table, chunks)
        self._finish(site, begin)

    def _call(self) -> None:
        code = self.code
        site, caller, called = self._next(), self._function(0), self._function(self._callers)
        code.put(called, self.table, _KERNEL)
        self._fill()
        begin = self._begin()
        status = code.call_pointer(caller, I32, self.table, 0)
        self._finish(site, begin)
        with code.when(code.compare("!=", status, 0)):
            code.ret(status)

    def _copy(self) -> None:
        site, size = self._next(), self._next()
        source, target = self._address(), self._address()
        begin = self._begin()
        never = ir.Constant(ir.IntType(1), 0)
        self.code.call(_MEMORY_MOVE, VOID, target, source, size, never)
        self._finish(site, begin)

    def _unless(self) -> None:
        value, place = self.code.load(self._address(), ir.IntType(8)), self._next()
        with self.code.when(self.code.compare("==", value, 0)):
            self.at.set(place)

    def _otherwise(self) -> None:
        value = self.code.load(self._address(), I32)
        number, place = self._next(), self._next()
        with self.code.when(self.code.compare("!=", self.code.widened(value), number)):
            self.at.set(place)

    def _jump(self) -> None:
        self.at.set(self._next())

    @property
    def _callers(self) -> int:
        """Where among the functions those begin that callers call."""
        return len(self.program.arities)

    def _begin(self) -> Any:
        return self.clock.now(self.code) if self.clock is not None else None

    def _finish(self, site: Any, begin: Any) -> None:
        if self.clock is not None:
            self.clock.record(self.code, site, begin)
