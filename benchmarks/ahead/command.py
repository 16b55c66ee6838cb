"""The command line of `benchmarks/aot.py`: build, measure, print, write."""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.ahead.building import ROOT
from benchmarks.ahead.contenders import contenders, version
from benchmarks.ahead.measuring import measure, progress
from benchmarks.ahead.page import Run, section, with_section
from benchmarks.ahead.programs import PROGRAMS
from benchmarks.machine import describe
from benchmarks.protocol import BenchmarkError


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the command line asks for, or say in a line why not."""
    options = _parser().parse_args(arguments)
    try:
        run = _loaded(options.load) if options.load else _measured(options)
        if options.docs:
            page = options.docs.read_text("utf-8")
            options.docs.write_text(with_section(page, run), "utf-8")
    except (OSError, BenchmarkError) as error:
        raise SystemExit(f"{error}") from None
    print(section(run))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Measure what tfc compiles ahead of time beside other compilers."
    )
    add = parser.add_argument
    for library in ("tensorflow", "iree", "onnxruntime"):
        add(f"--{library}-python", metavar="PYTHON", default=sys.executable,
            help="the Python that has it; this one unless given")  # fmt: skip
    add("--only", metavar="PROGRAM", action="append", choices=sorted(PROGRAMS), default=[],
        help=f"of {', '.join(PROGRAMS)}; may be repeated")  # fmt: skip
    add("--cache", metavar="FOLDER", type=Path, default=ROOT / "build" / "aot-benchmark",
        help="where TensorFlow's runtime, once compiled, stays")  # fmt: skip
    add("--json", type=Path, metavar="FILE", help="write the measurements there")
    add("--load", type=Path, metavar="FILE", help="report what --json wrote; measure nothing")
    add("--docs", type=Path, metavar="FILE", help="put the figures into this page")
    return parser


def _loaded(path: Path) -> Run:
    try:
        return Run.of(json.loads(path.read_text("utf-8")))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise BenchmarkError(f"{path} holds no run") from None


def _measured(options: argparse.Namespace) -> Run:
    """Build and measure all rows; what is measured is written after each, as a run takes long."""
    pythons = options.tensorflow_python, options.iree_python, options.onnxruntime_python
    found = contenders(*pythons, options.cache.resolve())
    versions = {
        "tfc": version(sys.executable, "tfc"),
        "TensorFlow": version(pythons[0], "tensorflow", "tensorflow_cpu") or "not installed",
        "IREE": version(pythons[1], "iree-base-compiler") or "not installed",
        "ONNX Runtime": version(pythons[2], "onnxruntime") or "not installed",
    }
    run = Run(describe(), versions, [])
    chosen = [(p, b) for k, p in PROGRAMS.items() if k in (options.only or PROGRAMS)
              for b in p.batches]  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="tfc-aot-") as folder:
        for number, (program, batch) in enumerate(chosen):

            def say(text: str, number: int = number) -> None:
                progress(f"[{number + 1}/{len(chosen)}] {text}")

            row = measure(program, batch, found, Path(folder), say)
            run = Run(run.machine, run.versions, [*run.rows, row])
            if options.json:
                options.json.write_text(json.dumps(run.as_dict(), indent=1), "utf-8")
    return run


if __name__ == "__main__":
    main()
