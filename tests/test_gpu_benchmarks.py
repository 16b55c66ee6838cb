"""Benchmarks for GPUs: cases compute what JAX does, runs are written, and need a GPU."""

import ast
import importlib
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
        "seconds": {"tfc": 1e-3, "torch": 2e-3}, "problems": {"jax": "ValueError: no"}, "first": {},
    }  # fmt: skip
    text = row_text(row, 1e12)
    assert "2000.0 TFLOP/s" in text
    assert "2.00 × PyTorch" in text
    assert "JAX: ValueError: no" in text
    wrong = {**row, "fault": "result 0 is off", "seconds": {"tfc": 1e-3}}
    made = page({"device": "a GPU", "copy": 1e12, "rows": [wrong, {**row, "seconds": {}}]})
    assert "1.000 ms (wrong)" in made
    assert "| large | not run |" in made
    assert "first calls" not in made


def test_a_page_tells_shares_of_the_fastest_product_and_what_first_calls_take():
    row = {
        "group": "gemm", "name": "bfloat16 large", "flops": 6e11, "bytes": 0.0, "fault": "",
        "seconds": {"tfc": 1e-3, "torch": 0.75e-3}, "problems": {}, "first": {"tfc": 0.05},
    }  # fmt: skip
    made = page({"device": "a GPU", "copy": 1e12, "rows": [row]})
    assert "did 800 TFLOP/s" in made
    assert "| 1.000 ms | 600.0 TFLOP/s, 75% | 0.750 ms (0.75 ×) |" in made
    assert "| gemm: bfloat16 large | 50.000 ms |" in made


# The kernels in Triton with the types of their arguments, as the cases have them.
TRITON: list[tuple[str, str, dict[str, int]]] = [
    ("product_kernel", "*bf16 *bf16 *bf16 i32 i32 i32",
     {"INSIDE": 1, "DOWN": 8, "ROWS": 128, "COLUMNS": 256, "DEPTH": 64}),
    ("product_kernel", "*fp32 *fp32 *fp32 i32 i32 i32",
     {"INSIDE": 0, "DOWN": 8, "ROWS": 64, "COLUMNS": 64, "DEPTH": 32}),
    ("add_kernel", "*fp32 *fp32 *fp32 i32", {"LINE": 1024}),
    ("multiply_and_add_kernel", "*bf16 *bf16 *bf16 i32", {"LINE": 1024}),
    ("gelu_kernel", "*fp32 *fp32 i32", {"LINE": 1024}),
    ("softmax_kernel", "*fp32 *fp32 i32", {"WIDTH": 4096}),
    ("layer_norm_kernel", "*fp32 *fp32 *fp32 *fp32 i32", {"WIDTH": 4096}),
    *(("attention_kernel", "*bf16 *bf16 *bf16 *bf16 i32 i32 fp32",
       {"CAUSAL": causal, "SIZE": 128, "ROWS": 128, "KEYS": 64}) for causal in (0, 1)),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("name", "types", "constants"), TRITON)
def test_kernels_in_triton_compile_for_an_h100(name: str, types: str, constants: dict[str, int]):
    triton = pytest.importorskip("triton")
    pytest.importorskip("torch")
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    kernel = getattr(importlib.import_module("benchmarks.gpu_triton"), name)
    kernel = getattr(kernel, "fn", kernel) if "autotune" in type(kernel).__module__ else kernel
    signature = dict(zip(kernel.arg_names, types.split())) | dict.fromkeys(constants, "constexpr")
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32))
    assert made.asm["ptx"].count(".entry") == 1


def test_kernels_in_triton_are_those_that_cases_name():
    tree = ast.parse((ROOT / "benchmarks" / "gpu_triton.py").read_text())
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    named = {case.triton for case in CASES} - {""}
    assert named <= functions
    assert {name for name in functions if name.endswith("_kernel")} == {n for n, _, _ in TRITON}


def test_values_are_of_the_dtypes_that_cases_name():
    case = next(c for c in CASES if c.name.startswith("bf16"))
    assert [a.dtype for a in arguments_of(case, small=True)] == [ml_dtypes.bfloat16] * 2
    scatter = next(c for c in CASES if c.name.startswith("scatter"))
    table, places, _ = arguments_of(scatter, small=True)
    assert places.dtype == np.int32
    assert 0 <= places.min() <= places.max() < len(table)
