"""The code that runs a program's steps: the same few functions for every program.

int32_t NAME(args, results, arena[, constants])    the entry point; see abi.py
    bases = where each space begins
    for each step: its buffers' addresses into a table, and then
        caller(table, 0)   or, if threads share the step,   tfc.parallel_for(caller, table, n)

void NAME.with.N(table, chunk)                     calls a kernel with N buffers

table: the kernel, the bytes of scratch memory of a chunk, the buffers

What differs from program to program is data: NAME.steps, NAME.functions (the callers and then what
they call), and NAME.counts. So the code need not be made for each.
"""

from collections.abc import Collection, Iterable
from typing import Any

import llvmlite.ir as ir

from tfc.backends.cpu.runtime.abi import constant_pool
from tfc.backends.cpu.runtime.bytecode import Step, Steps
from tfc.backends.cpu.runtime.code import I32, I64, POINTER, VOID, Code, function
from tfc.backends.cpu.runtime.pool import PARALLEL_FOR
from tfc.backends.cpu.runtime.timing import Clock

Arity = tuple[int, bool]  # of a caller: how many buffers it passes, and whether it gives a status
_COMMON: list[Arity] = [(count, False) for count in range(13)]
_KERNEL, _SCRATCH, _BUFFERS = range(3)  # words of a table
_ARGUMENTS, _RESULTS, _MOST, _CALLERS = range(4)  # words of the counts


def program_data(name: str, steps: Steps, arguments: int, results: int) -> str:
    """The LLVM IR of what `common_runner` runs.

    Args:
        arguments, results: how many buffers the entry point is given.
    """
    common = [a for a in steps.arities if a in _COMMON]
    declared = [f'declare void @"{_caller(name, a)}"(ptr, i64)\n' for a in common]
    callers = _callers(name, (a for a in steps.arities if a not in _COMMON))
    return "".join([*declared, callers, _tables(name, steps, arguments, results, "hidden")])


def common_runner(name: str, shared: bool, clock: Clock | None = None) -> str:
    """The LLVM IR of the code for every program of a name, whose constants are the last argument.

    Args:
        shared: whether threads share the work of steps.
        clock: notes when each step begins and ends.
    """
    # Not as hidden: they may lie further away than the code for what is hidden can reach.
    declared = "".join(
        f'@"{name}.{table}" = external constant i64\n' for table in ("counts", "steps", "functions")
    )
    entry = _entry(name, name, set(Step), shared, False, clock, 64)
    return declared + _callers(name, _COMMON) + entry


def whole_runner(
    name: str, steps: Steps, arguments: int, results: int, constants: bytes | None,
    clock: Clock | None, pointer_bits: int, entry: str,
) -> str:  # fmt: skip
    """The LLVM IR of data and code for one program.

    Args:
        entry: what the entry point is called; seen by others if that is the program's name.
        pointer_bits: the width of an address on the target, and of sizes of memory.
        constants: the constant pool to put into the object file; None to take its address as the
            fourth argument.
    """
    pool = constant_pool(f"{name}.constants", constants) + "\n" if constants is not None else ""
    data = _tables(name, steps, arguments, results, "internal")
    callers = _callers(name, steps.arities, internal=True)
    has_constants = constants is not None
    run = _entry(name, entry, steps.kinds, steps.shared, has_constants, clock, pointer_bits)
    return pool + data + callers + run


def _tables(name: str, steps: Steps, arguments: int, results: int, linkage: str) -> str:
    symbols = [*(_caller(name, a) for a in steps.arities), *steps.functions]
    listed = {
        "counts": ("i64", [arguments, results, steps.most, len(steps.arities)]),
        "steps": ("i64", steps.words),
        "functions": ("ptr", [f'@"{s}"' for s in symbols]),
    }
    return "".join(
        f'@"{name}.{table}" = {linkage} constant [{len(values)} x {kind}] '
        f"[{', '.join(f'{kind} {v}' for v in values)}]\n"
        for table, (kind, values) in listed.items()
    )


def _caller(name: str, arity: Arity) -> str:
    count, has_status = arity
    return f"{name}.with.{count}{'.status' if has_status else ''}"


def _callers(name: str, arities: Iterable[Arity], internal: bool = False) -> str:
    """The functions that call functions with so many buffers."""
    module = ir.Module(name)
    for count, has_status in arities:
        caller, result = _caller(name, (count, has_status)), I32 if has_status else VOID
        with function(module, caller, [POINTER, I64], result, internal) as (code, (table, chunk)):
            buffers = [code.word(table, _BUFFERS + n, POINTER) for n in range(count)]
            called = code.word(table, _KERNEL, POINTER)
            if has_status:
                code.ret(code.call_pointer(called, I32, *buffers))
                continue
            if buffers:
                offset = code.multiply(chunk, code.word(table, _SCRATCH))
                buffers[-1] = code.byte(buffers[-1], offset)
            code.call_pointer(called, VOID, *buffers, chunk)
            code.ret()
    return _functions(module)


def _entry(
    name: str, entry: str, kinds: Collection[Step], shared: bool, has_constants: bool,
    clock: Clock | None, pointer_bits: int,
) -> str:  # fmt: skip
    """The entry point, for steps of some kinds.

    Args:
        has_constants: whether the constants are part of the code.
    """
    module = ir.Module(name)
    if clock is not None:
        clock.define(module)
    parameters = [POINTER] * (3 if has_constants else 4)
    with function(module, entry, parameters, I32, entry != name) as (code, passed):
        pool = code.symbol(f"{name}.constants") if has_constants else passed[3]
        counts = code.symbol(f"{name}.counts")
        arguments, results = code.word(counts, _ARGUMENTS), code.word(counts, _RESULTS)
        spaces = code.add(arguments, results)
        bases = code.array(code.add(spaces, 2))
        for array, first, count in ((passed[0], 0, arguments), (passed[1], arguments, results)):
            with code.repeat(count) as n:
                code.put(code.entry(array, n), bases, code.add(n, first))
        code.put(passed[2], bases, spaces)
        code.put(pool, bases, code.add(spaces, 1))
        _Runner(code, name, kinds, shared, bases, counts, clock, pointer_bits).define()
    return (clock.memory + "\n" if clock is not None else "") + _functions(module)


def _functions(module: ir.Module) -> str:
    return "".join(f"{f}\n" for f in module.functions)


class _Runner:
    """The loop over the steps, in the code of the entry point."""

    def __init__(
        self, code: Code, name: str, known: Collection[Step], shared: bool, bases: Any,
        counts: Any, clock: Clock | None, pointer_bits: int,
    ):  # fmt: skip
        self.size = ir.IntType(pointer_bits)
        self.code, self.known, self.shared = code, known, shared
        self.bases, self.clock = bases, clock
        self.steps, self.functions = (code.symbol(f"{name}.{n}") for n in ("steps", "functions"))
        self.table = code.array(code.add(code.word(counts, _MOST), _BUFFERS))
        self.callers = code.word(counts, _CALLERS)  # where those begin that callers call
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
                if number in self.known:
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

    def _function(self, first: Any) -> Any:
        number = self.code.add(self._next(), first)
        return self.code.entry(self.functions, number)

    def _fill(self) -> None:
        """Put the buffers, whose count is the next word, into the table."""
        with self.code.repeat(self._next()) as n:
            self.code.put(self._address(), self.table, self.code.add(n, _BUFFERS))

    def _kernel(self) -> None:
        code = self.code
        site, caller, kernel = self._next(), self._function(0), self._function(self.callers)
        chunks, scratch = self._next(), self._next()
        code.put(kernel, self.table, _KERNEL)
        code.put(scratch, self.table, _SCRATCH)
        self._fill()
        begin = self._begin()
        with code.when(code.compare("==", chunks, 1)):
            code.call_pointer(caller, VOID, self.table, 0)
        if self.shared:
            with code.when(code.compare("!=", chunks, 1)):
                code.call(PARALLEL_FOR, VOID, caller, self.table, chunks)
        self._finish(site, begin)

    def _call(self) -> None:
        code = self.code
        site, caller, called = self._next(), self._function(0), self._function(self.callers)
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
        bits = self.size.width
        size = size if bits == 64 else self.code.builder.trunc(size, self.size)
        self.code.call(f"llvm.memmove.p0.p0.i{bits}", VOID, target, source, size, never)
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

    def _begin(self) -> Any:
        return self.clock.now(self.code) if self.clock is not None else None

    def _finish(self, site: Any, begin: Any) -> None:
        if self.clock is not None:
            self.clock.record(self.code, site, begin)
