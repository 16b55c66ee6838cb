"""tfc on the CPU: StableHLO in; arrays of NumPy in and out.

Weights that ONNX Runtime's models hold are constant arguments.
"""

import atexit
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import tfc
from benchmarks import peers
from benchmarks.case import Case, leaves
from benchmarks.peers import Compile
from benchmarks.protocol import Task
from tfc.backends.llvm.library import LIBRARY
from tfc.options import Options


class Library(peers.Library):
    """tfc; TFC_THREADS, which is set for all processes, tells it the number of threads."""

    def compiler(self, case: Case, task: Task) -> Compile:
        """From the text of the program, and the weights where they are constant."""
        constant = self._constant(case, task)
        if case.compiling == "cold":
            return lambda: _compile_anew(task, "")
        if case.compiling == "new":
            folder = tempfile.mkdtemp(prefix="tfc-parts-")
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            _compile_anew(task, folder)  # another process, as far as the measured ones can tell
            return lambda: _compile_anew(task, folder)
        if not constant:
            return lambda: tfc.from_stablehlo(task.stablehlo).compile()
        arguments = self.arguments(task)
        arguments[:constant] = map(_read_only, arguments[:constant])

        def compile_for_weights() -> Any:
            program = tfc.from_stablehlo(task.stablehlo)
            return tfc.jit(program, constant_argnums=range(constant)).lower(*arguments).compile()

        return compile_for_weights

    def call(self, case: Case, task: Task, compiled: Any) -> Callable[[], Any]:
        """The executable with its arguments."""
        arguments = self.arguments(task)[self._constant(case, task) :]
        return lambda: compiled(*arguments)

    def _constant(self, case: Case, task: Task) -> int:
        """How many of the arrays among the arguments are constant, the first ones."""
        held = case.torch.weights if case.torch is not None and case.torch.exported else 0
        return len(leaves(task.arguments[:held]))


def _read_only(array: np.ndarray) -> np.ndarray:
    """A copy that nobody writes to."""
    copy = array.copy()
    copy.setflags(write=False)
    return copy


def _compile_anew(task: Task, parts_dir: str) -> Any:
    """As if this process had compiled nothing, and earlier ones what is in a folder."""
    LIBRARY.clear()
    module = tfc.from_stablehlo(task.stablehlo).hlo
    return tfc.compile(module, options=replace(Options.from_environment(), parts_dir=parts_dir))
