"""Machine code made on several threads, while the program is still being emitted."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from heapq import heappop, heappush
from typing import Any, Generic, Self, TypeVar

from tfc.backends.llvm.compilation import optimized
from tfc.backends.llvm.effort import codegen_level, work
from tfc.backends.llvm.machines import borrowed_machine
from tfc.backends.llvm.parts import Part, split_ir, visible
from tfc.backends.target import Target
from tfc.runtime.threads import available_cores

Code = TypeVar("Code", bytes, str)


class CodeMaker(Generic[Code]):
    """Makes object files, which belong together, while the program is still being emitted.

        with CodeMaker(target, emit_object) as maker:
            maker.start(text)               of modules that are there already
            objects = maker.finish(text)    of the last

    What a module declares is defined in an earlier one, or outside of the program.

    Args:
        emit: (machine, module) -> the code of an optimised module: `emit_object`, or a text of what
            that holds.
        keep: takes the names of functions that programs have in common, and their code.
    """

    def __init__(
        self,
        target: Target,
        emit: Callable[[Any, Any], Code],
        keep: Callable[[Sequence[str], Code], None] | None = None,
    ):
        self._target, self._emit, self._keep = target, emit, keep
        self._pool = ThreadPoolExecutor(available_cores())
        self._started: list[Future[tuple[int, Code]]] = []
        # What takes longest first, so that in the end no thread waits long for another. Its
        # functions are not interrupted by other threads.
        self._waiting: list[tuple[float, int, Part]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def start(self, text: str) -> None:
        """Make code of LLVM IR, on other threads."""
        self._start(split_ir(visible(text), 1))

    def finish(self, text: str) -> list[Code]:
        """All code, once that of the last LLVM IR is made, too.

        Raises:
            InternalError: some text is not LLVM IR that llvmlite's LLVM accepts.
        """
        parts = split_ir(visible(text) if self._started else text, available_cores())
        if len(parts) == 1 and not self._started:
            return [self._made(parts[0])]
        self._start(parts)
        made = dict(future.result() for future in self._started)
        return [made[number] for number in range(len(made))]

    def _start(self, parts: Sequence[Part]) -> None:
        for part in parts:
            heappush(self._waiting, (-work(part.text, part.effort), len(self._started), part))
            self._started.append(self._pool.submit(self._next))

    def _next(self) -> tuple[int, Code]:
        """The number and the code of the part that takes longest of those that wait."""
        _, number, part = heappop(self._waiting)
        return number, self._made(part)

    def _made(self, part: Part) -> Code:
        with borrowed_machine(self._target, codegen_level(part.effort)) as machine:
            module = optimized(part.text, self._target, part.effort, machine)
            code = self._emit(machine, module)
        if part.shared and self._keep is not None:
            self._keep(part.shared, code)
        return code
