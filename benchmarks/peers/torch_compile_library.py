"""PyTorch's compiler, which needs one for C++."""

import functools
from typing import Any

import torch

from benchmarks.case import Case
from benchmarks.peers import Compile, torch_library
from benchmarks.protocol import Task


class Library(torch_library.Library):
    """torch.compile; its cache on disk is off (TORCHINDUCTOR_FORCE_DISABLE_CACHES)."""

    compiles = True

    def compiler(self, case: Case, task: Task) -> Compile:
        """Compilation is part of the first call."""
        torch._dynamo.reset()
        tensors = self.prepared(case, task)
        function = torch_library.statement(case).function

        def compile_now() -> Any:
            compiled = torch.compile(functools.partial(function, torch))
            compiled(*tensors)
            return lambda _, *arguments: compiled(*arguments)

        return compile_now
