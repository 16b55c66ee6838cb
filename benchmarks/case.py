"""What a case is: one program, stated for each library, with the work that one call does.

Nothing here imports a library that is measured: a statement takes its library as first argument,
`jax`, `numpy` or `torch`, so that each process loads only the one that it measures.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

Statement = Callable[..., Any]
Arguments = Callable[[], tuple[Any, ...]]
Limit = Literal["fma32", "fma64", "dot16", "dot8", "read", "copy", "stream"]


@dataclass(frozen=True)
class Work:
    """The useful work of a call, and which of the machine's limits bounds it.

    amount: operations, or the bytes that must be read and written.
    limit: for operations the fused multiply-adds of a type, or its dot products where the processor
        has these; for bytes what is alike in memory traffic: "read", "copy" (as much written as
        read), "stream" (two parts read, one written).
    unit: what is counted.
    """

    amount: float
    limit: Limit
    unit: Literal["GFLOP/s", "GB/s", "GOP/s"]


def flops(amount: float, limit: Limit = "fma32") -> Work:
    """So many floating-point operations."""
    return Work(amount, limit, "GFLOP/s")


def traffic(amount: float, limit: Limit = "copy") -> Work:
    """So many bytes read and written."""
    return Work(amount, limit, "GB/s")


@dataclass(frozen=True)
class Torch:
    """A program in PyTorch.

    function: (torch, *arguments) → the results, in the order of JAX's.
    prepare: (torch, *arguments as tensors) → the arguments in the layout that is natural there;
        before the clock starts.
    finish: (torch, results) → the results in JAX's layout; after it stopped.
    weights: how many of the first arguments are weights, which a model for ONNX Runtime holds.
    exported: ONNX Runtime is given PyTorch's export of it.
    """

    function: Statement
    prepare: Callable[..., tuple[Any, ...]] = lambda torch, *arguments: arguments
    finish: Callable[[Any, Any], Any] = lambda torch, results: results
    weights: int = 0
    exported: bool = True


@dataclass(frozen=True)
class Case:
    """One row of the table.

    family: the heading under which it is shown.
    jax: (jax, *arguments) → the results; lowered to StableHLO it is the program of tfc and IREE.
    arguments: draws the arguments, the same at each call: arrays, or dicts, lists of them.
    small: draws arguments of the same kind that are small enough for tests.
    numpy: (numpy, *arguments) → the results; also what results are checked against. Without it
        they are checked against JAX in f64.
    torch: the program in PyTorch.
    onnx: a model in the text form of ONNX, where there is no export from PyTorch.
    work: nothing where only the time matters.
    tolerance: how far a result may be off, relative to the largest element of what is expected.
    aims: what tfc is to reach: peers' names → how many times faster; "best" for the best peer;
        "share" of the machine's limit.
    host: arguments and results are NumPy's arrays in every library.
    compiling: what is measured is the time to compile, not that of a call: "cold" of a program no
        part of which was ever compiled, "new" of one that was in another process, "again" in this.
    """

    family: str
    name: str
    jax: Statement
    arguments: Arguments
    small: Arguments
    numpy: Statement | None = None
    torch: Torch | None = None
    onnx: str = ""
    work: Work | None = None
    tolerance: float = 1e-5
    aims: dict[str, float] = field(default_factory=lambda: {"best": 1.0})
    host: bool = False
    compiling: Literal["", "cold", "new", "again"] = ""

    @property
    def key(self) -> str:
        """What the case is called among all."""
        return f"{self.family}: {self.name}"


def normal(*dims: Sequence[int], dtype: Any = np.float32, scale: float = 1.0) -> Arguments:
    """Arrays of these dimensions, drawn from a normal distribution."""

    def draw() -> tuple[Any, ...]:
        generator = np.random.default_rng(0)
        return tuple((scale * generator.standard_normal(d, np.float32)).astype(dtype) for d in dims)

    return draw


def shared(function: Statement) -> Statement:
    """The statement in JAX of a function that takes the namespace of NumPy or JAX's like it."""
    return lambda jax, *arguments: function(jax.numpy, *arguments)


def leaves(tree: Any) -> list[Any]:
    """The arrays in nested dicts, lists and tuples, in JAX's order."""
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in leaves(tree[key])]
    if isinstance(tree, list | tuple):
        return [leaf for child in tree for leaf in leaves(child)]
    return [tree]


def is_wide(arguments: Any) -> bool:
    """Whether JAX takes these arguments as they are only with its 64-bit types switched on."""
    return any(leaf.dtype.itemsize == 8 for leaf in leaves(arguments))


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """The same containers with a function of each array."""
    if isinstance(tree, dict):
        return {key: map_leaves(function, child) for key, child in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(map_leaves(function, child) for child in tree)
    return function(tree)
