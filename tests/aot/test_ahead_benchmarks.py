"""benchmarks/aot.py: programs compute the same in tfc and in NumPy, and figures become the page."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import tfc
from benchmarks.ahead.command import main
from benchmarks.ahead.contenders import Tfc, version
from benchmarks.ahead.in_numpy import reference
from benchmarks.ahead.in_tfc import function
from benchmarks.ahead.measuring import Figures, Row, check, measure
from benchmarks.ahead.page import BEGIN, END, Run, aims, duration, section, size, with_section
from benchmarks.ahead.programs import PROGRAMS
from benchmarks.protocol import BenchmarkError

SMALL = Figures(2.0, 1.0, 450_000, 440_000, ())
LARGE = Figures(4.0, 4.0, 1_600_000, 1_650_000, ("libabsl.so",))
ROWS = [
    Row("mlp", batch, 436_736, {"tfc": SMALL, "tfc, native": SMALL, "tfcompile": LARGE,
                                "tfcompile, native": LARGE, "IREE": "not installed"})
    for batch in (1, 32)
]  # fmt: skip
RUN = Run({"processor": "one of them"}, {"tfc": "1.0", "IREE": "not installed"}, ROWS)


@pytest.mark.parametrize("key", ["mlp", "lstm", "entropy"])
def test_programs_compute_in_tfc_what_they_do_in_numpy(key: str):
    program = PROGRAMS[key]
    check(np.asarray(tfc.jit(function(key, 1))(program.argument(1))), reference(program, 1))


@pytest.mark.slow
@pytest.mark.parametrize("key", ["transformer", "resnet18"])
def test_large_programs_compute_in_tfc_what_they_do_in_numpy(key: str):
    program = PROGRAMS[key]
    check(np.asarray(tfc.jit(function(key, 1))(program.argument(1))), reference(program, 1))


def test_wrong_values_are_no_figures():
    with pytest.raises(BenchmarkError, match=r"wrong values, off by 1\.0e"):
        check(np.float32([1, 2]), np.float32([1, 3]))
    with pytest.raises(BenchmarkError, match="off by nan"):
        check(np.float32([1, np.nan]), np.float32([1, 3]))
    with pytest.raises(BenchmarkError, match="1 values in place of 2"):
        check(np.float32([1]), np.float32([1, 3]))


def test_the_page_of_a_run():
    text = section(RUN)
    assert "| processor | one of them |" in text
    assert "### MLP 784-128-64-10, weights of 437 kB" in text
    assert "| tfc | 450 kB | 1.03 | 440 kB | – | 1.00 s | 2 µs | 2 µs |" in text
    assert "| tfcompile | 1.6 MB | 3.66 | 1.65 MB | libabsl.so | 4.00 s | 4 µs (2.00 ×) |" in text
    assert "| IREE | not installed | | | | | | |" in text
    assert (duration(1234.5), size(12_345)) == ("1.23 ms", "12.3 kB")


def test_aims_that_are_missed_are_bold():
    lines = {aim.text: aim for aim in aims(RUN)}
    assert lines["MLP, batch 32: native ÷ tfcompile, native"].is_reached
    missed = lines["MLP, batch 32: default ÷ tfcompile's default"]
    assert not missed.is_reached
    assert missed.line() == "| MLP, batch 32: default ÷ tfcompile's default | 0.333 | **0.5** |"
    assert not any(text.startswith("ResNet") for text in lines)


def test_figures_take_the_place_of_those_before(tmp_path: Path, capsys: pytest.CaptureFixture):
    page, saved = tmp_path / "page.md", tmp_path / "run.json"
    page.write_text(f"above\n{BEGIN}\nold figures\n{END}\nbelow\n", "utf-8")
    saved.write_text(json.dumps(RUN.as_dict()), "utf-8")
    main(["--load", str(saved), "--docs", str(page)])
    assert page.read_text("utf-8") == f"above\n{BEGIN}\n{section(RUN)}{END}\nbelow\n"
    assert with_section(page.read_text("utf-8"), RUN) == page.read_text("utf-8")
    assert capsys.readouterr().out == section(RUN) + "\n"
    saved.write_text("[1]", "utf-8")
    with pytest.raises(SystemExit, match="holds no run"):
        main(["--load", str(saved)])


@pytest.mark.slow
def test_a_program_is_built_linked_and_measured(tmp_path: Path):
    said: list[str] = []
    row = measure(PROGRAMS["entropy"], 1, [Tfc("tfc")], tmp_path, said.append)
    figures = row.found["tfc"]
    assert isinstance(figures, Figures), figures
    assert figures.libraries == ()
    assert figures.program_bytes is not None
    assert 0 < figures.microseconds < 1e6
    assert 1000 < figures.program_bytes < 60_000
    assert said == ["entropy 1: compiling with tfc", "entropy 1: measuring"]


def test_what_a_python_lacks_has_no_version():
    assert version(sys.executable, "no-such-package", "numpy") == np.__version__
    assert version(sys.executable, "no-such-package") == ""
