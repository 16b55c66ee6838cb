"""`tfc fuzz`: the fuzzer on a terminal."""

import time
from pathlib import Path

from rich.console import Console

from tfc.errors import TfcError
from tfc.hlo.op import OPS
from tfc.testing.fuzz import fuzz
from tfc.testing.modules import OPCODES
from tfc.testing.report import Report


def run(
    seconds: float, seed: int, out_dir: Path, opcodes: str | None, size: int, backend: str
) -> bool:
    """Run the fuzzer and say what it found; True if it found nothing.

    Raises:
        TfcError: an opcode is unknown.
    """
    chosen = opcodes.split(",") if opcodes else OPCODES
    for opcode in chosen:
        if opcode not in OPCODES:
            reason = "is never drawn at random" if opcode in OPS else "is no operation"
            raise TfcError(f"'{opcode}' {reason}")
    console, start = Console(stderr=True), time.monotonic()
    with console.status("growing programs") as status:

        def show(report: Report) -> None:
            spent = time.monotonic() - start
            status.update(
                f"{report.programs} programs in {spent:.0f} of {seconds:.0f} s, "
                f"{len(report.failures)} failures"
            )

        report = fuzz(
            seconds, seed, out_dir, backend=backend, opcodes=chosen, size=size, progress=show
        )
    for failure in report.failures:
        print(f"{failure.path}: {failure.reason}")
    drawn = sum(1 for o in chosen if report.drawn[o])
    print(
        f"{report.programs} programs of {drawn} operations in {time.monotonic() - start:.0f} s: "
        + (f"{len(report.failures)} mismatches" if report.failures else "no mismatch")
    )
    return not report.failures
