"""The example project builds and runs by each build system that is installed, and says so."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import tfc
from tfc.aot.tfcompile import tfcompile
from tfc.cli import tfc as command

ROOT = Path(__file__).parents[2]
PROJECT = ROOT / "examples" / "cpp" / "digits"
SHARE = ROOT / "tfc" / "share"
SEEN = "0 1 2 3 4 7"  # the digits that the program is given


def run(*command: str, folder: Path | None = None) -> str:
    """What a command prints; the programs of this environment come first."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def needed(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


@pytest.mark.slow
def test_cmake(tmp_path: Path):
    needed("cmake")
    build = str(tmp_path)
    run("cmake", "-S", str(PROJECT), "-B", build, "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
    run("cmake", "--build", build)
    shown = run("ctest", "--test-dir", build, "--output-on-failure")
    assert "100% tests passed, 0 tests failed out of 2" in shown
    assert run(str(tmp_path / "recognise")).strip() == SEEN
    measured = run(str(tmp_path / "digits_benchmark"), "--max_iters", "200")
    assert re.findall(r"^(\w+) +([\d.]+)", measured, re.MULTILINE)[0] == ("iterations", "200")
    rows = dict(re.findall(r"^(\w+) +([\d.]+) us$", measured, re.MULTILINE))
    assert list(rows) == ["mean", "median", "best", "worst", "trimmed"]
    best, median, worst = (float(rows[name]) for name in ("best", "median", "worst"))
    assert 0 < best <= median <= worst


@pytest.mark.slow
def test_cmake_says_what_is_missing(tmp_path: Path):
    needed("cmake")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(p CXX)\n"
        f'find_package(tfc 0.1 REQUIRED HINTS "{SHARE / "cmake" / "tfc"}")\n'
        "tfc_library(a GRAPH a.onnx)\n"
    )
    with pytest.raises(AssertionError, match=r"tfc_library\(a\) needs CPP_CLASS"):
        run("cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build"))


@pytest.mark.slow
def test_make(tmp_path: Path):
    needed("make")
    makefile = str(PROJECT / "Makefile")
    run("make", "-f", makefile, "recognise", "digits_test", folder=tmp_path)
    assert run(str(tmp_path / "recognise")).strip() == SEEN
    assert run(str(tmp_path / "digits_test")).strip() == "ran"


@pytest.mark.slow
def test_meson(tmp_path: Path):
    needed("meson")
    run("meson", "setup", str(tmp_path), str(PROJECT))
    run("meson", "test", "-C", str(tmp_path))
    assert run(str(tmp_path / "recognise")).strip() == SEEN


class Native:
    """What Bazel's rules are given, by their names."""

    def __init__(self):
        self.rules: dict[str, dict[str, Any]] = {}

    def package_name(self) -> str:
        return "models"

    def __getattr__(self, kind: str) -> Callable[..., None]:
        return lambda name, **given: self.rules.update({f"{kind} {name}": given})


def test_the_macro_of_bazel_makes_a_library_a_test_and_a_benchmark():
    """Its language is a part of Python's."""
    native = Native()
    names: dict[str, Any] = {"native": native}
    exec((SHARE / "cmake" / "tfc" / "tf_library.bzl").read_text(), names)
    names["tf_library"](
        name="m", graph="m.pb", config="m.config.pbtxt", cpp_class="foo::M", debug_info="m.info.pb",
        tfcompile_flags=["--xla_cpu_enable_fast_math=true", "--threads 2"],
        mlir_components="Bridge", enable_xla_hlo_profiling=True, deps=[":calls"],
    )  # fmt: skip
    assert set(native.rules) == {
        "genrule m_tfcompile", "cc_library m", "cc_test m_test", "cc_binary m_benchmark"
    }  # fmt: skip
    rule = native.rules["genrule m_tfcompile"]
    assert rule["srcs"] == ["m.pb", "m.config.pbtxt", "m.info.pb"]
    tool, *flags = re.sub(r"\$\(location (\S+)\)", r"\1", rule["cmd"]).split()
    assert tool == rule["tools"][0] == "//third_party/tfc:tfcompile"
    with tfcompile.make_context("tfcompile", flags) as context:
        given = context.params
    assert [given["graph"], given["config"], given["debug_info"]] == rule["srcs"]
    assert (given["cpp_class"], given["xla_hlo_profile"], given["threads"]) == ("foo::M", True, 2)
    assert [given["out_header"], given["out_object"]] == rule["outs"] == ["m.h", "m_tfc.o"]
    library = native.rules["cc_library m"]
    assert (library["hdrs"], library["srcs"], library["deps"]) == (["m.h"], ["m_tfc.o"], [":calls"])
    header = native.rules["cc_test m_test"]["local_defines"][0]
    assert header == """TFC_HEADER='"models/m.h"'"""


@pytest.mark.slow
def test_pkg_config_says_where_sources_are_and_what_is_linked(monkeypatch: pytest.MonkeyPatch):
    needed("pkg-config")
    monkeypatch.setenv("PKG_CONFIG_PATH", str(SHARE / "pkgconfig"))
    assert run("pkg-config", "--modversion", "tfc").strip() == tfc.__version__
    assert run("pkg-config", "--libs", "tfc").strip() == "-lm"
    assert Path(run("pkg-config", "--variable=makefile", "tfc").strip()).is_file()
    for name in ("test.cc", "benchmark.cc"):
        assert (Path(run("pkg-config", "--variable=sources", "tfc").strip()) / name).is_file()


def test_files_for_other_tools_have_this_version():
    version = re.escape(tfc.__version__)
    assert re.search(
        f'PACKAGE_VERSION "{version}"', (SHARE / "cmake/tfc/tfcConfigVersion.cmake").read_text()
    )
    assert re.search(
        f"^Version: {version}$", (SHARE / "pkgconfig/tfc.pc").read_text(), re.MULTILINE
    )


def test_the_command_says_where_they_are():
    for flag, name in (("--cmakedir", "tfcConfig.cmake"), ("--pkgconfigdir", "tfc.pc")):
        shown = CliRunner().invoke(command, [flag])
        assert shown.exit_code == 0
        assert (Path(shown.output.strip()) / name).is_file()
