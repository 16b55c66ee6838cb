"""Reductions of several arrays at once along rows (argmax and its like), whose elements go to
several accumulators in turn.
"""

import numpy as np
import pytest

import tfc
from tfc.testing import arguments_for
from tfc.testing.compare import mismatch

# The index of the greatest element, the least such index, a NaN before all; as JAX writes it.
ARGMAX = """
reducer {
  a = %(type)s[] parameter(0)
  i = s32[] parameter(1)
  b = %(type)s[] parameter(2)
  j = s32[] parameter(3)
  above = pred[] compare(a, b), direction=GT
  none = pred[] compare(a, a), direction=NE
  first = pred[] or(above, none)
  same = pred[] compare(a, b), direction=EQ
  before = pred[] compare(i, j), direction=LT
  tied = pred[] and(same, before)
  earlier = pred[] or(first, tied)
  value = %(type)s[] select(first, a, b)
  index = s32[] select(earlier, i, j)
  ROOT r = (%(type)s[], s32[]) tuple(value, index)
}
ENTRY main {
  x = %(type)s[3,%(length)d] parameter(0)
  i = s32[3,%(length)d] iota(), iota_dimension=1
  low = %(type)s[] constant(%(lowest)s)
  zero = s32[] constant(0)
  r = (%(type)s[3], s32[3]) reduce(x, i, low, zero), dimensions={1}, to_apply=reducer
  ROOT index = s32[3] get-tuple-element(r), index=1
}"""


def program(length: int, element_type: str = "f32", lowest: str = "-inf") -> tfc.hlo.Module:
    return tfc.hlo.parse(ARGMAX % {"type": element_type, "length": length, "lowest": lowest})


@pytest.mark.parametrize("length", [1, 31, 127, 128, 129, 159, 160, 167, 300, 1024])
def test_the_first_of_the_greatest_is_found_wherever_it_is(length: int) -> None:
    argmax = tfc.compile(program(length))
    for place in {0, length // 3, length // 2, max(length - 2, 0), length - 1}:
        x = np.zeros((3, length), np.float32)
        x[0, place] = 1
        x[1, place:] = 2
        x[2, place] = np.nan
        np.testing.assert_array_equal(argmax(x)[0], x.argmax(1))
    alike = np.full((3, length), -np.inf, np.float32)
    np.testing.assert_array_equal(argmax(alike)[0], 0)


@pytest.mark.parametrize(
    ("element_type", "lowest"),
    [("f64", "-inf"), ("bf16", "-inf"), ("s8", "-128"), ("u64", "0"), ("f32", "-inf")],
)
def test_elements_of_any_type(element_type: str, lowest: str) -> None:
    module = program(500, element_type, lowest)
    arguments = arguments_for(module, np.random.default_rng(0))
    assert mismatch(module, arguments, tfc.compile(module)(*arguments)) is None


def test_lanes_are_kept_in_vectors() -> None:
    text = tfc.compile(program(1024)).as_text("llvm")
    assert "phi <8 x float>" in text or "phi <4 x float>" in text or "phi <16 x float>" in text


def test_an_initial_value_counts_once() -> None:
    module = tfc.hlo.parse("""
sums {
  a = f32[] parameter(0)
  n = s32[] parameter(1)
  b = f32[] parameter(2)
  m = s32[] parameter(3)
  s = f32[] add(a, b)
  t = s32[] add(n, m)
  ROOT r = (f32[], s32[]) tuple(s, t)
}
ENTRY main {
  x = f32[2,256] parameter(0)
  n = s32[2,256] parameter(1)
  five = f32[] constant(5)
  seven = s32[] constant(7)
  ROOT r = (f32[2], s32[2]) reduce(x, n, five, seven), dimensions={1}, to_apply=sums
}""")
    x, n = np.ones((2, 256), np.float32), np.full((2, 256), 3, np.int32)
    sums, counts = tfc.compile(module)(x, n)
    np.testing.assert_array_equal(sums, 261)
    np.testing.assert_array_equal(counts, 775)
