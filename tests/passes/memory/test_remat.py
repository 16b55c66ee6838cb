"""Rematerialisation: under a limit values are computed again, and are the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfc
from tfc.errors import TfcError
from tfc.hlo import Module, evaluate, parse, verify
from tfc.hlo.shape import F32, S32
from tfc.options import Options
from tfc.passes.expand.inline import Flatten, Inline
from tfc.passes.memory.buffers import assign_buffers
from tfc.passes.memory.copies import Copies
from tfc.passes.memory.remat import Remat
from tfc.passes.rewriting.decisions import Refused
from tfc.testing import arguments_for, modules

LATE = """
ENTRY main { x = f32[] parameter(0)
  y = f32[1000] parameter(1)
  b = f32[1000] broadcast(x), dimensions={}
  c = f32[1000] add(b, y)
  d = f32[1000] reverse(c), dimensions={0}
  e = f32[1000] reverse(d), dimensions={0}
  f = f32[1000] reverse(e), dimensions={0}
  g = f32[1000] multiply(b, f)
  ROOT h = f32[2] slice(g), slice={[7:9]} }
"""


def test_a_broadcast_is_computed_again_near_its_late_user() -> None:
    module = parse(LATE)
    result = Remat(limit=8000)(module)
    verify(result)
    names = [i.name for i in result.entry.instructions]
    assert names[-3:] == ["b.again", "g", "h"]
    assert assign_buffers(module).arena_size == 3 * 4032
    assert assign_buffers(result).arena_size == 2 * 4032
    x, y = np.float32(3), np.arange(1000, dtype=np.float32)
    np.testing.assert_array_equal(evaluate(module, x, y), evaluate(result, x, y))
    assert Remat(limit=8000).explain(module) == ()


def test_a_limit_that_is_kept_or_not_given_changes_nothing() -> None:
    module = parse(LATE)
    assert Remat()(module) is module
    assert Remat(limit=12_000)(module) is module


def test_a_limit_that_cannot_be_kept_is_told() -> None:
    (refusal,) = Remat(limit=100).explain(parse(LATE))
    assert isinstance(refusal, Refused)
    assert refusal.what == "main"
    assert "it needs 8000 bytes at one time, more than the limit of 100" in refusal.reason


def test_what_is_not_computed_element_by_element_is_kept() -> None:
    module = parse(LATE.replace("b = f32[1000] broadcast(x), dimensions={}",
                                "k = f32[1000] sort(y), dimensions={0}, to_apply=less\n"
                                "b = f32[1000] sort(k), dimensions={0}, to_apply=less")
                   .replace("ENTRY", "less { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
                            "ROOT l = pred[] compare(a, b), direction=LT }\nENTRY"))  # fmt: skip
    assert Remat(limit=8000)(module) is module


@given(modules(20, element_types=(F32, S32)), st.sampled_from([1, 16, 100, 1000]))
def test_random_modules_compute_the_same(module: Module, limit: int) -> None:
    for each in (Inline(), Flatten(), Copies()):
        module = each(module)
    result = Remat(limit)(module)
    verify(result)
    arguments = arguments_for(module, np.random.default_rng(0), "whole")
    expected, got = evaluate(module, *arguments), evaluate(result, *arguments)
    for a, b in zip(flat(expected), flat(got), strict=True):
        np.testing.assert_array_equal(a, b)


def flat(value):
    return [leaf for v in value for leaf in flat(v)] if isinstance(value, tuple) else [value]


def test_the_limit_is_an_option_of_compiling() -> None:
    assert Options.from_environment({"TFC_MEMORY_LIMIT": "8k"}).memory_limit == 8192
    assert Options.from_environment({}).memory_limit == 0
    with pytest.raises(TfcError, match="TFC_MEMORY_LIMIT must be a number of bytes such as 512M"):
        Options.from_environment({"TFC_MEMORY_LIMIT": "a lot"})
    # Fusion would leave nothing to compute again.
    disabled = ("fusion", "simplify", "multi-output", "rows")
    free, tight = Options(disabled=disabled), Options(disabled=disabled, memory_limit=8192)
    x, y = np.array(3, np.float32), np.arange(1000, dtype=np.float32)
    made = [tfc.compile(parse(LATE), options=o) for o in (free, tight)]
    sizes = [m.memory_analysis().temporary_bytes for m in made]
    assert sizes[1] < sizes[0]
    np.testing.assert_array_equal(made[0](x, y)[0], made[1](x, y)[0])
