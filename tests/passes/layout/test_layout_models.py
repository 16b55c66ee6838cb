"""Layouts in networks as JAX writes them: which transposes and copies are left to move bytes."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from jax import lax

from benchmarks.models import MODELS
from tfc.backends.cpu.compiler import KERNEL_KINDS
from tfc.imported import from_stablehlo, read_stablehlo
from tfc.passes import default_pipeline
from tfc.passes.analysis.aliases import is_bitcast


def moves(text: str) -> list[str]:
    """What moves bytes in a program that is optimised for the CPU, in kernels or by itself."""
    module = default_pipeline(kinds=KERNEL_KINDS).run(read_stablehlo(text))
    return [
        str(x.shape) for c in module.computations for x in c.instructions
        if x.opcode in ("copy", "transpose") and not is_bitcast(x)
    ]  # fmt: skip


def test_resnet50_has_no_transposes_or_copies_left() -> None:
    assert moves(MODELS["resnet50"](size=32).stablehlo()) == []


@pytest.mark.parametrize("batch", [1, 2])
def test_the_heads_of_attention_are_layouts(batch: int) -> None:
    model = MODELS["bert"](layers=2, length=16, width=128, batch=batch)
    assert moves(model.stablehlo()) == []


def test_attention_over_heads_in_place_computes_what_jax_does() -> None:
    model = MODELS["bert"](layers=1, length=5, width=128, batch=3)
    got = from_stablehlo(model.stablehlo())(*model.leaves())
    expected = model.function(*model.arguments)
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-3, atol=1e-4)


def residual_network(weights: list[Any], x: Any) -> Any:
    """Convolutions with normalisation and a pool between, channels before places (NCHW)."""

    def layer(p: dict[str, Any], x: Any) -> Any:
        labels = ("NCHW", "OIHW", "NCHW")
        x = lax.conv_general_dilated(x, p["w"], (1, 1), "SAME", dimension_numbers=labels)
        return x * p["scale"][:, None, None] + p["offset"][:, None, None]

    x = jax.nn.relu(layer(weights[0], x))
    x = lax.reduce_window(x, -np.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), "SAME")
    for p, q in zip(weights[1::2], weights[2::2]):
        x = jax.nn.relu(x + layer(q, jax.nn.relu(layer(p, x))))
    return x


def arguments(batch: int = 2, channels: int = 6, size: int = 10) -> tuple[list[Any], np.ndarray]:
    """Weights of five layers, and data."""
    generator = np.random.default_rng(0)

    def normal(*dims: int) -> np.ndarray:
        return generator.standard_normal(dims, np.float32)

    inputs = [3, channels, channels, channels, channels]
    weights = [{"w": normal(channels, n, 3, 3) / 8, "scale": normal(channels),
                "offset": normal(channels)} for n in inputs]  # fmt: skip
    return weights, normal(batch, 3, size, size)


def as_stablehlo(function: Callable[..., Any], *values: Any) -> str:
    return jax.jit(function).lower(*values).as_text()


def test_a_network_of_channels_first_moves_data_at_its_ends_only() -> None:
    weights, x = arguments()
    fixed = as_stablehlo(lambda x: residual_network(weights, x), x)
    assert sorted(moves(fixed)) == ["f32[2,10,10,3]{3,2,1,0}", "f32[2,6,5,5]{3,2,1,0}"]
    # Each kernel that is an argument is transposed once.
    given = moves(as_stablehlo(residual_network, weights, x))
    kernels = ["f32[3,3,3,6]{3,2,1,0}"] + ["f32[3,3,6,6]{3,2,1,0}"] * 4
    assert sorted(s for s in given if s.startswith("f32[3,3,")) == kernels


def test_a_network_of_channels_first_computes_what_jax_does() -> None:
    weights, x = arguments()
    compiled = from_stablehlo(as_stablehlo(residual_network, weights, x))
    leaves = jax.tree_util.tree_leaves((weights, x))
    expected = residual_network(weights, x)
    np.testing.assert_allclose(np.asarray(compiled(*leaves)), expected, rtol=1e-4, atol=1e-4)
