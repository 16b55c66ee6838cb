"""A step of training networks of images: which kernels it is, what it keeps, its values."""

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from gpu_training import assert_gradients_are_the_evaluators, code_of_kernels, large_arrays

import tfc
import tfc.numpy as tnp
from tfc import nn

random = np.random.default_rng(21)
_FREE = ("parameter", "constant", "get-tuple-element", "tuple", "reshape", "transpose")
BF16, F32 = ml_dtypes.bfloat16, np.float32


def convolve(x: Any, k: Any) -> Any:
    return nn.conv(x, k, 1, "SAME", data_format="NHWC", kernel_format="HWIO")


def residual(p: Any, x: Any) -> Any:
    """Convolutions with batch norms, the last one added to what the first has read."""
    h = x
    for n in "abc":
        h, _, _ = nn.batch_norm_training(convolve(h, p[n]), p[f"{n} scale"], p[f"{n} offset"])
        h = nn.relu(h + x if n == "c" else h)
    return h


def diffusion(p: Any, x: Any) -> Any:
    """Group norms, SiLU and convolutions, and attention of all pixels."""
    h = x
    for n in "ab":
        h = nn.group_norm(h, 8, p[f"{n} scale"], p[f"{n} offset"], data_format="NHWC")
        h = convolve(nn.silu(h), p[n]) + p[f"{n} offset"]
    x = x + h
    batch, height, width, size = x.shape
    h = nn.group_norm(x, 8, p["c scale"], p["c offset"], data_format="NHWC")
    q, k, v = ((h.reshape(batch, height * width, size) @ p[n]).reshape(batch, -1, 2, size // 2)
               for n in "qkv")  # fmt: skip
    mixed = nn.dot_product_attention(q, k, v).reshape(batch, height * width, size) @ p["out"]
    return x + mixed.reshape(x.shape)


def weights(kind: Any, size: int, dtype: Any) -> dict[str, np.ndarray]:
    def drawn(*dims: int) -> np.ndarray:
        return (random.standard_normal(dims) / np.sqrt(np.prod(dims[:-1]))).astype(dtype)

    found = {n: drawn(3, 3, size, size) for n in ("ab" if kind is diffusion else "abc")}
    found |= {f"{n} {what}": drawn(size) for n in "abc" for what in ("scale", "offset")}
    if kind is diffusion:
        found |= {n: drawn(size, size) for n in ("q", "k", "v", "out")}
    return found


def gradient(kind: Any) -> Any:
    def loss(p: Any, x: Any, y: Any) -> Any:
        return tnp.mean((kind(p, x) - y).astype(np.float32) ** 2)

    return tfc.jit(tfc.grad(loss, argnums=(0, 1)), backend="gpu")


def given(kind: Any, dims: tuple[int, ...], dtype: Any) -> list[Any]:
    x, y = (random.standard_normal(dims).astype(dtype) for _ in range(2))
    return [weights(kind, dims[-1], dtype), x, y]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "products", "most"), [(residual, 9, 31), (diffusion, 18, 50)])
def test_convolutions_and_their_gradients_go_by_warpgroups_and_keep_bf16(
    kind: Any, products: int, most: int
):
    """And no kernel does what another one has done, or stores what a third would as soon make."""
    dims = (8, 32, 32, 128)
    executable = gradient(kind).lower(*given(kind, dims, BF16)).compile().executable
    arrays = large_arrays(executable, int(np.prod(dims)))
    assert {shape.element_type.name for shape in arrays} == {"bf16"}
    called = re.findall(r"dot\(|convolution\(", str(executable.hlo))
    assert len(called) >= products
    kernels = code_of_kernels(executable)
    assert not any("mma.sync" in k for k in kernels)
    assert any(".im2col" in k for k in kernels)
    run = [x for x in executable.hlo.entry.instructions if x.opcode not in _FREE]
    assert len(run) <= most


@pytest.mark.slow
@pytest.mark.parametrize("kind", [residual, diffusion])
@pytest.mark.parametrize(("dtype", "error"), [(F32, 1e-4), (BF16, 0.12)])
def test_gradients_are_those_of_the_evaluator(kind: Any, dtype: Any, error: float):
    arguments = given(kind, (2, 6, 7, 64), dtype)
    assert_gradients_are_the_evaluators(gradient(kind), arguments, "sm_90a", error)
