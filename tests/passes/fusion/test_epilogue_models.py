"""Networks as JAX writes them: what is in the kernels of their dots and convolutions."""

from collections import Counter

import pytest

from benchmarks.models import MODELS
from tfc.hlo.ir import Module
from tfc.imported import read_stablehlo
from tfc.passes import KernelKinds, default_pipeline
from tfc.passes.analysis.products import PRODUCTS, product_in

# The model in a small size, how many products it has, and how many have an epilogue or prologue.
# fmt: off
NETWORKS = [
    ("mlp", {"batch": 8, "sizes": (16, 32, 32, 10)}, 3, 3),
    ("mlp_gradient", {"batch": 8, "width": 16, "layers": 3}, 8, 5),
    ("bert", {"layers": 2, "length": 16, "width": 128}, 16, 16),
    ("resnet18", {"size": 32, "classes": 10}, 21, 21),
    ("resnet50", {"size": 32, "classes": 10}, 54, 54),
]
# fmt: on


def optimized(name: str, sizes: dict) -> Module:
    module = read_stablehlo(MODELS[name](**sizes).stablehlo())
    return default_pipeline(kinds=KernelKinds(epilogues=True)).run(module)


@pytest.mark.parametrize(("name", "sizes", "products", "fused"), NETWORKS)
def test_products_with_what_is_around_them(name: str, sizes: dict, products: int, fused: int):
    steps = optimized(name, sizes).entry.instructions
    kinds = Counter(x["kind"] for x in steps if x.opcode == "fusion")
    alone = sum(x.opcode in PRODUCTS for x in steps)
    assert (kinds["kOutput"] + alone, kinds["kOutput"]) == (products, fused)


def test_an_mlp_is_one_kernel_a_layer():
    steps = optimized("mlp", {"batch": 8, "sizes": (16, 32, 32, 10)}).entry.instructions
    assert [x.opcode for x in steps if x.opcode != "parameter"] == ["fusion"] * 3


def test_gradients_are_masked_where_they_are_made():
    """The select of a relu's gradient follows the dot that makes the gradient."""
    steps = optimized("mlp_gradient", {"batch": 8, "width": 16, "layers": 3}).entry.instructions
    fused = [x["calls"] for x in steps if x.opcode == "fusion" and x["kind"] == "kOutput"]
    masked = [c for c in fused if c.root.opcode == "select"]
    assert len(masked) == 2
    for computation in masked:
        product = product_in(computation)
        assert product is not None
        assert all(o.opcode == "parameter" for o in product.operands)
