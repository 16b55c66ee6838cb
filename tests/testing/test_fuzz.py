"""The fuzzer finds a defect, makes it small and writes it down; the comparison knows rounding."""

import itertools
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given

import tfc
from tfc.backends.mlir.arithmetic import elemental
from tfc.cli import tfc as command
from tfc.hlo import evaluate
from tfc.hlo.shape import F32
from tfc.testing.compare import mismatch
from tfc.testing.fuzz import drawing, programs
from tfc.testing.ptx.state.faults import Fault
from tfc.testing.report import Report, outcome_of

random = np.random.default_rng(5)


def test_a_run_without_defects_says_how_many_programs_ran(tmp_path: Path):
    made = CliRunner().invoke(
        command, ["fuzz", "--seconds", "2", "--seed", "3", "--out-dir", str(tmp_path)]
    )
    assert made.exit_code == 0, made.output
    assert "no mismatch" in made.output
    assert not list(tmp_path.iterdir())


def test_a_defect_is_found_and_written_as_a_small_program(tmp_path: Path, monkeypatch):
    wrong = elemental.EMISSION["subtract"]
    monkeypatch.setitem(elemental.EMISSION, "add", wrong)
    arguments = ["--seconds", "3", "--out-dir", str(tmp_path), "--ops", "add,multiply,reverse"]
    made = CliRunner().invoke(command, ["fuzz", *arguments])
    assert made.exit_code == 1, made.output
    file = tmp_path / "fuzz-1.hlo"
    assert f"{file}: result 0 at" in made.output
    module = tfc.hlo.parse(file.read_text())
    assert len(module.entry.instructions) <= 3
    assert "// tfc run FILE --arg=" in file.read_text()


@pytest.mark.parametrize(("ops", "reason"), [("ad", "is no operation"), ("parameter", "at random")])
def test_unknown_operations_are_refused(ops: str, reason: str):
    made = CliRunner().invoke(command, ["fuzz", "--ops", ops])
    assert made.exit_code == 1
    assert reason in made.output


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1", "0"])
def test_durations_that_are_none_are_refused(seconds: str):
    made = CliRunner().invoke(command, ["fuzz", "--seconds", seconds])
    assert made.exit_code == 2
    assert "give a number of seconds above 0" in made.output


@pytest.mark.parametrize(("source", "option"), [
    ("mutants", ["--ops", "add"]), ("jax", ["--ops", "add"]), ("hlo", ["--corpus", "."]),
])  # fmt: skip
def test_options_for_another_source_are_refused(source: str, option: list[str]):
    made = CliRunner().invoke(command, ["fuzz", "--source", source, *option])
    assert made.exit_code == 1
    assert f"{option[0]} is not for --source {source}: leave it out" in made.output


def test_refusals_and_silent_oracles_are_shown_by_reason(tmp_path: Path, monkeypatch):
    def fake(*_: object, **__: object) -> Report:
        refused = Counter({"UnsupportedError: no code for …": 3})
        return Report(programs=5, refused=refused, oracle=Counter({"the evaluator is late": 1}))

    monkeypatch.setattr("tfc.testing.command.fuzz_mutants", fake)
    made = CliRunner().invoke(command, ["fuzz", "--source", "mutants", "--out-dir", str(tmp_path)])
    assert made.exit_code == 0, made.output
    assert "3 programs not taken by tfc:\n  3 x UnsupportedError: no code for …\n" in made.output
    assert "1 programs without an answer of the oracle:\n  1 x the evaluator is" in made.output
    assert "5 programs of 0 operations" in made.output


ILL_CONDITIONED = """ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] exponential(x)
  one = f32[] constant(2.7182817)
  ones = f32[4] broadcast(one), dimensions={}
  d = f32[4] subtract(y, ones)
  p = pred[4] compare(y, ones), direction=GT
  ROOT t = (f32[4], pred[4]) tuple(d, p)
}"""


def test_what_a_kernel_does_wrong_is_no_refusal():
    outcome = outcome_of(Fault("race", "two threads write the same place"))
    assert outcome.wrong.startswith("Fault: race")
    assert not outcome.refused


def test_what_rounding_may_change_is_no_mismatch():
    module, x = tfc.hlo.parse(ILL_CONDITIONED), np.float32([1, 1, 0, 3])
    difference, greater = evaluate(module, x)
    unit = np.spacing(np.float32(2.7182817))
    moved = np.float32(difference + [unit, -unit, 0, 0])
    flipped = np.array([not greater[0], not greater[1], greater[2], greater[3]])
    assert mismatch(module, [x], [moved, flipped]) is None


def test_what_rounding_cannot_change_is_one():
    module, x = tfc.hlo.parse(ILL_CONDITIONED), np.float32([1, 1, 0, 3])
    difference, greater = evaluate(module, x)
    assert mismatch(module, [x], [difference, greater]) is None
    off = difference * np.float32([1, 1, 1, 1.0001])
    assert "result 0 at [3] is" in str(mismatch(module, [x], [off, greater]))
    assert "result 1 at [2] is" in str(mismatch(module, [x], [difference, ~greater]))
    assert "instead of bool" in str(mismatch(module, [x], [difference, difference]))


@pytest.mark.parametrize(
    ("algorithm", "bits"),
    [("", 24), ("dot_bf16_bf16_f32", 8), ("dot_tf32_tf32_f32", 10), ("dot_bf16_bf16_f32_x3", 16),
     ("dot_bf16_bf16_f32_x6", 24), ("dot_f32_f32_f32", 24)],
)  # fmt: skip
def test_products_may_be_off_by_the_bits_that_their_algorithm_leaves_out(algorithm: str, bits: int):
    stated = f", algorithm={algorithm}" if algorithm else ""
    module = tfc.hlo.parse(f"""HloModule m
ENTRY e {{ x = f32[5,7] parameter(0)
  y = f32[7,3] parameter(1)
  ROOT d = f32[5,3] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}{stated} }}""")
    x, y = (random.uniform(0.5, 2, d).astype(np.float32) for d in ((5, 7), (7, 3)))
    for kept, excused in ((bits, True), (bits // 2, False)):
        units = 2.0 ** (np.floor(np.log2(x)) + 1 - kept)
        rounded = np.round(x / units) * units  # the nearest with so many bits
        got = np.float32(rounded.astype(np.float64) @ y)
        assert (mismatch(module, [x, y], [got]) is None) is excused


def test_algorithms_of_products_are_drawn():
    found: set[str] = set()

    @drawing(200)
    @given(programs(8, [F32], ["dot"]))
    def collect(text: str) -> None:
        found.update(re.findall(r"algorithm=(dot_\w+)", text))

    collect()
    assert {"dot_tf32_tf32_f32", "dot_bf16_bf16_f32", "dot_bf16_bf16_f32_x3"} <= found


@pytest.mark.parametrize("text", [
    "z = f32[] constant(0)\n ROOT y = f32[] reduce(x, z), dimensions={0}, to_apply=add",
    "ROOT y = f32[] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
    "c = c64[3] convert(x)\n ROOT y = c64[3] fft(c), fft_type=IFFT, fft_length={3}",
])  # fmt: skip
def test_sums_whose_terms_overflow_together_may_be_infinite(text: str):
    """In another order the partial sums overflow, where the reference's do not; or it divides."""
    add = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n"
    module = tfc.hlo.parse(f"{add} ENTRY e {{ x = f32[3] parameter(0)\n {text} }}")
    for x, excused in (([3e38, -3e38, 2e38], True), ([1, -1, 2], False)):
        want = evaluate(module, np.float32(x))
        infinite = np.full_like(want, np.inf)
        assert (mismatch(module, [np.float32(x)], [infinite]) is None) is excused
    x = np.float32([np.inf, 1, 2])
    lost = np.full_like(evaluate(module, x), np.nan)
    assert (mismatch(module, [x], [lost]) is None) is ("fft" in text)


def test_unknowns_after_one_that_is_too_large_may_be_others():
    """f32 goes on with an infinity, the reference with a number of f64; f64 has it, too."""
    module = tfc.hlo.parse("""ENTRY e {
      a = f32[2,3,3] parameter(0)
      b = f32[2,3,1] parameter(1)
      ROOT x = f32[2,3,1] triangular-solve(a, b), left_side=true, lower=true,
        transpose_a=NO_TRANSPOSE
    }""")
    a = np.tile(
        np.tril(np.float32([[0.5], [np.inf], [1]]) * np.ones((1, 3), np.float32)), (2, 1, 1)
    )
    b = np.float32([[[3e38], [1], [1]], [[1], [1], [1]]])
    with np.errstate(all="ignore"):
        want = evaluate(module, a, b)
        for system, excused in ((0, True), (1, False)):
            for other in (np.nan, np.inf):
                got = np.array(want)
                got[system, 2, 0] = other
                differs = not np.array_equal(got, want, equal_nan=True)
                assert (mismatch(module, [a, b], [got]) is None) is (excused or not differs)


def test_a_transform_to_real_numbers_sums_twice_what_is_given():
    module = tfc.hlo.parse("""ENTRY e {
      x = c64[3] parameter(0)
      ROOT y = f32[5] fft(x), fft_type=IRFFT, fft_length={5}
    }""")
    for last, excused in ((3e38, True), (1, False)):
        x = np.array([0, 0, last * 1j], np.complex64)
        infinite = np.full(5, -np.inf, np.float32)
        assert (mismatch(module, [x], [infinite]) is None) is excused


def test_which_elements_an_infinite_transform_makes_nan_is_anybodys_choice():
    """A sort puts NaN and infinities in other places, so what goes with them may be anywhere."""
    module = tfc.hlo.parse("""before { a = f32[] parameter(0)
      b = f32[] parameter(1)
      c = s32[] parameter(2)
      d = s32[] parameter(3)
      g = pred[] compare(a, b), direction=GT
      n = pred[] compare(a, a), direction=NE
      ROOT r = pred[] or(g, n) }
    ENTRY e {
      x = c64[3] parameter(0)
      y = f32[4] fft(x), fft_type=IRFFT, fft_length={4}
      i = s32[4] iota(), iota_dimension=0
      ROOT s = (f32[4], s32[4]) sort(y, i), dimensions={0}, is_stable=true, to_apply=before
    }""")
    x = np.array([-np.inf, 1, 2], np.complex64)
    for order in itertools.permutations(range(4)):
        found = [np.full(4, np.nan, np.float32), np.array(order, np.int32)]
        assert mismatch(module, [x], found) is None
    finite = np.array([1, 2 + 1j, 3], np.complex64)
    values, places = evaluate(module, finite)
    assert mismatch(module, [finite], [values, places]) is None
    assert mismatch(module, [finite], [values, places[::-1]]) is not None


def test_a_sum_that_is_zero_may_have_either_sign():
    module = tfc.hlo.parse("""ENTRY e {
      x = f32[1,1] parameter(0)
      y = f32[1,1] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}
      ROOT a = f32[1,1] atan2(y, y)
    }""")
    x = np.zeros((1, 1), np.float32)
    for turn in (0, -np.pi):
        assert mismatch(module, [x], [np.full((1, 1), turn, np.float32)]) is None
    assert mismatch(module, [x], [np.full((1, 1), 100, np.float32)]) is not None
