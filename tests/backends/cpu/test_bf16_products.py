"""Products of bf16, by pairs where the processor multiplies two at once, against sums in f64."""

import random

import ml_dtypes
import numpy as np
import pytest

import tfc
from tfc.backends.target import Target
from tfc.hlo import Module, parse

# The rounding of the result, and of sums in f32.
ROUNDING = 2.0**-8 + 1e-5


def module_of(
    sizes: tuple[int, int, int, int], flipped: tuple[bool, bool], more: str = ""
) -> Module:
    batch, m, k, n = sizes
    left, right = (k, m) if flipped[0] else (m, k), (n, k) if flipped[1] else (k, n)
    return parse(f"""HloModule products
    ENTRY main {{
      x = bf16[{batch},{left[0]},{left[1]}] parameter(0)
      y = bf16[{batch},{right[0]},{right[1]}] parameter(1)
      ROOT z = bf16[{batch},{m},{n}] dot(x, y), lhs_batch_dims={{0}}, rhs_batch_dims={{0}},
        lhs_contracting_dims={{{1 if flipped[0] else 2}}},
        rhs_contracting_dims={{{2 if flipped[1] else 1}}}{more}
    }}""")


@pytest.mark.parametrize("seed", range(12))
def test_products_of_any_sizes_and_forms(seed: int):
    choose, generator = random.Random(seed), np.random.default_rng(seed)
    sizes = choose.choice((1, 1, 2)), *(choose.choice((1, 2, 3, 7, 16, 33, 65)) for _ in "mkn")
    flipped = choose.random() < 0.5, choose.random() < 0.5
    module = module_of(sizes, flipped)
    x, y = (
        generator.standard_normal(p.array_shape.dims).astype(ml_dtypes.bfloat16)
        for p in module.entry.parameters
    )
    (result,) = tfc.compile(module)(x, y)
    wide = [a.astype(np.float64) for a in (x, y)]
    left, right = (a.swapaxes(1, 2) if f else a for a, f in zip(wide, flipped))
    allowed = ROUNDING * (abs(left) @ abs(right))
    assert (abs(result.astype(np.float64) - left @ right) <= allowed).all()


def test_what_is_not_finite_stays_so():
    module = module_of((1, 40, 40, 40), (False, False))
    x, y = np.ones((2, 1, 40, 40), ml_dtypes.bfloat16)
    x[0, 0, 3], x[0, 1, 4], y[0, 5, 2] = np.inf, -np.inf, np.nan
    (result,) = tfc.compile(module)(x, y)
    assert np.isnan(result[0, :, 2]).all()
    assert (result[0, 0, 3:] == np.inf).all()
    assert (result[0, 1, 3:] == -np.inf).all()
    assert (result[0, 2:, 3:] == 40).all()


@pytest.mark.parametrize(
    ("processor", "pairs"),
    [("znver4", True), ("cooperlake", True), ("x86-64-v4", False), ("sierraforest", False)],
)
def test_processors_that_multiply_pairs_are_told_to(processor: str, pairs: bool):
    target = Target.parse(f"x86_64-linux-gnu,{processor}")
    module = module_of((1, 64, 64, 64), (False, False))
    assert ("vdpbf16ps" in tfc.compile(module, target=target).as_text("asm")) == pairs


def test_high_precision_computes_in_f32():
    target = Target.parse("x86_64-linux-gnu,znver4")
    module = module_of((1, 64, 64, 64), (False, False), ", operand_precision={high,default}")
    assert "vdpbf16ps" not in tfc.compile(module, target=target).as_text("asm")
    tiny, large = (np.full((1, 64, 64), v, ml_dtypes.bfloat16) for v in (2.0**-130, 2.0**120))
    (result,) = tfc.compile(module)(tiny, large)
    assert (result == 2.0**-4).all()
