"""Random numbers, which are the same at every call: of the seed, or of the node's name."""

from typing import Any
from zlib import crc32

import numpy as np

import tfc.numpy as tnp
from tfc import random
from tfc.importers.onnx.table import operator
from tfc.importers.onnx.tensors import dtype_of
from tfc.importers.walk import Call


def _key(node: Call, seed: float | None) -> Any:
    """The key of a node: by its seed, or its name if it has none."""
    number = crc32(node.name.encode()) if seed is None else int(np.float32(seed).view(np.uint32))
    return random.key(number)


def _normal(key: Any, shape: Any, dtype: Any, mean: float, scale: float) -> Any:
    return tnp.astype(random.normal(key, shape) * scale + mean, dtype)


def _uniform(key: Any, shape: Any, dtype: Any, low: float, high: float) -> Any:
    return tnp.astype(random.uniform(key, shape) * (high - low) + low, dtype)


@operator("RandomNormal", is_pure=False)
def random_normal(
    *, dtype: int = 1, mean: float = 0.0, scale: float = 1.0, seed: float | None = None,
    shape: tuple[int, ...], node: Call,
) -> Any:  # fmt: skip
    """Numbers of the normal distribution."""
    return _normal(_key(node, seed), shape, dtype_of(dtype), mean, scale)


@operator("RandomNormalLike", is_pure=False)
def random_normal_like(
    x: Any, *, dtype: int | None = None, mean: float = 0.0, scale: float = 1.0,
    seed: float | None = None, node: Call,
) -> Any:  # fmt: skip
    """As many numbers of the normal distribution as another array has."""
    kind = x.dtype if dtype is None else dtype_of(dtype)
    return _normal(_key(node, seed), x.shape, kind, mean, scale)


@operator("RandomUniform", is_pure=False)
def random_uniform(
    *, dtype: int = 1, high: float = 1.0, low: float = 0.0, seed: float | None = None,
    shape: tuple[int, ...], node: Call,
) -> Any:  # fmt: skip
    """Numbers that are equally likely in an interval."""
    return _uniform(_key(node, seed), shape, dtype_of(dtype), low, high)


@operator("RandomUniformLike", is_pure=False)
def random_uniform_like(
    x: Any, *, dtype: int | None = None, high: float = 1.0, low: float = 0.0,
    seed: float | None = None, node: Call,
) -> Any:  # fmt: skip
    """As many numbers that are equally likely in an interval as another array has."""
    kind = x.dtype if dtype is None else dtype_of(dtype)
    return _uniform(_key(node, seed), x.shape, kind, low, high)


@operator("Bernoulli", since=15, is_pure=False)
def bernoulli(x: Any, *, dtype: int | None = None, seed: float | None = None, node: Call) -> Any:
    """One with the probability that each element says, else zero."""
    drawn = random.uniform(_key(node, seed), x.shape)
    return tnp.astype(drawn < x, x.dtype if dtype is None else dtype_of(dtype))


@operator("Multinomial", since=7, is_pure=False)
def multinomial(
    x: Any, *, dtype: int = 6, sample_size: int = 1, seed: float | None = None, node: Call
) -> Any:
    """Classes drawn by unnormalized log probabilities [batch, classes]."""
    drawn = random.categorical(_key(node, seed), x[:, None], shape=(x.shape[0], sample_size))
    return tnp.astype(drawn, dtype_of(dtype))


@operator("Dropout", since=12, needs=("ratio", "training_mode"), is_pure=False)
def dropout(
    data: Any, ratio: Any = None, training_mode: Any = None, *, seed: int | None = None, node: Call
) -> Any:
    """The array itself; in training with some elements zero and the others larger; the mask."""
    rate = 0.5 if ratio is None else float(np.asarray(ratio).reshape(()))
    is_training = training_mode is not None and bool(np.asarray(training_mode).reshape(()))
    if not is_training or rate == 0:
        return data, tnp.ones(data.shape, np.bool_)
    kept = random.uniform(_key(node, seed), data.shape) >= rate
    return tnp.astype(tnp.where(kept, data / (1 - rate), 0), data.dtype), kept


@operator("Dropout", until=11)
def dropout_of_inference(data: Any, *, ratio: float = 0.5, is_test: int = 1) -> Any:
    """The array itself, and a mask of all elements."""
    return data, tnp.ones(data.shape, np.bool_)
