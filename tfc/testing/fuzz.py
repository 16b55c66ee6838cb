"""Random testing by the clock: programs grown at random, compiled and compared with the reference.

A program that fails is made as small as it gets and written as HLO text, with its arguments and
what was wrong in comments at the top, and the command that runs it again.
"""

import os
import shlex
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st

from tfc.compiler import compile as compile_module
from tfc.errors import TfcError
from tfc.files import unfinished, write_files
from tfc.hlo.ir import Module
from tfc.hlo.literal import Literal
from tfc.hlo.literal_text import print_literal
from tfc.hlo.printer import print_module
from tfc.hlo.shape import ELEMENT_TYPES, leaves
from tfc.testing.compare import flat, mismatch
from tfc.testing.modules import OPCODES, modules
from tfc.testing.values import arguments_for

ROUND = 250  # programs of one search, which has one set of element types
# The element types of one program: few, so that values of one type meet.
TYPE_SETS = (
    ("f32", "s32", "pred"),
    ("f32", "s32", "pred", "f64"),
    ("f64", "u8", "s64", "f32"),
    ("bf16", "f16", "f32", "s8", "u32"),
    ("c64", "f32", "s32", "pred"),
    ("s4", "u4", "s8", "f8e4m3fn", "f8e5m2", "f32"),
)


class _TimeUp(KeyboardInterrupt):
    """Ends a search; derived from what hypothesis lets through at once."""


@dataclass(frozen=True)
class Failure:
    """A program that went wrong: its text, what was wrong, and where it was written."""

    module: Module
    arguments: tuple[Any, ...]
    reason: str
    path: Path


@dataclass
class Report:
    """What a run of the fuzzer did."""

    programs: int = 0
    opcodes: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)


def fuzz(
    seconds: float,
    first_seed: int,
    out_dir: Path,
    *,
    backend: str = "cpu",
    opcodes: Sequence[str] = OPCODES,
    size: int = 16,
    progress: Callable[[Report], None] = lambda report: None,
) -> Report:
    """Compile and compare random programs until the time is over.

    Args:
        seconds: when to start no further program; one that failed is still made small.
        first_seed: with equal seeds the same programs come in the same order.
        out_dir: where failing programs are written, and `running.PROCESS.hlo` while one runs, which
            is what is left when a program ends the process.
        size: about how many instructions a program has.
        progress: called after each program.
    """
    report, end = Report(), time.monotonic() + seconds
    out_dir.mkdir(parents=True, exist_ok=True)
    number = 0
    while time.monotonic() < end:
        types = [ELEMENT_TYPES[n] for n in TYPE_SETS[number % len(TYPE_SETS)]]
        strategy = modules(size, types, opcodes)
        search = _Search(report, end, backend, out_dir, progress)
        search.run(strategy, first_seed * 1_000_003 + number)
        number += 1
    return report


@dataclass
class _Search:
    """One search of hypothesis, which ends at the first failure, made small."""

    report: Report
    end: float
    backend: str
    out_dir: Path
    progress: Callable[[Report], None]
    failed: Failure | None = None

    def run(self, strategy: st.SearchStrategy[Module], number: int) -> None:
        quiet = settings(
            max_examples=ROUND,
            deadline=None,
            database=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=[
                HealthCheck.too_slow,
                HealthCheck.data_too_large,
                HealthCheck.filter_too_much,
                HealthCheck.large_base_example,
            ],
            verbosity=Verbosity.quiet,
            print_blob=False,
        )
        kinds = st.sampled_from(["normal", "whole", "special"])
        test = seed(number)(quiet(given(strategy, st.integers(0, 1000), kinds)(self._one)))
        try:
            test()
        except _TimeUp:
            return
        except Exception:
            if self.failed is None:
                raise
        if self.failed is not None:
            self._write(self.failed)

    def _one(self, module: Module, number: int, kind: str) -> None:
        if self.failed is None and time.monotonic() > self.end:
            raise _TimeUp
        arguments = tuple(arguments_for(module, np.random.default_rng(number), kind))
        running = self.out_dir / f"running.{os.getpid()}.hlo"
        with unfinished(running):
            running.write_text(_text(module, arguments, "the program that was running"))
            reason = problem(module, arguments, self.backend)
            running.unlink()
        if self.failed is None:
            self.report.programs += 1
            self.report.opcodes.update(
                i.opcode for c in module.computations for i in c.instructions
            )
            self.progress(self.report)
        if reason is not None:
            path = self.out_dir / f"fuzz-{len(self.report.failures) + 1}.hlo"
            self.failed = Failure(module, arguments, reason, path)
            raise AssertionError(reason)

    def _write(self, failure: Failure) -> None:
        text = _text(failure.module, failure.arguments, failure.reason)
        write_files((failure.path, text.encode()))
        self.report.failures.append(failure)


def problem(module: Module, arguments: Sequence[Any], backend: str) -> str | None:
    """None if a backend computes what the reference says, else what is wrong."""
    try:
        results = compile_module(module, backend)(*flat(tuple(arguments)))
    except TfcError as error:
        return f"{type(error).__name__}: {error}".partition("\n")[0]
    return mismatch(module, arguments, results)


def _text(module: Module, arguments: Sequence[Any], reason: str) -> str:
    """A program with its arguments and what is wrong with it in comments."""
    shapes = [s for p in module.entry.parameters for s in leaves(p.shape)]
    literals = [print_literal(Literal(a)) for a in flat(tuple(arguments))]
    command = ["tfc", "run", "FILE", *(f"--arg={text}" for text in literals)]
    lines = [f"// {reason}", f"// {shlex.join(command)}"]
    lines += [f"// argument {n}: {s.without_layout()}" for n, s in enumerate(shapes)]
    return "\n".join([*lines, "", print_module(module), ""])
