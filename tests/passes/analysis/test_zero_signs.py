"""sees_zero_sign: where 0 in place of -0 changes nothing, and where it may."""

import numpy as np
import pytest

from tfc.hlo import evaluate, parse
from tfc.hlo.ir import Instruction, Module
from tfc.passes.analysis.zero_signs import sees_zero_sign

# What is computed of m, f32[4]; x is another array.
UNSEEN = {
    "the exponential of a difference": """  d = f32[4] subtract(x, m)
  ROOT r = f32[4] exponential(d)""",
    "a comparison": "  ROOT r = pred[4] compare(x, m), direction=EQ",
    "moved, negated, and made an integer": """  t = f32[2,2] reshape(m)
  n = f32[2,2] negate(t)
  ROOT r = s32[2,2] convert(n)""",
    "chosen, then its magnitude": """  p = pred[4] compare(x, m), direction=LT
  s = f32[4] select(p, m, x)
  w = f64[4] convert(s)
  ROOT r = f64[4] abs(w)""",
}
SEEN = {
    "a result": "  ROOT r = f32[4] negate(m)",
    "its reciprocal": """  d = f32[4] divide(x, m)
  ROOT r = f32[4] exponential(d)""",
    "a comparison by total order": (
        "  ROOT r = pred[4] compare(x, m), direction=EQ, type=TOTALORDER"
    ),
    "its bits": "  ROOT r = s32[4] bitcast-convert(m)",
    "its sign, beside what does not see it": """  e = f32[4] exponential(m)
  s = f32[4] sign(m)
  ROOT r = f32[4] add(e, s)""",
}


def module(body: str) -> Module:
    return parse(f"HloModule m\nENTRY e {{\n  m = f32[4] parameter(0)\n  x = f32[4] parameter(1)\n"
                 f"{body}\n}}")  # fmt: skip


def ask(some: Module) -> bool:
    entry = some.entry
    (m,) = (i for i in entry.instructions if is_first(i))
    return sees_zero_sign(m, entry.instructions, {entry.root})


def is_first(x: Instruction) -> bool:
    return x.opcode == "parameter" and x["number"] == 0


@pytest.mark.parametrize("body", UNSEEN.values(), ids=UNSEEN)
def test_what_does_not_see_it_computes_the_same_bits_of_both_zeros(body: str):
    some = module(body)
    assert not ask(some)
    for x in (np.array([0, -0.0, 1, np.nan], "f"), np.full(4, np.inf, "f")):
        results = [evaluate(some, np.full(4, zero, "f"), x) for zero in (0.0, -0.0)]
        assert results[0].tobytes() == results[1].tobytes()


@pytest.mark.parametrize("body", SEEN.values(), ids=SEEN)
def test_what_may_see_it(body: str):
    assert ask(module(body))
