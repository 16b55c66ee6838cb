"""Check and measure a GPU in one go, in less than nine minutes, with what was compiled before.

    python benchmarks/gpu_session.py --build build/session      anywhere; says how large it is
    python benchmarks/gpu_session.py build/session --results OUT    on a machine with a GPU

The latter needs this source tree, what was built, NumPy and cuda-bindings; PyTorch and JAX are
measured where they are. OUT has at most eight files, whole also when a step was ended:

    facts.json        the machine, its driver and packages
    conformance.json  and .txt: which programs compute what they should (tfc/testing/conformance)
    benchmarks.json   times beside other libraries (benchmarks/gpu.py)
    sanitizer.json    and .txt: what NVIDIA's compute-sanitizer says of a few programs of each kind
    log.txt           what each step printed, and how it ended
"""

import argparse
import contextlib
import importlib
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TextIO

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    # The folder that holds the package takes the place of the one that holds this file.
    sys.path[0] = str(ROOT)

_PACKAGES = ("numpy", "ml_dtypes", "cuda-bindings", "torch", "jax", "jaxlib", "triton", "cupy")
_LAST = 15  # seconds that a step has to end by itself
_NOTHING_RUNS = 2  # the exit code of a step that found nothing to run on


@dataclass(frozen=True)
class Step:
    """A part of a session: a command, and the seconds after which it is ended."""

    name: str
    command: Sequence[str]
    seconds: float


def steps_of(folder: Path, results: Path, total: float) -> list[Step]:
    """What a session runs after it has noted its facts, within so many seconds in all."""
    script, benchmark = folder / "pack" / "run.py", ROOT / "benchmarks" / "gpu.py"

    def step(name: str, share: float, limit: str, *command: str | Path) -> Step:
        """A step that is told to begin nothing more some time before it is ended."""
        seconds = total * share
        own = [sys.executable, *map(str, command), limit, f"{max(1.0, seconds - _LAST):g}"]
        return Step(name, own, seconds)

    return [
        step("conformance", 0.26, "--limit-seconds",
             script, "--timeout", "10", "--results", results / "conformance.json"),
        step("benchmarks", 0.5, "--seconds",
             benchmark, "--bundles", folder / "bundles", "--results", results / "benchmarks.json"),
        step("sanitizer", 0.24, "--limit-seconds",
             script, "--sanitizer", "all", "--each", "1", "--results", results / "sanitizer.json"),
    ]  # fmt: skip


def run_steps(steps: Sequence[Step], log: TextIO) -> dict[str, str]:
    """How each step ended; none takes longer than it may."""
    ended = {}
    for step in steps:
        start = time.monotonic()
        print(f"\n--- {step.name}: at most {step.seconds:.0f} s", file=log, flush=True)
        process = subprocess.Popen(
            step.command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            how = f"exit code {process.wait(step.seconds)}"
        except subprocess.TimeoutExpired:
            how = "ended after its time"
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its workers, if it has left any
        process.wait()
        ended[step.name] = f"{how}, {time.monotonic() - start:.0f} s"
        print(f"--- {step.name}: {ended[step.name]}", file=log, flush=True)
        print(f"{step.name}: {ended[step.name]}", flush=True)
    return ended


def facts() -> dict[str, Any]:
    """The machine, its driver and packages."""
    packages = {}
    for name in _PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            packages[name] = None
    return {
        "python": sys.version, "machine": platform.platform(), "cpus": os.cpu_count(),
        "packages": packages, "nvidia-smi": _said("nvidia-smi"),
        "details": _said("nvidia-smi", "-q", "-d", "CLOCK,POWER,ECC,MEMORY"),
        "compute-sanitizer": _said("compute-sanitizer", "--version"),
    }  # fmt: skip


def _said(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{type(error).__name__}: {error}"
    return (done.stdout + done.stderr)[-6000:]


def session(folder: Path, results: Path, total: float) -> int:
    """Run all steps; 1 if one of them found something or was ended, 2 if nothing could run."""
    results.mkdir(parents=True, exist_ok=True)
    (results / "facts.json").write_text(json.dumps(facts(), indent=1), encoding="utf-8")
    with (results / "log.txt").open("w", encoding="utf-8") as log:
        ended = run_steps(steps_of(folder, results, total), log)
    codes = [how.partition(",")[0].removeprefix("exit code ") for how in ended.values()]
    if all(code == str(_NOTHING_RUNS) for code in codes):
        print(f"nothing could be run here: {results / 'log.txt'} says why", file=sys.stderr)
        return _NOTHING_RUNS
    return 0 if all(code in ("0", "3") for code in codes) else 1


# --- Building -------------------------------------------------------------------------------------


def build(folder: Path, architecture: str, scale: float, only: Sequence[str], small: bool) -> int:
    """Compile what a session runs, and say how large it is; 1 if something cannot be compiled."""
    start = time.monotonic()
    conformance: Any = importlib.import_module("tfc.testing.conformance.command")
    benchmarks: Any = importlib.import_module("benchmarks.gpu")
    processes = os.cpu_count() or 1
    done = conformance.build(
        folder / "pack", [architecture], "sm_80", only, scale, processes, False
    )
    options = ["--build", str(folder / "bundles"), "--gpu-arch", architecture]
    failed = benchmarks.main([*options, *(["--small"] if small else [])])
    for name in ("pack", "bundles"):
        print(f"{name}: {_size(folder / name)} bytes")
    print(f"source tree: {source_size()} bytes compressed")
    print(f"{folder} was built in {time.monotonic() - start:.0f} s")
    return 1 if failed or not done else 0


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def source_size() -> int:
    """The bytes of the source tree's tracked files, compressed; 0 where git is not there."""
    try:
        done = subprocess.run(
            ["git", "archive", "--format=tar.gz", "HEAD"], cwd=ROOT, capture_output=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return 0
    return len(done.stdout)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; gives its exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", help="what was built")
    parser.add_argument("--build", metavar="DIR", help="compile it there, and do not run")
    parser.add_argument("--results", default="gpu-session", metavar="OUT")
    parser.add_argument("--seconds", type=float, default=500.0, help="for all steps together")
    parser.add_argument("--gpu-arch", default="sm_90a", help="of the GPU (with --build)")
    parser.add_argument("--scale", type=float, default=0.34, help="of the pack (with --build)")
    parser.add_argument("--only", default="", help="units of the pack (with --build)")
    parser.add_argument("--small", action="store_true", help="sizes for tests (with --build)")
    options = parser.parse_args(arguments)
    if options.build:
        only = tuple(filter(None, options.only.split(",")))
        return build(Path(options.build), options.gpu_arch, options.scale, only, options.small)
    if options.folder is None:
        parser.error("name the folder that --build made, or build it")
    folder = Path(options.folder)
    if not (folder / "pack" / "run.py").exists():
        parser.error(f"{folder} has no pack: build it by --build {folder}")
    return session(folder, Path(options.results), options.seconds)


if __name__ == "__main__":
    sys.exit(main())
