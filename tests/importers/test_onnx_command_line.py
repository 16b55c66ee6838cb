"""ONNX files on the command line: run, opt, emit, compile and inspect them."""

import numpy as np
import pytest
from click.testing import CliRunner
from onnx import helper
from onnx_models import model_of

from tfc.cli import tfc

W = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture
def file(tmp_path):
    nodes = [
        helper.make_node("MatMul", ["x:0", "w"], ["h"]),
        helper.make_node("Mul", ["h", "s"], ["y"]),
    ]
    inputs = {"x:0": (np.float32, ("rows", 3)), "s": (np.float32, ())}
    path = tmp_path / "dense.onnx"
    path.write_bytes(model_of(nodes, inputs, ["y"], {"w": W}).SerializeToString())
    return path


def run(*args):
    return CliRunner().invoke(tfc, [*map(str, args)])


def test_run_takes_sizes_and_values(file):
    given = ["--shape", "x:0=1,3", "--fix", "s=2", "--arg", "{{1, 0, 0}}"]
    result = run("run", file, *given)
    assert result.exit_code == 0, result.output
    assert "f32[1,4]\n[[0. 2. 4. 6.]]" in result.output
    by_size = run("run", file, "--shape", "rows=1", "--fix", "s=2", "--arg", "{{1, 0, 0}}")
    assert by_size.output.splitlines()[:-1] == result.output.splitlines()[:-1]


def test_a_model_is_told_by_its_content(file):
    other = file.rename(file.with_suffix(".bin"))
    assert run("run", other, "--shape", "rows=2").exit_code == 0


def test_open_sizes_are_asked_for(file):
    result = run("run", file)
    assert result.exit_code == 1
    assert "has open sizes (rows)" in result.output


def test_opt_emit_and_compile_take_models(file, tmp_path):
    assert "parameters" not in run("opt", file, "--shape", "rows=2", "--passes", "dce").output
    assert "dot_general" in run("emit", file, "--shape", "rows=2", "--stage", "stablehlo").output
    made = run("compile", file, "--shape", "rows=2", "--cpp-class", "a::B", "--out-dir", tmp_path)
    assert made.exit_code == 0, made.output
    assert "x_0" in (tmp_path / "b.h").read_text()


def test_inspect_lists_what_a_model_has(file):
    output = run("inspect", file).output
    for line in ("x:0: float32[rows,3]", "1 MatMul", "parameters: 1 arrays, 12 numbers, 48 bytes"):
        assert line in output
    assert "not supported" not in output


def test_inspect_names_what_is_not_supported(tmp_path):
    nodes = [helper.make_node("Wobble", ["x"], ["y"], domain="org.example")]
    path = tmp_path / "other.onnx"
    made = model_of(nodes, {"x": W}, ["y"], domains={"org.example": 1})
    path.write_bytes(made.SerializeToString())
    assert "not supported: org.example.Wobble" in run("inspect", path).output


def test_options_that_are_no_pairs_are_explained(file):
    for option in (["--shape", "rows"], ["--shape", "rows=x"], ["--fix", "s"], ["--fix", "s=?"]):
        result = run("run", file, *option)
        assert result.exit_code == 2
        assert f"{option[0]} takes NAME=" in result.output
