"""A step of training a transformer's block: which kernels it is, what it keeps, its values."""

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc import nn
from tfc.backends.gpu.driver import using
from tfc.hlo import evaluate
from tfc.hlo.shape import TupleShape, leaves
from tfc.testing.ptx.driver import InterpretedDriver

random = np.random.default_rng(8)
BF16, F32 = ml_dtypes.bfloat16, np.float32


def normed(x: Any, scale: Any) -> Any:
    mean = tnp.mean(x, axis=-1, keepdims=True)
    variance = tnp.mean((x - mean) ** 2, axis=-1, keepdims=True)
    return (x - mean) / tnp.sqrt(variance + 1e-5) * scale


def block(p: Any, x: Any, heads: int) -> Any:
    size = x.shape[-1]
    h = normed(x, p["first"])
    q, k, v = (tnp.reshape(h @ p[n] + p[f"{n} bias"], (*x.shape[:2], heads, size // heads))
               for n in "qkv")  # fmt: skip
    mixed = tnp.reshape(nn.dot_product_attention(q, k, v, is_causal=True), x.shape)
    x = x + mixed @ p["out"] + p["out bias"]
    h = normed(x, p["second"])
    return x + nn.gelu(h @ p["up"] + p["up bias"]) @ p["down"] + p["down bias"]


def weights(size: int, dtype: Any) -> dict[str, np.ndarray]:
    def drawn(*dims: int) -> np.ndarray:
        return (random.standard_normal(dims) / np.sqrt(dims[0])).astype(dtype)

    found = {n: drawn(size, size) for n in ("q", "k", "v", "out")}
    found |= {"up": drawn(size, 4 * size), "down": drawn(4 * size, size)}
    found |= {f"{n} bias": drawn(w.shape[1]) for n, w in list(found.items())}
    return found | {n: drawn(size) for n in ("first", "second")}


def gradient(heads: int) -> Any:
    def loss(p: Any, x: Any, y: Any) -> Any:
        return tnp.mean((block(p, x, heads) - y).astype(np.float32) ** 2)

    return tfc.jit(tfc.grad(loss), backend="gpu")


def lowered(batch: int, length: int, size: int, heads: int, dtype: Any) -> tuple[Any, list[Any]]:
    x, y = (random.standard_normal((batch, length, size)).astype(dtype) for _ in range(2))
    arguments = [weights(size, dtype), x, y]
    return gradient(heads).lower(*arguments), arguments


@pytest.mark.slow
def test_products_and_attention_of_bf16_all_go_by_warpgroups_and_keep_bf16():
    batch, length, size = 2, 1024, 512
    low, _ = lowered(batch, length, size, 8, BF16)
    executable = low.compile().executable
    wide = [
        shape
        for x in executable.hlo.entry.instructions
        for shape in leaves(x.shape)
        if not isinstance(shape, TupleShape)
        and shape.element_type.bits > 16
        and shape.size >= batch * length * size
    ]
    assert wide == []
    kernels = re.split(r"(?=\.visible \.entry)", executable.code("sm_90a"))[1:]
    assert sum("wgmma" in k for k in kernels) >= 14
    assert not any("mma.sync" in k for k in kernels)


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "error"), [(F32, 1e-4), (BF16, 0.1)])
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_gradients_of_a_block_are_those_of_the_evaluator(
    architecture: str, dtype: Any, error: float
):
    low, arguments = lowered(1, 160, 128, 2, dtype)
    leaves = [*(arguments[0][n] for n in sorted(arguments[0])), *arguments[1:]]
    wide = gradient(2).lower(
        {n: w.astype(np.float64) for n, w in arguments[0].items()},
        *(a.astype(np.float64) for a in arguments[1:]),
    )
    want = evaluate(wide.hlo, *(leaf.astype(np.float64) for leaf in leaves))
    with using(InterpretedDriver(architecture)):
        got = low.compile().executable(*leaves)
    most = max(np.abs(b).max() for b in want)
    for a, b in zip(got, want, strict=True):  # that of the keys' bias is 0, but for rounding
        a = np.asarray(a).astype(np.float64)
        assert np.linalg.norm(a - b) <= error * np.linalg.norm(b) + error * most
