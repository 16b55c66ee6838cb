"""Profiles: what ran, how often, how long, and as a share of what the machine can do."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import tfc
import tfc.numpy as tnp
from tfc.backends.cpu.runtime.timing import MOST_EVENTS
from tfc.cli import tfc as command
from tfc.errors import ShapeError, TfcError, UnsupportedError
from tfc.hlo.text.parser import parse
from tfc.passes.analysis.cost import KernelCost
from tfc.tools.profiling import KernelProfile, Level, Peaks, Profile
from tfc.tools.profiling.probe import measure_peaks

ROOT = Path(__file__).parents[2]
SOFTMAX = str(ROOT / "examples" / "softmax.hlo")
PEAKS = Peaks({32: 100e9, 64: 50e9}, (Level("L1", 1000, 200e9), Level("memory", np.inf, 10e9)))
STEPS = 300


@tfc.jit
def layers(params, x):
    for w, b in params:
        x = tnp.tanh(x @ w + b)
    return x


@tfc.jit
def looping(x):
    return tfc.fori_loop(0, STEPS, lambda i, v: tnp.sin(v) + i, x)


def params():
    generator = np.random.default_rng(0)
    return [(generator.standard_normal((64, 64), np.float32), np.ones(64, np.float32))] * 3


def test_every_kernel_of_a_function_is_there_once():
    x = np.ones((32, 64), np.float32)
    profile = tfc.profile(layers, params(), x, runs=3, peaks=PEAKS)
    compiled = layers.lower(params(), x).compile()
    costs = {k.name: k for k in compiled.cost_analysis().kernels}
    assert {k.name for k in profile.kernels} == set(costs)
    assert all(k.runs == 1 for k in profile.kernels)
    assert all(k.operations == costs[k.name].flops + costs[k.name].transcendentals
               for k in profile.kernels)  # fmt: skip
    assert 0 < profile.kernel_seconds < profile.seconds < 60
    seconds = [k.seconds for k in profile.kernels]
    assert seconds == sorted(seconds, reverse=True)
    assert profile.runs == 3


def test_kernels_in_loops_are_counted_and_added_up():
    profile = tfc.profile(looping, np.ones(4096, np.float32), runs=2, peaks=PEAKS)
    runs = {k.runs for k in profile.kernels if k.cost.transcendentals}
    assert runs == {STEPS}
    assert max(k.runs for k in profile.kernels) == STEPS + 1  # the condition
    assert len(profile.events) == sum(k.runs for k in profile.kernels)


def test_events_are_bounded_counts_are_not():
    steps = MOST_EVENTS
    endless = tfc.jit(lambda x: tfc.fori_loop(0, steps, lambda i, v: v + 1, x))
    profile = tfc.profile(endless, np.zeros(8192, np.float32), runs=1, peaks=PEAKS)
    assert len(profile.events) == MOST_EVENTS
    assert max(k.runs for k in profile.kernels) == steps + 1


def test_profiling_leaves_the_program_and_its_results_alone():
    x = np.linspace(0, 1, 64, dtype=np.float32).reshape(1, 64)
    compiled = layers.lower(params(), x).compile()
    before, text = compiled(params(), x), compiled.as_text("mlir")
    assert "clock_gettime" not in text
    tfc.profile(compiled, params(), x, runs=1, peaks=PEAKS)
    assert compiled.as_text("mlir") == text
    np.testing.assert_array_equal(compiled(params(), x), before)


def test_what_is_copied_is_a_row_of_its_own():
    # A parameter that is returned must be copied into the result.
    module = parse("ENTRY e { x = f32[1000] parameter(0) n = f32[1000] negate(x)"
                   " ROOT t = (f32[1000], f32[1000]) tuple(n, x) }")  # fmt: skip
    profile = tfc.profile(tfc.compile(module), np.ones(1000, np.float32), runs=1, peaks=PEAKS)
    (copy,) = (k for k in profile.kernels if k.cost.kind == "copy")
    assert (copy.name, copy.cost.bytes_read, copy.cost.bytes_written) == ("t (copy)", 4000, 4000)


def test_a_copy_that_threads_share_is_a_row_of_its_own(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tfc.backends.cpu.compiler.sharing_cores", lambda: 2)
    module = parse("ENTRY e { x = f32[100000] parameter(0) u = f32[10] parameter(1)"
                   " i = s32[] parameter(2)"
                   " ROOT t = f32[100000] dynamic-update-slice(x, u, i) }")  # fmt: skip
    arguments = np.ones(100000, np.float32), np.zeros(10, np.float32), np.int32(7)
    profile = tfc.profile(tfc.compile(module), *arguments, runs=1, peaks=PEAKS)
    assert sorted(k.name for k in profile.kernels) == ["t", "t (copy)"]


def test_calls_of_functions_outside_are_timed():
    tfc.register_custom_call("tests.profile.double", lambda x: x * 2)
    module = parse("ENTRY e { x = f32[3] parameter(0) ROOT y = f32[3] custom-call(x), "
                   'custom_call_target="tests.profile.double" }')  # fmt: skip
    profile = tfc.profile(tfc.compile(module), np.ones(3, np.float32), runs=2, peaks=PEAKS)
    (row,) = profile.kernels
    assert (row.name, row.cost.kind, row.runs) == ("y", "custom-call", 1)


def sample() -> Profile:
    node = parse("ENTRY e { x = f32[3] parameter(0) ROOT y = f32[3] negate(x) }").entry.root
    small = KernelProfile(KernelCost(node, "small", "dot", 1, 4000, 0, 400, 100), "f", 2, 1e-6)
    large = KernelProfile(KernelCost(node, "large", "copy", 1, 0, 0, 10_000, 0), "g", 1, 2e-6, 64)
    return Profile("p", (large, small), 4e-6, 5, PEAKS, (("small", 100, 200), ("large", 200, 450)))


def test_the_share_of_the_limit_is_the_roofline():
    large, small = sample().kernels
    # Two runs of 4000 operations at 100 GFLOP/s: 80 ns of 1 µs; the bytes would take 5 ns.
    assert small.share_of_limit(PEAKS) == pytest.approx(0.08)
    assert (small.flops_per_second, small.bytes_per_second) == (8e9, 1e9)
    assert large.share_of_limit(PEAKS) == pytest.approx(0.5)  # 10 kB at 10 GB/s: 1 µs of 2
    assert PEAKS.least_seconds(100e9, 1, 64) == 2
    assert [PEAKS.level(n).name for n in (2000, 2001)] == ["L1", "memory"]


def test_the_table_is_aligned_and_says_all():
    lines = str(sample()).split("\n")
    assert " ".join(lines[0].split()) == "kernel kind runs ms share GFLOP/s GB/s of limit"
    assert lines[1].split() == ["large", "copy", "1", "0.0020", "50.0%", "5.00", "50%"]
    assert lines[2].split() == ["small", "dot", "2", "0.0010", "25.0%", "8.00", "1.00", "8%"]
    assert len({len(line) for line in lines[:3]}) == 1
    assert lines[3].startswith("p: 0.0040 ms (best of 5), 75% in 2 kernels")
    assert lines[4].startswith("one core: 100.0 GFLOP/s in f32")


def test_the_trace_is_that_of_the_format(tmp_path: Path):
    sample().save(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert [(e["name"], e["ts"], e["dur"]) for e in spans] == [
        ("small", 0.1, 0.1), ("large", 0.2, 0.25),
    ]  # fmt: skip
    assert all({"name", "cat", "ph", "ts", "dur", "pid", "tid", "args"} <= set(e) for e in spans)
    assert {e["name"] for e in trace["traceEvents"] if e["ph"] == "M"} == {
        "process_name", "thread_name",
    }  # fmt: skip
    with pytest.raises(TfcError, match="cannot write"):
        sample().save(tmp_path / "none\0" / "trace.json")


def test_events_of_a_run_follow_one_another_inside_it():
    profile = tfc.profile(layers, params(), np.ones((1, 64), np.float32), runs=1, peaks=PEAKS)
    ends = 0
    for _, begin, end in profile.events:
        assert ends <= begin <= end
        ends = end
    assert ends <= profile.seconds * 1e9 + 1


def test_the_peaks_of_this_machine_make_sense():
    peaks = measure_peaks()
    assert peaks.flops[32] > 1e8
    rates = [level.bytes_per_second for level in peaks.levels]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] > 1e7
    assert peaks.levels[-1].capacity == np.inf


def test_what_cannot_be_profiled_is_refused():
    module = parse("ENTRY e { x = f32[3] parameter(0) ROOT y = f32[3] negate(x) }")
    x = np.ones(3, np.float32)
    with pytest.raises(UnsupportedError, match="does not time its kernels; use backend='cpu'"):
        tfc.profile(tfc.compile(module, "interpreter"), x)
    with pytest.raises(TfcError, match="to profile, got function"):
        tfc.profile(lambda v: v, x)
    with pytest.raises(TfcError, match="at least one run, got 0"):
        tfc.profile(tfc.compile(module), x, runs=0)
    with pytest.raises(ShapeError):
        tfc.profile(tfc.compile(module), np.ones(4, np.float32))
    several = parse("HloModule m, replica_count=2\nENTRY e { ROOT x = f32[3] parameter(0) }")
    with pytest.raises(UnsupportedError, match="of one device"):
        tfc.profile(tfc.compile(several), x)


def test_imported_programs_can_be_profiled():
    double = tfc.from_stablehlo("""func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
      %y = stablehlo.add %x, %x : tensor<3xf32>
      return %y : tensor<3xf32>
    }""")
    profile = tfc.profile(double, np.ones(3, np.float32), runs=1, peaks=PEAKS)
    assert [k.cost.kind for k in profile.kernels] == ["add"]


def test_importing_tfc_loads_no_mlir():
    script = "import sys, tfc, tfc.cli; print([m for m in sys.modules if 'mlir' in m])"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True,
                          check=True)  # fmt: skip
    assert done.stdout == "[]\n"


def test_the_command_prints_the_table_and_writes_the_trace(tmp_path: Path):
    trace = tmp_path / "trace.json"
    made = CliRunner().invoke(command, ["profile", SOFTMAX, "-n", "2", "--trace", str(trace)])
    assert made.exit_code == 0, made.output
    assert "of limit" in made.output
    assert "fusion kInput" in made.output
    assert "(best of 2)" in made.output
    assert json.loads(trace.read_text())["traceEvents"]
