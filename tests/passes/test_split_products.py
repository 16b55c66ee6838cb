"""Products of f32 as products of bf16, where their algorithm permits it: as exact as it asks."""

from typing import Any

import numpy as np
import pytest

import tfc
import tfc.nn
import tfc.numpy as tnp
from tfc.hlo import Module, evaluate, parse, verify
from tfc.hlo.shape import BF16
from tfc.passes.expand.inline import Inline
from tfc.passes.expand.split_products import SplitProducts

# Of an algorithm: products of bf16, and how far a sum may be off, of that of magnitudes.
ALGORITHMS = {
    "dot_bf16_bf16_f32": (1, 2.0**-8),
    "dot_bf16_bf16_f32_x3": (3, 2.0**-15),
    "dot_bf16_bf16_f32_x6": (6, 2.0**-22),
    "dot_bf16_bf16_f32_x9": (9, 2.0**-23),
    "dot_tf32_tf32_f32_x3": (6, 2.0**-22),
}
LARGEST = float(np.finfo(np.float32).max)


def product(algorithm: str, element_type: str = "f32") -> Module:
    return parse(f"""ENTRY main {{
  x = {element_type}[5,32] parameter(0)
  y = {element_type}[32,7] parameter(1)
  ROOT d = {element_type}[5,7] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}},
    algorithm={algorithm}
}}""")


def split(algorithm: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """What the product is once it is split."""
    module = SplitProducts()(product(algorithm))
    verify(module)
    with np.errstate(all="ignore"):
        return np.asarray(evaluate(module, x, y))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_products_are_of_bf16_and_as_exact_as_the_algorithm(algorithm: str):
    count, error = ALGORITHMS[algorithm]
    module = SplitProducts()(product(algorithm))
    dots = [i for i in module.entry.instructions if i.opcode == "dot"]
    assert len(dots) == count
    for operand in (o for dot in dots for o in dot.operands):
        assert operand.opcode == "convert"
        assert operand.operands[0].array_shape.element_type == BF16
    rng = np.random.default_rng(3)
    scales = 10.0 ** rng.integers(-9, 9, (5, 1))
    x, y = rng.normal(size=(5, 32)) * scales, rng.normal(size=(32, 7))
    x, y = x.astype(np.float32), y.astype(np.float32)
    wide = x.astype(np.float64), y.astype(np.float64)
    off = np.abs(split(algorithm, x, y) - wide[0] @ wide[1])
    assert (off <= error * (np.abs(wide[0]) @ np.abs(wide[1]))).all()


@pytest.mark.parametrize("algorithm", [a for a in ALGORITHMS if "x" in a])
def test_infinities_nan_and_what_bf16_has_no_place_for(algorithm: str):
    """Of an infinite factor and one whose further parts are 0 or negative, too."""
    x, y = np.ones((5, 32), np.float32), np.ones((32, 7), np.float32)
    x[0, 3], x[1, 4], x[2, 5], x[3, 0] = np.inf, -np.inf, np.nan, LARGEST
    y[:, 1], y[0, :], y[3, 2] = 1 + 2.0**-9 - 2.0**-16, 2.0**-3, 0
    with np.errstate(all="ignore"):
        want = x @ y
    assert np.isnan(want[0, 2])
    np.testing.assert_allclose(split(algorithm, x, y), want, rtol=1e-4)


def test_a_convolution_is_a_sum_of_convolutions():
    module = SplitProducts()(parse("""ENTRY main {
  x = f32[1,6,2] parameter(0)
  k = f32[3,2,4] parameter(1)
  ROOT y = f32[1,4,4] convolution(x, k), window={size=3}, dim_labels=b0f_0io->b0f,
    algorithm=dot_bf16_bf16_f32_x3
}"""))  # fmt: skip
    verify(module)
    assert sum(i.opcode == "convolution" for i in module.entry.instructions) == 3


@pytest.mark.parametrize(
    ("algorithm", "element_type"),
    [("dot_tf32_tf32_f32", "f32"), ("dot_f32_f32_f32", "f32"), ("dot_f64_f64_f64", "f64")],
)
def test_other_products_stay(algorithm: str, element_type: str):
    module = product(algorithm, element_type)
    assert SplitProducts()(module) is module


def test_attention_stays_one_kernel():
    """Also in its gradient, and beside products that are split."""

    def loss(x: Any, w: Any) -> Any:
        q = tnp.reshape(x @ w, (2, 8, 2, 4))
        return tnp.sum(tfc.nn.dot_product_attention(q, q, q, is_causal=True) ** 2)

    x, w = np.ones((2, 8, 8), np.float32), np.ones((8, 8), np.float32)
    with tfc.default_matmul_precision("BF16_BF16_F32_X3"):
        before = tfc.jit(tfc.grad(loss, argnums=(0, 1))).lower(x, w).hlo
    before = Inline()(before)
    dots = [i for i in before.entry.instructions if i.opcode == "dot"]
    batches = [i for i in dots if i.attributes.get("lhs_batch_dims")]
    after = SplitProducts()(before)
    verify(after)
    left = [i for i in after.entry.instructions if "algorithm" in i.attributes]
    assert len(left) == len(batches) >= 5
    assert all(i.attributes.get("lhs_batch_dims") for i in left)
    assert len(batches) < len(dots)
