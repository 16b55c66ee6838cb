"""What is measured: each case is one function, written once for NumPy, JAX and tfc.

The functions take the library's numpy-like namespace first: numpy, jax.numpy or tfc.numpy.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Function = Callable[..., Any]


@dataclass(frozen=True)
class Case:
    """One row of the report.

    group: the heading under which it is shown.
    function: (namespace, *arrays) -> an array.
    dims: the dimensions of each argument; all are f32, drawn from a normal distribution.
    work: what one call does, counted in `unit` times 1e9; nothing if only the time matters.
    tolerance: how far a result may be from NumPy's, relative to the largest element.
    quick: also measured by a quick run.
    """

    group: str
    name: str
    function: Function
    dims: tuple[tuple[int, ...], ...]
    work: float = 0
    unit: str = ""
    tolerance: float = 1e-5
    quick: bool = True

    def arguments(self) -> list[np.ndarray]:
        """The arguments; the same at each call."""
        generator = np.random.default_rng(0)
        return [generator.standard_normal(d, np.float32) for d in self.dims]


def matmul(xp: Any, a: Any, b: Any) -> Any:
    """A matrix product."""
    return a @ b


def chain(xp: Any, a: Any, b: Any) -> Any:
    """A chain of elementwise operations that a compiler can fuse."""
    return xp.tanh(a * b + a) * xp.exp(-b * b) + 1 / (1 + xp.exp(-a))


def softmax(xp: Any, x: Any) -> Any:
    """The softmax of each row."""
    powers = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return powers / xp.sum(powers, axis=-1, keepdims=True)


def add(xp: Any, *arrays: Any) -> Any:
    """The sum of all arguments, element by element."""
    total = arrays[0]
    for array in arrays[1:]:
        total = total + array
    return total


def mlp_loss(xp: Any, x: Any, *weights: Any) -> Any:
    """The mean square of what a deep network of tanh layers gives."""
    for weight in weights:
        x = xp.tanh(x @ weight)
    return xp.mean(x * x)


def _gemm(size: int, quick: bool = True) -> Case:
    dims = ((size, size), (size, size))
    return Case("sgemm", f"{size}³", matmul, dims, 2 * size**3 / 1e9, "GFLOP/s", 1e-4, quick)


def _chain(name: str, size: int, quick: bool = True) -> Case:
    return Case("fused chain", name, chain, ((size,), (size,)), size / 1e9, "G elem/s", quick=quick)


def _reduction(name: str, axis: int | None) -> Case:
    dims = ((1024, 1024),)
    gigabytes = 4 * 1024 * 1024 / 1e9

    def total(xp: Any, x: Any) -> Any:
        return xp.sum(x, axis=axis)

    return Case("reduction 1024²", name, total, dims, gigabytes, "GB/s", 1e-4)


_SQUARE = ((1024, 1024),)

# fmt: off
CASES = [
    _gemm(64), _gemm(128), _gemm(256), _gemm(512), _gemm(1024, quick=False),
    _chain("64 Ki", 2**16), _chain("1 Mi", 2**20), _chain("16 Mi", 2**24, quick=False),
    Case("softmax", "1024²", softmax, _SQUARE, 1024 * 1024 / 1e9, "G elem/s"),
    _reduction("all", None), _reduction("rows", 1), _reduction("columns", 0),
    Case("one call", "2 × 8 floats", add, ((8,),) * 2),
    Case("one call", "20 × 8 floats", add, ((8,),) * 20),
]
# fmt: on


@dataclass(frozen=True)
class CompileCase:
    """One row of the report on compile times: from a Python function to something callable.

    differentiate: compile the value and the gradient with respect to the second argument.
    """

    name: str
    function: Function
    dims: tuple[tuple[int, ...], ...]
    differentiate: bool = False

    def arguments(self) -> list[np.ndarray]:
        """The arguments; small enough for the network's values to stay within range."""
        generator = np.random.default_rng(0)
        return [generator.standard_normal(d, np.float32) / np.float32(8) for d in self.dims]


COMPILE_CASES = [
    CompileCase("chain, 1 Mi", chain, ((2**20,),) * 2),
    CompileCase("8-layer MLP, value and gradient", mlp_loss, ((128, 64),) + ((64, 64),) * 8, True),
]
