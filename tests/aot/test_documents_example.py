"""The documents' example of tfcompile: a graph, its configuration, a program that prints Success.

examples/cpp/tfmatmul has all of it, with a README whose commands run here as they stand.
"""

import re
import runpy
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from google.protobuf import text_format

from tfc.aot.tfcompile import tfcompile
from tfc.graph.files.messages import message_class, read

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "cpp" / "tfmatmul"
NAME = "test_graph_tfmatmul"
# As much of Eigen's pools as the documents' program and the class need of them.
EIGEN = """
#pragma once
#include <functional>
#include <thread>
namespace Eigen {
struct ThreadPool {
  explicit ThreadPool(int n) : threads(n) {}
  int NumThreads() const { return threads; }
  void Schedule(std::function<void()> run) { std::thread(run).detach(); }
  int threads;
};
struct ThreadPoolDevice {
  ThreadPoolDevice(ThreadPool* p, int) : pool(p) {}
  ThreadPool* getPool() const { return pool; }
  ThreadPool* pool;
};
}  // namespace Eigen
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example, copied to where programs may be built, as the current folder."""
    copy = tmp_path / "tfmatmul"
    shutil.copytree(EXAMPLE, copy)
    monkeypatch.chdir(copy)
    return copy


def compiled(*arguments: str) -> None:
    made = CliRunner().invoke(tfcompile, [*arguments, "--cpp_class=foo::bar::MatMulComp"])
    assert (made.exit_code, made.output) == (0, "")


def test_what_the_readme_says_builds_and_prints_success(folder: Path):
    (block,) = re.findall(r"```console\n(.*?)```", (folder / "README.md").read_text(), re.S)
    expected, printed = [], ""
    for line in block.splitlines():
        program, *arguments = shlex.split(line.removeprefix("$ "))
        if not line.startswith("$ "):
            expected.append(line)
        elif program == "tfcompile":
            done = CliRunner().invoke(tfcompile, arguments)
            assert (done.exit_code, done.output) == (0, "")
        else:
            strict = ["-Wall", "-Wextra", "-Werror"] if program in ("g++", "gcc") else []
            done = subprocess.run([program, *strict, *arguments], capture_output=True, text=True,
                                  check=False, timeout=60)  # fmt: skip
            assert done.returncode == 0, done.stderr
            printed += done.stdout
    assert printed.splitlines() == expected
    assert expected[0] == "Success"


@pytest.mark.slow
def test_the_documents_program_runs_as_it_stands(folder: Path):
    """With Eigen's pool, whose header it includes, and the paths that it names."""
    compiled("--graph", f"{NAME}.pb", "--config", f"{NAME}.config.pbtxt", "--threads", "2")
    generated = folder / "tensorflow" / "compiler" / "aot" / "tests"
    eigen = folder / "third_party" / "eigen3" / "unsupported" / "Eigen" / "CXX11"
    generated.mkdir(parents=True)
    eigen.mkdir(parents=True)
    shutil.copy(folder / "out.h", generated / f"{NAME}.h")
    (eigen / "Tensor").write_text(EIGEN)
    program = Path(__file__).parent / "documents_main.cc"
    command = ["g++", "-std=c++11", "-I.", str(program), "out_model.o", "-o", "my_binary"]
    subprocess.run([*command, "-lm", "-pthread"], check=True, timeout=60)
    done = subprocess.run(["./my_binary"], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "Success\n"


def test_text_and_binary_files_say_the_same(folder: Path):
    """Text by the suffix .pbtxt, for graph and configuration; else binary."""
    compiled("--graph", f"{NAME}.pb", "--config", f"{NAME}.config.pbtxt")
    before = (folder / "out_model.o").read_bytes(), (folder / "out.h").read_text()
    graph = read("GraphDef", folder / f"{NAME}.pb")
    (folder / "graph.pbtxt").write_text(text_format.MessageToString(graph))
    text = (folder / f"{NAME}.config.pbtxt").read_text()
    config = text_format.Parse(text, message_class("Config")())
    (folder / "config.pb").write_bytes(config.SerializeToString())
    compiled("--graph=graph.pbtxt", "--config=config.pb")
    assert ((folder / "out_model.o").read_bytes(), (folder / "out.h").read_text()) == before


def test_the_graph_is_what_the_script_beside_it_writes(folder: Path):
    before = (folder / f"{NAME}.pb").read_bytes()
    (folder / f"{NAME}.pb").unlink()
    runpy.run_path("make_graph.py")["main"]()
    assert (folder / f"{NAME}.pb").read_bytes() == before
