"""What was clipped is compared instead of what it was before, wherever that is the same."""

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc import nn
from tfc.hlo import Module, evaluate, parse, verify
from tfc.passes import KernelKinds, default_pipeline
from tfc.passes.fusion.masks import Masks

VALUES = np.array([-2, -1, -0.0, 0.0, 0.5, 1, 1.5, 7, np.inf, -np.inf, np.nan], np.float32)
EXTREMES = np.stack([VALUES] * 2)


PRODUCT = "dot(y, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}"


def clipping(
    clipped: str, direction: str, bound: str = "1", compared: str = "", product: str = PRODUCT
) -> Module:
    """A value that is clipped and multiplied, and where it was, for something else."""
    return parse(
        f"""ENTRY main {{
  x = f32[2,11] parameter(0)
  h = f32[2,11] parameter(1)
  w = f32[11,3] parameter(2)
  c = f32[] constant({bound})
  b = f32[2,11] broadcast(c), dimensions={{}}
  p = pred[2,11] compare(x, b), direction={direction}{compared}
  y = f32[2,11] {clipped}
  d = f32[2,3] {product}
  g = f32[2,11] select(p, h, b)
  ROOT r = (f32[2,3], f32[2,11]) tuple(d, g)
}}"""
    )


def is_asked_of_the_result(module: Module) -> bool:
    (g,) = (i for i in module.entry.instructions if i.name == "g")
    return g.operands[0].operands[0].name == "y"


ALIKE = [
    ("select(p, b, x)", "LE"), ("select(p, b, x)", "GE"), ("select(p, x, b)", "LT"),
    ("select(p, x, b)", "GT"), ("maximum(x, b)", "GT"), ("maximum(x, b)", "LE"),
    ("minimum(x, b)", "LT"), ("minimum(x, b)", "GE"),
]  # fmt: skip
NOT_ALIKE = [
    ("select(p, b, x)", "LT"), ("select(p, x, b)", "LE"), ("select(p, b, x)", "EQ"),
    ("select(p, h, x)", "LE"), ("maximum(x, b)", "GE"), ("maximum(x, b)", "LT"),
    ("minimum(x, b)", "GT"), ("minimum(x, h)", "LT"), ("add(x, b)", "LE"),
]  # fmt: skip


@pytest.mark.parametrize(("clipped", "direction"), ALIKE)
def test_comparisons_are_those_of_what_was_clipped(clipped: str, direction: str):
    before = clipping(clipped, direction)
    after = Masks()(before)
    verify(after)
    assert not is_asked_of_the_result(before)
    assert is_asked_of_the_result(after)
    given = EXTREMES, np.full((2, 11), 5, np.float32), np.ones((11, 3), np.float32)
    for got, want in zip(evaluate(after, *given), evaluate(before, *given)):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("clipped", "direction"), NOT_ALIKE)
def test_others_stay(clipped: str, direction: str):
    module = clipping(clipped, direction)
    assert Masks()(module) is module


def test_bounds_that_are_no_numbers_and_orders_of_zeros_stay():
    nan = clipping("select(p, b, x)", "LE", "nan")
    zeros = clipping("maximum(x, b)", "GT", "0", ", type=TOTALORDER")
    for module in (nan, zeros):
        assert Masks()(module) is module


def test_what_is_in_no_memory_is_not_asked_for():
    module = clipping("select(p, b, x)", "LE", product="slice(y), slice={[0:2], [0:3]}")
    assert Masks()(module) is module


ACTIVATIONS = [nn.relu, nn.relu6, nn.leaky_relu, nn.gelu, nn.silu, nn.elu, tnp.tanh, tnp.abs,
               lambda x: tnp.maximum(x, 0), lambda x: tnp.clip(x, -1, 1)]  # fmt: skip


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("several", [False, True])
def test_no_product_is_done_twice_for_a_gradient(activation: object, several: bool):
    """Neither do kernels with several results, nor those that compute again what they read."""

    def loss(w, v, x):
        return tnp.sum((activation(x @ w) @ v).astype(np.float32) ** 2)  # type: ignore[operator]

    dtype = np.float16 if several else np.float32
    x, w = np.ones((64, 32), dtype), np.ones((32, 32), dtype)
    low = tfc.jit(tfc.grad(loss, argnums=(0, 1))).lower(w, w, x)
    kinds = KernelKinds(epilogues=True, epilogue_results=several, narrow_products=several,
                        several_results=True, instructions_a_byte=8 * several)  # fmt: skip
    after = default_pipeline(kinds=kinds).run(low.hlo)
    assert sum(i.opcode == "dot" for c in after.computations for i in c.instructions) == 5
