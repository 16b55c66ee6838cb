"""Concatenates and pads on the CPU: a loop for each piece, without branches, and right values."""

import numpy as np
import pytest

from tfc.compiler import compile as compile_module
from tfc.hlo import parse
from tfc.testing import arguments_for
from tfc.testing.compare import mismatch

# fmt: off
PROGRAMS = {
    "the fastest dimension":
        "ROOT c = f32[4,9] concatenate(x, y), dimensions={1}",
    "an outer dimension":
        "z = f32[5,3] slice(u), slice={[0:5], [0:3]};"
        "ROOT c = f32[9,3] concatenate(y, z), dimensions={0}",
    "below and above elementwise ops":
        "e = f32[4,3] exponential(y); c = f32[4,9] concatenate(x, e), dimensions={1};"
        "ROOT n = f32[4,9] negate(c)",
    "edges on all sides":
        "ROOT p = f32[7,11] pad(x, zero), padding=1_2x3_2",
    "edges that take away":
        "ROOT p = f32[5,5] pad(x, zero), padding=-1_2x3_-4",
    "a pad of a concatenate":
        "c = f32[4,9] concatenate(x, y), dimensions={1};"
        "ROOT p = f32[6,10] pad(c, zero), padding=1_1x0_1",
    "pieces in reverse":
        "c = f32[4,9] concatenate(x, y), dimensions={1};"
        "ROOT r = f32[4,9] reverse(c), dimensions={0}",
    "pieces of width one":
        "a = f32[4,3,1] reshape(y); b = f32[4,3,1] negate(a);"
        "ROOT c = f32[4,3,3] concatenate(a, b, a), dimensions={2}",
    "an empty piece":
        "e = f32[4,0] slice(y), slice={[0:4], [3:3]};"
        "ROOT c = f32[4,9] concatenate(x, e, y), dimensions={1}",
}
BRANCHING = {
    "elements between":
        "ROOT p = f32[4,13] pad(x, zero), padding=0_0x1_1_1",
    "pieces along a reshaped dimension":
        "c = f32[4,9] concatenate(x, y), dimensions={1}; r = f32[36] reshape(c);"
        "v = f32[40] reshape(u); w = f32[36] slice(v), slice={[4:40]};"
        "ROOT n = f32[36] add(r, w)",
    "more code than it is worth":
        "q = f32[4,1] slice(y), slice={[0:4], [0:1]};"
        "c = f32[4,6] concatenate(q, q, q, q, q, q), dimensions={1}; e = f32[4,6] tanh(c);"
        "s = f32[4,6] sine(c); ROOT r = f32[4,6] add(e, s)",
}
# fmt: on


def branches(lines: str) -> int:
    """How many branches the kernels of a program have; its values are checked."""
    module = parse(
        "ENTRY main { x = f32[4,6] parameter(0)\n y = f32[4,3] parameter(1)\n"
        f"u = f32[5,8] parameter(2)\n zero = f32[] constant(0)\n {lines.replace(';', chr(10))} }}"
    )
    executable = compile_module(module, backend="cpu")
    arguments = tuple(arguments_for(module, np.random.default_rng(0)))
    assert mismatch(module, arguments, executable(*arguments)) is None
    return executable.as_text("mlir").count("scf.if")


@pytest.mark.parametrize("lines", PROGRAMS.values(), ids=PROGRAMS)
def test_loops_for_pieces_have_no_branch(lines: str) -> None:
    assert branches(lines) == 0


@pytest.mark.parametrize("lines", BRANCHING.values(), ids=BRANCHING)
def test_other_conditions_are_tested_for_each_element(lines: str) -> None:
    assert branches(lines) > 0
