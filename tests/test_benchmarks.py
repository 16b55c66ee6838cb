"""The benchmarks: every case computes what NumPy does, and failures stay in their row."""

import ctypes
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from benchmarks.case import Case, Torch, leaves, map_leaves, normal, shared
from benchmarks.cases import CASES, find
from benchmarks.command import main
from benchmarks.limits import dot_code, stream_code
from benchmarks.measure import Plan, expected, fault, measure, task_of
from benchmarks.page import page
from benchmarks.peers import PEERS, Library, Peer
from benchmarks.protocol import BenchmarkError, Failed, Prepared, Task
from benchmarks.report import duration, print_run, sheets, summary
from benchmarks.results import Measured, Row, Run, load
from benchmarks.worker import Worker
from benchmarks.workers import RemoteWorker, pinned
from tfc.backends.llvm.compilation import compile_ir
from tfc.backends.target import Target

ROOT = Path(__file__).parents[1]
TFC = next(peer for peer in PEERS if peer.name == "tfc")
NUMPY = next(peer for peer in PEERS if peer.name == "NumPy")
PLAN = Plan(rounds=3, sample_seconds=0.001, budget=1, compile_rounds=2, processes=1)
ADD = find("calls: 2 × 8 floats")

# Rows that differ from another one only in size, or in what is measured of it.
TWINS = ("gemm f32: 1", "gemm f32: 2", "gemm f32: 5", "gemm f32, skinny", "gemm f32, tiny",
         "networks: MLP 784-512-512-10, batch 64", "networks: BERT-base, 12",
         "cold compilation: chain", "cold compilation: ResNet",
         "cold compilation: BERT")  # fmt: skip

SLOW = ("networks", "cold compilation", "compilation in a new process")


def is_quick(case: Case) -> bool:
    """Whether a case is the first of its group, and no long one."""
    group = case.key.partition(":")[0]
    first = next(c for c in CASES if c.key.partition(":")[0] == group)
    return case is first and not case.key.startswith(SLOW)


@pytest.fixture(autouse=True, scope="module")
def what_other_tests_left_is_not_collected() -> Iterator[None]:
    """Workers collect garbage before they measure; all that lies about here would take seconds."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def test_the_keys_of_cases_are_unique():
    assert len({case.key for case in CASES}) == len(CASES) > 60


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.key, marks=() if is_quick(case) else pytest.mark.slow)
        for case in CASES
        if not case.key.startswith(TWINS)
    ],
)
def test_tfc_computes_every_case_as_the_reference_does(case: Case):
    task = task_of(case, small=True)
    prepared = Worker(TFC.load(1)).answer(task)
    assert isinstance(prepared, Prepared), prepared
    assert not fault(case, prepared.results, expected(case, task.arguments))
    assert prepared.steady
    assert prepared.compile_seconds > 0


def test_cases_can_tell_wrong_results():
    case = find("rows: softmax 4096²")
    wanted = expected(case, case.small())
    right = [w.astype(np.float32) for w in wanted]
    assert not fault(case, right, wanted)
    assert "off by" in fault(case, [right[0] * np.float32(1 + 1e-4)], wanted)
    assert "off by" in fault(case, [np.full_like(right[0], np.nan)], wanted)
    assert "dimensions" in fault(case, [right[0].T], wanted)
    assert "dimensions" in fault(case, [*right, *right], wanted)


def test_references_without_numpy_are_in_double_precision():
    case = find("convolution: 3×3, 8×56×56×64")
    assert case.numpy is None
    (result,) = expected(case, case.small())
    assert result.dtype == np.float64
    x, w = (a.astype(np.float64) for a in case.small())
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
    np.testing.assert_allclose(result, np.einsum("nhwiab,abio->nhwo", windows, w), rtol=1e-9)


def test_arguments_are_the_same_at_each_draw():
    case = find("indexed: scatter-add 8192 to 50 k × 256")
    for one, other in zip(leaves(case.small()), leaves(case.small()), strict=True):
        np.testing.assert_array_equal(one, other)


def test_leaves_and_map_leaves_keep_the_order_of_jax():
    tree = {"b": [1, (2, 3)], "a": 4}
    assert leaves(tree) == [4, 1, 2, 3]
    assert map_leaves(lambda n: -n, tree) == {"b": [-1, (-2, -3)], "a": -4}


# Workers.


def test_a_worker_that_fails_answers_with_the_reason_and_goes_on():
    broken = replace(ADD, numpy=lambda np: 1 / 0)
    cases = {"broken": broken, ADD.key: ADD}
    worker = Worker(NUMPY.load(1), cases.__getitem__)
    assert worker.answer(Task("broken", (), "")) == Failed("ZeroDivisionError: division by zero")
    assert isinstance(worker.answer(0.001), Failed)
    prepared = worker.answer(task_of(ADD, small=True))
    np.testing.assert_array_equal(prepared.results[0], np.add(*ADD.small()))
    assert prepared.compile_seconds is None
    assert worker.answer(0.001) > 0
    assert worker.answer(None) is None


def _script(code: str) -> RemoteWorker:
    """A process that answers with `code`, which has a connection `c` and a message `m`."""
    start = "import sys, time, os; from multiprocessing.connection import Connection as C"
    loop = f"c = C(int(sys.argv[1]))\nwhile True:\n    m = c.recv()\n    {code}"
    return RemoteWorker((sys.executable, "-c", f"{start}\n{loop}"), 1, 10)


def test_a_process_that_dies_is_reported_and_started_again():
    worker = _script("os.kill(os.getpid(), 9) if m == 'die' else c.send(m)")
    assert worker.ask(1) == 1
    assert worker.ask("die") == Failed(f"the process ended with {-signal.SIGKILL}: no message")
    assert worker.ask(2) == 2
    worker.stop()


def test_the_last_words_of_a_process_are_its_reason():
    answer = _script("sys.exit('out of paper')").ask(1)
    assert answer == Failed("the process ended with 1: out of paper")


def test_a_process_that_does_not_answer_is_given_up():
    worker = _script("time.sleep(60) if m == 'sleep' else c.send(m)")
    assert worker.ask(1) == 1
    worker.timeout = 0.2
    assert worker.ask("sleep") == Failed("no answer in 0 s")
    worker.timeout = 10
    assert worker.ask(3) == 3
    worker.stop()


def test_a_library_in_its_own_process_is_pinned_and_measured():
    worker = RemoteWorker.of("NumPy", 1, 60)
    prepared = worker.ask(task_of(ADD, small=True))
    np.testing.assert_array_equal(prepared.results[0], np.add(*ADD.small()))
    assert 0 < worker.ask(0.001) < 1
    worker.stop()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="cores cannot be chosen here")
def test_pinned_chooses_as_many_cores_as_threads_and_gives_the_others_back():
    before = os.sched_getaffinity(0)
    with pinned(1):
        assert len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == before
    with pytest.raises(BenchmarkError, match="1000 threads need as many cores"), pinned(1000):
        pass


# Limits.


@pytest.mark.parametrize("inputs", [1, 2])
def test_streams_add_their_inputs(inputs):
    lanes = max(Target.host().lanes(32), 1)
    code = compile_ir(stream_code(lanes, inputs, True), Target.host()).load()
    count = 8 * lanes * 3
    memory = np.arange(3 * count + 16, dtype=np.float32)
    start = memory.ctypes.data
    start += -start % 64
    first = (start - memory.ctypes.data) // 4
    result, one, other = (memory[first + n * count :][:count] for n in range(3))
    wanted = one + other if inputs == 2 else one.copy()
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)(code.address("stream"))
    function(count, *(start + 4 * n * count for n in range(3)))
    np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize(("name", "instruction"), [("dot16", "vdpbf16ps"), ("dot8", "vpdpbusd")])
def test_dot_products_are_the_instructions_of_the_processor(name, instruction):
    target = Target.parse("x86_64-unknown-linux-gnu,znver5,+avx512bf16,+avx512vnni")
    assert compile_ir(dot_code(name), target).assembly.count(instruction) >= 12


# Rows.


class Answers:
    """A worker with given answers: to a Task, and to whatever follows."""

    def __init__(self, first, sample):
        self.first, self.sample = first, sample

    def ask(self, message):
        if message is None:
            return None
        return self.first if isinstance(message, Task) else self.sample


def test_a_row_has_what_was_measured_and_why_the_rest_was_not():
    right = [np.add(*ADD.arguments())]
    wrong = [right[0] + 1]
    workers = {
        "tfc": Answers(Prepared(right, True, 0.5, 7), 2e-6),
        "NumPy": Answers(Prepared(right, True, None, None), 3e-6),
        "JAX": Answers(Prepared(wrong, True, None, None), 1e-6),
        "IREE": Answers(Failed("no such operation"), 1e-6),
        "PyTorch": Answers(Prepared(right, False, None, None), Failed("gone")),
    }
    row = measure(ADD, workers, {"ONNX Runtime": "not installed"}, PLAN)
    assert row.peers["tfc"] == Measured([2e-6], 2e-6, 0.5, 7)
    assert row.ratio("NumPy") == row.ratio("best") == pytest.approx(1.5)
    assert str(row.peers["JAX"]).startswith("failed: wrong: off by")
    assert row.peers["IREE"] == "failed: no such operation"
    assert row.peers["PyTorch"] == "failed: gone"
    assert row.peers["ONNX Runtime"] == "not installed"
    assert row.ratio("JAX") is None


def test_results_of_tfc_that_differ_from_call_to_call_are_wrong():
    right = [np.add(*ADD.arguments())]
    row = measure(ADD, {"tfc": Answers(Prepared(right, False, 0.5, 7), 1e-6)}, {}, PLAN)
    assert row.peers["tfc"] == "failed: wrong: the second call gave other bits than the first"


def test_what_is_not_installed_is_known_without_loading_it():
    assert not Peer("none", "none", ("numpy", "no_such_module")).is_installed()
    assert not Peer("none", "none", ("no_such_package.inner",)).is_installed()
    assert NUMPY.is_installed()
    assert NUMPY.version() == np.__version__


def test_every_peer_but_the_first_can_have_no_statement():
    bare = Case("a", "b", shared(np.add), normal((3,)), normal((3,)))
    assert [p.name for p in PEERS if p.has(bare)] == ["tfc", "JAX", "IREE"]
    stated = replace(bare, torch=Torch(np.add, exported=False))
    assert {p.name for p in PEERS if p.has(stated)} == {
        "tfc", "JAX", "IREE", "PyTorch", "torch.compile"
    }  # fmt: skip
    assert issubclass(type(TFC.load(1)), Library)


# Reports.

RUN = Run(
    {"processor": "one of them", "cores": "2"}, {"tfc": "1.0", "JAX": "2.0", "IREE": ""}, 2, True,
    {"fma32": 100e9, "read": 20e9, "copy": 30e9},
    [
        Row("gemm", "64³", 1e9, "GFLOP/s", "fma32", {"best": 1.0, "share": 0.9},
            {"tfc": Measured([0.0125], 0.01, 0.5, 2**20),
             "JAX": Measured([0.025], 0.02, 0.25, None), "IREE": "not installed"}),
        Row("gemm", "128³", 2e9, "GFLOP/s", "fma32", {"JAX": 1.5},
            {"tfc": Measured([0.2], 0.1), "JAX": Measured([0.1], 0.1), "IREE": "not installed"}),
        Row("sort", "1 M", 0.0, "", "", {"best": 1.0},
            {"tfc": "failed: no such | operation", "JAX": Measured([2e-6], 1e-6)}),
    ],
)  # fmt: skip


def test_ratios_shares_and_means():
    first, second, third = RUN.rows
    assert first.ratio("JAX") == pytest.approx(2)
    assert first.share(RUN.limits) == pytest.approx(0.8)
    assert first.missed(RUN.limits) == ["share"]
    assert second.missed(RUN.limits) == ["JAX"]
    assert third.ratio("JAX") is None
    assert third.missed(RUN.limits) == []
    assert RUN.mean("JAX") == (pytest.approx(1), 2)
    assert RUN.mean("IREE") is None


def test_processes_are_joined_by_the_median_of_their_medians():
    fast, slow, usual = (Measured([s], s / 2, s * 10, None) for s in (1.0, 8.0, 2.0))
    rows = [replace(RUN.rows[0], peers={"tfc": m, "JAX": m}) for m in (fast, slow, usual)]
    joined = rows[0].joined(rows[1]).joined(rows[2]).peers["tfc"]
    assert joined == Measured([1.0, 8.0, 2.0], 0.5, 10.0, None)
    assert isinstance(joined, Measured)
    assert (joined.median, joined.spread) == (2.0, 8.0)
    text = page([replace(RUN, rows=[rows[0].joined(rows[1])])])
    assert "| 64³ | 4.5 s (500 ms) × 8.00 |" in text
    failed = replace(rows[0], peers={"tfc": fast, "JAX": "failed: gone"})
    assert (
        rows[1].joined(failed).peers["JAX"] == failed.joined(rows[1]).peers["JAX"] == "failed: gone"
    )


def test_who_is_far_behind_is_measured_in_one_process():
    first, second = RUN.rows[0], replace(RUN.rows[0], peers={"tfc": Measured([1.0], 1.0)})
    assert first.contenders(1.5) == ["tfc", "JAX"]
    slow = replace(first, peers={**first.peers, "IREE": Measured([0.04], 0.04)})
    assert slow.contenders(1.5) == ["tfc", "JAX"]
    assert slow.contenders(1.7) == ["tfc", "JAX", "IREE"]
    assert slow.joined(second).peers["IREE"] == Measured([0.04], 0.04)


def test_a_run_comes_back_from_its_file(tmp_path):
    RUN.save(tmp_path / "run.json")
    assert load(tmp_path / "run.json") == RUN
    (tmp_path / "run.json").write_text('{"rows": [1]}')
    with pytest.raises(BenchmarkError, match="holds no run"):
        load(tmp_path / "run.json")


def test_the_page_of_a_run():
    text = page([RUN, replace(RUN, threads=1, quick=False)])
    assert "## 2 threads, a quick run" in text
    assert "## 1 thread\n" in text
    assert "| processor | one of them |" in text
    assert "| IREE | not installed |" in text
    assert "| 64³ | 12.5 ms | 80 GFLOP/s | **80%** | 2.00 | not installed | 2.00 JAX |" in text
    assert "| 128³ | 200 ms | 10 GFLOP/s | 10% | **0.50** | not installed | 0.50 JAX |" in text
    assert "| 1 M: tfc | no such \\| operation |" in text
    assert "Geometric mean against JAX (XLA): 1.00 over 2 rows (aim 2.0)." in text
    for line in text.splitlines():
        assert not line.startswith("|") or line.endswith("|")


def test_the_tables_in_a_terminal():
    console = Console(width=200, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    print_run(console, RUN)
    text = console.export_text()
    for sheet in sheets(RUN):
        assert sheet.title in text
        assert all(len(cells) == len(sheet.columns) for _, _, cells in sheet.rows)
    assert "2.00 JAX" in text
    assert "1 rows could not be measured with tfc and are in no mean." in text
    assert all(line in text for line in summary(RUN) if len(line) < 200)


def test_durations_have_three_digits_and_a_unit():
    seconds = (1.2345e-6, 0.9996e-3, 0.5, 12.345)
    assert [duration(s) for s in seconds] == ["1.23 µs", "1 ms", "500 ms", "12.3 s"]


def test_the_command_reports_what_was_saved(tmp_path):
    RUN.save(tmp_path / "run.json")
    script = [sys.executable, ROOT / "benchmarks" / "run.py"]
    made = subprocess.run(
        [*script, "--load", tmp_path / "run.json", "--docs", tmp_path / "page.md"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert "How many times faster tfc is" in made.stdout
    assert (tmp_path / "page.md").read_text() == page([RUN])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "no such row"], "no row matches no such row"),
        (["--load", "no/such/file"], "No such file"),
    ],
)
def test_the_command_says_what_is_wrong(arguments, message):
    with pytest.raises(SystemExit, match=message):
        main(arguments)


def test_an_unknown_peer_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--peers", "numpi"])
    assert "no peer is called numpi" in capsys.readouterr().err
