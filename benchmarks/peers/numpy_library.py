"""NumPy, which computes at once."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.case import Case
from benchmarks.peers import Compile
from benchmarks.protocol import Task


class Library(peers.Library):
    """NumPy; OPENBLAS_NUM_THREADS holds its products of matrices to the number of threads."""

    compiles = False

    def compiler(self, case: Case, task: Task) -> Compile:
        """The statement itself."""
        return lambda: case.numpy

    def call(self, case: Case, task: Task, compiled: Any) -> Callable[[], Any]:
        """The statement with its arguments."""
        arguments = self.aligned(task)
        return lambda: compiled(np, *arguments)
