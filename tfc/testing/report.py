"""What a run of random testing did: programs, failures, refusals, and oracles that gave out."""

import re
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tfc.errors import InternalError, TfcError, VerificationError
from tfc.hlo.ir import Module
from tfc.hlo.literal import Literal
from tfc.hlo.shape import leaves
from tfc.hlo.text.literal_text import print_literal
from tfc.testing.compare import flat

# What differs between two refusals for one reason: names with numbers, shapes, numbers, quotations.
_PARTICULAR = re.compile(
    r"\b[a-z]+[0-9]*[a-z0-9]*\[[0-9,]*\](?:\{[^}]*\})?|'[^']*'|%?\b[\w-]+\.\d+\b|\b\d+\b"
)


@dataclass(frozen=True)
class Failure:
    """A program that went wrong: what was wrong, and where it was written."""

    reason: str
    path: Path


@dataclass
class Report:
    """What a run of a fuzzer did.

    `drawn` counts the operations (or functions) of the programs; `refused` the programs that tfc
    does not take and `oracle` those that an oracle gave out on, by reason.
    """

    programs: int = 0
    drawn: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    oracle: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Outcome:
    """What became of one program: at most one of a defect, a refusal or an oracle's failure."""

    wrong: str = ""
    refused: str = ""
    oracle: str = ""


def outcome_of(error: Exception) -> Outcome:
    """Whether an error that a program raised is a refusal, or a defect of tfc.

    A verified module that no longer verifies was broken by a pass.
    """
    said = f"{type(error).__name__}: {error}".partition("\n")[0]
    is_refusal = isinstance(error, TfcError)
    if is_refusal and not isinstance(error, (InternalError, VerificationError)):
        return Outcome(refused=said)
    return Outcome(wrong=said)


def reason_of(message: str) -> str:
    """A message without what is particular to one program, to count reasons by."""
    return _PARTICULAR.sub("…", message)[:160]


def described(text: str, module: Module, arguments: Sequence[Any], reason: str) -> str:
    """A program's text with its arguments and what is wrong with it in comments."""
    shapes = [s for p in module.entry.parameters for s in leaves(p.shape)]
    literals = [print_literal(Literal(a)) for a in flat(tuple(arguments))]
    command = ["tfc", "run", "FILE", *(f"--arg={literal}" for literal in literals)]
    lines = [f"// {reason}", f"// {shlex.join(command)}"]
    lines += [f"// argument {n}: {s.without_layout()}" for n, s in enumerate(shapes)]
    return "\n".join([*lines, "", text, ""])
