"""Running the programs of a pack by several processes, until all is done or time is up."""

import glob
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tfc.testing.conformance.runner.packs import Pack
from tfc.testing.conformance.runner.processes import WorkerProcess, WorkerRefused, worker_command
from tfc.testing.conformance.runner.reports import ConformanceReport

_EVERY = 5.0  # seconds between reports that are written meanwhile
_LEAST = 5.0  # seconds that a program may take under a sanitizer, however late it is
_TOOLKITS = "/usr/local/cuda*/bin"


@dataclass
class RunOptions:
    """How to run a pack.

    script: the file that workers run, which this is a part of.
    only: parts of names or kinds, one of which a program must have; all without one.
    shard: the number of a part of the programs, and how many parts there are.
    timeout: seconds for a program. limit: seconds after which no further one begins.
    """

    script: Path
    folder: Path
    results: Path
    device: int = 0
    workers: int = 4
    timeout: float = 20.0
    limit: float = 600.0
    only: Sequence[str] = ()
    shard: "tuple[int, int]" = (0, 1)


@dataclass(frozen=True)
class RunJob:
    """A program with the code of it that is run."""

    program: int
    variant: str
    group: int


def jobs_of(pack: Pack, options: RunOptions, capability: "tuple[int, int]") -> "list[RunJob]":
    """What is to be run on a GPU, in order."""
    number, count = options.shard
    jobs = []
    for place, program in enumerate(pack.programs):
        names = program["name"], program["kind"]
        chosen = not options.only or any(o in name for o in options.only for name in names)
        if not chosen or place % count != number:
            continue
        for variant in program["variants"]:
            if variant_runs_on(variant, capability):
                jobs.append(RunJob(place, variant, program["group"]))
    return jobs


def variant_runs_on(variant: str, capability: "tuple[int, int]") -> bool:
    """Whether code runs on a GPU: "sm_90a.cubin" on 9.0, "sm_80.ptx" on 8.0 and later."""
    found = re.fullmatch(r"sm_(\d+)(\d)([a-z]?)\.(cubin|ptx)", variant)
    if found is None:
        return False
    own = int(found[1]), int(found[2])
    if found[3]:
        return own == capability
    if found[4] == "ptx":
        return own <= capability
    return own[0] == capability[0] and own[1] <= capability[1]


@dataclass
class _Shared:
    """What the threads that ask workers have in common."""

    groups: "list[list[RunJob]]"
    report: ConformanceReport
    end: float
    lock: Any = field(default_factory=threading.Lock)
    refused: str = ""

    def next_group(self) -> "list[RunJob]":
        with self.lock:
            return self.groups.pop(0) if self.groups else []


def run_pack(
    pack: Pack, options: RunOptions, progress: Callable[[str], None] = lambda line: None
) -> ConformanceReport:
    """Run what is asked for, and write reports meanwhile and at the end.

    Raises:
        WorkerRefused: no program can be run here.
    """
    start, report = time.monotonic(), ConformanceReport(pack.about)
    command = worker_command(options.script, options.folder, options.device)
    first = WorkerProcess(command, options.timeout)
    first.start()
    report.about["capability"] = ".".join(map(str, first.capability))
    jobs = jobs_of(pack, options, first.capability)
    report.wanted = len(jobs)
    by_group: dict[int, list[RunJob]] = {}
    for job in jobs:
        by_group.setdefault(job.group, []).append(job)
    shared = _Shared(list(by_group.values()), report, start + options.limit)
    others = [WorkerProcess(command, options.timeout) for _ in range(options.workers - 1)]
    threads = [
        threading.Thread(target=_serve, args=(pack, worker, shared), daemon=True)
        for worker in (first, *others)
    ]
    try:
        for thread in threads:
            thread.start()
        while any(t.is_alive() for t in threads):
            threads[0].join(0.05)
            for thread in threads:
                thread.join(_EVERY / len(threads) if thread.is_alive() else 0)
            with shared.lock:
                report.seconds = time.monotonic() - start
                report.write(options.results)
                progress(report.summary())
    finally:
        for worker in (first, *others):
            worker.end()
        report.seconds = time.monotonic() - start
        report.write(options.results)
    if shared.refused and not report.rows:
        raise WorkerRefused(shared.refused)
    return report


def _serve(pack: Pack, worker: WorkerProcess, shared: _Shared) -> None:
    """Have a worker run groups until there are no more, or time is up."""
    while group := shared.next_group():
        for job in group:
            if time.monotonic() > shared.end:
                return
            try:
                row = worker.ask(job.program, job.variant)
            except WorkerRefused as error:
                shared.refused = str(error)
                return
            program = pack.programs[job.program]
            named = {"name": program["name"], "kind": program["kind"], "variant": job.variant}
            if program.get("measured"):
                named["measured"] = program["measured"]
            with shared.lock:
                shared.report.rows.append({**named, **row})


# --- Sanitizers -----------------------------------------------------------------------------------


def few_of_each_kind(pack: Pack, jobs: "Sequence[RunJob]", most: int) -> "list[RunJob]":
    """A few programs of each kind and form of code, the first ones spread over the kind."""
    kinds: dict[tuple[str, str], list[RunJob]] = {}
    for job in jobs:
        kinds.setdefault((pack.programs[job.program]["kind"], job.variant), []).append(job)
    return [job for found in kinds.values() for job in found[:: -(-len(found) // most)]]


def sanitizer_program() -> str:
    """The path of NVIDIA's compute-sanitizer: on the PATH, or where its toolkit usually is.

    Raises:
        WorkerRefused: there is none.
    """
    found = shutil.which("compute-sanitizer") or next(
        iter(sorted(glob.glob(f"{_TOOLKITS}/compute-sanitizer"), reverse=True)), None
    )
    if found is None:
        raise WorkerRefused("there is no compute-sanitizer on the PATH: it is in CUDA's toolkit")
    return found


def sanitize_pack(
    pack: Pack, options: RunOptions, tools: Sequence[str], most: int = 3
) -> ConformanceReport:
    """Run a few programs of each kind under each tool of NVIDIA's compute-sanitizer.

    Raises:
        WorkerRefused: there is no such program, or nothing can be run here.
    """
    program, refused = sanitizer_program(), ""
    report, start = ConformanceReport(pack.about), time.monotonic()
    share = options.limit / len(tools)
    for number, tool in enumerate(tools):
        with tempfile.TemporaryDirectory() as scratch:
            log = Path(scratch) / "log.txt"
            before = [program, "--tool", tool, "--log-file", str(log)]
            command = worker_command(
                options.script, options.folder, options.device, tool != "initcheck", before
            )
            worker, end = WorkerProcess(command, options.timeout), start + share * (number + 1)
            try:
                found = _sanitized(pack, options, worker, log, end, report, most)
            except WorkerRefused as error:
                refused = str(error)
                found = {"summary": f"cannot be run: {refused}", "errors": 1, "said": []}
            report.sanitizer[tool] = found
        report.seconds = time.monotonic() - start
        report.write(options.results)
    if not report.rows and refused:
        raise WorkerRefused(refused)
    return report


def _sanitized(
    pack: Pack, options: RunOptions, worker: WorkerProcess, log: Path, end: float,
    report: ConformanceReport, most: int,
) -> "dict[str, Any]":  # fmt: skip
    """What a tool says of some programs, each line after the program it was said of."""
    said: list[str] = []
    done, seen = 0, 0
    try:
        worker.start()
        jobs = few_of_each_kind(pack, jobs_of(pack, options, worker.capability), most)
        report.wanted += len(jobs)
        for job in jobs:
            if time.monotonic() > end:
                break
            about = pack.programs[job.program]
            worker.timeout = max(_LEAST, end - time.monotonic())
            row = worker.ask(job.program, job.variant)
            done += 1
            report.rows.append(
                {"name": about["name"], "kind": about["kind"], "variant": job.variant, **row}
            )
            text = log.read_text(errors="replace") if log.exists() else ""
            if _errors(text[seen:]):
                said.append(f"{about['name']} ({job.variant}):")
                said += [f"    {line}" for line in text[seen:].splitlines()[:12]]
            seen = len(text)
    finally:
        worker.finish()
    text = log.read_text(errors="replace") if log.exists() else ""
    if _errors(text[seen:]):
        said += ["at the end:", *text[seen:].splitlines()[:12]]
    errors = sum(map(int, re.findall(r"ERROR SUMMARY: (\d+) error", text)))
    errors += sum(map(int, re.findall(r"RACECHECK SUMMARY: (\d+) hazard", text)))
    return {"summary": f"{errors} errors in {done} of {len(jobs)} programs", "errors": errors,
            "said": said}  # fmt: skip


def _errors(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.startswith("=========")]
    return any("=========     " not in x and re.search(r"Invalid|Error|Uninit|Race|Barrier|hazard",
               x) and "SUMMARY: 0" not in x for x in lines)  # fmt: skip
