"""Benchmarks for GPUs: cases compute what JAX does, runs are written, and need a GPU."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from cuda_bindings import FakeCuda, installed

from benchmarks.gpu import _fault, arguments_of, build_case, main, of_jax, of_tfc
from benchmarks.gpu_cases import CASES, GpuCase
from benchmarks.gpu_page import page, row_text
from tfc.backends.gpu.assembler import programs
from tfc.errors import UnsupportedError

ROOT = Path(__file__).parents[1]


@pytest.fixture
def no_assembler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bundles have PTX, which the interpreter runs."""

    def find(name: str) -> Path:
        raise UnsupportedError(f"there is no {name}")

    monkeypatch.setattr(programs, "find_program", find)


def test_keys_are_unique_and_name_files():
    keys = [case.key for case in CASES]
    assert len(set(keys)) == len(keys) > 30
    assert all(Path(key).name == key for key in keys)


def test_without_a_gpu_the_command_says_so():
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "gpu.py")],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "here" in done.stderr


def check(case: GpuCase, folder: Path) -> None:
    """Check the small form of a case against JAX."""
    build_case(folder, case, ["sm_80"], small=True)
    arrays = arguments_of(case, small=True)
    with installed():
        ready = {"tfc": of_tfc(case, arrays, folder), "jax": of_jax(case, arrays, small=True)}
        ready["tfc"].call()
        assert _fault(case, ready) == ""


# Cases that differ in size alone have one small form. Two networks take minutes to interpret.
DISTINCT = {
    (case.group, case.small, re.sub(r"\d+", "", case.name)): case
    for case in CASES
    if not case.name.startswith(("ResNet", "GPT-2"))
}


@pytest.mark.usefixtures("no_assembler")
@pytest.mark.slow
@pytest.mark.parametrize("case", DISTINCT.values(), ids=lambda case: case.key)
def test_a_case_computes_what_jax_does(case: GpuCase, tmp_path: Path):
    check(case, tmp_path)


@pytest.mark.usefixtures("no_assembler")
def test_a_run_is_written_case_by_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    fake = FakeCuda()
    fake.replaced["cuMemAlloc"] = lambda size: (0, fake.machine.allocate(min(size, 1 << 16)))
    fake.replaced["cuMemcpyDtoDAsync"] = lambda *_: (0,)
    folder, results = tmp_path / "bundles", tmp_path / "results.json"
    common = ["--bundles", str(folder), "--results", str(results), "--small", "--only", "call"]
    assert main(["--build", str(folder), "--gpu-arch", "sm_80", "--small", "--only", "call"]) == 0
    with installed(fake):
        assert main([*common, "--peers", "jax,torch", "--docs", str(tmp_path / "p.md")]) == 0
    found = json.loads(results.read_text())
    assert [row["name"] for row in found["rows"]] == ["one number"]
    (row,) = found["rows"]
    assert row["fault"] == ""
    assert {"tfc", "jax"} <= set(row["seconds"])
    assert "call: one number │ tfc" in capsys.readouterr().out
    assert "| one number |" in (tmp_path / "p.md").read_text()


def test_what_went_wrong_stands_in_its_row():
    row = {
        "group": "gemm", "name": "large", "flops": 2e12, "bytes": 0.0, "fault": "",
        "seconds": {"tfc": 1e-3, "torch": 2e-3}, "problems": {"jax": "ValueError: no"},
    }  # fmt: skip
    text = row_text(row, 1e12)
    assert "2000.0 TFLOP/s" in text
    assert "2.00 × PyTorch" in text
    assert "JAX: ValueError: no" in text
    wrong = {**row, "fault": "result 0 is off", "seconds": {"tfc": 1e-3}}
    made = page({"device": "a GPU", "copy": 1e12, "rows": [wrong, {**row, "seconds": {}}]})
    assert "1.000 ms (wrong)" in made
    assert "| large | not run |" in made


def test_values_are_of_the_dtypes_that_cases_name():
    case = next(c for c in CASES if c.name.startswith("bf16"))
    assert [a.dtype for a in arguments_of(case, small=True)] == [ml_dtypes.bfloat16] * 2
    scatter = next(c for c in CASES if c.name.startswith("scatter"))
    table, places, _ = arguments_of(scatter, small=True)
    assert places.dtype == np.int32
    assert 0 <= places.min() <= places.max() < len(table)
