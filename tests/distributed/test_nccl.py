"""Collectives of GPU programs by NCCL: programs are interpreted, and the binding is a stand-in."""

import inspect
import re
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest
from distributed.launching import HERE, mpiexec

import tfc
from tfc.errors import DriverError, TfcError, UnsupportedError
from tfc.runtime.arrays import ArraySpec
from tfc.runtime.collectives import Collective, Reduction
from tfc.runtime.engines.nccl import library, plans, reductions
from tfc.runtime.engines.nccl.library import Library, version_text

SAID = {
    "missing": r"collectives of GPU programs in a job of processes need NCCL \(.*\): pip install",
    "old": r"NCCL must be 2\.18 or later, got 2\.17\.0: pip install 'tfc\[nccl\]'",
    "same": r"ranks 0 and 1 both use the GPU 0000:01:00\.0 of .*: start at most as many processes",
    "killed": r"tfc: rank 1 was killed or crashed .*; the job ends",
    "stalled": r"rank 0 has waited for 2 s in all-reduce 'total': rank 1 is outside of collectives",
}


def ranks_that_agree(text: str) -> list[int]:
    return sorted(int(n) for n in re.findall(r"rank (\d): \d+ programs agree", text))


@pytest.mark.slow
def test_kinds_and_types_on_two_processes():
    job = mpiexec(2, HERE / "nccl_collectives.py", 4, seconds=900)
    assert (job.returncode, ranks_that_agree(job.stdout)) == (0, [0, 1]), job.stderr


@pytest.mark.slow
def test_groups_among_four_processes():
    job = mpiexec(4, HERE / "nccl_collectives.py", 3, "f32", "pred", "f8e4m3fn", seconds=900)
    assert (job.returncode, ranks_that_agree(job.stdout)) == (0, [0, 1, 2, 3]), job.stderr


@pytest.mark.parametrize(
    "what", ["begun", *(pytest.param(w, marks=pytest.mark.slow) for w in ("training", "host"))]
)
def test_programs_of_two_processes(what: str):
    job = mpiexec(2, HERE / "nccl_programs.py", what)
    assert (job.returncode, ranks_that_agree(job.stdout)) == (0, [0, 1]), job.stderr


@pytest.mark.slow
@pytest.mark.parametrize("fault", SAID)
def test_what_cannot_go_on_ends_the_job_with_a_sentence(fault: str):
    job = mpiexec(2, HERE / "nccl_programs.py", fault, TFC_COLLECTIVES_TIMEOUT="2")
    assert job.returncode != 0
    assert not ranks_that_agree(job.stdout)
    assert re.search(SAID[fault], job.stderr), job.stderr
    assert len(re.findall("^tfc: ", job.stderr, re.MULTILINE)) == 1, job.stderr


def test_nccl_reduces_only_what_it_reduces_as_hlo_does():
    native = reductions.is_native
    assert all(native("add", np.dtype(t)) for t in ("f2", "f4", "f8", ml_dtypes.bfloat16, "c8"))
    assert all(native("minimum", np.dtype(t)) for t in ("i1", "u1", "i4", "u8", "?"))
    assert not any(native("maximum", np.dtype(t)) for t in ("f2", "f4", "f8", ml_dtypes.bfloat16))
    assert not native("add", np.dtype(ml_dtypes.float8_e4m3fn))
    assert not any(native(n, np.dtype("i4")) for n in ("and", "or", "xor", ""))
    assert not native("multiply", np.dtype("c8"))
    assert not native("add", np.dtype("i2"))


def test_what_no_pass_has_prepared_is_refused():
    spec = [ArraySpec(np.dtype("f4"), (2, 4))]
    how = Reduction("maximum", np.maximum)
    largest = Collective("all-reduce", "largest", (0, 1), 0, reduction=how)
    with pytest.raises(
        UnsupportedError, match="NCCL does not reduce float32 by maximum in largest"
    ):
        plans.calls(largest, None, 0, [256], [512], spec)
    apart = Collective("all-gather", "parts", (0, 1), 0, 1)
    with pytest.raises(
        UnsupportedError, match=r"parts goes along dimension 1, .* not the outermost"
    ):
        plans.calls(apart, None, 0, [256], [512], spec)


class Failed(Exception):
    status = 5


def test_what_nccl_says_is_in_the_error(monkeypatch: pytest.MonkeyPatch):
    def fails(*_: object) -> None:
        raise Failed

    ends: list[int] = []
    binding = SimpleNamespace(
        NCCLError=Failed, all_reduce=fails, get_version=lambda: 23203,
        group_start=lambda: None, group_end=lambda: ends.append(1),
        get_error_string=lambda n: f"status {n}", get_last_error=lambda c: "two\nlines",
        comm_get_async_error=lambda c: 6,
    )  # fmt: skip
    monkeypatch.setattr(library, "import_module", lambda name: binding)
    nccl = Library()
    with pytest.raises(DriverError) as caught:
        nccl.ask("all-reduce 'x'", "c", [("all_reduce", ()), ("all_reduce", ())])
    said = "NCCL failed in all-reduce 'x', at all_reduce: status 5; two lines"
    assert (str(caught.value), ends) == (said, [1])  # the group is closed all the same
    assert nccl.broken("c") == "status 6; two lines"
    assert (version_text(23203), version_text(2803)) == ("2.32.3", "2.8.3")


def test_the_engine_is_one_of_those_there_are():
    with pytest.raises(TfcError, match="the engine must be 'mpi', 'nccl' or 'threads', got 'gloo'"):
        tfc.distributed.initialize("gloo")


@pytest.mark.skipif(find_spec("nccl") is None, reason="nccl4py is for Linux")
def test_the_binding_has_what_is_called():
    """nccl4py states the arguments of each function in the first line of its documentation."""
    nccl = import_module("nccl.bindings.nccl")

    counts = {
        "get_version": 0, "get_unique_id": 0, "comm_init_rank": 3, "group_start": 0, "group_end": 0,
        "comm_get_async_error": 1, "get_error_string": 1, "get_last_error": 1, "all_reduce": 7,
        "reduce_scatter": 7, "all_gather": 6, "broadcast": 7, "send": 6, "recv": 6,
    }  # fmt: skip
    for name, count in counts.items():
        stated = re.match(rf"{name}\((.*)\)", inspect.getdoc(getattr(nccl, name)) or "")
        assert stated is not None, name
        assert len(list(filter(None, stated[1].split(",")))) == count, stated[0]
    types, operations = nccl.DataType, nccl.RedOp
    wanted = {
        "int8": types.Int8, "uint8": types.Uint8, "int32": types.Int32, "uint32": types.Uint32,
        "int64": types.Int64, "uint64": types.Uint64, "float16": types.Float16,
        "float32": types.Float32, "float64": types.Float64, "bfloat16": types.Bfloat16,
    }  # fmt: skip
    for name, value in wanted.items():
        found = reductions.native("add", np.dtype(getattr(ml_dtypes, name, name)))
        assert found is not None
        assert (found.datatype, found.operation) == (value, operations.Sum)
    assert [
        operations.Sum, operations.Prod, operations.Max, operations.Min
    ] == [reductions.SUM, reductions.PRODUCT, reductions.MAXIMUM, reductions.MINIMUM]  # fmt: skip
    assert (nccl.Result.Success, nccl.Result.InProgress) == (0, 7)
    assert nccl.unique_id_dtype.itemsize == 128
    assert nccl.UniqueId.from_buffer(bytearray(128)).ptr
