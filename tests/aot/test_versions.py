"""Objects with code for several processors: which of it runs where, and what it computes."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import tfc
import tfc.aot
import tfc.numpy as tnp
from tfc.aot.tfcompile import tfcompile
from tfc.backends.cpu.runtime.processor_check import needed_features
from tfc.backends.target import Target
from tfc.cli import tfc as tfc_command
from tfc.errors import TfcError, UnsupportedError
from tfc.hlo.text.parser import parse

X86_ONLY = pytest.mark.skipif(
    Target.host().architecture != "x86_64", reason="objects for x86-64 are run"
)
RANDOM = np.random.default_rng(0)
WEIGHTS = RANDOM.normal(0, 0.3, (64, 40)).astype(np.float32)
INPUT = RANDOM.normal(0, 1, (8, 64)).astype(np.float32)


def layer(x):
    return tfc.nn.softmax(tnp.tanh(x @ WEIGHTS))


def expected() -> np.ndarray:
    hidden = np.tanh(INPUT.astype(np.float64) @ WEIGHTS)
    powers = np.exp(hidden - hidden.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


PROGRAM = """
#include "layer.h"
#include <cstdio>
#include <cstring>
static const float input[] = {%s};
int main() {
  Layer layer;
  std::printf("%%s\\n", Layer::cpu());
  std::memcpy(layer.arg0_data(), input, sizeof input);
  if (!layer.Run()) {
    std::printf("%%s\\n", layer.error_msg());
    return 1;
  }
  std::fwrite(layer.result0_data(), 1, layer.result0_size(), stdout);
  return std::strlen(Layer::cpu()) == 0;
}
"""


def program(cpp, **named) -> Path:
    """A C++ program that says what runs in it, and what that computes."""
    made = tfc.aot.compile(
        layer, INPUT, cpp_class="Layer", name="layer", out_dir=cpp.folder, **named
    )
    text = PROGRAM % ", ".join(f"{x!r}f" for x in INPUT.ravel().tolist())
    built = cpp.build([text], [made.object])
    assert built.returncode == 0, built.stderr
    return cpp.folder / "program"


def run(program: Path, *emulator: str) -> tuple[int, str, bytes]:
    """Exit status, which version ran, and what else was written."""
    done = subprocess.run([*emulator, program], capture_output=True, check=False, timeout=60)
    cpu, _, rest = done.stdout.partition(b"\n")
    return done.returncode, cpu.decode(), rest


def as_one_of(cpu: str) -> bytes:
    """What code for one processor gives, in this process."""
    target = Target.parse(f"{Target.host().triple},{cpu}")
    module = tfc.jit(layer).lower(INPUT).hlo
    return np.asarray(tfc.compile(module, target=target)(INPUT)).tobytes()


def has_all_of(cpu: str) -> bool:
    """Whether the processor at hand has what another one has."""
    target = Target.parse(f"{Target.host().triple},{cpu}")
    return needed_features(target) <= needed_features(Target.host())


def emulated(cpu: str) -> tuple[str, ...]:
    if shutil.which("qemu-x86_64") is None:
        pytest.skip("qemu-x86_64 is not installed")
    return "qemu-x86_64", "-cpu", cpu


@X86_ONLY
def test_each_processor_runs_what_it_can(cpp):
    """By default: the widest vectors that there are, and nothing of AVX where it is not."""
    made = program(cpp)
    for processor, cpu in (("Nehalem", "x86-64"), ("Haswell", "x86-64-v3")):
        status, ran, data = run(made, *emulated(processor))
        assert (status, ran) == (0, cpu)
        np.testing.assert_allclose(
            np.frombuffer(data, np.float32).reshape(8, 40), expected(), rtol=5e-6
        )
        assert data == as_one_of(cpu)
    cpus = ("x86-64-v4", "x86-64-v3", "x86-64")
    assert run(made)[1] == next(cpu for cpu in cpus if has_all_of(cpu))


@X86_ONLY
def test_the_emulated_processor_dies_of_what_it_lacks(cpp):
    """So that the test before this one says something."""
    source = 'int main() { __asm__ volatile("vpaddd %ymm0, %ymm0, %ymm0"); return 0; }'
    assert cpp.build([source], []).returncode == 0
    assert run(cpp.folder / "program", *emulated("Nehalem"))[0] != 0
    assert run(cpp.folder / "program", *emulated("Haswell"))[0] == 0


@X86_ONLY
def test_a_processor_that_can_run_no_version_is_told(cpp):
    made = program(cpp, cpus=["x86-64-v3", "x86-64-v4"])
    status, ran, said = run(made, *emulated("Nehalem"))
    assert (status, ran) == (1, "")
    assert b"lacks instructions of x86-64-v3" in said
    assert run(made, *emulated("Haswell"))[:2] == (0, "x86-64-v3")


@X86_ONLY
def test_the_last_that_fits_is_taken_in_any_order_of_the_list(cpp):
    """Also in programs for threads and with counters, whose entry points are others."""
    made = program(cpp, cpus="x86-64-v3, x86-64, x86-64-v2", threads=4, profile=True)
    found = [run(made, *emulated(p)) for p in ("core2duo", "Nehalem", "SandyBridge", "Haswell")]
    assert [cpu for _, cpu, _ in found] == ["x86-64", "x86-64-v2", "x86-64-v2", "x86-64-v3"]
    assert [data for _, _, data in found[::3]] == [as_one_of("x86-64"), as_one_of("x86-64-v3")]


def test_versions_share_the_weights(tmp_path):
    """A second and a third version add code, and no bytes of weights."""
    sizes = [
        tfc.aot.compile(
            layer, INPUT, cpp_class="Layer", out_dir=tmp_path, target="x86_64-linux-gnu", cpus=cpus
        ).object.read_bytes()
        for cpus in ("x86-64", "x86-64,x86-64-v3", "x86-64,x86-64-v3,x86-64-v4")
    ]
    for data in sizes:
        assert data.count(WEIGHTS[0, :8].tobytes()) == 1


def test_what_runs_is_said_in_the_header_and_in_json(tmp_path):
    made = tfc.aot.compile(
        layer, INPUT, cpp_class="Layer", out_dir=tmp_path, target="x86_64-linux-gnu", describe=True
    )
    said = json.loads((tmp_path / "layer.json").read_text())
    assert said["cpus"] == ["x86-64", "x86-64-v3", "x86-64-v4"] == list(made.signature.cpus)
    assert said["target"]["cpu"] == "x86-64" == made.target.cpu
    assert not said["checks_processor"]
    header = made.header.read_text()
    assert "code for x86-64, x86-64-v3, x86-64-v4: the first Run() takes the last" in header


@pytest.mark.parametrize(
    ("target", "cpus", "names"),
    [
        ("aarch64-linux-gnu", "", ["generic"]),
        ("aarch64-linux-gnu", "neoverse-n1", ["neoverse-n1"]),
        ("riscv64-linux-gnu", "", ["generic-rv64 +m +a +f +d +c"]),
        ("x86_64-pc-windows-gnu", "", ["x86-64", "x86-64-v3", "x86-64-v4"]),
        ("x86_64-apple-macosx", "", ["x86-64", "x86-64-v3", "x86-64-v4"]),
        ("x86_64-linux-gnu,x86-64", "", ["x86-64"]),
        ("x86_64-linux-gnu", "x86-64-v4", ["x86-64-v4"]),
    ],
)
def test_what_is_left_open_is_the_machine_in_general(tmp_path, matmul_text, target, cpus, names):
    made = tfc.aot.compile(
        parse(matmul_text), cpp_class="C", out_dir=tmp_path, target=target, cpus=cpus
    )
    assert list(made.signature.cpus) == names


@pytest.mark.parametrize(
    ("target", "cpus", "error", "message"),
    [
        ("aarch64-linux-gnu", "generic,neoverse-n1", UnsupportedError, "of x86-64 at a time"),
        ("x86_64-linux-gnu", "x86-64-v3,x86-64-v3", TfcError, "would never run"),
        ("x86_64-linux-gnu", "x86-64,x86-64-v9", UnsupportedError, "no processor 'x86-64-v9'"),
        ("x86_64-linux-gnu", "x86-64,", TfcError, "an empty name"),
        ("x86_64-linux-gnu,x86-64-v3", "x86-64", TfcError, "names a processor already"),
    ],
)
def test_lists_that_cannot_be_are_refused(tmp_path, matmul_text, target, cpus, error, message):
    with pytest.raises(error, match=message):
        tfc.aot.compile(
            parse(matmul_text), cpp_class="C", out_dir=tmp_path, target=target, cpus=cpus
        )
    assert not list(tmp_path.iterdir())


def test_the_commands_take_lists(tmp_path, matmul_text, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("matmul.hlo").write_text(matmul_text)
    triple, cpus = "x86_64-linux-gnu", "x86-64,x86-64-v4"
    flags = ["--graph", "matmul.hlo", "--cpp_class", "C", "--target_triple", triple]
    done = CliRunner().invoke(tfcompile, [*flags, "--cpu", cpus, "--out_json", "c.json"])
    assert done.exit_code == 0, done.output
    assert json.loads(Path("c.json").read_text())["cpus"] == cpus.split(",")
    done = CliRunner().invoke(
        tfc_command,
        ["compile", "matmul.hlo", "--cpp-class", "C", "--target", triple, "--cpu", cpus],
    )
    assert done.exit_code == 0, done.output
    assert "x86-64 or x86-64-v4)" in done.output
    done = CliRunner().invoke(tfcompile, [*flags, "--cpu", cpus, "--target_cpu", "x86-64"])
    assert done.exit_code == 1
    assert "in place of --target_cpu" in done.output
