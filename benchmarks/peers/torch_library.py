"""PyTorch as it comes: operations one after another."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import torch

from benchmarks import peers
from benchmarks.case import Case, Torch, leaves, map_leaves
from benchmarks.peers import Compile
from benchmarks.protocol import Task


def tensor(array: Any) -> torch.Tensor:
    """A tensor over the memory of an array."""
    array = np.asarray(array)
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def array(result: torch.Tensor) -> np.ndarray:
    """An array over the memory of a tensor, or a copy of it."""
    result = result.detach()
    if result.dtype == torch.bfloat16:
        return result.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return result.numpy()


def statement(case: Case) -> Torch:
    """What PyTorch is given of a case; there is one, or the peer had not been asked."""
    assert case.torch is not None
    return case.torch


class Library(peers.Library):
    """PyTorch, eager."""

    compiles = False

    def __init__(self, threads: int):
        super().__init__(threads)
        torch.set_num_threads(threads)

    def compiler(self, case: Case, task: Task) -> Compile:
        """The statement itself."""
        return lambda: statement(case).function

    def call(self, case: Case, task: Task, compiled: Any) -> Callable[[], Any]:
        """The statement with its arguments."""
        if case.host:
            arrays = self.arguments(task)
            return lambda: compiled(torch, *map(torch.from_numpy, arrays)).numpy()
        tensors = self.prepared(case, task)
        return lambda: compiled(torch, *tensors)

    def prepared(self, case: Case, task: Task) -> tuple[Any, ...]:
        """The arguments in the layout that is natural here."""
        return statement(case).prepare(torch, *map_leaves(tensor, self.aligned(task)))

    def fetch(self, case: Case, results: Any) -> list[np.ndarray]:
        """The results in JAX's layout."""
        if case.host:
            return [results]
        return [array(leaf) for leaf in leaves(statement(case).finish(torch, results))]
