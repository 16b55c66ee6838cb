"""How many kernels the CPU runs for what programs are made of, as JAX writes it.

What moves no byte (reshapes, transposes that only rename dimensions) is no kernel.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import tfc
from tfc.hlo.ir import Instruction
from tfc.passes.analysis.aliases import is_bitcast

NO_KERNELS = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast"})


def normal(*dims: int) -> np.ndarray:
    return np.random.default_rng(sum(dims)).standard_normal(dims, np.float32)


X = normal(32, 64)
LABELS = np.arange(32, dtype=np.int32)


def kernels(function: Callable[..., Any], *arguments: np.ndarray) -> list[Instruction]:
    """What the CPU runs for a function of JAX's; its results are compared with JAX's first."""
    lowered = jax.jit(function).lower(*arguments)
    call = tfc.from_stablehlo(lowered.as_text())
    results = zip(jax.tree_util.tree_leaves(call(*arguments)), jax.tree_util.tree_leaves(
        lowered.compile()(*arguments)))  # fmt: skip
    for got, expected in results:
        np.testing.assert_allclose(got, expected, rtol=2e-5, atol=2e-5)
    optimised = tfc.compile(call.hlo).hlo
    return [
        x for x in optimised.entry.instructions
        if x.opcode not in NO_KERNELS and not is_bitcast(x)
    ]  # fmt: skip


def layer_norm(x: Any, scale: Any, offset: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale + offset


def rms_norm(x: Any, scale: Any) -> Any:
    return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * scale


def cross_entropy(x: Any, labels: Any) -> Any:
    return -jnp.take_along_axis(jax.nn.log_softmax(x), labels[:, None], 1)


def loss(x: Any, labels: Any) -> Any:
    return cross_entropy(x, labels).mean()


def squares(x: Any, scale: Any, offset: Any) -> Any:
    return (layer_norm(x, scale, offset) ** 2).sum()


ONE_KERNEL: dict[str, tuple[Callable[..., Any], list[np.ndarray]]] = {
    "softmax": (jax.nn.softmax, [X]),
    "softmax of rank 4": (jax.nn.softmax, [normal(2, 8, 8, 32)]),
    "log-softmax": (jax.nn.log_softmax, [X]),
    "log-sum-exp": (lambda x: jax.nn.logsumexp(x, -1), [X]),
    "layer norm": (layer_norm, [X, normal(64), normal(64)]),
    "gradient of layer norm": (jax.grad(squares), [X, normal(64), normal(64)]),
    "layer norm of a residual": (
        lambda x, y, s, o: layer_norm(x + y, s, o), [X, X[::-1], normal(64), normal(64)]),
    "RMS norm": (rms_norm, [X, normal(64)]),
    "variance": (lambda x: x.var(-1), [X]),
    "mean and variance of all": (lambda x: (x.mean(), (x * x).mean()), [X]),
    "argmax": (lambda x: jnp.argmax(x, -1), [X]),
    "cross-entropy": (cross_entropy, [X, LABELS]),
    "gradient of cross-entropy": (jax.grad(loss), [X, LABELS]),
    "cumulative sum": (lambda x: jnp.cumsum(x, 1), [X]),
    "chain": (lambda a, b: jnp.tanh(a * b + a) * jnp.exp(-b * b) + jax.nn.sigmoid(a), [X, X + 1]),
    "chain through movement": (
        lambda a: jnp.concatenate([jnp.pad(a[::2], 1), jnp.exp(a[:18, :6])], 1) * 2, [X]),
    "rotary embedding": (
        lambda x, c, s: x * c + jnp.concatenate([-x[:, 32:], x[:, :32]], 1) * s,
        [X, normal(32, 64), normal(32, 64)]),
    "lookup and scale": (lambda t, i: t[i] * 8 + 1, [X, LABELS]),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_KERNEL)
def test_is_one_kernel(name: str) -> None:
    function, arguments = ONE_KERNEL[name]
    found = kernels(function, *arguments)
    assert len(found) == 1, "\n".join(map(str, found))


def test_cross_entropy_and_its_gradient_are_the_rows_and_the_mean() -> None:
    found = kernels(jax.value_and_grad(loss), X, LABELS)
    assert [x["kind"] for x in found] == ["kInput", "kInput"]


def test_softmax_of_columns_reads_them_three_times() -> None:
    found = kernels(lambda x: jax.nn.softmax(x, 0), X)
    assert [x["kind"] for x in found] == ["kInput", "kInput", "kLoop"]
