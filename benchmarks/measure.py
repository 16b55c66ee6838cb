"""The measurement that run.py starts: check each result against NumPy, then take turns.

A sample is the mean time of as many calls as fill a few milliseconds. In each round every library
gives one sample, so that whatever slows the machine down for a while slows all of them.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from cases import CASES, COMPILE_CASES, Case, CompileCase, Function
from report import print_report
from rich.console import Console

import tfc
import tfc.numpy as tnp
from tfc.profiling.probe import peak_flops

Call = Callable[[], Any]


@dataclass(frozen=True)
class Timing:
    """Seconds for one call: the median of the samples, and the least."""

    median: float
    least: float


@dataclass(frozen=True)
class Row:
    """One case's measurements, by library."""

    group: str
    name: str
    unit: str
    work: float
    seconds: dict[str, Timing]


@dataclass(frozen=True)
class Plan:
    """How long to measure: the number of samples, and what each takes at least."""

    rounds: int
    sample_seconds: float
    compile_rounds: int


FULL = Plan(rounds=21, sample_seconds=0.02, compile_rounds=7)
QUICK = Plan(rounds=7, sample_seconds=0.005, compile_rounds=3)


class Numpy:
    """NumPy, which computes at once."""

    name = "NumPy"

    def prepare(self, function: Function, arguments: Sequence[np.ndarray]) -> Call:
        """The function as a call without arguments."""
        return lambda: function(np, *arguments)


class Tfc:
    """tfc on the CPU, given NumPy arrays and returning them."""

    name = "tfc"

    def prepare(self, function: Function, arguments: Sequence[np.ndarray]) -> Call:
        """The function, compiled, as a call without arguments."""
        compiled = tfc.jit(lambda *arrays: function(tnp, *arrays))
        return lambda: compiled(*arguments)

    def compile(self, case: CompileCase, arguments: Sequence[np.ndarray]) -> Callable[..., Any]:
        """Compile a case from the beginning."""

        def traced(*arrays: Any) -> Any:
            return case.function(tnp, *arrays)

        made = tfc.value_and_grad(traced, 1) if case.differentiate else traced
        return tfc.jit(made).lower(*arguments).compile()


class Jax:
    """JAX on the CPU; its arrays are on its device before the clock starts."""

    name = "JAX"

    def __init__(self) -> None:
        self.jax: Any = import_module("jax")
        self.numpy: Any = import_module("jax.numpy")

    def prepare(self, function: Function, arguments: Sequence[np.ndarray]) -> Call:
        """The function, compiled, as a call without arguments that waits for the result."""
        compiled = self.jax.jit(lambda *arrays: function(self.numpy, *arrays))
        placed = [self.jax.device_put(a) for a in arguments]
        return lambda: compiled(*placed).block_until_ready()

    def compile(self, case: CompileCase, arguments: Sequence[np.ndarray]) -> Callable[..., Any]:
        """Compile a case from the beginning."""

        def traced(*arrays: Any) -> Any:
            return case.function(self.numpy, *arrays)

        made = self.jax.value_and_grad(traced, 1) if case.differentiate else traced
        return self.jax.jit(made).lower(*arguments).compile()


def check(case: Case, library: str, result: Any, expected: np.ndarray) -> None:
    """Stop if a result is not NumPy's: a wrong answer has no speed."""
    error = np.max(np.abs(np.asarray(result, np.float64) - expected), initial=0.0)
    if not error <= case.tolerance * np.max(np.abs(expected), initial=1.0):
        raise SystemExit(f"{library} computes {case.group} {case.name} wrongly, by {error}")


def measure(case: Case, libraries: Sequence[Any], plan: Plan) -> Row:
    """One row: every library's samples, taken in turns."""
    arguments = case.arguments()
    expected = case.function(np, *[a.astype(np.float64) for a in arguments])
    calls: dict[str, Call] = {}
    for library in libraries:
        calls[library.name] = library.prepare(case.function, arguments)
        check(case, library.name, calls[library.name](), expected)
    counts = {name: _calls_in(call, plan.sample_seconds) for name, call in calls.items()}
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(plan.rounds):
        for name, call in calls.items():
            samples[name].append(_sample(call, counts[name]))
    return Row(case.group, case.name, case.unit, case.work, _timings(samples))


def _calls_in(call: Call, seconds: float) -> int:
    """How many calls fill the time of a sample."""
    count = 1
    while (taken := _sample(call, count) * count) < seconds / 2:
        count = max(2 * count, min(round(count * seconds / max(taken, 1e-7)), 10 * count))
    return count


def _sample(call: Call, count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def _timings(samples: dict[str, list[float]]) -> dict[str, Timing]:
    return {name: Timing(statistics.median(s), min(s)) for name, s in samples.items()}


def measure_compilation(case: CompileCase, libraries: Sequence[Any], plan: Plan) -> Row:
    """One row of compile times; what the compiled code returns is checked first."""
    arguments = case.arguments()
    expected = np.asarray(case.function(np, *[a.astype(np.float64) for a in arguments]))
    samples: dict[str, list[float]] = {}
    for library in libraries:
        result = library.compile(case, arguments)(*arguments)
        value = np.asarray(result[0] if case.differentiate else result, np.float64)
        if not np.allclose(value, expected, rtol=1e-4, atol=1e-5):
            raise SystemExit(f"{library.name} compiles {case.name} wrongly")
        samples[library.name] = []
    for _ in range(plan.compile_rounds):
        for library in libraries:
            start = time.perf_counter()
            library.compile(case, arguments)
            samples[library.name].append(time.perf_counter() - start)
    return Row("compile", case.name, "", 0, _timings(samples))


def main() -> None:
    """Measure what the command line asks for, and print the report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    plan = QUICK if options.quick else FULL
    compiling: list[Any] = [Tfc(), *([Jax()] if find_spec("jax") else [])]
    # A table in a file or a pipe is as wide as it needs to be.
    console = Console() if sys.stdout.isatty() else Console(width=140)
    rows = []
    with console.status("measuring") as status:
        for case in CASES:
            if options.only in f"{case.group} {case.name}" and (case.quick or not options.quick):
                status.update(f"measuring {case.group} {case.name}")
                rows.append(measure(case, [Numpy(), *compiling], plan))
        for case in COMPILE_CASES:
            if options.only in f"compile {case.name}":
                status.update(f"measuring the compilation of {case.name}")
                rows.append(measure_compilation(case, compiling, plan))
        peak = peak_flops() / 1e9
    print_report(console, rows, peak, options.threads)
    if options.json:
        data = {"threads": options.threads, "peak_gflops": peak, "rows": [asdict(r) for r in rows]}
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=1)


if __name__ == "__main__":
    main()
