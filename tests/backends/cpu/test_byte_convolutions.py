"""Convolutions of 8-bit integers: every bit against the evaluator, in each kind of word."""

from itertools import product

import numpy as np
import pytest
from test_integer_products import TARGETS, full_range

import tfc
from tfc.backends.target import Target
from tfc.hlo import Module, evaluate
from tfc.hlo.text.parser import parse

RNG = np.random.default_rng(8)
TYPES = ("s8", "u8")
# Shapes of the array, the kernel and the result; the window; labels, and groups.
CASES = [
    ("[2,9,8,8]", "[3,3,8,20]", "[2,9,8,20]", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f"),
    ("[1,11,7,12]", "[3,2,12,70]", "[1,6,7,70]", "size=3x2 stride=2x1 pad=0_2x1_0",
     "b01f_01io->b01f"),
    ("[3,13,16]", "[4,8,6]", "[3,10,6]", "size=4 pad=2_1 rhs_dilate=2",
     "b0f_0io->b0f, feature_group_count=2"),
    ("[1,8,6,6]", "[5,8,3,3]", "[1,5,6,6]", "size=3x3 pad=1_1x1_1", "bf01_oi01->bf01"),
    ("[1,5,5,4]", "[2,2,4,33]", "[1,10,10,33]", "size=2x2 pad=1_1x1_1 lhs_dilate=2x2",
     "b01f_01io->b01f"),
    ("[4,3,3,6]", "[3,3,6,5]", "[4,3,3,5]", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f"),
]  # fmt: skip


def convolution(left: str, right: str, case: int) -> Module:
    """A convolution of two parameters, summed in s32, and integers of 8 bits made of the sums."""
    lhs, rhs, out, window, labels = CASES[case]
    return parse(f"""HloModule convolution_of_bytes
    ENTRY main {{
      x = {left}{lhs} parameter(0)
      w = {right}{rhs} parameter(1)
      c = s32{out} convolution(x, w), window={{{window}}}, dim_labels={labels}
      many = s32[] constant(64)
      steps = s32{out} broadcast(many), dimensions={{}}
      d = s32{out} divide(c, steps)
      n = s8{out} convert(d)
      ROOT both = (s32{out}, s8{out}) tuple(c, n)
    }}""")


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("case", range(len(CASES)))
def test_convolutions_of_bytes_are_exact(case: int, name: str):
    left, right = [*product(TYPES, TYPES)][(case + len(name)) % 4]
    m = convolution(left, right, case)
    arrays = [full_range(p.array_shape, RNG) for p in m.entry.parameters]
    made = tfc.compile(m, target=TARGETS[name])(*arrays)
    for got, wanted in zip(made, evaluate(m, *arrays)):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(("left", "right"), [*product(TYPES, TYPES)])
def test_each_pair_of_types_is_exact_without_an_epilogue(left: str, right: str):
    lhs, rhs, out, window, labels = CASES[1]
    m = parse(f"""HloModule convolution_of_bytes
    ENTRY main {{
      x = {left}{lhs} parameter(0)
      w = {right}{rhs} parameter(1)
      ROOT c = s32{out} convolution(x, w), window={{{window}}}, dim_labels={labels}
    }}""")
    arrays = [full_range(p.array_shape, RNG) for p in m.entry.parameters]
    for name in TARGETS:
        (made,) = tfc.compile(m, target=TARGETS[name])(*arrays)
        np.testing.assert_array_equal(made, evaluate(m, *arrays))


def test_four_bytes_are_multiplied_at_once():
    target = Target.parse("x86_64-linux-gnu,znver4")
    assembly = tfc.compile(convolution("u8", "s8", 0), target=target).as_text("asm")
    assert "vpdpbusd" in assembly
