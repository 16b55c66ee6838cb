"""Kernels with several results on the CPU against the evaluator: all types, odd and empty sizes."""

import numpy as np
import pytest

from tfc.compiler import compile as compile_module
from tfc.hlo import parse
from tfc.hlo.shape import ELEMENT_TYPES
from tfc.testing import arguments_for
from tfc.testing.compare import mismatch

TYPES = [t for t in ELEMENT_TYPES if t not in ("pred", "token")]
HELPERS = """
add {{ x = {t}[] parameter(0)
  y = {t}[] parameter(1)
  ROOT s = {t}[] add(x, y) }}
times {{ x = {t}[] parameter(0)
  y = {t}[] parameter(1)
  ROOT s = {t}[] multiply(x, y) }}
ENTRY main {{
  x = {t}[{m},{n}] parameter(0)
  y = {t}[{m},{n}] parameter(1)
  zero = {t}[] constant(0)
  one = {t}[] constant(1)
"""
LOOPS = """
  a = {t}[{m},{n}] add(x, y)
  b = {t}[{m},{n}] multiply(x, a)
  c = pred[{m},{n}] compare(x, y), direction=NE
  ROOT t = ({t}[{m},{n}], {t}[{m},{n}], pred[{m},{n}]) tuple(a, b, c) }}"""
REDUCTIONS = """
  a = {t}[{m},{n}] add(x, y)
  b = {t}[{m},{n}] multiply(x, x)
  s = {t}[{k}] reduce(a, zero), dimensions={{{d}}}, to_apply=add
  p = {t}[{k}] reduce(x, one), dimensions={{{d}}}, to_apply=times
  q = {t}[{k}] reduce(b, zero), dimensions={{{d}}}, to_apply=add
  ROOT t = ({t}[{m},{n}], {t}[{k}], {t}[{k}], {t}[{k}]) tuple(a, s, p, q) }}"""


def run(text: str, **values: object) -> int:
    """Compare a program with the evaluator; the number of its kernels."""
    module = parse((HELPERS + text).format(**values))
    arguments = tuple(arguments_for(module, np.random.default_rng(0)))
    executable = compile_module(module, backend="cpu")
    assert mismatch(module, arguments, executable(*arguments)) is None
    silent = ("parameter", "constant", "tuple", "get-tuple-element")
    return sum(i.opcode not in silent for i in executable.hlo.entry.instructions)


@pytest.mark.parametrize("element_type", TYPES)
def test_loops_of_every_type(element_type: str) -> None:
    assert run(LOOPS, t=element_type, m=3, n=5) == 1


@pytest.mark.parametrize("element_type", TYPES)
def test_rows_of_every_type(element_type: str) -> None:
    assert run(REDUCTIONS, t=element_type, m=3, n=7, k=3, d=1) == 1


@pytest.mark.parametrize("element_type", TYPES)
def test_columns_of_every_type(element_type: str) -> None:
    # Narrow floats are summed in f32; what rounds the sums in the end are kernels of their own.
    kind = ELEMENT_TYPES[element_type]
    kernels = 3 if kind.is_float and kind.bits < 32 else 1
    assert run(REDUCTIONS, t=element_type, m=7, n=3, k=3, d=0) == kernels


@pytest.mark.parametrize("sizes", [(1, 1), (1, 9), (9, 1), (0, 4), (4, 0), (3, 5000), (600, 700)])
def test_sizes(sizes: tuple[int, int]) -> None:
    m, n = sizes
    run(LOOPS, t="f32", m=m, n=n)
    run(REDUCTIONS, t="f32", m=m, n=n, k=m, d=1)
    run(REDUCTIONS, t="f32", m=m, n=n, k=n, d=0)
