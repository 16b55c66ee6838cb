"""Profiles of GPU programs: counted on the interpreter, timed by marks of a driver, occupancy."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from cuda_bindings import FakeCuda, installed

import tfc
import tfc.numpy as tnp
from tfc.backends.gpu.assembler import programs
from tfc.backends.gpu.driver import using
from tfc.backends.gpu.driver.interface import Multiprocessor
from tfc.backends.gpu.driver.with_cuda_bindings import open_driver
from tfc.backends.gpu.measuring.occupancy import blocks_at_once, occupancy
from tfc.cli import tfc as command
from tfc.errors import TfcError, UnsupportedError
from tfc.testing.ptx.assembler import ARCHITECTURES, complaints
from tfc.testing.ptx.driver import InterpretedDriver
from tfc.testing.ptx.machine import Machine
from tfc.tools.explore import explore
from tfc.tools.profiling import Level, Peaks
from tfc.tools.profiling.gpu_probe import measure_gpu_peaks, rate_ptx

PEAKS = Peaks({16: 4e12, 32: 1e12, 64: 5e11}, (Level("memory", np.inf, 1e11),), "a GPU")


@tfc.jit(backend="gpu")
def looping(x):
    return tfc.while_loop(lambda v: tnp.sum(v) < 500, lambda v: tnp.sort(v) * 2, x)  # 64, …, 512


def test_without_a_gpu_kernels_are_counted_and_nothing_is_timed():
    with using(InterpretedDriver()):
        profile = tfc.profile(tfc.jit(lambda x: x * 2, backend="gpu"), np.ones(1024, np.float32))
        (kernel,) = profile.kernels
    figures = kernel.figures
    assert figures is not None
    # 4 kB are read and 4 kB written, in sectors of 32 bytes.
    assert (figures.counts["sectors"], figures.counts["ideal sectors"]) == (256, 256)
    assert figures.counts["bank conflicts"] == figures.counts["divergent branches"] == 0
    assert figures.blocks * figures.threads >= 1024 / 4
    assert profile.is_counted
    assert kernel.seconds == 0
    assert "no GPU here" in profile.summary()
    assert len(profile.columns) == len(profile.rows()[0])
    assert "ms" not in profile.columns
    with pytest.raises(TfcError, match="nothing to trace"):
        profile.save("trace.json")


def test_on_a_gpu_times_are_between_marks_of_its_stream():
    x = np.ones((4, 16), np.float32)
    with installed(), using(open_driver()):
        profile = tfc.profile(looping, x, runs=2, peaks=PEAKS)
    # The stand-in's clock goes on by a quarter of a millisecond at each mark.
    sort = next(k for k in profile.kernels if "sort" in k.cost.kind)
    assert sort.runs == 3
    assert sort.seconds == pytest.approx(0.25e-3 * round(sort.seconds / 0.25e-3))
    assert 3 * 0.25e-3 <= sort.seconds < profile.seconds
    assert profile.seconds == pytest.approx(0.25e-3 * round(profile.seconds / 0.25e-3))
    assert not profile.is_counted
    assert sort.figures is not None
    assert sort.figures.registers == 32
    assert len(profile.columns) == len(profile.rows()[0])
    assert '"ph": "X"' in profile.chrome_trace()


# Blocks of a multiprocessor as NVIDIA's cuda_occupancy.h computes them: (threads, registers,
# shared bytes) of a block on compute capability 8.0 and 9.0.
BLOCKS = [
    (128, 64, 16384, 8, 8), (256, 96, 0, 2, 2), (1024, 64, 0, 1, 1), (32, 16, 0, 32, 32),
    (512, 40, 49152, 3, 3), (128, 168, 65536, 2, 3), (384, 72, 4096, 2, 2), (256, 255, 99000, 1, 1),
    (96, 32, 49152, 3, 4), (64, 24, 4096, 32, 32),
]  # fmt: skip


@pytest.mark.parametrize(("threads", "registers", "shared", "ampere", "hopper"), BLOCKS)
def test_occupancy_is_what_nvidias_calculator_says(
    threads: int, registers: int, shared: int, ampere: int, hopper: int
):
    for kind, blocks in (
        (Multiprocessor(108, 2048, 32, 65536, 164 << 10), ampere),
        (Multiprocessor(132, 2048, 32, 65536, 228 << 10), hopper),
    ):
        assert blocks_at_once(kind, threads, registers, shared) == blocks
        share = occupancy(kind, threads, registers, shared)
        assert share == blocks * -(-threads // 32) / 64


@pytest.mark.slow
@pytest.mark.parametrize("bits", [16, 32, 64])
def test_the_kernels_that_measure_rates_do_what_is_divided_by_time(bits: int):
    ptx, machine = rate_ptx(bits), Machine()
    for architecture in ARCHITECTURES:
        assert complaints(ptx, architecture, ["-Werror"]) == ""
    sink = machine.allocate(4)
    report = machine.launch(machine.load(ptx)["rate"], (1,), (64,), [sink, np.uint64(3)])
    name = {16: "mma", 32: "fma", 64: "fma"}[bits]
    counted = sum(n for opcode, n in report.instructions.items() if opcode.startswith(name))
    assert counted == 8 * 3 * 64  # chains, rounds, threads
    assert report.stores.accesses == 0


def test_limits_are_measured_by_the_driver_at_hand():
    fake = FakeCuda()
    fake.replaced["cuMemAllocAsync"] = lambda size, stream: (0, fake.machine.allocate(64))
    for name in ("cuMemcpyHtoDAsync", "cuMemcpyDtoDAsync", "cuLaunchKernel", "cuMemFreeAsync"):
        fake.replaced[name] = lambda *_: (0,)
    with installed(fake):
        peaks = measure_gpu_peaks(open_driver())
    # Half of a gigabyte, read and written, in a quarter of a millisecond.
    assert peaks.levels[0].bytes_per_second == pytest.approx(2 * (256 << 20) / 0.25e-3)
    assert peaks.flops[16] == 64 * peaks.flops[32] == 64 * peaks.flops[64]
    assert "interpreter of PTX:" in str(peaks)


def test_machine_instructions_need_a_disassembler(monkeypatch: pytest.MonkeyPatch):
    executable = looping.lower(np.ones((2, 4), np.float32)).compile().executable
    assert "sass" in executable.stages

    def find(name: str) -> Path:
        raise UnsupportedError(f"there is no {name}: pip install")

    monkeypatch.setattr(programs, "find_program", find)
    with pytest.raises(UnsupportedError, match="there is no"):
        executable.as_text("sass")


def test_the_page_of_a_gpu_program_has_its_code_and_counts(tmp_path: Path):
    module = looping.lower(np.ones((4, 16), np.float32)).hlo
    with using(InterpretedDriver()):
        page = explore(module, 1, backend="gpu")
    assert ".visible .entry" in page
    assert "gpu.func" in page
    assert "no GPU here" in page
    assert "Roofline" not in page
    with installed(), using(open_driver()), pytest.MonkeyPatch.context() as patch:
        patch.setattr("tfc.tools.profiling.gpu_probe.measure_gpu_peaks", lambda driver: PEAKS)
        page = explore(module, 1, backend="gpu")
    assert "Roofline" in page
    assert "a GPU: 4000.0 GFLOP/s in f16" in page


def test_the_commands_profile_programs_for_gpus(tmp_path: Path):
    (tmp_path / "square.hlo").write_text(
        "ENTRY e { x = f32[64] parameter(0)\n ROOT y = f32[64] multiply(x, x) }"
    )
    made = CliRunner().invoke(
        command, ["profile", str(tmp_path / "square.hlo"), "--backend", "gpu", "-n", "1"]
    )
    assert made.exit_code == 0
    assert "occupancy" in made.output
    assert "y" in made.output.split("\n")[1]


def test_the_memory_of_a_program_is_drawn():
    function = tfc.jit(lambda x: tnp.sort(x @ x) @ x, backend="gpu")
    executable = function.lower(np.ones((16, 16), np.float32)).compile().executable
    memory = executable.memory_analysis()
    assert memory.temporary_bytes >= 1024
    assert memory.buffers
    assert memory.to_svg().startswith("<svg")
    assert executable.cost_analysis().flops >= 2 * 2 * 16**3
