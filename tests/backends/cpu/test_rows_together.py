"""Reductions that go along several rows at once: the CPU against the evaluator, bit for bit.

Only arrays beyond the caches are reduced so; in these tests all are.
"""

import numpy as np
import pytest
from test_lanes import ARGMAX

import tfc
from tfc.backends.mlir import reductions
from tfc.hlo import evaluate, parse
from tfc.testing import arguments_for
from tfc.testing.compare import flat

ADD = """
add { a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT c = s32[] add(a, b) }"""


@pytest.fixture(autouse=True)
def all_are_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays of any size are as large as those beyond the caches."""
    monkeypatch.setattr(reductions, "_FAR_BYTES", 0)


def check(text: str, *arguments: np.ndarray) -> None:
    """The results are the evaluator's."""
    module = parse(text)
    values = arguments or tuple(arguments_for(module, np.random.default_rng(0)))
    for got, want in zip(
        tfc.compile(module)(*values), flat(evaluate(module, *values)), strict=True
    ):
        assert np.array_equal(np.asarray(got), want)


@pytest.mark.parametrize("rows", [7, 8, 9, 10, 11, 12])
@pytest.mark.parametrize("columns", [1, 7, 300])
def test_any_number_of_rows(rows: int, columns: int) -> None:
    """The last rows are done again where they do not come out even."""
    check(
        ADD
        + f"""
    ENTRY main {{
      x = s32[{rows},{columns}] parameter(0)
      i = s32[] constant(3)
      ROOT s = s32[{rows}] reduce(x, i), dimensions={{1}}, to_apply=add }}"""
    )


@pytest.mark.parametrize("rows", [8, 10])
def test_several_loops_around_and_inside(rows: int) -> None:
    """Rows are neighbours along the last kept dimension."""
    check(
        ADD
        + f"""
    ENTRY main {{
      x = s32[3,5,{rows},6] parameter(0)
      i = s32[] constant(3)
      ROOT s = s32[3,{rows}] reduce(x, i), dimensions={{1,3}}, to_apply=add }}"""
    )


@pytest.mark.parametrize("rows", [8, 9])
def test_what_is_stored_on_the_way(rows: int) -> None:
    """An array that is stored may lie where it is read from: no row is done twice."""
    check(
        ADD
        + f"""
    ENTRY main {{
      x = s32[{rows},40] parameter(0)
      n = s32[{rows},40] negate(x)
      d = s32[{rows},40] divide(n, x)
      i = s32[] constant(0)
      s = s32[{rows}] reduce(d, i), dimensions={{1}}, to_apply=add
      t = s32[{rows}] reduce(x, i), dimensions={{1}}, to_apply=add
      ROOT r = (s32[{rows},40], s32[{rows}], s32[{rows}]) tuple(d, s, t) }}"""
    )


@pytest.mark.parametrize("rows", [8, 9, 11])
@pytest.mark.parametrize("length", [127, 128, 129, 300])
def test_the_places_of_the_greatest(rows: int, length: int) -> None:
    """Each row has accumulators of its own."""
    text = ARGMAX % {"type": "f32", "length": length, "lowest": "-inf"}
    x = np.random.default_rng(0).integers(0, 40, (rows, length)).astype(np.float32)
    x[rows // 2, length // 2] = np.nan
    check(text.replace("[3", f"[{rows}"), x)
