"""`tfc fuzz`: the fuzzers on a terminal."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from rich.console import Console

from tfc.errors import TfcError, UnsupportedError
from tfc.hlo.op import OPS
from tfc.testing.fuzz import fuzz
from tfc.testing.generators.modules import OPCODES
from tfc.testing.mutants import fuzz_mutants
from tfc.testing.ptx.driver import device_for_tests
from tfc.testing.report import Report

SOURCES = ("hlo", "mutants", "jax")
SHOWN = 8  # reasons of refusals that are shown
OWN_FILES = Path("tests/files")  # of tfc, where its source is the working directory
Progress = Callable[[Report], None]


@dataclass(frozen=True)
class Settings:
    """What the command line says; None where an option is left out."""

    source: str
    seconds: float
    seed: int
    out_dir: Path
    backend: str = "cpu"
    opcodes: str | None = None
    size: int | None = None
    folder: Path | None = None


def run(settings: Settings) -> bool:
    """Run a fuzzer and say what it found; True if it found nothing.

    Raises:
        TfcError: an opcode is unknown, an option is not for the source, or jax is not installed.
    """
    start_source = _SOURCES[settings.source](settings)
    console, start = Console(stderr=True), time.monotonic()
    if settings.backend == "gpu":
        with device_for_tests() as device:
            console.print(f"programs run on the {device.name}", highlight=False)
    with console.status("growing programs") as status:

        def show(report: Report) -> None:
            spent = time.monotonic() - start
            status.update(
                f"{report.programs} programs in {spent:.0f} of {settings.seconds:.0f} s, "
                f"{len(report.failures)} failures"
            )

        report = start_source(show)
    for failure in report.failures:
        print(f"{failure.path}: {failure.reason}")
    _show_reasons("not taken by tfc", report.refused)
    _show_reasons("without an answer of the oracle", report.oracle)
    drawn, kind = _drawn(settings, report)
    print(
        f"{report.programs} programs of {drawn} {kind} in {time.monotonic() - start:.0f} s: "
        + (f"{len(report.failures)} mismatches" if report.failures else "no mismatch")
    )
    return not report.failures


def _show_reasons(what: str, reasons: Counter[str]) -> None:
    if reasons:
        print(f"{reasons.total()} programs {what}:")
    for reason, count in reasons.most_common(SHOWN):
        print(f"  {count} x {reason}")
    if len(reasons) > SHOWN:
        print(f"  … and {len(reasons) - SHOWN} reasons more")


def _drawn(settings: Settings, report: Report) -> tuple[int, str]:
    """How many operations or functions the programs had, of those asked for."""
    if settings.source == "jax":
        return len(report.drawn), "functions"
    chosen = _opcodes(settings) if settings.opcodes else report.drawn
    return sum(1 for o in chosen if report.drawn[o]), "operations"


def _opcodes(settings: Settings) -> Sequence[str]:
    chosen = settings.opcodes.split(",") if settings.opcodes else OPCODES
    for opcode in chosen:
        if opcode not in OPCODES:
            reason = "is never drawn at random" if opcode in OPS else "is no operation"
            raise TfcError(f"'{opcode}' {reason}")
    return chosen


def _refuse(settings: Settings, **options: object) -> None:
    for name, value in options.items():
        if value is not None:
            raise TfcError(f"--{name} is not for --source {settings.source}: leave it out")


def _hlo(settings: Settings) -> Callable[[Progress], Report]:
    _refuse(settings, corpus=settings.folder)
    opcodes, size = _opcodes(settings), settings.size or 16
    return lambda progress: fuzz(
        settings.seconds, settings.seed, settings.out_dir, backend=settings.backend,
        opcodes=opcodes, size=size, progress=progress,
    )  # fmt: skip


def _mutants(settings: Settings) -> Callable[[Progress], Report]:
    _refuse(settings, ops=settings.opcodes, size=settings.size)
    folder = settings.folder or (OWN_FILES if OWN_FILES.is_dir() else None)
    return lambda progress: fuzz_mutants(
        settings.seconds, settings.seed, settings.out_dir, folder=folder,
        backend=settings.backend, progress=progress,
    )  # fmt: skip


def _jax(settings: Settings) -> Callable[[Progress], Report]:
    _refuse(settings, ops=settings.opcodes, corpus=settings.folder)
    try:
        running = import_module("tfc.testing.jax_programs.running")
    except ModuleNotFoundError as error:
        if error.name not in ("jax", "jaxlib"):
            raise
        raise UnsupportedError(
            "random JAX programs need jax, which is not installed: run `pip install jax`"
        ) from error
    return lambda progress: running.fuzz_jax(
        settings.seconds, settings.seed, settings.out_dir, backend=settings.backend,
        size=settings.size or 8, progress=progress,
    )  # fmt: skip


_SOURCES = {"hlo": _hlo, "mutants": _mutants, "jax": _jax}
