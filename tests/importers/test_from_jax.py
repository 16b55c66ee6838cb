"""Functions of JAX: called as they are, differentiated, of sizes left open, and read from files."""

import sys
from collections import namedtuple
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from click.testing import CliRunner
from mutants import BYTES, outcomes

import tfc
import tfc.numpy as tnp
from tfc.cli import tfc as command
from tfc.errors import ModelFileError, ShapeError, TfcError, UnsupportedError

Layer = namedtuple("Layer", "w b")
PARAMS = {"dense": Layer(np.linspace(-1, 1, 6).reshape(3, 2), [np.float32(0.5)]), "none": None}
X = np.linspace(-2, 2, 12).reshape(4, 3)


def predict(params: Any, x: Any, *, scale: Any = 2.0) -> Any:
    layer = params["dense"]
    return {"y": jnp.tanh(x @ layer.w) * scale + layer.b[0]}


def opened(function: Any = predict, *before: Any) -> Any:
    """A function exported for any number of rows."""
    (rows,) = jax.export.symbolic_shape("rows")
    x = jax.ShapeDtypeStruct((rows, 3), "f4")
    return jax.export.export(jax.jit(function))(*before, x)


def stacked(x: Any) -> Any:
    rows = jax.nn.softmax(x.reshape(-1)).reshape(x.shape)
    return jnp.concatenate([rows, x])[::2], jnp.arange(x.shape[0]) + x.shape[0], x.sum(0)


def test_a_function_is_called_with_its_own_arguments():
    f = tfc.from_jax(predict, PARAMS, X, parameters=0, scale=3.0, backend="interpreter")
    assert list(f.parameters) == ["dense.w", "dense.b.0"]
    assert [str(p) for p in f.inputs] == ["argument 1: float32[4,3]", "argument scale: float32[]"]
    expected = predict(PARAMS, X, scale=3.0)["y"]
    np.testing.assert_allclose(f(PARAMS, X, scale=3.0)["y"], expected, rtol=1e-6)
    by_name = f.function({"dense.b.0": np.float32(0)}, X, scale=3.0)["y"]
    np.testing.assert_allclose(by_name, expected - 0.5, rtol=1e-5, atol=1e-6)


def test_gradients_are_those_of_jax():
    x = X.astype(np.float32)
    params = jax.tree_util.tree_map(lambda a: np.asarray(a, np.float32), PARAMS)
    f = tfc.from_jax(predict, params, x, parameters=0)
    expected = jax.grad(lambda p: (predict(p, x)["y"] ** 2).sum())(params)
    found = tfc.grad(lambda p: tnp.sum(f(p, x)["y"] ** 2))(params)
    np.testing.assert_allclose(found["dense"].w, expected["dense"].w, rtol=1e-5)
    by_name = tfc.grad(lambda p: tnp.sum(f.function(p, x)["y"] ** 2))(f.parameters)
    np.testing.assert_allclose(by_name["dense.w"], expected["dense"].w, rtol=1e-5)
    with pytest.raises(TfcError, match="predict has no parameter 'v'"):
        f.function({"v": x}, x)


def test_a_program_is_compiled_for_each_size():
    f = tfc.from_jax(opened(stacked), backend="interpreter")
    for rows in (1, 4):
        x = np.linspace(-1, 1, 3 * rows, dtype=np.float32).reshape(rows, 3)
        for got, expected in zip(f(x), stacked(x)):
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(ShapeError, match="the size 'rows' of stacked must be 1 or more"):
        f(np.zeros((0, 3), np.float32))
    with pytest.raises(ShapeError, match=r"must have the sizes \[rows,3\], got \[2, 2\]"):
        f(np.zeros((2, 2), np.float32))


def test_sizes_that_belong_together_must_agree():
    a, b = jax.export.symbolic_shape("a, b")
    shapes = [jax.ShapeDtypeStruct(s, "f4") for s in ((a, b), (b, 2 * a + 1))]
    f = tfc.from_jax(jnp.matmul, *shapes)
    assert f(np.ones((2, 3), "f4"), np.ones((3, 5), "f4")).shape == (2, 5)
    for wrong in ((4, 5), (3, 4)):
        with pytest.raises(ShapeError, match="argument 1 must have the sizes"):
            f(np.ones((2, 3), "f4"), np.ones(wrong, "f4"))
    with pytest.raises(ShapeError, match="has open sizes"):
        _ = f.hlo
    stated = tfc.from_jax(jnp.matmul, *shapes, shapes={"a": 2, "b": 3})
    assert [p.array_shape.dims for p in stated.hlo.entry.parameters] == [(2, 3), (3, 5)]
    assert str(stated.outputs[0]) == "result 0: float32[2,5]"
    with pytest.raises(ShapeError, match="no open size 'c'; its open sizes: a, b"):
        tfc.from_jax(jnp.matmul, *shapes, shapes={"c": 2})


# --- files ----------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "predict.jax"
    plain = {"dense": [PARAMS["dense"].w], "none": None}
    function = opened(lambda p, x: {"y": (jnp.tanh(x @ p["dense"][0]), x.shape[0])}, plain)
    path.write_bytes(function.serialize())
    return path


def test_files_are_read_without_jax(file: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.setitem(sys.modules, "jax.export", None)
    f = tfc.from_jax(file)
    result, rows = f({"dense": [PARAMS["dense"].w], "none": None}, X)["y"]
    np.testing.assert_allclose(result, np.tanh(X @ PARAMS["dense"].w), rtol=1e-5, atol=1e-6)
    assert rows == 4
    for wrong in ({"dense": [X]}, {"dense": (X,), "none": None}, {"dense": [X, X], "none": None}):
        with pytest.raises(ShapeError, match="the arguments must be as when exporting: expected"):
            f(wrong, X)
    with pytest.raises(UnsupportedError, match="need jax, which is not installed"):
        tfc.from_jax(predict, PARAMS, X)


def test_files_given_to_another_function_are_told(file: Path):
    with pytest.raises(TfcError, match=r"what jax\.export serialized is for tfc\.from_jax"):
        tfc.from_stablehlo(file.read_bytes())


def test_programs_for_several_platforms_are_read(tmp_path: Path):
    def called(x: Any) -> Any:
        return jax.lax.platform_dependent(x, cpu=lambda x: x + 1, cuda=lambda x: x + 2)

    exported = jax.export.export(jax.jit(called), platforms=["cuda", "cpu"])(X.astype("f4"))
    f = tfc.from_jax(exported.serialize())
    np.testing.assert_array_equal(f(X), X.astype("f4") + 1)


def test_annotations_that_only_jax_reads_ask_for_it(monkeypatch: pytest.MonkeyPatch):
    content = jax.export.export(jax.jit(jnp.linalg.cholesky))(np.eye(3, dtype="f4")).serialize()
    f = tfc.from_jax(content)
    np.testing.assert_array_equal(f(4 * np.eye(3)), 2 * np.eye(3, dtype="f4"))
    monkeypatch.setitem(sys.modules, "jax.export", None)
    with pytest.raises(UnsupportedError, match="only JAX reads: install jax"):
        tfc.from_jax(content)(np.eye(3))


def test_the_command_line_takes_files(file: Path, tmp_path: Path):
    other = file.rename(tmp_path / "model.bin")
    result = CliRunner().invoke(command, ["inspect", str(other), "--shape", "rows=5"])
    assert result.exit_code == 0, result.output
    assert "argument 1: float32[5,3]" in result.output
    assert "1 tanh" in result.output
    assert CliRunner().invoke(command, ["run", str(other), "--shape", "rows=5"]).exit_code == 0
    refused = CliRunner().invoke(command, ["run", str(other)])
    assert "argument 1: float32[rows,3] has open sizes" in refused.output


def lowered(content: bytes) -> Any:
    """The module of a file, with small numbers in place of sizes that are open."""
    sizes = dict.fromkeys(tfc.from_jax(content).symbols, 3)
    return tfc.from_jax(content, shapes=sizes).hlo


@pytest.fixture
def without_places():
    """JAX writes down the calls that led to an operation, which differ from run to run."""
    before = jax.config.jax_traceback_in_locations_limit
    jax.config.update("jax_traceback_in_locations_limit", 0)
    yield
    jax.config.update("jax_traceback_in_locations_limit", before)


def contents() -> list[bytes]:
    nested = opened(lambda p, x: {"y": (jnp.tanh(x @ p["dense"][0]), None)}, {"dense": [X.T]})
    exported = [opened(stacked), nested]
    exported.append(jax.export.export(jax.jit(jnp.tanh))(np.ones(3, "f4")))
    return [bytes(e.serialize()) for e in exported]


@pytest.mark.parametrize("count", [60, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.usefixtures("without_places")
def test_damaged_files_are_refused_or_work(count: int):
    found = outcomes(lowered, contents(), count, seed=3, kinds=BYTES)
    assert found["refused"] > count // 4


def test_files_of_something_else_are_refused(tmp_path: Path):
    for content in (b"", b"\0\0\0\0", b"ML\xefR" * 9, b"HloModule", b"\xff" * 90):
        with pytest.raises(ModelFileError, match=r"damaged"):
            tfc.from_jax(content)
    with pytest.raises(TfcError, match=r"cannot read .*: No such file"):
        tfc.from_jax(tmp_path / "none.jax")
