"""The command line of a pack's own script."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tfc.testing.conformance.runner.packs import Pack, PackError
from tfc.testing.conformance.runner.processes import WorkerRefused
from tfc.testing.conformance.runner.reports import ConformanceReport
from tfc.testing.conformance.runner.running import RunOptions, run_pack, sanitize_pack
from tfc.testing.conformance.runner.worker import work

SANITIZERS = ("memcheck", "racecheck", "initcheck", "synccheck")
_EPILOG = """\
exit codes: 0 all passed; 1 something did not; 2 nothing can be run here; 3 all that was run passed,
but time was up before the rest
"""


def conformance_main(arguments: "Sequence[str] | None" = None) -> int:
    """The command; gives its exit code."""
    options = _parser().parse_args(arguments)
    script = Path(__file__).resolve()
    if options.worker is not None:
        return work(Path(options.worker), options.device, not options.no_poison)
    folder = Path(options.pack) if options.pack else script.parent
    try:
        pack = Pack(folder)
        if options.list or options.show:
            return _shown(pack, options.show)
        asked = RunOptions(
            script, folder, Path(options.results), options.device, max(1, options.workers),
            options.timeout, options.limit_seconds, tuple(filter(None, options.only.split(","))),
            options.shard,
        )  # fmt: skip
        if options.sanitizer:
            tools = SANITIZERS if options.sanitizer == "all" else options.sanitizer.split(",")
            report = sanitize_pack(pack, asked, tools, options.each)
        else:
            report = run_pack(pack, asked, lambda line: print(line, file=sys.stderr))
    except (PackError, WorkerRefused) as error:
        print(error, file=sys.stderr)
        return 2
    print(report.as_text(), end="")
    return _exit_code(report)


def _exit_code(report: ConformanceReport) -> int:
    if report.bad or any(found["errors"] for found in report.sanitizer.values()):
        return 1
    if not report.wanted:
        print("no program of the pack is of what was asked for and runs here", file=sys.stderr)
        return 2
    return 3 if len(report.rows) < report.wanted else 0


def _shown(pack: Pack, name: "str | None") -> int:
    """Print the names of all programs, or the text of one."""
    if name is None:
        for program in pack.programs:
            print(program["name"], *program["variants"])
        return 0
    for program in pack.programs:
        if program["name"] == name:
            print(pack.group(program["group"]).text(program))
            return 0
    print(f"there is no program {name} in {pack.path}", file=sys.stderr)
    return 2


def _shard(text: str) -> "tuple[int, int]":
    number, _, count = text.partition("/")
    try:
        if 1 <= int(number) <= int(count):
            return int(number) - 1, int(count)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"expected a part such as 1/4, got '{text}'")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Run the programs of the pack beside this file on a GPU.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--pack", metavar="DIR", help="the pack; the folder of this file when left out")
    add("--results", default="conformance.json", metavar="FILE", help="and .txt beside it")
    add("--only", default="", metavar="TEXT,…", help="programs with this in their name or kind")
    add("--shard", default=(0, 1), type=_shard, metavar="I/N", help="every N-th, from the I-th on")
    add("--limit-seconds", default=600.0, type=float, help="begin no program after these")
    add("--timeout", default=20.0, type=float, help="seconds for each program")
    add("--workers", default=min(8, os.cpu_count() or 1), type=int, help="processes")
    add("--device", default=0, type=int, help="the GPU's number")
    add("--sanitizer", metavar="TOOL,…", help=f"all, or of {', '.join(SANITIZERS)}")
    add("--each", default=3, type=int, help="programs of each kind under a sanitizer, at most")
    add("--list", action="store_true", help="print the names of all programs")
    add("--show", metavar="NAME", help="print a program")
    add("--worker", help=argparse.SUPPRESS)
    add("--no-poison", action="store_true", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(conformance_main())
