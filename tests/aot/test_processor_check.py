"""What processor an object file is for, and what it says on another one."""

import os
import subprocess
import sys

import pytest

import tfc.aot
from tfc.backends.cpu.runtime.processor_check import needed_features
from tfc.backends.target import Target
from tfc.errors import UnsupportedError
from tfc.hlo.text.parser import parse

X86_ONLY = pytest.mark.skipif(
    Target.host().architecture != "x86_64", reason="objects for x86-64 are run"
)
# Features of processors of makers apart: none has all.
RARE = ("xop", "avx512fp16", "fma4", "avxifma", "tbm")
PROGRAM = """
#include "c.h"
#include <cstring>
int main() {
  C c;
  CHECK(c.Run() == %s);
  CHECK(c.Run() == %s);
  CHECK((std::strstr(c.error_msg(), "%s") != nullptr) == %s);
  return failures;
}
"""


def _says(cpp, matmul_text: str, message: str, **target: str) -> None:
    """A program with an object for a target runs, or says what is missing; it never just dies."""
    made = cpp.aot(matmul_text, "C", **target)
    run, said = ("false", "true") if message else ("true", "false")
    cpp.run([PROGRAM % (run, run, message or "processor", said)], [made.object])


@X86_ONLY
def test_a_processor_without_the_instructions_is_told_by_a_message(cpp, matmul_text):
    host = needed_features(Target.host())
    missing = next(feature for feature in RARE if feature not in host)
    target = f"{Target.host().triple},x86-64-v3,+{missing}"
    _says(cpp, matmul_text, f"this processor lacks instructions of x86-64-v3 +{missing}",
          target=target)  # fmt: skip


@X86_ONLY
@pytest.mark.parametrize("target", [{}, {"target": "native"}, {"target": "x86_64-linux-gnu"}])
def test_objects_for_this_processor_run(cpp, matmul_text, target):
    _says(cpp, matmul_text, "", **target)


def test_objects_are_for_machines_of_this_kind_in_general(tmp_path, matmul_text):
    """The code does not depend on the builder's processor; x86-64 has one for AVX-512, too."""
    made = tfc.aot.compile(parse(matmul_text), cpp_class="C", out_dir=tmp_path)
    cpus = {"x86_64": ("x86-64", "x86-64-v3", "x86-64-v4"), "riscv64": ("generic-rv64",)}
    assert made.signature.cpus == cpus.get(made.target.architecture, ("generic",))
    assert made.target == Target.portable()[0]
    assert not made.signature.is_checked


@pytest.mark.parametrize(
    ("cpu", "added"),
    [
        ("x86-64", ""),
        ("x86-64-v2", "popcnt sse3 ssse3 sse4.1 sse4.2"),
        ("x86-64-v3", "popcnt sse3 ssse3 sse4.1 sse4.2 avx avx2 bmi bmi2 f16c fma lzcnt movbe"),
        ("x86-64-v3,-fma,+gfni",
         "popcnt sse3 ssse3 sse4.1 sse4.2 avx avx2 bmi bmi2 f16c lzcnt movbe gfni"),
        ("x86-64-v4",
         "popcnt sse3 ssse3 sse4.1 sse4.2 avx avx2 bmi bmi2 f16c fma lzcnt movbe "
         "avx512f avx512bw avx512cd avx512dq avx512vl"),
    ],
)  # fmt: skip
def test_what_is_checked_is_what_a_processor_has(cpu: str, added: str):
    """The levels as the x86-64 ABI defines them."""
    assert needed_features(Target.parse(f"x86_64-linux-gnu,{cpu}")) == frozenset(added.split())


def test_code_that_needs_nothing_special_checks_nothing(tmp_path, matmul_text):
    checked = {
        "x86_64-linux-gnu,x86-64": False,
        "x86_64-linux-gnu,x86-64-v2": True,
        "aarch64-linux-gnu,neoverse-v1": False,
    }
    for target, is_checked in checked.items():
        made = tfc.aot.compile(parse(matmul_text), cpp_class="C", out_dir=tmp_path, target=target)
        assert (b"tfc_cpuid" in made.object.read_bytes()) == is_checked
        assert ("this processor" in made.header.read_text()) == is_checked


def test_the_processor_at_hand_is_of_this_machine_only():
    assert Target.parse("native") == Target.host()
    assert Target.parse(f"{Target.host().triple},native").cpu == Target.host().cpu
    other = "aarch64" if Target.host().architecture != "aarch64" else "x86_64"
    with pytest.raises(UnsupportedError, match="the processor 'native' is this machine's"):
        Target.parse(f"{other}-linux-gnu,native")


def test_two_processes_make_the_same_object(tmp_path, matmul_text):
    """Byte for byte, whatever order Python's sets have, and whatever was compiled before."""
    for number, target in enumerate(("wasm32-unknown-unknown", "riscv64-linux-gnu")):
        folder = tmp_path / str(number)
        tfc.aot.compile(parse(matmul_text), cpp_class="C", out_dir=folder, target=target)
    made = tfc.aot.compile(parse(matmul_text), cpp_class="C", out_dir=tmp_path / "here")
    (tmp_path / "matmul.hlo").write_text(matmul_text)
    program = (
        "import pathlib, tfc.aot; from tfc.hlo.text.parser import parse; "
        "module = parse(pathlib.Path('matmul.hlo').read_text()); "
        "tfc.aot.compile(module, cpp_class='C', out_dir='there')"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, cwd=tmp_path)
    for file in (made.object, made.header):
        assert file.read_bytes() == (tmp_path / "there" / file.name).read_bytes()
