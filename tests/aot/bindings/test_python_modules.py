"""Python modules that load the code from a shared library: state, what is passed, what is wrong."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from click.testing import CliRunner

import tfc.aot
from tfc.aot.bindings.python import python_text
from tfc.aot.bindings.rust import rust_text
from tfc.aot.signature import CppClass, signature_of
from tfc.aot.tfcompile import tfcompile
from tfc.errors import TfcError, UnsupportedError
from tfc.hlo import parse


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def step(state, x):
    return state + x, x * 2, tfc.numpy.sum(state)


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """A step with state, for several threads, whose module is model.py."""
    folder = tmp_path_factory.mktemp("python")
    tfc.aot.compile(
        step, "f32[5]", "f32[5]", cpp_class="demo::Model", name="model", out_dir=folder, state=1,
        threads=2, bindings=["python"],
    )  # fmt: skip
    return loaded(folder / "model.py")


def test_state_stays_and_results_are_arrays_of_their_own(module):
    model = module.Model()
    x = np.arange(10, dtype=np.float32)[::2]
    first = model(x)
    model.variables["state"][0] = 100
    second = model(x=[1, 1, 1, 1, 1])
    np.testing.assert_array_equal(first[0], 2 * x)
    np.testing.assert_array_equal(second[0], np.full(5, 2))
    assert (first[1], second[1], second[1].shape) == (0, 100 + 20, ())
    np.testing.assert_array_equal(model.variables["state"], [101, 3, 5, 7, 9])
    assert list(module.Model().variables["state"]) == [0] * 5


def test_what_is_wrong_is_said_in_a_sentence(module, tmp_path):
    model = module.Model()
    with pytest.raises(TypeError, match=r"argument 0 \(x\) must be of type float32, got float64"):
        model(np.zeros(5))
    with pytest.raises(ValueError, match=r"must have the shape \(5,\), got \(4,\)"):
        model(np.zeros(4, np.float32))
    with pytest.raises(OSError, match=r"nothing\.so: cannot open"):
        module.Model(tmp_path / "nothing.so")


def test_parameters_have_names_that_python_has_not(tmp_path):
    text = """
    ENTRY main {
      lambda = f32[] parameter(0)
      self = f32[] parameter(1)
      ROOT y = f32[] subtract(lambda, self)
    }
    """
    tfc.aot.compile(parse(text), cpp_class="M", name="m", out_dir=tmp_path, bindings=["python"])
    assert loaded(tmp_path / "m.py").M()(lambda_=5, self_=3) == 2


@pytest.mark.parametrize(
    ("language", "text", "name"),
    [("Python", python_text, "np"), ("Python", python_text, "len"), ("Rust", rust_text, "Self"),
     ("Rust", rust_text, "Err")],
)  # fmt: skip
def test_classes_of_a_name_that_a_language_uses_are_refused(language, text, name, matmul_text):
    signature = signature_of(parse(matmul_text), CppClass.parse(f"demo::{name}"))
    with pytest.raises(TfcError, match=f"must not be called '{name}' in {language}"):
        text(signature, "m")


def test_a_rust_module_says_how_many_elements_there_are(matmul_text):
    text = rust_text(signature_of(parse(matmul_text), CppClass.parse("demo::M")), "m")
    assert "pub fn arg_x_hold_mut(&mut self) -> &mut [f32; 6] {" in text
    assert re.findall(r"#!\[.*", text) == [
        "#![allow(dead_code, non_camel_case_types, non_snake_case)]"
    ]


def test_the_command_writes_them_beside_the_header(tmp_path, monkeypatch, matmul_text):
    monkeypatch.chdir(tmp_path)
    Path("m.hlo").write_text(matmul_text)
    flags = ["--graph", "m.hlo", "--cpp_class", "M", "--out_header", "built/n.h", "--bindings"]
    made = CliRunner().invoke(tfcompile, [*flags, "rust, python"])
    assert (made.exit_code, made.output) == (0, "")
    assert {p.name for p in Path("built").iterdir()} == {"n.h", "n.rs", "n.py", "libn.so"}
    wrong = CliRunner().invoke(tfcompile, [*flags, "cobol"])
    assert wrong.output == (
        "error: there are no bindings for 'cobol'; there are those for js, rust, python\n"
    )


def test_classes_for_several_sizes_of_batch_have_none(tmp_path):
    with pytest.raises(UnsupportedError, match="has no bindings: compile the size"):
        tfc.aot.compile(
            lambda x: x * 2, "f32[?,4]", cpp_class="M", out_dir=tmp_path, batch_sizes=[1, 8],
            bindings=["rust"],
        )  # fmt: skip
    assert list(tmp_path.iterdir()) == []
