"""The command `tfc`: what each command prints, and that errors are one sentence."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from cuda_bindings import installed

from tfc import __version__
from tfc.backends.gpu.driver import using
from tfc.backends.gpu.driver.with_cuda_bindings import open_driver
from tfc.cli import tfc as command
from tfc.testing.ptx.driver import InterpretedDriver

ROOT = Path(__file__).parents[2]
SOFTMAX = str(ROOT / "examples" / "softmax.hlo")
SQUARE = """ENTRY square {
  x = f32[3] parameter(0)
  ROOT y = f32[3] multiply(x, x)
}
"""


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(command, arguments, input=stdin)


def results(made: Result) -> str:
    """What a run printed but for its last line, which says how long it took."""
    shown, _, last = made.output.rstrip("\n").rpartition("\n")
    assert last.startswith("compiled in ")
    return shown


def test_many_elements_are_summed_up():
    text = "ENTRY e { ROOT x = f32[50,40] iota(), iota_dimension=0 }"
    lines = results(run("run", "-", stdin=text)).splitlines()
    assert lines == ["result 0: f32[50,40]", "min 0, max 49, mean 24.5",
                     "first: [0. 0. 0. 0. 0. 0. 0. 0. ...]"]  # fmt: skip
    few = run("run", "-", stdin="ENTRY e { x = f32[20] parameter(0)\n ROOT y = f32[20] log(x) }")
    assert "NaN" in results(few).splitlines()[1]


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_run_prints_results_of_given_arguments(backend: str, tmp_path: Path):
    np.save(tmp_path / "x.npy", np.array([1, 2, 3], np.float32))
    for argument in ("{1, 2, 3}", str(tmp_path / "x.npy")):
        made = run("run", "-", "--backend", backend, "--arg", argument, stdin=SQUARE)
        assert made.exit_code == 0
        assert results(made) == "result 0: f32[3]\n[1. 4. 9.]"


def test_random_arguments_depend_on_the_seed_alone():
    first, again, other = (results(run("run", SOFTMAX, "--seed", s)) for s in "112")
    assert first == again != other
    timed = run("run", SOFTMAX, "--time", "3")
    assert "3 calls: median" in timed.output


@pytest.mark.parametrize(
    ("stage", "backend", "part"),
    [
        ("hlo", "cpu", "ROOT %softmax = f32[128,256]{1,0} divide(%powers, %scale)"),
        ("optimized", "cpu", "kind=kInput"),
        ("mlir", "cpu", "scf.for"),
        ("llvm", "cpu", "define"),
        ("asm", "cpu", "ret"),
        ("mlir", "gpu", "gpu.func"),
        ("ptx", "gpu", ".visible .entry divide_0("),
    ],
)
def test_every_stage_can_be_printed(stage: str, backend: str, part: str):
    made = run("emit", SOFTMAX, "--stage", stage, "--backend", backend)
    assert made.exit_code == 0, made.output
    assert part in made.output


def test_emit_for_another_machine_writes_a_file(tmp_path: Path):
    path = tmp_path / "softmax.s"
    made = run("emit", SOFTMAX, "--stage", "asm", "--target", "aarch64-linux-gnu", "-o", str(path))
    assert (made.exit_code, made.output) == (0, "")
    assert "fadd" in path.read_text()
    assert [p.name for p in tmp_path.iterdir()] == ["softmax.s"]


def test_output_of_opt_is_accepted_by_run():
    optimised = run("opt", SOFTMAX, "--passes", "simplify,fusion")
    assert optimised.exit_code == 0
    assert "fusion(" in optimised.output
    made = run("run", "-", stdin=optimised.output)
    assert made.exit_code == 0, made.output
    assert results(made) == results(run("run", SOFTMAX))


@pytest.mark.parametrize(("backend", "kernels"), [("cpu", 1), ("gpu", 1)])
def test_opt_runs_the_passes_of_a_backend(backend: str, kernels: int):
    made = run("opt", SOFTMAX, "--backend", backend)
    assert made.output.count(" fusion(") == kernels
    emitted = run("emit", SOFTMAX, "--stage", "optimized", "--backend", backend)
    assert emitted.output == made.output


def test_opt_shows_each_change_and_what_it_took(tmp_path: Path):
    made = run("opt", SOFTMAX, "--print-after-all", "--stats", "--dump-dir", str(tmp_path))
    assert made.exit_code == 0
    assert "// after" in made.stderr
    assert "fusion" in made.stderr
    dumps = sorted(tmp_path.glob("*.hlo"))
    assert dumps
    (tmp_path / "99.older.hlo").write_text("what an earlier run left")
    again = run("opt", SOFTMAX, "--print-after-all", "--dump-dir", str(tmp_path))
    assert "earlier run" not in again.stderr
    assert run("opt", str(dumps[0])).exit_code == 0
    listed = run("opt", "--list")
    assert all(name in listed.output for name in ("simplify", "cse", "max_instructions=128"))


def test_compile_for_gpus_writes_a_bundle_and_says_what_is_wrong(tmp_path: Path):
    out = str(tmp_path / "softmax")
    asked = ["compile", SOFTMAX, "--backend", "gpu"]
    made = run(*asked, "-o", out, "--gpu-arch", "sm_80", "--cpp-class", "demo::Softmax")
    assert made.exit_code == 0
    assert [line.split(" ")[0] for line in made.output.splitlines()] == [
        f"{out}{end}" for end in (".gpu", "_gpu.py", ".h", ".cc")
    ]
    for wrong, message in (
        ([], "missing option '-o'"),
        (["-o", out, "--gpu-arch", "sm_12"], "written as sm_80 or later"),
        (["-o", out, "--target", "native"], "for CPUs"),
    ):
        made = run(*asked, *wrong)
        assert made.exit_code != 0
        assert message in made.output
    assert "missing option '--cpp-class'" in run("compile", SOFTMAX).output


def test_compile_writes_header_and_object(tmp_path: Path):
    made = run("compile", SOFTMAX, "--cpp-class", "demo::Softmax", "--out-dir", str(tmp_path))
    assert made.exit_code == 0, made.output
    assert sorted(p.name for p in tmp_path.iterdir()) == ["softmax.h", "softmax.o"]


def test_less_exact_products_are_permitted_for_a_command(tmp_path: Path):
    text = """ENTRY e {
  x = f32[2,2] parameter(0)
  ROOT y = f32[2,2] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}"""
    (tmp_path / "product.hlo").write_text(text)
    command = "emit", str(tmp_path / "product.hlo"), "--stage", "hlo"
    permitted = run(*command, "--matmul-precision", "tensorfloat32").output
    assert "algorithm=dot_tf32_tf32_f32" in permitted
    assert "algorithm" not in run(*command).output
    refused = run(*command, "--matmul-precision", "fast")
    assert refused.exit_code == 2
    assert "got 'fast'" in refused.output


def test_constants_that_the_text_leaves_out_can_be_filled(tmp_path: Path):
    text = "ENTRY e { w = f32[3] constant({...})\n ROOT y = f32[3] add(w, w) }"
    (tmp_path / "elided.hlo").write_text(text)
    file = str(tmp_path / "elided.hlo")
    refused = run("run", file)
    assert refused.exit_code == 1
    assert "the elements of the constant w are left out" in refused.output
    iota, zeros = (results(run("run", file, f"--fill-constants={k}")) for k in ("iota", "zeros"))
    assert iota == "result 0: f32[3]\n[0. 2. 4.]"
    assert zeros == "result 0: f32[3]\n[0. 0. 0.]"
    first, again, other = (
        results(run("run", file, f"--fill-constants{seed}"))
        for seed in ("", "=random", "=random:1")
    )
    assert first == again != other
    assert (
        "constant({0, 1, 2})" in run("opt", file, "--passes", "dce", "--fill-constants=iota").output
    )
    assert run("emit", file, "--stage", "asm", "--fill-constants").exit_code == 0
    made = run("compile", file, "--cpp-class", "A", "--out-dir", str(tmp_path), "--fill-constants")
    assert made.exit_code == 0, made.output
    assert "random:SEED, not with 'ones'" in run("run", file, "--fill-constants=ones").output


def test_tiled_layouts_are_read_and_printed_but_not_compiled(tmp_path: Path):
    text = "ENTRY e { x = f32[2]{0:T(8)} parameter(0)\n ROOT y = f32[2]{0:T(8)} negate(x) }"
    (tmp_path / "tiled.hlo").write_text(text)
    printed = run("emit", str(tmp_path / "tiled.hlo"), "--stage", "hlo")
    assert "negate(%x)" in printed.output
    for command_line in (["run"], ["emit", "--stage", "asm"], ["compile", "--cpp-class", "A"]):
        made = run(command_line[0], str(tmp_path / "tiled.hlo"), *command_line[1:])
        assert made.exit_code == 1
        assert "x has the tiled layout f32[2]{0:T(8)}, for which no code can be made" in made.output


def test_doctor_examines_this_machine():
    made = run("doctor")
    assert made.exit_code == 0, made.output
    assert all(word in made.output for word in ("llvmlite", "MLIR", "backends", "passed"))


def test_doctor_tries_programs_on_a_gpu_where_there_is_one(monkeypatch: pytest.MonkeyPatch):
    with using(InterpretedDriver()):
        made = run("doctor")
        assert "run on interpreter of PTX as sm_80" in made.output
        assert "the same by backend='gpu': passed" in made.output
        assert made.exit_code == 0
        monkeypatch.setattr(InterpretedDriver, "launch", lambda *_, **__: None)
        made = run("doctor")
        assert "the same by backend='gpu': failed: the sums are wrong" in made.output
        assert made.exit_code == 1


@pytest.mark.parametrize(("version", "said"), [(13000, "on the GPU"), (12020, "the host decides")])
def test_doctor_says_who_decides_about_loops_on_a_gpu(version: int, said: str):
    with installed() as cuda, using(open_driver()):
        cuda.version = version
        assert said in run("doctor").output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "none.hlo"], "No such file or directory: none.hlo"),
        (["run", "."], "Is a directory"),
        (["run", "-"], "<stdin>:3:19: unknown operation 'multply'"),
        (["run", SOFTMAX, "--backend", "tpu"], "there is no backend 'tpu'"),
        (["run", SOFTMAX, "--arg", "{1}"], "--arg 0:1:"),
        (["run", SOFTMAX, "--arg", "none.npy"], "No such file or directory: none.npy"),
        (["opt", SOFTMAX, "--passes", "simplfy"], "there is no pass 'simplfy'"),
        (["opt", SOFTMAX, "--passes", "fusion{depth=1}"], "fusion has no option 'depth'"),
        (["emit", SOFTMAX, "--stage", "ptx"], "no stage 'ptx'"),
        (["emit", SOFTMAX, "--stage", "asm", "--target", "z80"], "z80"),
        (["emit", SOFTMAX, "--stage", "asm", "--target", "x86_64-linux-gnu,foo"], "'foo'"),
        (["emit", SOFTMAX, "--stage", "hlo", "-o", f"{SOFTMAX}/x"], "softmax.hlo/x: Not a"),
        (["compile", SOFTMAX, "--cpp-class", "a b"], "identifiers"),
    ],
)
def test_errors_are_one_sentence_on_stderr(arguments: list[str], message: str):
    made = run(*arguments, stdin=SQUARE.replace("multiply", "multply"))
    assert made.exit_code == 1
    assert made.stderr.startswith("error: ")
    assert message in made.stderr
    assert "Traceback" not in made.output
    assert made.stdout == ""


@pytest.mark.parametrize("content", [b"", b"text", b"\x93NUMPY\x01\x00v\x00"])
def test_array_files_that_are_none_are_errors(content: bytes, tmp_path: Path):
    (tmp_path / "x.npy").write_bytes(content)
    made = run("run", SOFTMAX, "--arg", str(tmp_path / "x.npy"))
    assert made.exit_code == 1
    assert "x.npy is no .npy file of numbers" in made.stderr
    assert "Traceback" not in made.output


@pytest.mark.parametrize(
    ("dims", "message"),
    [("9999999999,9999999999", "fewer than 2^63 bytes"), ("999999999999", "not enough memory")],
)
def test_arrays_that_fit_no_memory_are_errors(dims: str, message: str):
    text = f"ENTRY m {{ x = f32[{dims}] parameter(0) ROOT y = f32[{dims}] negate(x) }}"
    made = run("run", "-", stdin=text)
    assert made.exit_code == 1
    assert message in made.stderr
    assert "Traceback" not in made.output


@pytest.mark.parametrize("arguments", [["run"], ["emit", SOFTMAX], ["opt"], ["nonsense"]])
def test_usage_errors_exit_with_2(arguments: list[str]):
    assert run(*arguments).exit_code == 2


def test_help_shows_examples_and_version_is_printed():
    assert "tfc emit examples/softmax.hlo --stage ptx" in run("--help").output
    assert run("--version").output == f"tfc {__version__}\n"


def test_a_reader_that_stops_early_is_no_error():
    """As in `tfc emit … | head`, in a process of its own."""
    script = f"{sys.executable} -m tfc emit {SOFTMAX} --stage asm | head -n 1"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert done.returncode == 0
    assert done.stderr == ""
