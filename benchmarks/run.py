"""Measure tfc beside NumPy and JAX: `python benchmarks/run.py --quick`.

All are measured in one process, in turns, on the same cores and with the same number of threads.
The libraries read their settings when they are imported, so this file sets them and then hands
over to measure.py.
"""

import argparse
import os
import sys
from pathlib import Path


def main() -> None:
    """Set the environment and replace this process by the measurement."""
    parser = argparse.ArgumentParser(description="Measure tfc beside NumPy and JAX.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, no large cases")
    parser.add_argument("--json", metavar="FILE", help="also write the measurements there")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="1 unless given")
    parser.add_argument("--only", metavar="TEXT", default="", help="rows whose name has the text")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))[: options.threads]
        os.sched_setaffinity(0, cores)
    measure = Path(__file__).with_name("measure.py")
    environment = {**os.environ, **_settings(options.threads)}
    os.execve(sys.executable, [sys.executable, str(measure), *sys.argv[1:]], environment)


def _settings(threads: int) -> dict[str, str]:
    """Environment variables that hold each library to that many threads."""
    count = str(threads)
    eigen = "false" if threads == 1 else "true"
    return {
        "OMP_NUM_THREADS": count,
        "OPENBLAS_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={eigen} intra_op_parallelism_threads={count}",
    }


if __name__ == "__main__":
    main()
