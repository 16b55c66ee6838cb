"""JAX on the CPU, which is XLA; its arrays are on its device before the clock starts."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from benchmarks import peers
from benchmarks.case import Case, is_wide
from benchmarks.peers import Compile
from benchmarks.protocol import Task


class Library(peers.Library):
    """JAX; XLA_FLAGS holds it to the number of threads."""

    def compiler(self, case: Case, task: Task) -> Compile:
        """From the traced program on, as for tfc, which is given its text."""
        jax.clear_caches()
        jax.config.update("jax_enable_x64", is_wide(task.arguments))
        lowered = jax.jit(lambda *arguments: case.jax(jax, *arguments)).lower(*task.arguments)
        return lowered.compile

    def call(self, case: Case, task: Task, compiled: Any) -> Callable[[], Any]:
        """The executable with its arguments."""
        if case.host:
            arguments = self.aligned(task)
            return lambda: np.asarray(compiled(*arguments))
        placed = jax.device_put(task.arguments)
        return lambda: jax.block_until_ready(compiled(*placed))
