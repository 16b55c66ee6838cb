"""Random testing by mutants: programs of a corpus, changed at random.

A mutant that is taken must compute what the reference says; one that is refused must be so with a
typed error. All is done in another process, since a defect may end it or never come to an end.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, seed
from hypothesis import strategies as st

from tfc.compiler import compile as compile_module
from tfc.errors import TfcError
from tfc.files import write_files
from tfc.hlo.evaluation.evaluator import evaluate
from tfc.hlo.ir import Module
from tfc.hlo.shape import ELEMENT_TYPES, AnyShape, leaves
from tfc.hlo.text.parser import parse
from tfc.hlo.text.printer import print_module
from tfc.testing.apart import Apart, Gone, Say
from tfc.testing.compare import flat, mismatch
from tfc.testing.fuzz import TYPE_SETS, drawing, programs, results_of
from tfc.testing.generators.modules import STATEFUL
from tfc.testing.generators.values import arguments_for
from tfc.testing.mutations import mutated, plain_text
from tfc.testing.one_meaning import order_matters, starts_anew
from tfc.testing.report import Failure, Outcome, Report, described, outcome_of, reason_of
from tfc.testing.shrinking import shrink, shrink_lines

GROWN = 60  # programs of the grower in the corpus
LARGEST = 1 << 16  # elements of a value of a mutant that is run
EVALUATION = 10.0  # seconds; a mutant may loop without end
ASKED = 0.3  # of the mutants that are right, those that XLA is asked of
STAGE = 60.0  # seconds for each other stage, on a machine that does much else


@dataclass(frozen=True)
class Mutant:
    """A text, and what its arguments are drawn from."""

    text: str
    number: int
    kind: str
    backend: str = "cpu"


def corpus(folder: Path | None, number: int) -> list[str]:
    """Texts to change: the cases of a folder's .hlo files that parse, and programs grown at random.

    Raises:
        TfcError: the folder has no program.
    """
    texts = list(_cases(folder)) if folder else []
    if folder and not texts:
        raise TfcError(f"{folder} has no .hlo file with a program in it")
    types = [[ELEMENT_TYPES[n] for n in names] for names in TYPE_SETS]
    grown = st.one_of([programs(8, chosen) for chosen in types])
    seed(number)(drawing(GROWN)(given(grown)(lambda text: texts.append(plain_text(parse(text))))))()
    return texts


def _cases(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*.hlo")):
        for case in path.read_text().split("// -----\n"):
            try:
                yield plain_text(parse(case))
            except (TfcError, RecursionError):
                continue  # it is there to be refused


def fuzz_mutants(
    seconds: float,
    number: int,
    out_dir: Path,
    *,
    folder: Path | None = None,
    backend: str = "cpu",
    progress: Callable[[Report], None] = lambda report: None,
) -> Report:
    """Run mutants until the time is over, and write those that go wrong, made small.

    Args:
        number: with equal numbers the same mutants come in the same order.
        folder: .hlo files to change, besides programs that are grown.
    """
    report, end = Report(), time.monotonic() + seconds
    out_dir.mkdir(parents=True, exist_ok=True)
    rng, texts, process = random.Random(number), corpus(folder, number), Apart(run_mutant)
    xla = Xla() if find_spec("jaxlib") and find_spec("jax") else None
    try:
        while time.monotonic() < end:
            mutant = draw_mutant(texts, rng, backend)
            with_xla = xla if rng.random() < ASKED else None
            outcome, opcodes = _outcome(process, with_xla, mutant)
            report.programs += 1
            report.drawn.update(opcodes)
            if outcome.refused:
                report.refused[reason_of(outcome.refused)] += 1
            if outcome.oracle:
                report.oracle[reason_of(outcome.oracle)] += 1
            if outcome.wrong:
                path = out_dir / f"mutant-{len(report.failures) + 1}.hlo"
                _write(path, lambda m: _outcome(process, xla, m)[0].wrong, mutant, outcome.wrong)
                report.failures.append(Failure(outcome.wrong, path))
            progress(report)
    finally:
        process.end()
        if xla is not None:
            xla.process.end()
    return report


class Xla:
    """XLA, in a process of its own: it ends its process on some programs."""

    def __init__(self):
        # Loading jax takes a while, which those who have none are spared.
        self.module: Any = import_module("tfc.testing.xla")
        self.process = Apart(self.module.run_text)

    def outcome(self, mutant: Mutant, opcodes: Sequence[str]) -> Outcome:
        """Whether XLA computes what the reference says, where it takes a program."""
        # It takes numbers near zero for zero.
        if mutant.kind == "special" or self.module.DIFFERS.intersection(opcodes):
            return Outcome()
        module = parse(mutant.text)
        if starts_anew(module):
            return Outcome()
        arguments = arguments_for(module, np.random.default_rng(mutant.number), mutant.kind)
        try:
            results = self.process.ask((mutant.text, list(flat(tuple(arguments)))), STAGE)
        except Gone as gone:
            return Outcome(oracle=f"{gone.stage} {gone.how}")
        if isinstance(results, str):
            return Outcome(oracle=f"xla refuses: {results}")
        differs = mismatch(module, arguments, results)
        return Outcome(wrong=f"XLA, beside the evaluator: {differs}" if differs else "")


def _outcome(process: Apart, xla: Xla | None, mutant: Mutant) -> tuple[Outcome, tuple[str, ...]]:
    """What becomes of a mutant, and its opcodes; XLA is asked of one that is right."""
    outcome, opcodes = ask(process, mutant)
    if xla is not None and opcodes and outcome == Outcome():
        outcome = xla.outcome(mutant, opcodes)
    return outcome, opcodes


def draw_mutant(texts: list[str], rng: random.Random, backend: str = "cpu") -> Mutant:
    """One of the texts, changed at random."""
    text = mutated(rng.choice(texts), rng)
    kind = rng.choice(("normal", "whole", "special"))
    if "batch-norm" in text and kind == "special":  # its sums overflow in f32, not in f64
        kind = "normal"
    return Mutant(text, rng.randrange(1000), kind, backend)


def ask(process: Apart, mutant: Mutant) -> tuple[Outcome, tuple[str, ...]]:
    """What becomes of a mutant in another process, and its opcodes if it is taken."""
    try:
        return process.ask(mutant, STAGE)
    except Gone as gone:
        if gone.stage == "evaluating":  # a program need not come to an end
            return Outcome(oracle=f"the evaluator {gone.how}"), ()
        return Outcome(wrong=f"{gone.stage} {gone.how}"), ()


def run_mutant(mutant: Mutant, say: Say) -> tuple[Outcome, tuple[str, ...]]:
    """What becomes of a mutant in this process: see `ask`."""
    say("parsing")
    try:
        module = parse(mutant.text)
    except TfcError as error:
        return Outcome(refused=_said(error)), ()
    except Exception as error:  # whatever it is, it should have been typed
        return Outcome(wrong=f"parsing: {_said(error)}"), ()
    opcodes = tuple(i.opcode for c in module.computations for i in c.instructions)
    if STATEFUL.intersection(opcodes):
        return Outcome(oracle="what it computes depends on its surroundings"), opcodes
    if any(_elements(i.shape) > LARGEST for c in module.computations for i in c.instructions):
        return Outcome(oracle="it is too large to be run"), opcodes
    arguments = arguments_for(module, np.random.default_rng(mutant.number), mutant.kind)
    say("evaluating")
    try:
        why = order_matters(module)
        if why:
            return Outcome(oracle=why), opcodes
        evaluate(module, *arguments)
    except TfcError as error:
        return Outcome(oracle=f"the evaluator refuses: {_said(error)}"), opcodes
    except Exception as error:
        return Outcome(wrong=f"the evaluator: {_said(error)}"), opcodes
    say("compiling")
    try:
        executable = compile_module(module, mutant.backend)
        say("running")
        # A program may overwrite what it is given (input_output_alias).
        copies = [a.copy() for a in flat(tuple(arguments))]
        results = results_of(executable, mutant.backend, copies)
    except Exception as error:
        return outcome_of(error), opcodes
    say("comparing")
    return Outcome(wrong=mismatch(module, arguments, results) or ""), opcodes


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0]


def _elements(shape: AnyShape) -> int:
    return sum(leaf.size for leaf in leaves(shape))


def _write(path: Path, wrong: Callable[[Mutant], str], mutant: Mutant, reason: str) -> None:
    """Make a mutant small that is wrong for a reason, and write it."""

    def text_fails(text: str) -> bool:
        return bool(wrong(replace(mutant, text=text)))

    def fails(module: Module) -> bool:
        return text_fails(print_module(module))

    if reason.startswith("parsing"):  # the text is all there is
        text = shrink_lines(mutant.text, text_fails)
        write_files((path, f"// {reason}\n{text}\n".encode()))
        return
    small = shrink(parse(mutant.text), fails)
    reason = wrong(replace(mutant, text=print_module(small))) or reason
    arguments = arguments_for(small, np.random.default_rng(mutant.number), mutant.kind)
    write_files((path, described(print_module(small), small, arguments, reason).encode()))
