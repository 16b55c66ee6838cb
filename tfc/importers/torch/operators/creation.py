"""New arrays: of one value, of a range, and of random numbers by tfc's own generator."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc import random
from tfc.importers.torch.table import Call, aten, cast


@aten("full.default")
def full(size: Sequence[int], value: Any, *, node: Call, **_: Any) -> Any:
    """An array of one value."""
    return tnp.broadcast_to(cast(value, node.dtype), tuple(size))


@aten("full_like.default")
def full_like(x: Any, value: Any, *, node: Call, **_: Any) -> Any:
    """An array of one value in the shape of x."""
    return tnp.broadcast_to(cast(value, node.dtype), x.shape)


@aten("new_empty.default", "new_empty_strided.default", "new_zeros.default")
def new_zeros(x: Any, size: Any, *_: Any, node: Call, **named: Any) -> Any:
    """An array of zeros, of x's dtype unless another is asked for."""
    return tnp.zeros(tuple(size), node.dtype)


@aten("zeros.default", "empty.memory_format", "empty_strided.default", "empty_permuted.default")
def zeros(size: Any, *_: Any, node: Call, **named: Any) -> Any:
    """An array of zeros, also where torch leaves elements open."""
    return tnp.zeros(tuple(size), node.dtype)


@aten("zeros_like.default", "empty_like.default")
def zeros_like(x: Any, *, node: Call, **_: Any) -> Any:
    """An array of zeros in the shape of x."""
    return tnp.zeros(x.shape, node.dtype)


@aten("arange.start_step")
def arange(start: Any, end: Any, step: Any = 1, *, node: Call, **_: Any) -> Any:
    """The numbers from start up to end."""
    count = max(int(np.ceil((end - start) / step)), 0)
    return np.asarray(start + np.arange(count) * step).astype(node.dtype)


@aten("scalar_tensor.default")
def scalar(value: Any, *, node: Call, **_: Any) -> Any:
    """A number as an array."""
    return cast(value, node.dtype)


@aten("rand.default")
def rand(size: Sequence[int], *, node: Call, **_: Any) -> Any:
    """Numbers that are equally likely from zero to one."""
    return random.uniform(node.key(), tuple(size), node.dtype)


@aten("rand_like.default")
def rand_like(x: Any, *, node: Call, **_: Any) -> Any:
    """As many numbers from zero to one as x has."""
    return random.uniform(node.key(), x.shape, node.dtype)


@aten("randn.default")
def randn(size: Sequence[int], *, node: Call, **_: Any) -> Any:
    """Numbers of the normal distribution."""
    return random.normal(node.key(), tuple(size), node.dtype)


@aten("randn_like.default")
def randn_like(x: Any, *, node: Call, **_: Any) -> Any:
    """As many numbers of the normal distribution as x has."""
    return random.normal(node.key(), x.shape, node.dtype)


@aten("randint.low")
def randint(low: int, high: int, size: Sequence[int], *, node: Call, **_: Any) -> Any:
    """Whole numbers from low to below high."""
    return random.randint(node.key(), tuple(size), low, high, np.int64)


@aten("randint.default")
def randint_below(high: int, size: Sequence[int], *, node: Call, **_: Any) -> Any:
    """Whole numbers from zero to below high."""
    return random.randint(node.key(), tuple(size), 0, high, np.int64)


@aten("randperm.default")
def randperm(n: int, *, node: Call, **_: Any) -> Any:
    """The numbers below n in any order."""
    return random.permutation(node.key(), n)


@aten("bernoulli.p")
def bernoulli(x: Any, p: float = 0.5, *, node: Call, **_: Any) -> Any:
    """Ones with a probability, else zeros."""
    return random.uniform(node.key(), x.shape) < p


@aten("bernoulli.default")
def bernoulli_of(x: Any, *, node: Call, **_: Any) -> Any:
    """One with the probability that each element says, else zero."""
    return random.uniform(node.key(), x.shape, x.dtype) < x


@aten("native_dropout.default")
def dropout(x: Any, p: float, train: bool | None, *, node: Call) -> Any:
    """The array with elements made zero and the others larger, and which were kept."""
    if train is False or p == 0:
        return x, tnp.ones(x.shape, np.bool_)
    kept = random.uniform(node.key(), x.shape) >= p
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return tnp.where(kept, x * cast(scale, x.dtype), cast(0, x.dtype)), kept
