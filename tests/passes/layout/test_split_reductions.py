"""Reductions to a scalar in two steps: which become two, and that their values stay."""

import numpy as np
import pytest

from tfc.compiler import compile as compile_module
from tfc.hlo import Module, evaluate, parse, verify
from tfc.passes.layout.split_reductions import SplitReductions
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


RUNNING = """
combine {{ a = {t}[] parameter(0)
  b = {t}[] parameter(1)
  ROOT c = {t}[] {op}(a, b) }}
ENTRY main {{
  x = {t}[{dims}] parameter(0)
  i = {t}[] parameter(1)
  ROOT r = {t}[{dims}] reduce-window(x, i), window={{{window}}}, to_apply=combine }}"""


@pytest.mark.parametrize("pad", ["65535_0", "0_65535"])
@pytest.mark.parametrize(("op", "t"), [("add", "f32"), ("add", "s32"), ("maximum", "bf16"),
                                       ("multiply", "u8")])  # fmt: skip
def test_a_long_running_sum_is_one_of_rows(op: str, t: str, pad: str) -> None:
    """Each row begins with what those before it come to, whatever the first begins with."""
    window = f"size=1x65536 pad=0_0x{pad}"
    before = parse(RUNNING.format(t=t, op=op, dims="1,65536", window=window))
    after = SplitReductions()(before)
    verify(after)
    assert [i.array_shape.dims for i in after.entry.instructions if i.opcode == "reduce"] == [(64,)]
    x, init = arguments_for(before, np.random.default_rng(0))
    if t == "f32":
        x, init = np.rint(8 * x), np.float32(3)  # whose sums are exact
    combine = {"add": np.add, "maximum": np.maximum, "multiply": np.multiply}[op]
    line = np.concatenate([[init], x[0] if pad.endswith("_0") else x[0, ::-1]])
    want = combine.accumulate(line, dtype=x.dtype)[None, 1:]
    want = want if pad.endswith("_0") else want[:, ::-1]
    assert np.array_equal(evaluate(after, x, init), want)
    assert np.array_equal(compile_module(before, backend="cpu")(x, init)[0], want)


@pytest.mark.parametrize(
    ("op", "t", "dims", "window"),
    [
        ("add", "f32", "65536", "size=9 pad=8_0"),  # of few elements each
        ("multiply", "f32", "65536", "size=65536 pad=65535_0"),  # inf times zero
        ("add", "f16", "65536", "size=65536 pad=65535_0"),  # sums of rows would be rounded
        ("add", "f32", "2,65536", "size=1x65536 pad=0_0x65535_0"),  # rows there are
        ("add", "f32", "65537", "size=65537 pad=65536_0"),  # a prime number
    ],
)
def test_other_windows_stay(op: str, t: str, dims: str, window: str) -> None:
    """What is left as it is."""
    before = parse(RUNNING.format(t=t, op=op, dims=dims, window=window))
    assert SplitReductions()(before) is before
