"""A step of training a transformer's block: which kernels it is, what it keeps, its values."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from gpu_training import assert_gradients_are_the_evaluators, code_of_kernels, large_arrays

import tfc
import tfc.numpy as tnp
from tfc import nn

random = np.random.default_rng(8)
_FREE = ("parameter", "constant", "get-tuple-element", "tuple", "reshape")
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


def turned(x: Any, angles: Any) -> Any:
    """Rotary positions: pairs of elements are turned by an angle."""
    x1, x2 = (x[..., n * x.shape[-1] // 2 :][..., : x.shape[-1] // 2].astype(np.float32)
              for n in range(2))  # fmt: skip
    c, s = tnp.cos(angles)[:, None], tnp.sin(angles)[:, None]
    return tnp.concatenate([x1 * c - x2 * s, x2 * c + x1 * s], -1).astype(x.dtype)


def gated_block(p: Any, x: Any, heads: int) -> Any:
    """RMS norms, two query heads for each head of keys, rotary positions, SwiGLU."""
    batch, length, size = x.shape
    width, keys = size // heads, heads // 2
    places = np.arange(length)[:, None] / 100 ** (np.arange(width // 2) / width)
    h = nn.rms_norm(x, p["first"])
    q = turned((h @ p["q"]).reshape(batch, length, heads, width), places.astype(np.float32))
    k, v = ((h @ p[n][:, : keys * width]).reshape(batch, length, keys, width) for n in "kv")
    k = turned(k, places.astype(np.float32))
    mixed = nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape)
    x = x + mixed @ p["out"]
    h = nn.rms_norm(x, p["second"])
    return x + (nn.silu(h @ p["up"]) * (h @ p["gate"])) @ p["down"]


def weights(size: int, dtype: Any) -> dict[str, np.ndarray]:
    def drawn(*dims: int) -> np.ndarray:
        return (random.standard_normal(dims) / np.sqrt(dims[0])).astype(dtype)

    found = {n: drawn(size, size) for n in ("q", "k", "v", "out")}
    found |= {"up": drawn(size, 4 * size), "gate": drawn(size, 4 * size)}
    found |= {"down": drawn(4 * size, size)}
    found |= {f"{n} bias": drawn(w.shape[1]) for n, w in list(found.items())}
    return found | {n: drawn(size) for n in ("first", "second")}


def gradient(kind: Any, heads: int) -> Any:
    def loss(p: Any, x: Any, y: Any) -> Any:
        return tnp.mean((kind(p, x, heads) - y).astype(np.float32) ** 2)

    return tfc.jit(tfc.grad(loss, argnums=(0, 1)), backend="gpu")


def given(batch: int, length: int, size: int, dtype: Any) -> list[Any]:
    x, y = (random.standard_normal((batch, length, size)).astype(dtype) for _ in range(2))
    return [weights(size, dtype), x, y]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "most"), [(block, 42), (gated_block, 50)])
def test_products_and_attention_of_bf16_all_go_by_warpgroups_and_keep_bf16(kind: Any, most: int):
    batch, length, size = 4, 2048, 512
    low = gradient(kind, 8).lower(*given(batch, length, size, BF16))
    executable = low.compile().executable
    arrays = large_arrays(executable, batch * length * size)
    assert [shape for shape in arrays if shape.element_type.bits > 16] == []
    kernels = code_of_kernels(executable)
    assert sum("wgmma" in k for k in kernels) >= 12
    assert not any("mma.sync" in k for k in kernels)
    run = [x for x in executable.hlo.entry.instructions if x.opcode not in _FREE]
    assert len(run) <= most


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "error"), [(F32, 1e-4), (BF16, 0.1)])
@pytest.mark.parametrize(("kind", "architecture"), [(block, "sm_80"), (block, "sm_90a"),
                                                   (gated_block, "sm_90a")])  # fmt: skip
def test_gradients_of_a_block_are_those_of_the_evaluator(
    kind: Any, architecture: str, dtype: Any, error: float
):
    arguments = given(1, 160, 128, dtype)
    assert_gradients_are_the_evaluators(gradient(kind, 2), arguments, architecture, error)
