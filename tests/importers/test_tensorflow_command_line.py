"""TensorFlow's files on the command line: run, opt, emit, compile and inspect them."""

import numpy as np
import pytest
from click.testing import CliRunner
from tensorflow_archives import unpacked

import tfc.graph as tf
from tfc.cli import tfc

W = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture
def made():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        scale = tf.placeholder(tf.float32, [], name="scale")
        tf.multiply(tf.matmul(x, tf.constant(W, name="w"), name="h"), scale, name="y")
    return graph.as_graph_def()


@pytest.fixture
def file(tmp_path, made):
    path = tmp_path / "dense.pb"
    path.write_bytes(made.SerializeToString())
    return path


def run(*args):
    return CliRunner().invoke(tfc, [*map(str, args)])


def test_run_takes_sizes_values_and_outputs(file):
    given = ["--shape", "x=1,3", "--arg", "{{1, 0, 0}}"]
    result = run("run", file, "--fix", "scale=2", *given)
    assert result.exit_code == 0, result.output
    assert "f32[1,4]\n[[0. 2. 4. 6.]]" in result.output
    assert "[[0. 1. 2. 3.]]" in run("run", file, "--outputs", "h", *given).output


def test_graphs_are_told_by_their_content(file, made):
    for content in (made.SerializeToString(), str(made).encode()):
        other = file.with_suffix(".graph")
        other.write_bytes(content)
        assert "x: float32[?,3]" in run("inspect", other).output


def test_text_is_read_whatever_its_name(file, made):
    file.write_text(str(made))
    assert "1 MatMul" in run("inspect", file).output
    assert "dot_general" in run("emit", file, "--outputs", "h", "--shape", "x=2,3",
                                "--stage", "stablehlo").output  # fmt: skip


def test_opt_and_compile_take_graphs(file, tmp_path):
    options = ["--shape", "x=2,3", "--outputs", "h"]
    assert "dot(" in run("opt", file, *options, "--passes", "dce").output
    result = run("compile", file, *options, "--cpp-class", "a::B", "--out-dir", tmp_path)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "b.h").exists()


@pytest.mark.parametrize("name", ["", "saved_model.pb"])
def test_saved_models_are_folders_or_their_files(tmp_path, name):
    folder, _, _ = unpacked("stateful", tmp_path)
    assert "calls: float32[]" in run("inspect", folder / name).output
    options = ["--signature", "power", "--tag", "serve", "--fix", "n=1", "--arg", "{1, 2}"]
    result = run("run", folder / name, *options)
    assert result.exit_code == 0, result.output
    assert "[4. 9.]" in result.output  # x times 3 and 4, plus 1


def test_options_of_the_other_kind_are_refused(file, tmp_path):
    result = run("run", file, "--signature", "serve")
    assert (result.exit_code, "takes no --signature" in result.output) == (1, True)
    folder, _, _ = unpacked("stateful", tmp_path)
    for path in (folder, folder / "saved_model.pb"):
        assert "takes no --fill-constants" in run("run", path, "--fill-constants", "iota").output


@pytest.mark.parametrize("name", ["", "saved_model.pb"])
def test_outputs_of_saved_models_may_be_any_values(tmp_path, name):
    folder, _, _ = unpacked("stateful", tmp_path)
    result = run("run", folder / name, "--outputs", "y", "--arg", "{1, 2}")
    assert "[ 8. 13.]" in result.output


def test_inspect_names_what_is_not_supported(file, made):
    made.node.add(name="z", op="Wobble", input=["y"])
    file.write_bytes(made.SerializeToString())
    assert "Wobble" in run("inspect", file).output
    result = run("run", file, "--shape", "x=1,3")
    assert "operators that are not supported: Wobble (1 ×, at 'z')" in result.output


def test_files_of_other_kinds_are_refused_in_a_sentence(tmp_path):
    path = tmp_path / "module.pb"
    for content in (b"\x0a\x04main\x12\x05entry", b"", b"HloModule x", b"\x00\xff" * 99):
        path.write_bytes(content)
        result = run("run", path)
        assert (result.exit_code, result.output.count("\n")) == (1, 1), result.output
        assert "module.pb" in result.output
