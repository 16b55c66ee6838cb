"""tfc on the CPU: StableHLO in; arrays of NumPy in and out."""

from collections.abc import Callable
from typing import Any

import tfc
from benchmarks import peers
from benchmarks.case import Case
from benchmarks.peers import Compile
from benchmarks.protocol import Task


class Library(peers.Library):
    """tfc; TFC_THREADS, which is set for all processes, tells it the number of threads."""

    def compiler(self, case: Case, task: Task) -> Compile:
        """From the text of the program."""
        return lambda: tfc.from_stablehlo(task.stablehlo).compile()

    def call(self, case: Case, task: Task, compiled: Any) -> Callable[[], Any]:
        """The executable with its arguments."""
        arguments = self.arguments(task)
        return lambda: compiled(*arguments)
