"""IREE on the CPU, given the same StableHLO as tfc; its arrays are its own."""

from collections.abc import Callable
from typing import Any

import iree.compiler
import iree.runtime
import numpy as np

from benchmarks import peers
from benchmarks.case import Case
from benchmarks.peers import Compile
from benchmarks.protocol import Task


class Library(peers.Library):
    """IREE: in the calling thread for one thread, else with a pool of its own."""

    def __init__(self, threads: int):
        super().__init__(threads)
        iree.runtime.flags.parse_flags(f"--task_topology_group_count={threads}")
        self.config = iree.runtime.Config("local-sync" if threads == 1 else "local-task")

    def compiler(self, case: Case, task: Task) -> Compile:
        """From the text of the program."""
        flags = ["--iree-llvmcpu-target-cpu=host", "--iree-input-demote-f64-to-f32=false"]

        def compile_now() -> Any:
            context = iree.runtime.SystemContext(config=self.config)
            binary = iree.compiler.compile_str(
                task.stablehlo, input_type="stablehlo", target_backends=["llvm-cpu"],
                extra_args=flags,
            )  # fmt: skip
            module = iree.runtime.VmModule.copy_buffer(context.instance, binary)
            context.add_vm_module(module)
            return context.modules[module.name]["main"]

        return compile_now

    def call(self, case: Case, task: Task, compiled: Any) -> Callable[[], Any]:
        """The function with its arguments."""
        if case.host:
            arrays = self.arguments(task)
            return lambda: compiled(*arrays).to_host()
        placed = [iree.runtime.asdevicearray(self.config.device, a) for a in self.arguments(task)]
        return lambda: compiled(*placed)

    def fetch(self, case: Case, results: Any) -> list[np.ndarray]:
        """The results as NumPy's arrays."""
        if case.host:
            return [results]
        found = results if isinstance(results, list | tuple) else [results]
        return [r.to_host() if hasattr(r, "to_host") else np.asarray(r) for r in found]
