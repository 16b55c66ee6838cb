"""Benchmarks of graphs: classes whose methods begin with `benchmark`, and who runs them."""

import re
import sys
import time
import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np

_PREFIX = "--benchmarks="


class Benchmark:
    """A class of benchmarks: methods called benchmark…, run by `main` with --benchmarks=PATTERN."""

    known: list[type["Benchmark"]] = []  # noqa: RUF012 - one list for all classes

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        Benchmark.known.append(cls)

    def __init__(self) -> None:
        self._running = ""

    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: dict[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        """Print an entry.

        Args:
            iters: how many iterations were measured. wall_time, cpu_time: seconds for each.
            throughput: megabytes a second. extras: further numbers or words.
        """
        title = f"{type(self).__name__}.{name or self._running}"
        numbers = {"iters": iters, "cpu_time": cpu_time, "wall_time": wall_time}
        stated = {**numbers, "throughput": throughput}
        lines = [f'  name: "{title}"']
        lines += [f"  {key}: {value}" for key, value in stated.items() if value is not None]
        for key, value in (extras or {}).items():
            kind = "string_value" if isinstance(value, str) else "double_value"
            shown = f'"{value}"' if isinstance(value, str) else float(value)
            lines.append(f'  extras {{ key: "{key}" value {{ {kind}: {shown} }} }}')
        print("entry {", *lines, "}", sep="\n")

    def run_op_benchmark(
        self,
        sess: Any,
        op_or_tensor: Any,
        feed_dict: Any = None,
        burn_iters: int = 2,
        min_iters: int = 10,
        store_trace: bool = False,
        store_memory_usage: bool = True,
        name: str | None = None,
        extras: dict[str, Any] | None = None,
        mbs: float = 0,
    ) -> dict[str, Any]:
        """Run an operation several times and print an entry with the median time.

        Args:
            burn_iters: runs that are not measured. min_iters: those that are.
            mbs: the megabytes that a run goes through, for the throughput.
        """
        for _ in range(burn_iters):
            sess.run(op_or_tensor, feed_dict)
        times = []
        for _ in range(min_iters):
            began = time.perf_counter()
            sess.run(op_or_tensor, feed_dict)
            times.append(time.perf_counter() - began)
        median = float(np.median(times))
        rate = mbs / median if mbs else None
        self.report_benchmark(min_iters, None, median, rate, extras, name)
        return {"iters": min_iters, "wall_time": median, "throughput": rate, "extras": extras}

    def run_matching(self, pattern: str) -> int:
        """Run the benchmarks whose names match a pattern; how many there were."""
        names = [n for n in dir(self) if n.startswith("benchmark") and callable(getattr(self, n))]
        wanted = [n for n in names if re.search(pattern, f"{type(self).__name__}.{n}")]
        for name in wanted:
            self._running = name
            getattr(self, name)()
        return len(wanted)


def run_benchmarks(pattern: str) -> int:
    """Run all benchmarks whose names, Class.benchmarkName, match a pattern; how many there were."""
    wanted = ".*" if pattern == "all" else pattern
    return sum(kind().run_matching(wanted) for kind in Benchmark.known)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the benchmarks that --benchmarks=PATTERN names, or else the tests of the script."""
    given = list(sys.argv if argv is None else argv)
    patterns = [x.removeprefix(_PREFIX) for x in given if x.startswith(_PREFIX)]
    if patterns:
        if not run_benchmarks(patterns[-1]):
            print(f"no benchmark matches {patterns[-1]!r}", file=sys.stderr)
        return
    unittest.main(argv=given)
