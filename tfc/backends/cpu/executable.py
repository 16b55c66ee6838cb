"""Running compiled code in this process: argument passing, results and temporaries."""

import ctypes
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from math import prod
from threading import Lock
from typing import Any, Protocol

import numpy as np

from tfc.backends.choices import Question
from tfc.backends.cpu.calls import Callee, symbols
from tfc.backends.cpu.donated import address, make_writable
from tfc.backends.cpu.program import Program
from tfc.backends.cpu.runtime.abi import ALIGNMENT
from tfc.backends.cpu.runtime.blocks import block_size
from tfc.backends.cpu.runtime.bytecode_interpreter import (
    INTERPRET,
    Context,
    interpreter,
    interpreter_symbols,
)
from tfc.backends.cpu.runtime.entry_table import EntryProgram, Flat, python_entry
from tfc.backends.cpu.runtime.threads import parallel_for
from tfc.backends.cpu.runtime.timing import Site, Times
from tfc.backends.interfaces import (
    Executable,
    HostTransferManager,
    KernelTimes,
    MemoryAnalysis,
    Signature,
)
from tfc.backends.llvm.compilation import load_objects
from tfc.backends.target import Target
from tfc.errors import OutOfMemoryError
from tfc.hlo.ir import Instruction, Module
from tfc.hlo.shape import Shape
from tfc.passes.analysis.cost import CostAnalysis, cost_analysis
from tfc.passes.analysis.donation import donation_of
from tfc.passes.live_buffers import live_buffers
from tfc.passes.memory.buffers import BufferAssignment
from tfc.runtime.functions import reraise
from tfc.runtime.replicas import Participant, current, running_one_of
from tfc.tools.pictures.svg import bytes_text
from tfc.tracebacks import hide_frames

_TRANSFERS = HostTransferManager()
_NOTHING = nullcontext()
_LONG = 1 << 19  # of operations and bytes: some 20 microseconds
_LARGE = 1 << 14  # bytes: from here on a result's alignment shows, and its bookkeeping does not


@dataclass(frozen=True)
class MachineCode:
    """Object files that belong together.

    shared: they call the pool of threads.
    sites: what a clock measures; none in code that was kept.
    """

    objects: tuple[bytes, ...]
    shared: bool
    sites: tuple[Site, ...] = ()


class Compilation(Protocol):
    """What the executable needs of the compilation that made it."""

    @property
    def module(self) -> Module:
        """The optimised module."""
        ...

    @property
    def assignment(self) -> BufferAssignment:
        """Its memory plan."""
        ...

    @property
    def target(self) -> Target:
        """The machine that the code is for."""
        ...

    @property
    def callees(self) -> Mapping[Instruction, Callee]:
        """What it calls outside of its code."""
        ...

    def emit(self) -> Program:
        """Its MLIR."""
        ...

    def questions(
        self, kernels: Iterable[Instruction]
    ) -> Mapping[Instruction, tuple[Question, ...]]:
        """Which of some kernels have alternatives of schedule."""
        ...

    def made_anew(self) -> "Compilation":
        """The same, whose sites are known: they are not kept with code."""
        ...

    def text(self, stage: str) -> str:
        """Its code as "llvm" or "asm", in the parts that this process runs."""
        ...

    def machine_code(self) -> "MachineCode":
        """Its machine code for this process."""
        ...

    def write_constants(self, pool: np.ndarray) -> None:
        """Write the bytes of its constants to where they are read."""
        ...


class CpuExecutable(Executable):
    """A module as machine code in this process; calls are synchronous and thread-safe."""

    def __init__(self, source: Module, compilation: Compilation, name: str):
        super().__init__(source, compilation.module)
        self._compilation, self._name = compilation, name
        plan = compilation.assignment
        self._constants = aligned_bytes(plan.constant_size)
        # To touch so much memory for the first time may take as long as to make the code.
        with ThreadPoolExecutor(1) as beside:
            written = beside.submit(compilation.write_constants, self._constants)
            made = compilation.machine_code()
            written.result()
        self._sites = made.sites
        self._interpreter = interpreter()
        called = symbols(compilation.callees) | interpreter_symbols(self._interpreter)
        self._code = load_objects(made.objects, compilation.target, called)
        self._program = self._code.address(f"{name}.program")
        self._context = Context(address(self._constants), parallel_for() if made.shared else None)
        self._last: tuple[Participant | None, Context] = (None, self._context)
        self._arena_size = plan.arena_size
        # Arenas of finished calls, kept for the next: list.append and pop are atomic.
        self._arenas: list[tuple[np.ndarray, int]] = []
        # The arena of the quick entries, which the first call makes: they decline till then.
        self._arena: list[np.ndarray] = []
        self._arena_words = np.zeros(2, np.int64)
        self._making_arena = Lock()
        kind = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 5)
        self._interpret: Callable[..., int] = kind(self._interpreter.address(INTERPRET))
        self._donation = donation_of(compilation.module)
        self._argument_pointers = ctypes.c_void_p * len(self.parameter_shapes)
        self._result_pointers = ctypes.c_void_p * len(self.result_shapes)
        # Whether each array can be used where it lies, looked up once: a call of small arrays
        # takes no longer than its bookkeeping.
        self._plain = [s.has_default_layout for s in self.parameter_shapes]
        self._all_results_plain = all(s.has_default_layout for s in self.result_shapes)
        self._results = [(_memory_dims(s), s.element_type.dtype) for s in self.result_shapes]
        leaf = Flat()
        flat = Flat(list, (), (leaf,) * len(self.result_shapes))
        self._quick = self.python_entry(Signature((leaf,) * len(self.parameter_shapes), flat))

    def __call__(self, *arguments: np.ndarray) -> list[np.ndarray]:
        try:
            if self._quick is not None:
                results = self._quick(*arguments)
                if results is not NotImplemented:
                    return results
                if not self._arena:
                    self._make_arena()
                    return self(*arguments)
            return self._call(arguments)
        except Exception as error:
            hide_frames(error)
            raise

    def _call(self, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Call with arrays of any layout."""
        self.check_arguments(arguments)
        # A NumPy scalar has no memory that lasts: its address is that of a temporary array.
        passed = [
            a
            if plain and type(a) is np.ndarray and a.flags.c_contiguous and a.flags.aligned
            else _TRANSFERS.to_device(a, s)
            for a, plain, s in zip(arguments, self._plain, self.parameter_shapes)
        ]
        results, arena = self._memory()
        if self._donation.arguments:
            make_writable(passed, self._donation.arguments)
            for result, argument in self._donation.aliases.items():
                results[result] = passed[argument].reshape(results[result].shape)
        is_joined = bool(self._compilation.callees)
        with running_one_of(*self.device_counts, self.source) if is_joined else _NOTHING:
            context = self._context_of(current()) if is_joined else self._context
            status = self._interpret(
                self._program,
                ctypes.addressof(context),
                self._argument_pointers(*map(address, passed)),
                self._result_pointers(*map(address, results)),
                arena[1],
            )
        self._arenas.append(arena)
        if status:
            reraise()
        if self._all_results_plain:
            return results
        return [_TRANSFERS.from_device(r, s) for r, s in zip(results, self.result_shapes)]

    def _context_of(self, here: Participant) -> Context:
        """What the program runs with for one of those that it joins."""
        known, context = self._last
        if known is not here:
            own = self._context
            context = Context(own.constants, own.parallel_for, own.pool, own.clock, id(here))
            self._last = (here, context)
        return context

    def python_entry(self, signature: Signature) -> Callable[..., Any] | None:
        """A builtin function; None for programs that write to their arguments or call functions."""
        if self._donation.arguments or self._compilation.callees:
            return None
        if not (all(self._plain) and self._all_results_plain):
            return None
        program = EntryProgram(
            self._interpreter.address(INTERPRET),
            self._program,
            self._context,
            self._arena_words,
            self._entry_arena_size,
            self.parameter_shapes,
            self.result_shapes,
            _is_long(self.hlo),
            (self._code, self._interpreter, self._constants, self._arena),
        )
        return python_entry(program, signature)

    def _memory(self) -> tuple[list[np.ndarray], tuple[np.ndarray, int]]:
        """Memory for the results of a call, and for its temporaries."""
        with self._enough_memory():
            results = [_empty(dims, dtype) for dims, dtype in self._results]
            return results, self._arenas.pop() if self._arenas else self._new_arena()

    def _make_arena(self) -> None:
        """Make the arena of the quick entries, once."""
        with self._making_arena, self._enough_memory():
            if not self._arena:
                arena = aligned_bytes(self._entry_arena_size)
                self._arena_words[:] = address(arena)
                self._arena.append(arena)

    @contextmanager
    def _enough_memory(self) -> Iterator[None]:
        """Say how much memory a call needs if there is not as much."""
        try:
            yield
        except MemoryError:
            needed = bytes_text(self._arena_size + _total(self.result_shapes))
            raise OutOfMemoryError(
                f"{self.hlo.name} needs {needed} for its results and temporaries, which is more "
                "memory than there is: make its arrays smaller"
            ) from None

    @property
    def _entry_arena_size(self) -> int:
        return block_size(max(self._arena_size, 1))

    def _new_arena(self) -> tuple[np.ndarray, int]:
        arena = aligned_bytes(self._arena_size)
        return arena, address(arena)

    @property
    def stages(self) -> tuple[str, ...]:
        """The names that `as_text` knows."""
        return ("hlo", "optimized", "mlir", "llvm", "asm")

    def _text(self, stage: str) -> str:
        match stage:
            case "mlir":
                return str(self._compilation.emit())
            case "llvm" | "asm":
                return self._compilation.text(stage)
            case _:
                return str(self.hlo)

    def cost_analysis(self) -> CostAnalysis:
        """Arithmetic operations, transcendental functions and bytes moved, in all and by kernel."""
        return cost_analysis(self.hlo, _updated_in_place(self._compilation.assignment))

    def timed(self) -> Callable[..., KernelTimes]:
        """The same program with a clock around each kernel; for one thread at a time."""
        clocked = TimedExecutable(self.source, self._compilation.made_anew(), self._name)
        return clocked.measure

    def questions(
        self, kernels: Iterable[Instruction]
    ) -> Mapping[Instruction, tuple[Question, ...]]:
        """Which of some kernels have alternatives of schedule, and which ones."""
        return self._compilation.questions(kernels)

    def memory_analysis(self) -> MemoryAnalysis:
        """Bytes of arguments, results, the arena and the constant pool; the arena's buffers."""
        plan = self._compilation.assignment
        return MemoryAnalysis(
            _total(self.parameter_shapes),
            _total(self.result_shapes),
            self._arena_size,
            self._constants.size,
            _total([self.result_shapes[n] for n in self._donation.aliases]),
            plan.lower_bound,
            live_buffers(self.hlo, plan),
            self.hlo.name,
        )


class TimedExecutable(CpuExecutable):
    """A program that times its kernels."""

    def __init__(self, source: Module, compilation: Compilation, name: str):
        super().__init__(source, compilation, name)
        self._times = Times(self._sites)
        self._context.clock = ctypes.addressof(self._times.clock)

    def measure(self, *arguments: np.ndarray) -> KernelTimes:
        """Run, and say what each kernel took.

        Raises:
            ShapeError: the arguments do not fit the parameters.
        """
        self._times.forget()
        began = time.monotonic_ns()
        self(*arguments)
        return self._times.read(began, time.monotonic_ns())


def aligned_bytes(size: int) -> np.ndarray:
    """Uninitialised bytes that begin at a multiple of 64."""
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size]


def _is_long(module: Module) -> bool:
    """True if a call takes so long that other Python threads should run meanwhile."""
    if any(i.opcode == "while" for c in module.computations for i in c.instructions):
        return True
    cost = cost_analysis(module)
    return cost.flops + 10 * cost.transcendentals + cost.bytes_accessed > _LONG


def _empty(dims: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """An uninitialised array; a large one is aligned as the arena is.

    NumPy's begin 16 bytes into a cache line, so that tiles of results straddle two.
    """
    size = prod(dims) * dtype.itemsize
    if size < _LARGE:
        return np.empty(dims, dtype)
    return aligned_bytes(size).view(dtype).reshape(dims)


def _memory_dims(shape: Shape) -> tuple[int, ...]:
    return shape.dims if shape.has_default_layout else (shape.storage_size,)


def _updated_in_place(plan: BufferAssignment) -> set[Instruction]:
    """The instructions whose result lies where one of their operands does."""
    return {
        instruction
        for instruction, result in plan.slices.items()
        if any(s.size and s in plan.slices[o] for s in result for o in instruction.operands)
    }


def _total(shapes: Sequence[Shape]) -> int:
    return sum(s.byte_size for s in shapes)
