"""Keras files on the command line: run, opt, emit, compile and inspect them."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from keras_files import chain, old_file

from tfc.cli import tfc

NAMED = Path(__file__).parent / "keras_models" / "named.keras"


def run(*args: object):
    return CliRunner().invoke(tfc, [*map(str, args)])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    config = chain(("Dense", {"units": 2, "use_bias": False, "batch_input_shape": [None, 3]}))
    weights = {"dense_0": [("kernel", np.arange(6, dtype=np.float32).reshape(3, 2))]}
    path = tmp_path / "dense.h5"
    path.write_bytes(old_file(config, weights))
    return path


def test_run_takes_sizes_and_values(file: Path):
    result = run("run", file, "--shape", "batch=1", "--arg", "{{0, 1, 0}}")
    assert result.exit_code == 0, result.output
    assert "f32[1,2]\n[[2. 3.]]" in result.output
    fixed = run("run", file, "--fix", "dense_0_input=[[0, 1, 0]]")
    assert "f32[1,2]\n[[2. 3.]]" in fixed.output
    braces = run("run", file, "--fix", "dense_0_input={{0, 1, 0}}")
    assert braces.exit_code == 2
    assert "--fix takes NAME=" in braces.output


def test_a_model_is_told_by_its_content(file: Path):
    other = file.rename(file.with_suffix(".bin"))
    assert run("run", other, "--shape", "batch=2").exit_code == 0


def test_open_sizes_are_asked_for(file: Path):
    result = run("run", file)
    assert result.exit_code == 1
    assert "has open sizes (batch)" in result.output


def test_opt_emit_and_compile_take_models(file: Path, tmp_path: Path):
    assert run("opt", file, "--shape", "batch=2", "--passes", "dce").exit_code == 0
    assert "dot_general" in run("emit", file, "--shape", "batch=2", "--stage", "stablehlo").output
    made = run("compile", file, "--shape", "batch=2", "--cpp-class", "a::B", "--out-dir", tmp_path)
    assert made.exit_code == 0, made.output
    assert "dense_0_input" in (tmp_path / "b.h").read_text()


def test_inspect_lists_what_a_model_has():
    output = run("inspect", NAMED).output
    for line in ("alpha: float32[batch,4]", "1 Dense", "parameters: 2 arrays, 10 numbers"):
        assert line in output
    assert "not supported" not in output


def test_a_file_that_is_cut_off_is_one_sentence(tmp_path: Path):
    path = tmp_path / "cut.keras"
    path.write_bytes(NAMED.read_bytes()[:3000])
    result = run("inspect", path)
    assert result.exit_code == 1
    assert "is damaged" in result.output
    assert "Traceback" not in result.output
