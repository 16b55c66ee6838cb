"""How many kernels there are for products and what surrounds them, in programs of JAX."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tfc.backends.cpu.compiler import KERNEL_KINDS
from tfc.backends.mlir.kernels import is_silent
from tfc.imported import from_stablehlo, read_stablehlo
from tfc.passes import default_pipeline

GENERATOR = np.random.default_rng(0)


def normal(*dims: int) -> np.ndarray:
    return GENERATOR.standard_normal(dims).astype(np.float32)


def kernel_count(function: Callable[..., Any], *arguments: np.ndarray) -> int:
    """The kernels of a program optimised for the CPU, which computes what JAX does."""
    compiled = jax.jit(function)
    text = compiled.lower(*arguments).as_text()
    np.testing.assert_allclose(
        from_stablehlo(text)(*arguments), compiled(*arguments), rtol=2e-4, atol=2e-4
    )
    module = default_pipeline(kinds=KERNEL_KINDS).run(read_stablehlo(text))
    return sum(not is_silent(x) for x in module.entry.instructions)


def test_dense_bias_gelu_is_one_kernel():
    def dense(x: jax.Array, weights: jax.Array, bias: jax.Array) -> jax.Array:
        return jax.nn.gelu(x @ weights + bias)

    assert kernel_count(dense, normal(24, 32), normal(32, 48), normal(48)) == 1


def test_dense_bias_residual_over_a_batch_is_one_kernel():
    def dense(x: jax.Array, weights: jax.Array, bias: jax.Array) -> jax.Array:
        return x + jax.nn.relu(x @ weights + bias)

    assert kernel_count(dense, normal(2, 8, 32), normal(32, 32), normal(32)) == 1


def attention(q: jax.Array, k: jax.Array, v: jax.Array, mask: jax.Array) -> jax.Array:
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1])
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v)


def test_attention_is_at_most_three_kernels():
    arrays = [normal(2, 12, 4, 16) for _ in range(3)]
    mask = np.tril(np.ones((12, 12), np.bool_))
    assert kernel_count(attention, *arrays, mask) <= 3


def convolved(x: jax.Array, kernel: jax.Array) -> jax.Array:
    return lax.conv_general_dilated(
        x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def test_convolution_bias_scale_shift_relu_residual_is_one_kernel():
    def block(x: jax.Array, kernel: jax.Array, bias: Any, scale: Any, shift: Any) -> jax.Array:
        return jax.nn.relu((convolved(x, kernel) + bias) * scale + shift + x)

    channels = [normal(16) for _ in range(3)]
    assert kernel_count(block, normal(2, 9, 9, 16), normal(3, 3, 16, 16), *channels) == 1


def test_a_batch_norm_of_known_statistics_is_part_of_its_convolution():
    mean, variance, scale, shift = normal(16), normal(16) ** 2, normal(16), normal(16)

    def block(x: jax.Array, kernel: jax.Array) -> jax.Array:
        normalized = (convolved(x, kernel) - mean) * lax.rsqrt(variance + 1e-3) * scale + shift
        return jax.nn.relu(normalized + x)

    assert kernel_count(block, normal(1, 8, 8, 16), normal(3, 3, 16, 16)) == 1


def test_a_batch_norm_of_given_statistics_takes_one_kernel_for_the_channels():
    """What is computed of a channel is not computed again for each of its elements."""

    def block(x: jax.Array, kernel: jax.Array, mean: Any, variance: Any) -> jax.Array:
        return jax.nn.relu((convolved(x, kernel) - mean) * lax.rsqrt(variance + 1e-3) + x)

    arrays = normal(1, 8, 8, 16), normal(3, 3, 16, 16), normal(16), normal(16) ** 2
    assert kernel_count(block, *arrays) == 2
