"""The graphs of TensorFlow's tests of tfcompile, compiled by the command, in one C++ program."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from cpp_programs import STRICT, Cpp
from tf_graphs import GRAPHS, write_files

from tfc.aot.tfcompile import tfcompile

PROGRAMS = Path(__file__).parent / "tf_graphs.cc"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the graphs and what is made of them lie: NAME.h and NAME.o of each."""
    folder = tmp_path_factory.mktemp("graphs")
    for name, graph in GRAPHS.items():
        pb, config = write_files(name, folder)
        done = CliRunner().invoke(
            tfcompile,
            ["--graph", pb, "--config", config, "--cpp_class", graph.cpp_class,
             "--out_header", str(folder / f"{name}.h"),
             "--out_function_object", str(folder / f"{name}.o"), *graph.flags],
        )  # fmt: skip
        assert (done.exit_code, done.output) == (0, ""), name
    return folder


@pytest.fixture(scope="module")
def printed(folder: Path) -> dict[str, str]:
    """What the program prints for each test in it."""
    cpp = Cpp(folder, "g++")
    said = cpp.run([PROGRAMS], [folder / f"{name}.o" for name in GRAPHS], *STRICT)
    lines = [line.partition(": ") for line in said.splitlines() if ": " in line]
    return {name: text for name, _, text in lines}


@pytest.mark.parametrize(
    "name", [*(n for n in GRAPHS), "tfadd_no_alloc", "lookups", "sequential_no_alloc"]
)
def test_a_graph_computes_what_it_does_in_tensorflow(printed, name):
    """Each is a function of tf_graphs.cc, which says the first line that is wrong."""
    assert printed[name] == "ok"


def test_constants_lie_in_the_object_once(folder):
    content = (folder / "tfmatmul_with_constant.o").read_bytes()
    assert len(content) < 12_000 + 8_000


def test_a_profile_names_kernels(folder, printed):
    header = (folder / "tfmatmulandadd_with_profiling.h").read_text()
    assert "f32[2,2]{1,0} dot(%x, %y)" in header
    assert "PrintHloProfile" not in (folder / "tfmatmulandadd.h").read_text()
