"""profile: run a program with clocks around its kernels, beside what the machine could do.

    kernel   kind         runs       ms   share    GFLOP/s    GB/s  of limit
    dot      dot             1    0.021   42.1%       50.1     4.7       61%
    e_fusion fusion kLoop    1    0.002    3.4%        1.2    20.3       48%

The limit of a kernel is the roofline: the least time in which the machine could do its operations,
or move its bytes through the smallest level of memory that holds them, whichever is longer. Of a
kernel on a GPU there is how many blocks and threads it has, what each takes, and the occupancy.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tfc.backends.interfaces import Executable, KernelTimes, LaunchFigures, TimedKernel
from tfc.compiled import Compiled
from tfc.errors import TfcError, UnsupportedError
from tfc.files import write_files
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import leaves
from tfc.hlo.text.printer import instruction_names
from tfc.imported import ImportedFunction
from tfc.jitted import JitFunction
from tfc.passes.analysis.cost import KernelCost
from tfc.tools.profiling.figures import (
    COUNTED,
    NOT_TIMED,
    RUNNING,
    counted_cells,
    running_cells,
)
from tfc.tools.profiling.peaks import Peaks
from tfc.tracebacks import api_boundary

COLUMNS = ("kernel", "kind", "runs", "ms", "share", "GFLOP/s", "GB/s", "of limit")


@dataclass(frozen=True)
class KernelProfile:
    """What one kernel does and took in one run of the program.

    function: its name in the program's code, "" for a copy.
    runs: how often it ran.
    seconds: of all its runs together, in the run of the program when that was least.
    bits: of the floats it computes in.
    figures: how it runs on a GPU.
    """

    cost: KernelCost
    function: str
    runs: int
    seconds: float
    bits: int = 32
    figures: LaunchFigures | None = None

    @property
    def name(self) -> str:
        """The name of its instruction."""
        return self.cost.name

    @property
    def operations(self) -> int:
        """Arithmetic operations and transcendental functions of all its runs."""
        return self.runs * (self.cost.flops + self.cost.transcendentals)

    @property
    def bytes(self) -> int:
        """Bytes read and written by all its runs."""
        return self.runs * self.cost.bytes_accessed

    @property
    def flops_per_second(self) -> float:
        """Operations a second; 0 if it took no time that can be measured."""
        return self.operations / self.seconds if self.seconds else 0.0

    @property
    def bytes_per_second(self) -> float:
        """Bytes read and written a second; 0 if it took no time that can be measured."""
        return self.bytes / self.seconds if self.seconds else 0.0

    def share_of_limit(self, peaks: Peaks) -> float:
        """The least time that the machine would need, divided by the time it took."""
        once = self.cost.flops + self.cost.transcendentals, self.cost.bytes_accessed
        least = self.runs * peaks.least_seconds(*once, self.bits)
        return least / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Profile:
    """Where the time of a program goes.

    kernels: those that ran, the one that took longest first.
    seconds: of one run, from call to result: the least.
    runs: how many were measured.
    events: (kernel's name, begin, end) in the last run, in nanoseconds from its begin; of a
        program that runs very many kernels, the first.
    is_counted: whether an interpreter of a GPU's code has counted what kernels do instead.
    """

    name: str
    kernels: tuple[KernelProfile, ...]
    seconds: float
    runs: int
    peaks: Peaks
    events: tuple[tuple[str, int, int], ...] = field(default=(), repr=False)
    is_counted: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """What the cells of a row are."""
        if self.is_counted:
            return (*COLUMNS[:3], *RUNNING, *COUNTED)
        return (*COLUMNS, *RUNNING) if self._is_of_gpu else COLUMNS

    @property
    def _is_of_gpu(self) -> bool:
        return any(k.figures is not None for k in self.kernels)

    @property
    def kernel_seconds(self) -> float:
        """The time in kernels; the rest is control flow, the call itself and its arrays."""
        return sum(k.seconds for k in self.kernels)

    def rows(self) -> list[tuple[str, ...]]:
        """The cells of the table, one row for each kernel, as text under `columns`."""
        if self.is_counted:
            return [
                (k.name, k.cost.kind, str(k.runs), *running_cells(k.figures),
                 *counted_cells(k.figures))
                for k in self.kernels
            ]  # fmt: skip
        return [
            (
                k.name,
                k.cost.kind,
                str(k.runs),
                f"{k.seconds * 1e3:.4f}",
                f"{k.seconds / self.seconds:.1%}" if self.seconds else "",
                f"{k.flops_per_second / 1e9:.2f}" if k.operations else "",
                f"{k.bytes_per_second / 1e9:.2f}",
                f"{k.share_of_limit(self.peaks):.0%}",
                *(running_cells(k.figures) if self._is_of_gpu else ()),
            )
            for k in self.kernels
        ]

    def summary(self) -> str:
        """The run as a whole, and the machine, in two lines."""
        if self.is_counted:
            return f"{self.name}: {len(self.kernels)} kernels; {NOT_TIMED}"
        inside = self.kernel_seconds / self.seconds if self.seconds else 0.0
        flops = sum(k.operations for k in self.kernels) / max(self.seconds, 1e-12) / 1e9
        moved = sum(k.bytes for k in self.kernels) / max(self.seconds, 1e-12) / 1e9
        return (
            f"{self.name}: {self.seconds * 1e3:.4f} ms (best of {self.runs}), {inside:.0%} in "
            f"{len(self.kernels)} kernels; {flops:.2f} GFLOP/s, {moved:.2f} GB/s\n{self.peaks}"
        )

    def __str__(self) -> str:
        rows = [self.columns, *self.rows()]
        widths = [max(len(row[c]) for row in rows) for c in range(len(self.columns))]
        lines = [
            "  ".join(
                cell.ljust(width) if column < 2 else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths))
            ).rstrip()
            for row in rows
        ]
        return "\n".join([*lines, self.summary()])

    def chrome_trace(self) -> str:
        """The last run in Trace Event Format, which Perfetto and chrome://tracing show: JSON."""
        by_name = {k.name: k for k in self.kernels}
        spans = [
            {
                "name": name,
                "cat": by_name[name].cost.kind,
                "ph": "X",
                "ts": begin / 1e3,
                "dur": max(end - begin, 0) / 1e3,
                "pid": 1,
                "tid": 1,
                "args": _trace_arguments(by_name[name]),
            }
            for name, begin, end in self.events
        ]
        names = [
            {"name": f"{kind}_name", "ph": "M", "pid": 1, "tid": 1, "args": {"name": name}}
            for kind, name in (("process", f"tfc: {self.name}"), ("thread", "kernels"))
        ]
        about = {"machine": str(self.peaks), "milliseconds": self.seconds * 1e3}
        document = {"traceEvents": [*names, *spans], "displayTimeUnit": "ns", "otherData": about}
        return json.dumps(document, indent=1)

    def save(self, path: str | Path) -> None:
        """Write the Chrome trace to a file, which appears whole or not at all.

        Raises:
            TfcError: it cannot be written, or nothing was timed.
        """
        if self.is_counted:
            raise TfcError(f"there is nothing to trace: {NOT_TIMED}")
        write_files((Path(path), self.chrome_trace().encode()))


def _trace_arguments(kernel: KernelProfile) -> dict[str, Any]:
    cost = kernel.cost
    return {
        "flops": cost.flops,
        "transcendentals": cost.transcendentals,
        "bytes read": cost.bytes_read,
        "bytes written": cost.bytes_written,
        "function": kernel.function,
    }


@api_boundary
def profile(program: Any, *arguments: Any, runs: int = 10, peaks: Peaks | None = None) -> Profile:
    """Run a program a number of times with clocks around its kernels.

    The program is compiled once more for this, with the same kernels; it is not changed itself.

    Args:
        program: an executable, what tfc.jit or tfc.from_stablehlo gives, or a lowered function
            compiled.
        arguments: what a call of it takes.
        runs: how often to run, after once to warm up.
        peaks: what the machine can do; measured at the end when left out.

    Raises:
        TfcError: the program is none of these, or `runs` is not positive.
        ShapeError: the arguments do not fit.
        UnsupportedError: the backend cannot time its kernels, or there are several devices.
    """
    executable, arrays = _bound(program, arguments)
    if runs < 1:
        raise TfcError(f"a profile needs at least one run, got {runs}")
    if executable.device_counts != (1, 1):
        raise UnsupportedError("a profile is of one device; leave replicas and partitions out")
    measure = executable.timed()
    measure(*arrays)
    measured = [measure(*arrays) for _ in range(runs)]
    return _assembled(executable, measured, peaks or _measured_peaks(measured[-1]))


def _measured_peaks(times: KernelTimes) -> Peaks:
    if times.is_counted:
        return Peaks({}, ())
    # Loading MLIR takes a while, which those who need none of it are spared.
    if any(kernel.figures is not None for kernel in times.kernels):
        gpu: Any = import_module("tfc.tools.profiling.gpu_probe")
        driver: Any = import_module("tfc.backends.gpu.driver")
        return gpu.measure_gpu_peaks(driver.current_driver())
    probe: Any = import_module("tfc.tools.profiling.probe")
    return probe.measure_peaks()


def _bound(program: Any, arguments: Sequence[Any]) -> tuple[Executable, list[np.ndarray]]:
    """The executable of a program, and the arrays that it takes."""
    match program:
        case Executable():
            return program, list(arguments)
        case Compiled():
            return program.executable, program.arrays(*arguments)
        case JitFunction():
            compiled, arrays = program.bind(*arguments)
            return compiled.executable, arrays
        case ImportedFunction():
            return program.bind(*arguments)
        case _:
            raise TfcError(
                "expected an executable or a function made by tfc.jit or tfc.from_stablehlo to "
                f"profile, got {type(program).__name__}"
            )


def _assembled(executable: Executable, measured: Sequence[KernelTimes], peaks: Peaks) -> Profile:
    last = measured[-1]
    costs = _costs(executable, last.kernels)
    found = [
        KernelProfile(
            cost,
            timed.function,
            timed.count,
            min(run.kernels[number].nanoseconds for run in measured) / 1e9,
            _bits(timed.instruction, peaks),
            timed.figures,
        )
        for number, (timed, cost) in enumerate(zip(last.kernels, costs))
    ]
    return Profile(
        executable.hlo.name,
        tuple(sorted((k for k in found if k.runs), key=lambda k: -k.seconds)),
        min(run.ended - run.began for run in measured) / 1e9,
        len(measured),
        peaks,
        tuple((costs[n].name, b - last.began, e - last.began) for n, b, e in last.events),
        last.is_counted,
    )


def _costs(executable: Executable, kernels: Sequence[TimedKernel]) -> list[KernelCost]:
    """The work of what was timed; copies are not in the cost analysis, since they are no HLO."""
    known = {cost.instruction: cost for cost in executable.cost_analysis().kernels}
    names = {
        i: name for c in executable.hlo.computations for i, name in instruction_names(c).items()
    }
    return [
        known[k.instruction]
        if k.function
        else KernelCost(
            k.instruction, f"{names[k.instruction]} (copy)", "copy", 1, 0, 0, k.copied, k.copied
        )
        for k in kernels
    ]


def _bits(instruction: Instruction, peaks: Peaks) -> int:
    """64 if the result has floats of 64 bits; 16 where a GPU may multiply such by matrices."""
    shapes = [leaf for i in (instruction, *instruction.operands) for leaf in leaves(i.shape)]
    names = {shape.element_type.name for shape in shapes}
    if {s.element_type.name for s in leaves(instruction.shape)} & {"f64", "c128"}:
        return 64
    return 16 if 16 in peaks.flops and names & {"f16", "bf16"} else 32
