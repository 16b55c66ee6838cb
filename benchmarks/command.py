"""The command line: measure, print, write."""

import argparse
import fnmatch
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import zip_longest
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from benchmarks.case import Case
from benchmarks.cases import CASES
from benchmarks.machine import describe
from benchmarks.measure import FULL, QUICK, Plan, measure
from benchmarks.page import page
from benchmarks.peers import PEERS, Peer
from benchmarks.protocol import BenchmarkError
from benchmarks.report import print_run
from benchmarks.results import Row, Run, load
from benchmarks.workers import ROOT, RemoteWorker, environment, pinned

_FAR = 1.5  # times the best peer's time
_TIMEOUT = 120.0  # seconds for one answer


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the command line asks for, or say in a line why not."""
    try:
        _run(_parser().parse_args(arguments))
    except (OSError, BenchmarkError) as error:
        raise SystemExit(f"{error}") from None


def _run(options: argparse.Namespace) -> None:
    # A table in a file or a pipe is as wide as it needs to be.
    console = Console() if sys.stdout.isatty() else Console(width=220)
    runs = [load(path) for path in options.load]
    if not runs:
        runs = [_measured(options, console)]
    for run in runs:
        print_run(console, run)
    if options.docs:
        options.docs.write_text(page(runs), "utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Measure tfc beside its peers.")
    names = ", ".join(p.name for p in PEERS)
    add = parser.add_argument
    add("--threads", type=int, choices=(1, 2), default=1, help="of each library; 1 unless given")
    add("--quick", action="store_true", help="fewer and shorter samples, in one process")
    add(
        "--processes",
        type=int,
        metavar="N",
        help="in how many processes each library is measured, one after the other; "
        f"{FULL.processes} unless given, {QUICK.processes} if --quick",
    )
    add(
        "--only",
        metavar="TEXT",
        action="append",
        default=[],
        help="rows whose family or name has the text, or matches it with * and ?; may be repeated",
    )
    add(
        "--peers",
        type=_peers,
        metavar="A,B",
        default=[p for p in PEERS if not p.asked],
        help=f"beside tfc, or 'all'; of {names}; without torch.compile unless given",
    )
    add("--json", type=Path, metavar="FILE", help="write the measurements there")
    add("--docs", type=Path, metavar="FILE", help="write them as a page of Markdown")
    add(
        "--load",
        type=Path,
        metavar="FILE",
        nargs="+",
        default=[],
        help="report what --json wrote, instead of measuring",
    )
    return parser


def _peers(text: str) -> list[Peer]:
    known = {p.name.lower(): p for p in PEERS}
    if text == "all":
        return list(PEERS)
    wanted = ["tfc", *(n.strip().lower() for n in text.split(","))]
    unknown = [n for n in wanted if n not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"no peer is called {', '.join(unknown)}")
    return [p for p in PEERS if p.name.lower() in wanted]


def _measured(options: argparse.Namespace, console: Console) -> Run:
    """Measure the rows that were asked for; written after each, as a run takes long."""
    chosen = [case for case in CASES if _is_chosen(case, options.only)]
    if not chosen:
        raise BenchmarkError(f"no row matches {' or '.join(options.only)}")
    plan = QUICK if options.quick else FULL
    processes = plan.processes if options.processes is None else options.processes
    if processes < 1:
        raise BenchmarkError(f"--processes {processes}: there must be one at least")
    versions = {p.name: p.version() if p.is_installed() else "" for p in options.peers}
    run = Run(describe(), versions, options.threads, options.quick, {}, [])
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("limits", total=len(chosen) * processes)
        # What disturbs the probe makes a limit too small: it is taken before and after.
        _raise(run.limits, _limits(options.threads))
        for turn in range(processes):
            before = list(run.rows)
            for index, row in enumerate(_rows(chosen, run, options, plan)):
                progress.update(bar, description=f"{row.family}: {row.name}", advance=1)
                run.rows[index : index + 1] = [before[index].joined(row) if turn else row]
                if options.json:
                    run.save(options.json)
            _raise(run.limits, _limits(options.threads))
    if options.json:
        run.save(options.json)
    return run


def _rows(
    chosen: Iterable[Case], run: Run, options: argparse.Namespace, plan: Plan
) -> Iterator[Row]:
    """The rows as one more process of each library has them.

    A peer that failed in the process before is not tried again, as it may be minutes until it does;
    nor is one that was far behind the best, of which one process says enough.
    """
    with ExitStack() as stack:
        workers: dict[str, RemoteWorker] = {}
        for name, version in run.versions.items():
            if version:
                workers[name] = RemoteWorker.of(name, options.threads, _TIMEOUT)
                stack.callback(workers[name].stop)
        before = list(run.rows)
        for case, earlier in zip_longest(chosen, before):
            stated = [p.name for p in options.peers if p.has(case)]
            absent = {name: "not installed" for name in stated if name not in workers}
            wanted = stated if earlier is None else earlier.contenders(_FAR)
            asked = {name: workers[name] for name in wanted if name in workers}
            yield measure(case, asked, absent, plan)


def _is_chosen(case: Case, texts: Sequence[str]) -> bool:
    return not texts or any(t in case.key or fnmatch.fnmatch(case.key, t) for t in texts)


def _limits(threads: int) -> dict[str, float]:
    """The limits of the cores that are measured."""
    with pinned(threads):
        made = subprocess.run(
            [sys.executable, "-m", "benchmarks.limits", str(threads)],
            env=environment(threads), cwd=ROOT, stdout=subprocess.PIPE, check=True,
        )  # fmt: skip
    return json.loads(made.stdout)


def _raise(limits: dict[str, float], found: dict[str, float]) -> None:
    """Keep the larger figure of each limit."""
    for name, value in found.items():
        limits[name] = max(value, limits.get(name, 0.0))


if __name__ == "__main__":
    main()
