"""Random testing by the clock: programs grown at random, compiled and compared with the reference.

Their text states layouts at random. It is parsed and compiled, and must print as it was. A program
that fails is made as small as it gets and written as HLO text, with its arguments and what was
wrong in comments at the top, and the command that runs it again.
"""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st

from tfc.compiler import compile as compile_module
from tfc.errors import TfcError
from tfc.files import unfinished, write_files
from tfc.hlo.ir import Module
from tfc.hlo.shape import ELEMENT_TYPES, ElementType
from tfc.hlo.text.parser import parse
from tfc.hlo.text.printer import print_module
from tfc.hlo.verification.verifier import verify
from tfc.testing.compare import flat, mismatch
from tfc.testing.generators.layouts import with_entry_layout, with_layouts
from tfc.testing.generators.modules import OPCODES, modules, twice
from tfc.testing.generators.values import Draw, arguments_for
from tfc.testing.ptx.driver import device_of
from tfc.testing.report import Failure, Outcome, Report, described, outcome_of, reason_of
from tfc.testing.shrinking import shrink

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


@st.composite
def programs(
    draw: Draw,
    size: int,
    element_types: Sequence[ElementType],
    opcodes: Sequence[str] = OPCODES,
) -> str:
    """The text of a random module with transposed temporaries and layouts stated at random; of some
    all is computed twice, of other arguments."""
    turned, of_values, of_entry = (draw(st.booleans()) for _ in range(3))
    module = draw(modules(size, element_types, opcodes, turned=turned))
    module = module if draw(st.integers(0, 3)) else twice(module)
    if of_values:
        module = with_layouts(draw, module)
    return with_entry_layout(draw, module) if of_entry else print_module(module)


class _Ended(KeyboardInterrupt):
    """Ends a search; derived from what hypothesis lets through at once."""


@dataclass(frozen=True)
class _Program:
    """A program with the seed and the kind of its arguments."""

    module: Module
    text: str
    number: int
    kind: str

    @property
    def arguments(self) -> tuple[Any, ...]:
        return tuple(arguments_for(self.module, np.random.default_rng(self.number), self.kind))

    def described(self, reason: str) -> str:
        return described(self.text, self.module, self.arguments, reason)


def drawing(count: int) -> settings:
    """The settings of a search that only draws, so many examples."""
    return settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.filter_too_much,
            HealthCheck.large_base_example,
        ],
        verbosity=Verbosity.quiet,
        print_blob=False,
    )


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
        strategy = programs(size, types, opcodes)
        search = _Search(report, end, backend, out_dir, progress)
        search.run(strategy, first_seed * 1_000_003 + number)
        number += 1
    return report


@dataclass
class _Search:
    """One search of hypothesis, which ends at the first failure."""

    report: Report
    end: float
    backend: str
    out_dir: Path
    progress: Callable[[Report], None]
    failed: _Program | None = None

    def run(self, strategy: st.SearchStrategy[str], number: int) -> None:
        kinds = st.sampled_from(["normal", "whole", "special"])
        test = seed(number)(drawing(ROUND)(given(strategy, st.integers(0, 1000), kinds)(self._one)))
        with suppress(_Ended):
            test()
        if self.failed is not None:
            self._write(self.failed)

    def _one(self, text: str, number: int, kind: str) -> None:
        if time.monotonic() > self.end:
            raise _Ended
        program = _Program(parse(text), text, number, kind)
        outcome = self._outcome(program)
        self.report.programs += 1
        module = program.module
        self.report.drawn.update(i.opcode for c in module.computations for i in c.instructions)
        if outcome.refused:
            self.report.refused[reason_of(outcome.refused)] += 1
        self.progress(self.report)
        if outcome.wrong:
            self.failed = program
            raise _Ended

    def _outcome(self, program: _Program) -> Outcome:
        """What becomes of a program, which a file holds while it runs."""
        running = self.out_dir / f"running.{os.getpid()}.hlo"
        with unfinished(running):
            running.write_text(program.described("the program that was running"))
            outcome = outcome_of_program(program.module, program.arguments, self.backend)
            running.unlink()
        return outcome

    def _write(self, program: _Program) -> None:
        """Make a program small, and write it."""

        def fails(module: Module) -> bool:
            return is_valid(module) and bool(self._outcome(replace(program, module=module)).wrong)

        small = replace(program, module=shrink(program.module, fails))
        small = replace(small, text=print_module(small.module))
        # What is parsed anew might be right, where the text is what went wrong.
        reason = self._outcome(small).wrong
        if not reason:
            small, reason = program, self._outcome(program).wrong
        path = self.out_dir / f"fuzz-{len(self.report.failures) + 1}.hlo"
        write_files((path, small.described(reason).encode()))
        self.report.failures.append(Failure(reason, path))


def is_valid(module: Module) -> bool:
    """Whether a module meets the invariants, which one made small at random may not."""
    try:
        verify(module)
    except TfcError:
        return False
    return True


def outcome_of_program(module: Module, arguments: Sequence[Any], backend: str) -> Outcome:
    """What becomes of a verified program: a backend computes what the reference says, or not."""
    if print_module(parse(print_module(module))) != print_module(module):
        return Outcome(wrong="its text, parsed and printed, is another")
    try:
        results = results_of(compile_module(module, backend), backend, flat(tuple(arguments)))
    except Exception as error:  # whatever it is, it is of the program at hand
        return outcome_of(error)
    return Outcome(wrong=mismatch(module, arguments, results) or "")


def results_of(
    executable: Callable[..., Sequence[Any]], backend: str, arrays: Iterable[Any]
) -> list[np.ndarray]:
    """What a program gives for arrays, on the host; programs for GPUs run with or without one."""
    with device_of(backend):
        return [np.asarray(r) for r in executable(*arrays)]


def problem(module: Module, arguments: Sequence[Any], backend: str) -> str | None:
    """None if a backend computes what the reference says, else what is wrong."""
    try:
        results = results_of(compile_module(module, backend), backend, flat(tuple(arguments)))
    except TfcError as error:
        return f"{type(error).__name__}: {error}".partition("\n")[0]
    return mismatch(module, arguments, results)
