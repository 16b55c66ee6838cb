"""Reductions to a scalar in two steps: which become two, and that their values stay."""

import numpy as np
import pytest

from tfc.compiler import compile as compile_module
from tfc.hlo import Module, evaluate, parse, verify
from tfc.passes.split_reductions import SplitReductions
from tfc.testing import arguments_for

PROGRAM = """
combine {{ a = {t}[] parameter(0)
  b = {t}[] parameter(1)
  ROOT c = {t}[] {op}(a, b) }}
ENTRY main {{
  x = {t}[{dims}] parameter(0)
  i = {t}[] constant({init})
  ROOT r = {t}[] reduce(x, i), dimensions={{{all}}}, to_apply=combine }}"""


def program(op: str, element_type: str, dims: tuple[int, ...], init: str = "1") -> Module:
    """A reduction of everything, as the pass leaves it."""
    text = PROGRAM.format(
        op=op, t=element_type, dims=",".join(map(str, dims)), init=init,
        all=",".join(map(str, range(len(dims)))),
    )  # fmt: skip
    before = parse(text)
    after = SplitReductions()(before)
    verify(after)
    random = np.random.default_rng(0)
    x = arguments_for(before, random)[0]
    if element_type == "f32":
        x = random.integers(-8, 9, dims).astype(np.float32)  # whose sums are exact
    want = evaluate(before, x)
    assert np.array_equal(evaluate(after, x), want)
    assert np.array_equal(compile_module(before, backend="cpu")(x)[0], want)
    return after


def reductions(module: Module) -> list[tuple[int, ...]]:
    """The dimensions of the results of all reductions."""
    return [i.array_shape.dims for i in module.entry.instructions if i.opcode == "reduce"]


@pytest.mark.parametrize("op", ["add", "maximum", "minimum"])
@pytest.mark.parametrize(
    ("dims", "rows"),
    [
        ((128, 520), (128,)),
        ((4, 8, 2048), (4, 8)),
        ((2**16,), (64,)),
        ((65536, 3), (64,)),
        ((61 * 1100,), (61,)),
    ],
)
def test_rows_come_first(op: str, dims: tuple[int, ...], rows: tuple[int, ...]) -> None:
    """The rows of the array, or those of equal parts of it."""
    assert reductions(program(op, "f32", dims)) == [rows, ()]


@pytest.mark.parametrize("op", ["add", "multiply", "and", "or", "xor"])
def test_integers(op: str) -> None:
    """The first step begins with what is neutral, whatever the second does."""
    assert len(reductions(program(op, "s32", (64, 1024), "6"))) == 2


@pytest.mark.parametrize(
    ("op", "element_type", "dims"),
    [
        ("add", "f32", (255, 256)),  # few elements
        ("add", "bf16", (256, 256)),  # partial sums would be rounded
        ("subtract", "f32", (256, 256)),  # in the order of the elements
        ("add", "f32", (65537,)),  # a prime number
    ],
)
def test_one_step(op: str, element_type: str, dims: tuple[int, ...]) -> None:
    """What is left as it is."""
    before = parse(PROGRAM.format(
        op=op, t=element_type, dims=",".join(map(str, dims)), init="1",
        all=",".join(map(str, range(len(dims)))),
    ))  # fmt: skip
    assert SplitReductions()(before) is before


def test_a_value_that_is_stored_too_keeps_its_shape() -> None:
    """One pass stores it and reduces it."""
    before = parse("""
    add { a = f32[] parameter(0)
      b = f32[] parameter(1)
      ROOT c = f32[] add(a, b) }
    ENTRY main {
      x = f32[65536] parameter(0)
      y = f32[65536] negate(x)
      i = f32[] constant(0)
      s = f32[] reduce(y, i), dimensions={0}, to_apply=add
      ROOT r = (f32[65536], f32[]) tuple(y, s) }""")
    assert SplitReductions()(before) is before
