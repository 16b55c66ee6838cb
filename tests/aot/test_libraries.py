"""Static and shared libraries of generated code: programs are linked with them and run."""

import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from tfc.aot.libraries import archive
from tfc.aot.tfcompile import tfcompile
from tfc.errors import UnsupportedError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, matmul_text: str) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "matmul.hlo").write_text(matmul_text)
    (tmp_path / "main.cc").write_text(
        '#include "out.h"\n'
        "int main() { M m; m.arg0(1, 2) = 3; m.arg1(2, 0) = 5;\n"
        "  return m.Run() && m.result0(1, 0) == 15 ? 0 : 1; }\n"
    )
    return tmp_path


def made(*arguments: str) -> str:
    done = CliRunner().invoke(tfcompile, ["--graph", "matmul.hlo", "--cpp_class", "M", *arguments])
    return done.output


def test_programs_link_with_an_archive_and_a_shared_object(folder, monkeypatch):
    outputs = ["--out_archive", "libm1.a", "--out_shared_object", "libm2.so"]
    assert made(*outputs, "--soname", "libm2.so.7") == ""
    shutil.copy("libm2.so", "libm2.so.7")
    (folder / "out_model.o").unlink()
    for library in ("-l:libm1.a", "-lm2"):
        command = ["c++", "-std=c++11", "main.cc", "-L.", library, "-o", "program", "-lm"]
        subprocess.run(command, check=True, timeout=60)
        environment = {"LD_LIBRARY_PATH": str(folder)}
        subprocess.run(["./program"], check=True, timeout=60, env=environment)
    needed = subprocess.run(
        ["readelf", "-d", "program"], capture_output=True, text=True, check=True
    )
    assert "[libm2.so.7]" in needed.stdout
    listed = subprocess.run(["ar", "t", "libm1.a"], capture_output=True, text=True, check=True)
    assert listed.stdout == "model.o\n"


def test_what_has_no_library_is_refused(folder):
    apple = ["--target_triple", "aarch64-apple-darwin", "--out_archive", "a.a"]
    assert "an archive is made of object files of ELF, COFF or WebAssembly" in made(*apple)
    other = ["--target_triple", "aarch64-linux-gnu", "--out_shared_object", "a.so"]
    assert "needs that system's linker" in made(*other)
    assert "--soname is the name of a shared library" in made("--soname", "libm.so")
    assert sorted(p.name for p in folder.iterdir()) == ["main.cc", "matmul.hlo"]
    with pytest.raises(UnsupportedError, match="an archive is made of"):
        archive([("a.o", b"text")], [])
