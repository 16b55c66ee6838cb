"""Constants that tiles read lie in panels: no kernel packs them, and each is stored once."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc import nn
from tfc.backends.cpu.compiler import JIT_NAME, Compilation, CpuCompiler
from tfc.backends.cpu.executable import CpuExecutable
from tfc.backends.target import Target
from tfc.hlo.ir import Module
from tfc.options import Options

random = np.random.default_rng(5)


def normal(*dims: int, dtype: Any = np.float32) -> np.ndarray:
    return random.standard_normal(dims).astype(dtype)


def prepared(module: Module, target: Target | None = None) -> Compilation:
    target = target or Target.host()
    return CpuCompiler().prepare(module, JIT_NAME, target, Options(), "process")


def check(module: Module, compilation: Compilation, *arguments: np.ndarray) -> None:
    """The program computes what the reference says."""
    got = CpuExecutable(module, compilation, JIT_NAME)(*arguments)
    wanted = tfc.hlo.evaluate(module, *arguments)
    for found, exact in zip(got, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        np.testing.assert_allclose(found, exact, rtol=2e-5, atol=2e-6 * abs(exact).max())


def module_of(function: Callable[..., Any], *arguments: Any) -> Module:
    return tfc.jit(function).lower(*arguments).hlo


def convolved(window: int, **named: Any) -> Callable[[Any], Any]:
    """A convolution of 24 × 24 places with 32 features and a constant kernel."""
    kernel = normal(window, window, 32 // named.get("feature_group_count", 1), 64)
    return lambda x: tnp.maximum(nn.conv(x, kernel, **named), 0)


W, LONG, HEADS = normal(96, 128), normal(3000, 64), normal(3, 96, 64)
DOUBLES, WHOLE = W.astype(np.float64), random.integers(-99, 99, (96, 64)).astype(np.int32)
IMAGE = normal(2, 24, 24, 32)

# fmt: off
CASES: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "a dense layer":      (lambda x: tnp.maximum(x @ W + W[0], 0), normal(40, 96)),
    "transposed":         (lambda x: x @ W.T, normal(40, 128)),
    "doubles":            (lambda x: x @ DOUBLES, normal(40, 96, dtype=np.float64)),
    "integers":           (lambda x: x @ WHOLE, WHOLE.T.copy()),
    "matrices of heads":  (lambda x: tnp.matmul(x, HEADS), normal(3, 40, 96)),
    "batches of rows":    (lambda x: tnp.matmul(x, W) * 2, normal(4, 10, 96)),
    "a long sum":         (lambda x: x @ LONG, normal(30, 3000)),
    "twice in one form":  (lambda x: (x @ W)[:, :96] @ W, normal(40, 96)),
    "a window":           (convolved(3), IMAGE),
    "strides":            (convolved(3, strides=2), IMAGE),
    "one place":          (convolved(1), IMAGE),
    "groups of features": (convolved(3, feature_group_count=2), IMAGE),
}
# fmt: on


@pytest.mark.parametrize("name", CASES)
def test_constants_in_panels_are_multiplied_as_they_are(name: str):
    function, x = CASES[name]
    module = module_of(function, x)
    compilation = prepared(module)
    assert len(compilation.panels.forms) == 1
    check(module, compilation, x)


@pytest.mark.parametrize("name", CASES)
def test_code_for_narrower_vectors_reads_the_panels_of_wider_ones(name: str):
    function, x = CASES[name]
    module, (oldest, *_) = module_of(function, x), Target.portable()
    compilation = prepared(module, oldest).with_panels([oldest, Target.host()])
    assert len(compilation.panels.forms) == 1
    check(module, compilation, x)


@pytest.mark.parametrize("cores", [2, 3])
@pytest.mark.parametrize("shape", [(300, 256, 384), (64, 512, 1024), (2000, 64, 64)])
def test_shares_of_a_product_read_the_same_panels(shape: tuple[int, int, int], cores: int):
    m, k, n = shape
    x, weights = normal(m, k), normal(k, n)
    module = module_of(lambda x: x @ weights, x)
    compilation = replace(prepared(module), cores=cores).with_panels([Target.host()])
    assert compilation.panels.forms
    check(module, compilation, x)


# fmt: off
OTHERS: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "a result, too":           (lambda x: (x @ W, W), normal(40, 96)),
    "others read it as it is": (lambda x: (x @ W, x[0, 0] * W), normal(40, 96)),
    "a rest of columns":       (lambda x: x @ W[:, :100], normal(40, 96)),
    "a single row":            (lambda x: x @ W, normal(1, 96)),
}
# fmt: on


@pytest.mark.parametrize("name", OTHERS)
def test_constants_that_are_not_only_tiles_operands_lie_as_they_are(name: str):
    function, x = OTHERS[name]
    module = module_of(function, x)
    compilation = prepared(module)
    assert not compilation.panels.forms
    check(module, compilation, x)


def test_loops_read_panels():
    x = normal(40, 96)
    module = module_of(lambda x: tfc.fori_loop(0, 3, lambda i, s: (s @ W)[:, :96], x), x)
    check(module, prepared(module), x)


def test_no_kernel_packs_a_constant():
    x = normal(128, 768)
    weights = normal(768, 1024)
    given = prepared(module_of(lambda x, w: x @ w, x, weights))
    known = prepared(module_of(lambda x: x @ weights, x))
    assert "pack" in str(given.emit())
    assert "pack" not in str(known.emit())


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("named", [{}, {"strides": 2}], ids=["plain", "strides"])
def test_kernels_that_are_read_tap_by_tap_lie_in_panels(named: dict[str, int], cores: int):
    kernel, x = normal(3, 3, 96, 256), normal(1, 7, 6, 96)
    module = module_of(lambda x: tnp.maximum(nn.conv(x, kernel, **named), 0), x)
    compilation = replace(prepared(module), cores=cores).with_panels([Target.host()])
    emitted = str(compilation.emit())
    assert compilation.panels.forms
    assert "taps." in emitted
    assert "pack." not in emitted
    check(module, compilation, x)
    # For vectors of several widths it lies as it is, or as all read it.
    oldest, *_ = Target.portable()
    check(module, prepared(module, oldest).with_panels([oldest, Target.host()]), x)
