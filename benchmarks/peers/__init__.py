"""The libraries that are measured: what each is called, needs, and can be given.

Each has a module here with a class `Library`, loaded only in the process that measures it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.case import Case, leaves, map_leaves
from benchmarks.protocol import Task

Compile = Callable[[], Any]


class Library(ABC):
    """A library in its own process, held to a number of threads.

    compiles: whether there is a step of compilation whose time means something.
    """

    compiles = True

    def __init__(self, threads: int):
        self.threads = threads

    @abstractmethod
    def compiler(self, case: Case, task: Task) -> Compile:
        """Everything that precedes compilation; the result compiles, from the beginning."""

    @abstractmethod
    def call(self, case: Case, task: Task, compiled: Any) -> Callable[[], Any]:
        """What was compiled as a call without arguments that returns when the results are there."""

    def fetch(self, case: Case, results: Any) -> list[np.ndarray]:
        """What a call returned, in the order and layout of JAX's results."""
        return [np.asarray(leaf) for leaf in leaves(results)]

    def arguments(self, task: Task) -> list[np.ndarray]:
        """The arrays among the arguments, aligned as a library's own allocations would be."""
        return [_aligned(np.asarray(leaf)) for leaf in leaves(task.arguments)]

    def aligned(self, task: Task) -> tuple[Any, ...]:
        """The arguments with each array aligned."""
        return map_leaves(lambda leaf: _aligned(np.asarray(leaf)), task.arguments)


def _aligned(array: np.ndarray, alignment: int = 64) -> np.ndarray:
    """A copy that begins at a multiple of the alignment."""
    memory = np.empty(array.nbytes + alignment, np.uint8)
    start = -memory.ctypes.data % alignment
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


@dataclass(frozen=True)
class Peer:
    """What is known of a library before its process starts.

    name: as the table calls it.
    module: the module here.
    requires: the modules that it needs.
    package: what has its version, if not the first of these.
    has: whether it has a statement of a case.
    asked: measured only when asked for by name.
    """

    name: str
    module: str
    requires: Sequence[str]
    has: Callable[[Case], bool] = lambda case: True
    package: str = ""
    asked: bool = False

    def is_installed(self) -> bool:
        """Whether all that it needs is there."""
        return all(_exists(name) for name in self.requires)

    def version(self) -> str:
        """The version of what is measured."""
        try:
            return version(self.package or self.requires[0])
        except PackageNotFoundError:
            return ""

    def load(self, threads: int) -> Library:
        """The library, in this process."""
        return import_module(f"benchmarks.peers.{self.module}").Library(threads)


def _exists(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _stated_in_torch(case: Case) -> bool:
    return case.torch is not None


def _has_onnx(case: Case) -> bool:
    return bool(case.onnx) or (case.torch is not None and case.torch.exported)


PEERS = (
    Peer("tfc", "tfc_library", ("tfc",)),
    Peer("NumPy", "numpy_library", ("numpy",),
         lambda case: case.numpy is not None and not case.compiling),
    Peer("JAX", "jax_library", ("jax",)),
    Peer("PyTorch", "torch_library", ("torch",), _stated_in_torch),
    Peer("torch.compile", "torch_compile_library", ("torch",), _stated_in_torch, asked=True),
    Peer("ONNX Runtime", "onnx_library", ("onnxruntime", "onnx", "torch", "onnxscript"), _has_onnx),
    Peer("IREE", "iree_library", ("iree.runtime", "iree.compiler"), package="iree-base-runtime"),
)  # fmt: skip


def find(name: str) -> Peer:
    """The peer of this name.

    Raises:
        KeyError: there is none.
    """
    return {peer.name: peer for peer in PEERS}[name]
