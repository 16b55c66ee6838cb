"""Conformance packs: what is built runs without tfc, and says of each program what came of it.

The GPU is the interpreter behind a stand-in for cuda-bindings, in worker processes; programs whose
code says so in a comment fault, hang or end their process there.
"""

import hashlib
import io
import json
import lzma
import os
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from cuda_bindings import FakeCuda, installed

import tfc.numpy as tnp
from tfc.aot.gpu.bundles import archive_of
from tfc.aot.gpu.loader.drivers import open_driver
from tfc.backends.gpu.assembler import programs
from tfc.cli import tfc as command
from tfc.errors import UnsupportedError
from tfc.hlo.text.parser import parse
from tfc.testing.conformance.cases.case import Case, Unit, normal, whole
from tfc.testing.conformance.cases.networks import case_of
from tfc.testing.conformance.cases.units import all_units
from tfc.testing.conformance.expected import as_expected, expected_results
from tfc.testing.conformance.packing import Forms, build_pack
from tfc.testing.conformance.runner.packs import Pack, PackError
from tfc.testing.conformance.runner.processes import WorkerProcess, WorkerRefused
from tfc.testing.conformance.runner.reports import ConformanceReport
from tfc.testing.conformance.runner.running import variant_runs_on
from tfc.testing.conformance.runner.worker import run_program

TESTS = Path(__file__).parents[1]
DRIVER = f"""
import os, sys, time
sys.path[:0] = [{str(TESTS)!r}, {str(TESTS.parent)!r}]
from cuda_bindings import FakeCuda

class Driver(FakeCuda):
    \"\"\"After a fault every function fails, as on a GPU; the context is lost.\"\"\"

    behaviour, is_lost = b"", False

    def cuModuleLoadData(self, code):
        self.behaviour = next((b for b in (b"fault", b"hang", b"crash") if b"// " + b in code), b"")
        return super().cuModuleLoadData(code)

    def cuLaunchKernel(self, *arguments):
        if self.behaviour == b"hang":
            time.sleep(1000)
        if self.behaviour == b"crash":
            print("a last word", file=sys.stderr, flush=True)
            os.abort()
        return super().cuLaunchKernel(*arguments)

    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        if not name.startswith("cu") or name == "cuuint64_t":
            return found
        if name == "cuLaunchKernel" and self.behaviour == b"fault":
            self.is_lost = True
        if self.is_lost and name != "cuGetErrorString":
            return lambda *arguments: (719, None)
        return found

sys.modules[__name__] = Driver()
"""
PTX = Forms((), "", every_ptx=("sm_80",))


def small_cases() -> list[Case]:
    """Programs that pass, one of them with arguments that are drawn."""
    x = normal("f32", 40)
    double = [case_of(f"double/{n}", "doubles", lambda x, n=n: x * (n + 2), [x]) for n in range(4)]
    exponential = case_of("exp", "functions", tnp.exp, [normal("f32", 300)])
    return [*double, exponential]


@pytest.fixture
def no_assembler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code is PTX, which the interpreter runs."""

    def find(name: str) -> Path:
        raise UnsupportedError(f"there is no {name}")

    monkeypatch.setattr(programs, "find_program", find)


@pytest.fixture
def pack(tmp_path: Path, no_assembler: None) -> Path:
    """A pack of a few programs."""
    built = build_pack(tmp_path / "pack", [Unit("small", small_cases)], PTX)
    assert (built.programs, built.defects, dict(built.refused)) == (5, [], {})
    return tmp_path / "pack"


def altered(folder: Path, changes: dict[str, Callable[[bytes], bytes]]) -> None:
    """Change members of a pack's only group, named by the program's number and what it is."""
    path = folder / "programs.zip"
    with zipfile.ZipFile(path) as archive:
        outer = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(io.BytesIO(lzma.decompress(outer["000.xz"]))) as archive:
        inner = {name: archive.read(name) for name in archive.namelist()}
    for name, change in changes.items():
        inner[name] = change(inner[name])
    outer["000.xz"] = lzma.compress(archive_of(inner, is_compressed=False))
    path.write_bytes(archive_of(outer, is_compressed=False))


def that_does(what: str) -> Callable[[bytes], bytes]:
    """A change of a bundle, whose code has a comment then that the stand-in obeys."""

    def change(bundle: bytes) -> bytes:
        with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        manifest = json.loads(members["manifest.json"])
        (code,) = manifest["programs"][0]["code"]
        text = members[code["member"]] = members[code["member"]] + f"\n// {what}\n".encode()
        code |= {"bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}
        members["manifest.json"] = json.dumps(manifest).encode()
        return archive_of(members, is_compressed=False)

    return change


def run(folder: Path, *options: str, gpu: bool = True) -> tuple[int, dict[str, Any], str]:
    """The exit code of a pack's script without tfc, its report, and all that it printed."""
    results, environment = folder.parent / "results.json", dict(os.environ)
    environment["PYTHONPATH"] = str(folder.parent / "stand-in") if gpu else ""
    bindings = folder.parent / "stand-in" / "cuda" / "bindings"
    bindings.mkdir(parents=True, exist_ok=True)
    (bindings.parent / "__init__.py").touch()
    (bindings / "__init__.py").touch()
    (bindings / "driver.py").write_text(DRIVER)
    done = subprocess.run(
        [sys.executable, str(folder / "run.py"), "--results", str(results), *options],
        capture_output=True, text=True, check=False, env=environment, cwd=folder.parent,
    )  # fmt: skip
    report = json.loads(results.read_text()) if results.exists() else {}
    return done.returncode, report, done.stdout + done.stderr


@pytest.mark.slow
def test_each_program_that_goes_wrong_costs_itself_and_is_explained(pack: Path):
    altered(pack, {
        "0/result0": lambda raw: raw[:8] + np.float32(77).tobytes() + raw[12:],
        "1/sm_80.ptx": that_does("fault"), "2/sm_80.ptx": that_does("crash"),
    })  # fmt: skip
    code, report, printed = run(pack, "--workers", "1")
    assert code == 1
    assert report["counts"] == {"wrong": 1, "failed": 2, "passed": 2}
    assert [row[0] for row in report["passed"]] == ["double/3", "exp"]
    wrong, fault, crash = report["bad"]
    assert (wrong["name"], wrong["wrong"][0]["wrong"]) == ("double/0", 1)
    assert wrong["wrong"][0]["first"][0]["at"] == [2]
    assert wrong["wrong"][0]["first"][0]["wanted"] == "77.0"
    assert fault["why"].endswith("unspecified launch failure")
    assert "signal 6" in crash["why"]
    assert "a last word" in crash["why"]
    assert "double/1 (sm_80.ptx)" in printed
    text = (pack.parent / "results.txt").read_text()
    assert text in printed
    assert "doubles" in text


@pytest.mark.slow
def test_a_program_that_hangs_is_ended_after_its_time(pack: Path):
    altered(pack, {"1/sm_80.ptx": that_does("hang")})
    code, report, _ = run(pack, "--only", "double/1", "--timeout", "0.5")
    assert code == 1
    (row,) = report["bad"]
    assert (row["outcome"], row["why"]) == ("hung", "no answer within 0.5 s")


# A worker that runs no programs: it hangs in the first one.
_HANGS = """
import json, sys, time
print(json.dumps({"ready": [9, 0]}), flush=True)
for line in sys.stdin:
    if json.loads(line)["program"] == 0:
        time.sleep(1000)
    print(json.dumps({"outcome": "passed"}), flush=True)
"""


@pytest.mark.slow
def test_the_program_after_one_that_hangs_runs_in_a_new_process():
    worker = WorkerProcess([sys.executable, "-c", _HANGS], 2.0)
    assert worker.ask(0, "")["outcome"] == "hung"
    assert worker.ask(1, "") == {"outcome": "passed"}
    assert worker.starts == 2
    worker.finish()
    with pytest.raises(WorkerRefused, match="exit code 5: no luck"):
        WorkerProcess(["sh", "-c", "echo no luck >&2; exit 5"], 2.0).start()


@pytest.mark.slow
def test_a_run_that_is_cut_off_says_what_is_left(pack: Path):
    code, report, printed = run(pack, "--limit-seconds", "0")
    assert (code, report["wanted"], report["counts"]) == (3, 5, {})
    assert "time was up before 5 more" in printed


@pytest.mark.slow
def test_parts_of_a_pack_are_run_and_shown(pack: Path):
    code, report, _ = run(pack, "--only", "doubles", "--shard", "2/2", "--workers", "2")
    assert (code, [row[0] for row in report["passed"]]) == (0, ["double/1", "double/3"])


def test_a_program_is_shown_without_a_gpu(pack: Path):
    code, _, printed = run(pack, "--show", "exp", gpu=False)
    assert (code, str(parse(printed)).count("exponential(")) == (0, 1)


@pytest.mark.slow
def test_without_a_gpu_a_pack_or_such_programs_a_run_says_so_in_a_sentence(pack: Path):
    for options, gpu, said in (
        (["--only", "nothing"], True, "no program of the pack is of what was asked for"),
        (["--pack", "nowhere"], True, "cannot read nowhere/programs.zip: No such file"),
        ([], False, "NVIDIA's driver"),
    ):
        code, _, printed = run(pack, *options, gpu=gpu)
        assert code == 2
        assert said in printed.splitlines()[-1]
        assert "Traceback" not in printed


def test_a_damaged_pack_is_refused(pack: Path):
    path = pack / "programs.zip"
    content = path.read_bytes()
    newer = archive_of({"index.json": b'{"format": 9}'}, is_compressed=False)
    for damaged in (b"", content[:100], newer, archive_of({}, is_compressed=False)):
        path.write_bytes(damaged)
        with pytest.raises(PackError, match=r"programs\.zip"):
            Pack(pack)


def test_a_graph_that_does_nothing_is_told_by_the_bits_that_memory_was_filled_with(pack: Path):
    fake, opened = FakeCuda(), Pack(pack)
    fake.replaced["cuGraphLaunch"] = lambda *_: (0,)
    about = opened.programs[0]
    with installed(fake):
        row = run_program(opened.group(0), about, "sm_80.ptx", open_driver())
    assert row["outcome"] == "unsteady"
    assert row["why"].startswith("the run as a graph differs from the first run: ")
    assert fake.machine.allocated == 0


def test_what_a_program_reads_and_never_wrote_differs_from_run_to_run(pack: Path):
    fake, opened = FakeCuda(), Pack(pack)
    fake.replaced["cuLaunchKernel"] = lambda *_: (0,)
    with installed(fake):
        row = run_program(opened.group(0), opened.programs[0], "sm_80.ptx", open_driver())
    assert row["outcome"] == "wrong"  # which says more than that it is not steady
    assert row["why"].startswith("the second run differs")


SANITIZER = """#!/bin/sh
log="$4"
if [ "$2" = racecheck ]; then echo no such tool >&2; exit 7; fi
echo "========= Invalid __global__ read of size 4" > "$log"
shift 4
"$@"
echo "========= ERROR SUMMARY: 1 error" >> "$log"
"""


@pytest.mark.slow
def test_sanitizers_run_a_few_programs_of_each_kind(
    pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "bin").mkdir()
    tool = tmp_path / "bin" / "compute-sanitizer"
    monkeypatch.setenv("PATH", f"{tool.parent}{os.pathsep}{os.environ['PATH']}")
    tool.write_text(SANITIZER)
    tool.chmod(tool.stat().st_mode | stat.S_IEXEC)
    code, report, printed = run(pack, "--sanitizer", "memcheck,racecheck", "--each", "1")
    assert code == 1
    found = report["sanitizer"]["memcheck"]
    assert found["summary"] == "1 errors in 2 of 2 programs"
    assert found["said"][:2] == ["double/0 (sm_80.ptx):",
                                 "    ========= Invalid __global__ read of size 4"]  # fmt: skip
    assert "Invalid __global__ read" in printed
    assert "exit code 7: no such tool" in report["sanitizer"]["racecheck"]["summary"]


def test_large_results_are_compared_by_exact_sums(tmp_path: Path, no_assembler: None):
    a, b = whole("f32", 20, 8), whole("f32", 8, 12, seed=2)
    made = case_of("folded", "products", lambda a, b: a @ b, [a, b])
    case = Case("folded", "products", made.module, [a, b], folded=True,
                wanted=lambda a, b: [a @ b])  # fmt: skip
    build_pack(tmp_path / "pack", [Unit("one", lambda: [case])], PTX)
    opened = Pack(tmp_path / "pack")
    with installed():
        row = run_program(opened.group(0), opened.programs[0], "sm_80.ptx", open_driver())
        assert row["outcome"] == "passed"
        wrong = np.frombuffer(opened.group(0).expected(opened.programs[0], 0, "rows")).copy()
        wrong[3] += 1
        altered(tmp_path / "pack", {"0/rows0": lambda raw: wrong.tobytes()})
        opened = Pack(tmp_path / "pack")
        row = run_program(opened.group(0), opened.programs[0], "sm_80.ptx", open_driver())
    assert row["outcome"] == "wrong"
    assert row["wrong"][0]["first"][0]["at"] == {"rows": [3], "columns": []}


def test_what_rounding_moves_is_allowed_and_no_more():
    module = parse("""HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] exponential(x)
  c = f32[] constant(1)
  one = f32[4] broadcast(c), dimensions={}
  z = f32[4] subtract(y, one)
  p = pred[4] compare(y, one), direction=GT
  ROOT t = (f32[4], pred[4]) tuple(z, p)
}""")
    difference, above = expected_results(module, [np.array([0, 1e-7, 1, 80], np.float32)])
    assert difference.allowed is not None
    assert above.allowed is not None
    # Near 1 the difference is all rounding, and which is larger is open; elsewhere neither is.
    assert (difference.allowed > -30).tolist()[:2] == [True, True]
    assert 2.0 ** difference.allowed[3] < 1e-5 * np.exp(80)
    assert (above.allowed != -(1 << 15)).tolist() == [True, True, False, False]
    exact = as_expected(np.array([1, 2], np.int32))
    assert (exact.relative, exact.absolute, exact.allowed) == (0, 0, None)


def test_programs_that_only_copy_and_those_with_layouts_are_among_them(
    tmp_path: Path, no_assembler: None
):
    texts = ["ROOT y = f32[3,2] slice(x), slice={[1:4],[0:2]}", "ROOT y = f32[4,2]{0,1} negate(x)"]
    cases = []
    for number, text in enumerate(texts):
        layout = "{0,1}" if number else ""
        module = parse(
            f"HloModule m\nENTRY e {{\n  x = f32[4,2]{layout} parameter(0)\n  {text}\n}}"
        )
        cases.append(Case(str(number), "copies", module, [np.arange(8.0, dtype="f").reshape(4, 2)]))
    built = build_pack(tmp_path / "pack", [Unit("one", lambda: cases)], PTX)
    assert (built.programs, built.defects) == (2, [])
    opened = Pack(tmp_path / "pack")
    for about in opened.programs:
        with installed():
            row = run_program(opened.group(0), about, "sm_80.ptx", open_driver())
        assert row["outcome"] == "passed", row


@pytest.mark.parametrize(("has_sums", "units"), [(False, 4), (True, 1)])
def test_distances_are_told_in_units_of_the_last_place(
    tmp_path: Path, no_assembler: None, has_sums: bool, units: int
):
    """From the reference, and from what the interpreter gives for the same code: nothing here."""
    x = np.array([1, 2, 4], np.float32)
    made = case_of("twice", "functions", lambda x: x * 2, [x])
    case = Case("twice", "functions", made.module, [x], measured="twice f32", has_sums=has_sums)
    built = build_pack(tmp_path / "pack", [Unit("one", lambda: [case])], Forms((), "sm_80"))
    assert built.defects == []
    # Of the first element, which is 2: the fourth number after it, which is one unit of 8.
    off = (np.float32(2) + 4 * np.spacing(np.float32(2))).tobytes()
    altered(tmp_path / "pack", {"0/result0": lambda raw: off + raw[4:]})
    opened = Pack(tmp_path / "pack")
    with installed():
        row = run_program(opened.group(0), opened.programs[0], "sm_80.ptx", open_driver())
    (found,) = row["units"]
    assert (found["expected"], found["interpreted"]) == (units, 0)
    report = ConformanceReport({})
    report.rows.append({**row, "name": "twice", "kind": "functions", "measured": "twice f32"})
    assert report.accuracy()["twice f32"]["expected_in"] == "twice"
    assert "twice f32" in report.as_text()


@pytest.mark.parametrize(("variant", "runs"), [
    ("sm_90a.cubin", [(9, 0)]), ("sm_80.cubin", [(8, 0), (8, 6)]), ("sm_100.cubin", [(10, 0)]),
    ("sm_80.ptx", [(8, 0), (8, 6), (9, 0), (10, 0)]), ("sm_90a.ptx", [(9, 0)]), ("sm_90", []),
])  # fmt: skip
def test_code_runs_on_the_gpus_that_it_is_for(variant: str, runs: list[tuple[int, int]]):
    gpus = [(8, 0), (8, 6), (9, 0), (10, 0)]
    assert [g for g in gpus if variant_runs_on(variant, g)] == runs


def test_units_have_names_of_their_own():
    names = [unit.name for unit in all_units()]
    assert len(set(names)) == len(names) > 100


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", [u for u in all_units(0.05) if not u.name.startswith(("op-", "random-"))],
    ids=lambda u: u.name,
)  # fmt: skip
def test_names_of_programs_are_unique_and_arguments_fit(unit: Unit):
    cases = unit.cases()
    assert len({case.name for case in cases}) == len(cases) > 0
    for case in cases:
        shapes = [p.array_shape for p in case.module.entry.parameters]
        for array, shape in zip(case.arrays(), shapes, strict=True):
            assert (array.shape, array.dtype) == (shape.dims, shape.element_type.dtype), case.name


@pytest.mark.slow
def test_the_command_builds_a_pack_that_passes_on_the_interpreter(tmp_path: Path):
    folder = tmp_path / "pack"
    options = ["--only", "random-bits,op-reverse,loops", "--ptx-only", "--gpu-arch", "sm_80"]
    done = CliRunner().invoke(command, ["conformance", str(folder), *options, "--processes", "1"])
    assert done.exit_code == 0, done.output
    code, report, printed = run(folder, "--timeout", "300")
    assert code == 0, printed
    assert report["counts"]["passed"] > 30


@pytest.mark.slow
def test_machine_code_is_of_the_architectures_that_are_asked_for(tmp_path: Path):
    built = build_pack(tmp_path, [Unit("small", small_cases)], Forms(("sm_90a",), "sm_80", 4))
    assert built.programs == 5
    variants = [p["variants"] for p in Pack(tmp_path).programs]
    assert variants == [["sm_80.ptx", "sm_90a.cubin"], *[["sm_90a.cubin"]] * 3,
                        ["sm_80.ptx", "sm_90a.cubin"]]  # fmt: skip


def test_no_unit_of_a_name_is_an_error():
    done = CliRunner().invoke(command, ["conformance", "nowhere", "--only", "nothing"])
    assert done.exit_code != 0
    assert not Path("nowhere").exists()
