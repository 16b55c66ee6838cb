"""Products whose kernels store what is made of their results, too: an activation and its input."""

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.backends.gpu.driver import using
from tfc.hlo import evaluate
from tfc.hlo.shape import leaves
from tfc.testing.ptx.assembler import complaints
from tfc.testing.ptx.driver import InterpretedDriver

pytestmark = pytest.mark.usefixtures("by_warpgroups")
random = np.random.default_rng(12)
BF16, F16, F32, F64 = ml_dtypes.bfloat16, np.float16, np.float32, np.float64


def layers(x: Any, w: Any, b: Any, v: Any) -> Any:
    """The input of an activation, and products of the activation."""
    h = x @ w + b
    a = tnp.maximum(h, 0)
    return h, a @ v, x.T @ a


def gated(x: Any, w: Any, b: Any, v: Any) -> Any:
    """Two values that products read, and what both are made of."""
    h = x @ w + b
    a, c = h * 2, tnp.minimum(h, 1)
    return h, a @ v, x.T @ a, c @ v, x.T @ c


# Function, dtype, rows, sums, columns, architecture.
CASES = [
    (layers, F32, 70, 40, 50, "sm_80"), (layers, BF16, 96, 64, 80, "sm_80"),
    (layers, F64, 33, 17, 20, "sm_80"), (layers, F32, 3, 200, 96, "sm_80"),
    (gated, BF16, 200, 128, 136, "sm_90a"),
]  # fmt: skip
# By other tiles, and by several blocks that share the sums.
MORE = [
    (gated, F16, 40, 72, 130, "sm_80"), (layers, F32, 64, 4096, 64, "sm_80"),
    (layers, np.int32, 9, 10, 11, "sm_80"), (layers, BF16, 256, 192, 256, "sm_90a"),
    (layers, F16, 130, 2048, 128, "sm_90a"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "dtype", "m", "k", "n", "architecture"),
    [*CASES, *(pytest.param(*case, marks=pytest.mark.slow) for case in MORE)],
)
def test_a_product_stores_an_activation_and_its_input(
    function: Any, dtype: Any, m: int, k: int, n: int, architecture: str
):
    dims = (m, k), (k, n), (n,), (n, 24)
    arguments = [random.integers(-3, 4, d).astype(dtype) for d in dims]
    low = tfc.jit(function, backend="gpu").lower(*arguments)
    with using(InterpretedDriver(architecture)):
        executable = low.compile().executable
        got = executable(*arguments)
        results = [i for i in executable.hlo.entry.instructions if i.opcode == "fusion"]
        most = max(len(list(leaves(i.shape))) for i in results)
        assert most == (2 if function is layers else 3)
        for a, b in zip(got, evaluate(low.hlo, *arguments), strict=True):
            a, b = (np.asarray(x).astype(np.float64) for x in (a, b))
            error = 1e-2 if np.dtype(dtype).itemsize == 2 else 0
            assert np.linalg.norm(a - b) <= error * np.linalg.norm(b)
    text = executable.code(architecture)
    assert complaints(text, architecture, ["-warn-spills", "-Werror"]) == ""
    kernel, *_ = (k for k in re.split(r"(?=\.visible \.entry)", text) if ".entry tuple" in k)
    kind = {4: "bar.sync", 8: "mma.sync"}.get(np.dtype(dtype).itemsize, "mma.sync")
    assert ("wgmma" if architecture == "sm_90a" else kind) in kernel


def test_values_that_are_in_no_memory_are_no_results():
    def summed(x: Any, w: Any) -> Any:
        h = x @ w
        return tnp.sum(tnp.tanh(h)), tnp.sum(h * h)

    x = np.ones((40, 40), F32)
    hlo = tfc.jit(summed, backend="gpu").lower(x, x).compile().executable.hlo
    assert [i.opcode for i in hlo.entry.instructions].count("dot") == 1
