"""A module of IREE measured with its own benchmark program, which loops in C.

    python -m benchmarks.ahead.in_iree MODULE.vmfb ARGUMENT.npy RESULT.npy

Answers each line of its input, a number of seconds, with the microseconds of a call, as loop.h
does. The programs of IREE lie beside this Python.
"""

import json
import subprocess
import sys
from pathlib import Path

_FLAGS = ("--device=local-sync", "--function=main")


def iree_program(name: str) -> str:
    """The path of a program that is installed with this Python."""
    return str(Path(sys.executable).parent / name)


def serve(module: str, argument: str, result: str) -> None:
    """Run once for the result, and then as often as asked."""
    given = [f"--module={module}", *_FLAGS, f"--input=@{argument}"]
    subprocess.run(
        [iree_program("iree-run-module"), *given, f"--output=@{result}"],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    print("ready", flush=True)
    for line in sys.stdin:
        made = subprocess.run(
            [iree_program("iree-benchmark-module"), *given, "--benchmark_format=json",
             f"--benchmark_min_time={float(line)}s"],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        (found,) = json.loads(made.stdout[made.stdout.index("{") :])["benchmarks"]
        units = {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}
        print(found["cpu_time"] * units[found["time_unit"]], flush=True)


if __name__ == "__main__":
    serve(*sys.argv[1:])
