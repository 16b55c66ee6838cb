"""A step of training networks of images: which kernels it is, what it keeps, its values."""

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


def lowered(kind: Any, dims: tuple[int, ...], dtype: Any) -> tuple[Any, Any, list[Any]]:
    """(the gradient of a loss, what it is lowered to, arguments)."""

    def loss(p: Any, x: Any, y: Any) -> Any:
        return tnp.mean((kind(p, x) - y).astype(np.float32) ** 2)

    x, y = (random.standard_normal(dims).astype(dtype) for _ in range(2))
    arguments = [weights(kind, dims[-1], dtype), x, y]
    gradient = tfc.jit(tfc.grad(loss, argnums=(0, 1)), backend="gpu")
    return gradient, gradient.lower(*arguments), arguments


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "products", "most"), [(residual, 9, 31), (diffusion, 18, 50)])
def test_convolutions_and_their_gradients_go_by_warpgroups_and_keep_bf16(
    kind: Any, products: int, most: int
):
    """And no kernel does what another one has done, or stores what a third would as soon make."""
    dims = (8, 32, 32, 128)
    _, low, _ = lowered(kind, dims, BF16)
    executable = low.compile().executable
    arrays = [
        shape
        for x in executable.hlo.entry.instructions
        for shape in leaves(x.shape)
        if not isinstance(shape, TupleShape) and shape.size >= np.prod(dims)
    ]
    assert {shape.element_type.name for shape in arrays} == {"bf16"}
    kernels = re.split(r"(?=\.visible \.entry)", executable.code("sm_90a"))[1:]
    called = re.findall(r"dot\(|convolution\(", str(executable.hlo))
    assert len(called) >= products
    assert not any("mma.sync" in k for k in kernels)
    assert any(".im2col" in k for k in kernels)
    run = [x for x in executable.hlo.entry.instructions if x.opcode not in _FREE]
    assert len(run) <= most


@pytest.mark.slow
@pytest.mark.parametrize("kind", [residual, diffusion])
@pytest.mark.parametrize(("dtype", "error"), [(F32, 1e-4), (BF16, 0.12)])
def test_gradients_are_those_of_the_evaluator(kind: Any, dtype: Any, error: float):
    gradient, low, arguments = lowered(kind, (2, 6, 7, 64), dtype)
    leaves = [*(arguments[0][n] for n in sorted(arguments[0])), *arguments[1:]]
    wide = gradient.lower(
        {n: w.astype(np.float64) for n, w in arguments[0].items()},
        *(a.astype(np.float64) for a in arguments[1:]),
    )
    want = evaluate(wide.hlo, *(leaf.astype(np.float64) for leaf in leaves))
    with using(InterpretedDriver("sm_90a")):
        got = low.compile().executable(*leaves)
    most = max(np.abs(b).max() for b in want)
    for a, b in zip(got, want, strict=True):
        a = np.asarray(a).astype(np.float64)
        assert np.linalg.norm(a - b) <= error * (np.linalg.norm(b) + most)
