"""Programs emitted as several MLIR modules do what they do as one."""

from typing import Any

import numpy as np
import pytest

import tfc
from tfc.backends.cpu import program
from tfc.backends.cpu.compiler import JIT_NAME, CpuCompiler
from tfc.backends.target import Target
from tfc.options import Options

# Products that share the functions of their tiles, around kernels of other kinds.
PRODUCTS = """ENTRY main {
  x = f32[48,48] parameter(0)
  a = f32[48,48] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[48,48] sort(a), dimensions={1}, to_apply=less
  c = f32[48,48] dot(b, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  d = f32[48,48] sort(c), dimensions={0}, to_apply=less
  e = f32[48,16] slice(d), slice={[0:48], [0:16]}
  ROOT f = f32[48,16] dot(x, e), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}"""
LESS = """less {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT r = pred[] compare(p, q), direction=LT
}
"""
STATES = """ENTRY main {
  first = u64[2] rng-get-and-update-state(), delta=1
  second = u64[2] rng-get-and-update-state(), delta=2
  x = f32[8] parameter(0)
  y = f32[8] sort(x), dimensions={0}, to_apply=less
  third = u64[2] rng-get-and-update-state(), delta=4
  ROOT both = (u64[2], u64[2], u64[2], f32[8]) tuple(first, second, third, y)
}"""


def modules(text: str) -> list[Any]:
    """The modules that the program is emitted as, but the last."""
    taken: list[Any] = []
    module = tfc.hlo.parse(LESS + text)
    prepared = CpuCompiler().prepare(module, JIT_NAME, Target.host(), Options(), "process")
    prepared.emit(taken.append)
    return taken


def test_functions_of_earlier_modules_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    module = tfc.hlo.parse(LESS + PRODUCTS)
    x = np.random.default_rng(0).standard_normal((48, 48), np.float32)
    expected = tfc.compile(module)(x)
    monkeypatch.setattr(program, "_TOGETHER", 1)
    assert len(modules(PRODUCTS)) > 2
    np.testing.assert_array_equal(tfc.compile(module)(x), expected)


def test_a_state_exists_once(monkeypatch: pytest.MonkeyPatch) -> None:
    module, x = tfc.hlo.parse(LESS + STATES), np.zeros(8, np.float32)
    expected = tfc.compile(module)(x)
    monkeypatch.setattr(program, "_TOGETHER", 1)
    assert not any("memref.global" in str(m) for m in modules(STATES))
    for state, known in zip(tfc.compile(module)(x), expected):
        np.testing.assert_array_equal(state, known)
