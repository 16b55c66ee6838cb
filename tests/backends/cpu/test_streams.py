"""Large results, which are written past the caches: the CPU against the evaluator, bit for bit.

Arrays of any size are large in these tests. Results of less than 16 KiB may begin anywhere and are
stored plainly all the same.
"""

import numpy as np
import pytest

from tfc.backends.cpu.loops import rows, streams
from tfc.compiler import compile as compile_module
from tfc.hlo import parse
from tfc.hlo.evaluation.evaluator import evaluate
from tfc.passes.analysis import row_plan
from tfc.testing import arguments_for
from tfc.testing.compare import flat


@pytest.fixture(autouse=True)
def all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays of any size are written past the caches."""
    monkeypatch.setattr(streams, "STREAMED_BYTES", 0)
    monkeypatch.setattr(row_plan, "STREAMED_BYTES", 0)
    monkeypatch.setattr(rows, "STREAMED_BYTES", 0)
    monkeypatch.setattr(streams, "_LEAST_RUN_BYTES", 0)


def compared(text: str) -> str:
    """Compare a program with the evaluator; its code."""
    module = parse(text)
    arguments = tuple(arguments_for(module, np.random.default_rng(0)))
    executable = compile_module(module, backend="cpu")
    for got, want in zip(executable(*arguments), flat(evaluate(module, *arguments)), strict=True):
        got = np.asarray(got)
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        assert got.tobytes() == want.tobytes()
    return executable.as_text("llvm")


def staged_kernels(text: str) -> int:
    """Compare a program with the evaluator; how many loops write past the caches."""
    return compared(text).count("!nontemporal")


@pytest.mark.parametrize("element_type", ["f32", "f64", "bf16", "f16", "s8", "u32", "s64", "pred"])
@pytest.mark.parametrize("size", [64, 128, 192, 320, 4096 + 64])
def test_every_type_and_a_last_stretch_that_overlaps(element_type: str, size: int) -> None:
    """The last stretch begins inside the one before it, and stores its own elements only."""
    assert staged_kernels(f"""
    ENTRY main {{
      x = {element_type}[{size}] parameter(0)
      y = {element_type}[{size}] parameter(1)
      ROOT r = {element_type}[{size}] maximum(x, y)
    }}""")


@pytest.mark.parametrize("size", [1, 15, 65, 1000])
def test_no_whole_lines(size: int) -> None:
    """Stores go through the cache where a stretch would not end with a line."""
    text = "ENTRY main {{ x = f32[{n}] parameter(0)\n ROOT r = f32[{n}] negate(x) }}"
    assert not staged_kernels(text.format(n=size))


def test_rows_that_begin_inside_a_line() -> None:
    """The outer loops would take the stretches out of step with the lines."""
    assert not staged_kernels("""
    ENTRY main {
      x = f32[5,40] parameter(0)
      y = f32[40] parameter(1)
      b = f32[5,40] broadcast(y), dimensions={1}
      ROOT r = f32[5,40] add(x, b)
    }""")


def test_several_results_of_other_widths() -> None:
    """Stretches are of the same number of elements."""
    assert staged_kernels("""
    ENTRY main {
      x = f32[6,128] parameter(0)
      y = f32[128] parameter(1)
      b = f32[6,128] broadcast(y), dimensions={1}
      s = f32[6,128] add(x, b)
      c = pred[6,128] compare(x, b), direction=LT
      ROOT r = (f32[6,128], pred[6,128]) tuple(s, c)
    }""")


@pytest.mark.parametrize("dims", [(64, 64), (48, 80), (16, 160), (70, 96)])
def test_tiles_of_transposes(dims: tuple[int, int]) -> None:
    """A tile's rows are stored one by one, those of the last tiles too."""
    m, n = dims
    assert staged_kernels(f"""
    ENTRY main {{
      x = f32[{n * 4},{m * 4}] parameter(0)
      t = f32[{m * 4},{n * 4}] transpose(x), dimensions={{1,0}}
      ROOT r = f32[{m * 4},{n * 4}] add(t, t)
    }}""")


def test_pieces() -> None:
    """Parts of a concatenate that begin with a line have stages, others do not."""
    staged_kernels("""
    ENTRY main {
      x = f32[3,64] parameter(0)
      y = f32[3,40] parameter(1)
      z = f32[3,88] parameter(2)
      ROOT r = f32[3,192] concatenate(x, y, z), dimensions={1}
    }""")


@pytest.mark.parametrize("columns", [64, 128, 192, 4096])
def test_rows(columns: int) -> None:
    """The last loop along a row has stages, and fetches the next row meanwhile; what is kept of the
    row lies in scratch memory."""
    code = compared(f"""
    largest {{ a = s32[] parameter(0)
      b = s32[] parameter(1)
      ROOT c = s32[] maximum(a, b) }}
    sum {{ a = s32[] parameter(0)
      b = s32[] parameter(1)
      ROOT c = s32[] add(a, b) }}
    ENTRY main {{
      x = s32[6,{columns}] parameter(0)
      low = s32[] constant(-9)
      zero = s32[] constant(0)
      m = s32[6] reduce(x, low), dimensions={{1}}, to_apply=largest
      mb = s32[6,{columns}] broadcast(m), dimensions={{0}}
      d = s32[6,{columns}] subtract(x, mb)
      e = s32[6,{columns}] divide(d, x)
      f = s32[6,{columns}] remainder(e, mb)
      s = s32[6] reduce(f, zero), dimensions={{1}}, to_apply=sum
      sb = s32[6,{columns}] broadcast(s), dimensions={{0}}
      ROOT y = s32[6,{columns}] add(f, sb)
    }}""")
    assert "!nontemporal" in code
    assert "call void @llvm.prefetch" in code
