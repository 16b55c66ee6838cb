"""Sums of narrow floats do not stop growing: they are taken in f32 and rounded once."""

import numpy as np
import pytest

import tfc
from tfc.hlo import parse
from tfc.hlo.shape import ELEMENT_TYPES

COUNT = 4000
SUMMING = """
    add {{ a = {t}[] parameter(0)
      b = {t}[] parameter(1)
      ROOT c = {t}[] add(a, b) }}
    ENTRY main {{ x = {t}[{n}] parameter(0)
      start = {t}[] parameter(1)
      ROOT y = {result} }}
"""
WHOLE = "{t}[] reduce(x, start), dimensions={{0}}, to_apply=add"
WINDOWS = "{t}[2] reduce-window(x, start), window={{size={half} stride={half}}}, to_apply=add"


@pytest.mark.parametrize("name", ["bf16", "f16", "f8e5m2"])
@pytest.mark.parametrize("result", [WHOLE, WINDOWS], ids=["reduce", "reduce-window"])
def test_a_long_sum_is_rounded_once(name: str, result: str):
    said = result.format(t=name, half=COUNT // 2)
    module = parse(SUMMING.format(t=name, n=COUNT, result=said))
    dtype = ELEMENT_TYPES[name].dtype
    x = (np.random.default_rng(0).random(COUNT) + 0.5).astype(dtype)
    (got,) = tfc.compile(module)(x, np.asarray(3, dtype))
    parts = x.astype(np.float64).reshape((-1, COUNT // 2) if "window" in result else (1, COUNT))
    want = (parts.sum(axis=1) + 3).astype(dtype).reshape(np.shape(got))
    np.testing.assert_array_equal(np.asarray(got), want)


def test_what_rounds_in_between_is_left_as_it_is_written():
    stepwise = """
        add { a = bf16[] parameter(0)
          b = bf16[] parameter(1)
          s = bf16[] add(a, b)
          w = f32[] convert(s)
          ROOT c = bf16[] convert(w) }
        ENTRY main { x = bf16[4] parameter(0)
          zero = bf16[] constant(0)
          ROOT y = bf16[] reduce(x, zero), dimensions={0}, to_apply=add }
    """
    text = tfc.compile(parse(stepwise)).as_text("hlo")
    assert "f32[] reduce" not in text
