"""What is said between the process that measures a library and the one that asks it.

    Task → Prepared      compile the case and call it
    float → float        a sample of about so many seconds: the seconds of one call
    "compile" → float    the seconds of one more compilation, from the beginning
    None → None          forget the case

Any answer may be Failed instead; then nothing is prepared. If the process dies, its connection is
closed, which the other side sees.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np


class BenchmarkError(Exception):
    """What was asked for cannot be done; the text is one sentence that says why."""


@dataclass(frozen=True)
class Task:
    """A case to be prepared: its key, its arguments, and the program as StableHLO."""

    key: str
    arguments: tuple[Any, ...]
    stablehlo: str


@dataclass(frozen=True)
class Prepared:
    """A case that can be measured.

    results: of the first call, in the order and layout of JAX's.
    steady: whether the second call gave the same bits.
    compile_seconds: how long the compilation took; None if the library has none.
    memory_bytes: what the process held more during the first call than before it, when arguments
        and code were there; None where the system does not tell.
    """

    results: list[np.ndarray]
    steady: bool
    compile_seconds: float | None
    memory_bytes: int | None


@dataclass(frozen=True)
class Failed:
    """Why there is no answer, in one line."""

    reason: str
