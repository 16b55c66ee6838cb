"""The command tfcompile: its flags, the files it writes, and its one-sentence errors."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tfc.aot.tfcompile import tfcompile

MODEL = """
import tfc

def add(x, y):
    return x + y

twice = tfc.jit(lambda x: x + x)

class Group:
    member = staticmethod(add)

def wrong(x):
    return x.no_such_method()

def divide(x):
    return x * (1 // 0)

number = 3
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, matmul_text: str) -> Path:
    """A current folder with a graph, a Python module, and broken ones of each."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name in ("model_of_test", "broken_of_test", "leaving_of_test"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "matmul.hlo").write_text(matmul_text)
    (tmp_path / "model_of_test.py").write_text(MODEL)
    (tmp_path / "broken_of_test.py").write_text("import tfc\nx = = 1\n")
    (tmp_path / "leaving_of_test.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "broken.hlo").write_text("HloModule m\nENTRY main {\n  x = f32[ parameter(0)\n}\n")
    (tmp_path / "bytes.hlo").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "graph.pb").write_bytes(b"\x0a\x00")
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(tfcompile, [*arguments, "--cpp_class", "foo::bar::C"])


def test_graph_in_hlo_text(folder):
    made = run("--graph", "matmul.hlo", "--out_header", "m.h", "--out_object", "m.o")
    assert (made.exit_code, made.output) == (0, "")
    assert "class C final" in (folder / "m.h").read_text()
    assert (folder / "m.o").read_bytes()[:4] == b"\x7fELF"


def test_files_have_tfcompiles_default_names(folder):
    assert run("--graph", "matmul.hlo", "--entry_point", "entry").exit_code == 0
    assert "std::int32_t entry(" in (folder / "out.h").read_text()
    assert (folder / "out_model.o").exists()


@pytest.mark.parametrize(
    ("graph", "shapes", "program"),
    [
        ("add", ["f32[2]", "f32[2]"], "(x: f32[2], y: f32[2]) -> f32[2]"),
        ("twice", ["s32[]"], "(x: s32[]) -> s32[]"),
        ("Group.member", ["f32[2]", "f32[2]"], "(x: f32[2], y: f32[2]) -> f32[2]"),
    ],
)
def test_graph_in_a_python_module(folder, graph, shapes, program):
    arguments = [part for shape in shapes for part in ("--arg", shape)]
    made = run("--graph", f"model_of_test:{graph}", *arguments)
    assert made.exit_code == 0, made.output
    assert f"//   {program}\n" in (folder / "out.h").read_text()


@pytest.mark.parametrize(
    ("flags", "machine"),
    [
        (["--target_triple", "aarch64-linux-gnu"], 183),
        (["--target_triple", "aarch64-linux-gnu", "--target_cpu", "neoverse-n1"], 183),
        (["--target_triple", "riscv64-linux-gnu", "--target_features", "+m,+a,+f,+d,+c,+v"], 243),
    ],
)
def test_targets(folder, flags, machine):
    made = run("--graph", "matmul.hlo", *flags)
    assert made.exit_code == 0, made.output
    assert (folder / "out_model.o").read_bytes()[18] == machine


def test_host_with_features(folder):
    made = run("--graph", "matmul.hlo", "--target_features", "")
    assert made.exit_code == 0, made.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--graph", "none.hlo"], "cannot read none.hlo: No such file"),
        (["--graph", "."], "cannot read .: Is a directory"),
        (["--graph", "broken.hlo"], "broken.hlo:3"),
        (["--graph", "bytes.hlo"], "bytes.hlo is not text"),
        (["--graph", "graph.pb"], "graph.pb is a GraphDef by its name: give --config"),
        (["--graph", "graph.pbtxt"], "is a GraphDef by its name"),
        (["--graph", "no_such_module_of_test:f"], "No module named 'no_such_module_of_test'"),
        (["--graph", "broken_of_test:f"], "raised SyntaxError"),
        (["--graph", "leaving_of_test:f"], "raised SystemExit: 3"),
        (["--graph", "model_of_test:f"], "module model_of_test has no 'f'"),
        (
            ["--graph", "model_of_test:number"],
            "expected a function or a module to compile, got int",
        ),
        (["--graph", "model_of_test:add", "--arg", "f32[2]"], "add(x, y) cannot take 1 arguments"),
        (["--graph", "model_of_test:twice"], "cannot take 0 arguments"),
        (["--graph", "model_of_test:twice", "--arg", "f32[2"], "expected a shape"),
        (["--graph", "model_of_test:twice", "--arg", "nine"], "must be an array"),
        (["--graph", "model_of_test:wrong", "--arg", "f32[2]"], "no_such_method"),
        (["--graph", "model_of_test:divide", "--arg", "f32[2]"], "raised ZeroDivisionError"),
        (["--graph", "matmul.hlo", "--arg", "f32[2]"], "got arguments (f32[2])"),
        (["--graph", "matmul.hlo", "--out_header", "broken.hlo/h"], "broken.hlo/h: Not a dir"),
        (["--graph", "matmul.hlo", "--out_object", "."], "cannot write .: Is a directory"),
        (["--graph", "matmul.hlo", "--out_header", "x", "--out_object", "x"], "different files"),
        (["--graph", "matmul.hlo", "--entry_point", "main"], "must not be called 'main'"),
        (["--graph", "matmul.hlo", "--target_triple", "z80-zilog"], "z80-zilog"),
        (["--graph", "matmul.hlo", "--target_triple", "nvptx64-nvidia-cuda"], "no code for"),
    ],
)
def test_errors_are_one_sentence(folder, arguments, message):
    made = run(*arguments)
    assert made.exit_code == 1, made.output
    assert made.output.startswith("error: ")
    assert message in made.output
    assert "Traceback" not in made.output
    assert not [p for p in folder.iterdir() if p.suffix in (".h", ".o") or p.name[0] == "."]


def test_code_for_size_is_smaller(folder):
    program = "ENTRY e {\n x = f32[100] parameter(0)\n s = f32[100] sine(x)\n ROOT y = tanh(s)\n}"
    (folder / "sine.hlo").write_text(program)
    sizes = {}
    for goal in ("speed", "size"):
        assert run("--graph", "sine.hlo", "-O", goal).output == ""
        sizes[goal] = (folder / "out_model.o").stat().st_size
    assert sizes["size"] < 0.9 * sizes["speed"]


def test_bad_classes(folder):
    for name, message in (("foo::class", "a C++ keyword"), ("foo:bar", "identifiers")):
        made = CliRunner().invoke(tfcompile, ["--graph", "matmul.hlo", "--cpp_class", name])
        assert made.exit_code == 1
        assert message in made.output


@pytest.mark.parametrize("arguments", [[], ["--graph", "matmul.hlo"], ["--config", "c.pbtxt"]])
def test_usage_errors_exit_with_2(folder, arguments):
    made = CliRunner().invoke(tfcompile, arguments)
    assert made.exit_code == 2
    assert "Usage:" in made.output


def test_the_command_itself(folder):
    """As a process of its own, with the current folder on the module path."""
    code = "from tfc.aot.tfcompile import main; main()"
    source = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, "--graph", "model_of_test:twice", "--arg", "f32[2]",
         "--cpp_class", "C"],
        env={**os.environ, "PYTHONPATH": source}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert (folder / "out.h").exists()
