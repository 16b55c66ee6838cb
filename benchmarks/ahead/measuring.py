"""Building every program with every contender, and measuring those of one program in turns.

Each runs in a process of its own on the same core, and answers while the others wait for input.
"""

import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ahead.building import ROOT, Built
from benchmarks.ahead.contenders import Contender
from benchmarks.ahead.in_numpy import reference
from benchmarks.ahead.programs import Program
from benchmarks.protocol import BenchmarkError
from benchmarks.workers import environment, pinned

_SECONDS = 0.04  # of a sample
_ROUNDS = 15
_TOLERANCE = 1e-4  # of the largest element


@dataclass(frozen=True)
class Figures:
    """What was found of a program by one contender.

    microseconds: the median of a call. Others as in Built.
    """

    microseconds: float
    seconds: float
    artefact_bytes: int
    program_bytes: int | None
    libraries: tuple[str, ...]

    @staticmethod
    def of(found: Mapping[str, Any]) -> "Figures":
        """From what `dataclasses.asdict` gave."""
        return Figures(**{**found, "libraries": tuple(found["libraries"])})


@dataclass(frozen=True)
class Row:
    """A program for a batch: what each contender gave, by name, or why there is nothing."""

    program: str
    batch: int
    weight_bytes: int
    found: Mapping[str, Figures | str]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        found = {n: f if isinstance(f, str) else asdict(f) for n, f in self.found.items()}
        return {**asdict(self), "found": found}

    @staticmethod
    def of(found: Mapping[str, Any]) -> "Row":
        """What `as_dict` gave."""
        made = {n: f if isinstance(f, str) else Figures.of(f) for n, f in found["found"].items()}
        return Row(found["program"], found["batch"], found["weight_bytes"], made)


def measure(
    program: Program,
    batch: int,
    contenders: Sequence[Contender],
    folder: Path,
    say: Callable[[str], None],
) -> Row:
    """One row: what cannot be built, run or gives other values is left out with the reason."""
    argument = program.argument(batch)
    expected = reference(program, batch)
    found: dict[str, Figures | str] = {}
    built: dict[str, Built] = {}
    for number, contender in enumerate(contenders):
        why = contender.absent()
        if why:
            found[contender.name] = why
            continue
        say(f"{program.key} {batch}: compiling with {contender.name}")
        place = folder / f"{program.key}-{batch}-{number}"
        place.mkdir(parents=True)
        try:
            built[contender.name] = contender.build(program, batch, expected.nbytes, place)
        except BenchmarkError as error:
            found[contender.name] = f"failed: {error}"
    say(f"{program.key} {batch}: measuring")
    times = _taken_in_turns(built, argument, expected, folder, found)
    for name, samples in times.items():
        made = built[name]
        found[name] = Figures(
            statistics.median(samples), made.seconds, made.artefact_bytes, made.program_bytes,
            made.libraries,
        )  # fmt: skip
    ordered = {contender.name: found[contender.name] for contender in contenders}
    return Row(program.key, batch, program.weight_bytes(), ordered)


def _taken_in_turns(
    built: Mapping[str, Built],
    argument: np.ndarray,
    expected: np.ndarray,
    folder: Path,
    found: dict[str, Figures | str],
) -> dict[str, list[float]]:
    """The microseconds of a call in each round, of those that give the expected values."""
    files = {True: folder / "argument.raw", False: folder / "argument.npy"}
    files[True].write_bytes(argument.tobytes())
    np.save(files[False], argument)
    samples: dict[str, list[float]] = {}
    with ExitStack() as stack:
        served = {}
        for name, made in built.items():
            result = folder / ("result.raw" if made.raw else "result.npy")
            server = Server([*made.command, str(files[made.raw]), str(result)])
            stack.callback(server.stop)
            try:
                server.ready()
                got = np.fromfile(result, np.float32) if made.raw else np.load(result)
                check(got, expected)
            except BenchmarkError as error:
                found[name] = f"failed: {error}"
                continue
            served[name], samples[name] = server, []
        for _ in range(_ROUNDS):
            for name, server in served.items():
                samples[name].append(server.sample(_SECONDS))
    return samples


def check(got: np.ndarray, expected: np.ndarray) -> None:
    """See that values are those that are expected.

    Raises:
        BenchmarkError: they are not.
    """
    if got.size != expected.size:
        raise BenchmarkError(f"{got.size} values in place of {expected.size}")
    error = np.max(np.abs(got.ravel() - expected.ravel()))
    if not error <= _TOLERANCE * np.max(np.abs(expected)):
        raise BenchmarkError(f"wrong values, off by {error:.1e}")


class Server:
    """A process that runs a program as often as it is asked, on the core that is measured."""

    def __init__(self, command: Sequence[str]):
        with pinned(1):
            self._process = subprocess.Popen(
                command, env=environment(1), cwd=ROOT, text=True, bufsize=1,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip

    def ready(self) -> None:
        """Wait for the first result."""
        if self._line() != "ready":
            raise BenchmarkError("the program says something else than that it is ready")

    def sample(self, seconds: float) -> float:
        """The microseconds of a call, in about so many seconds."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{seconds}\n")
        return float(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        line = self._process.stdout.readline()
        if not line:
            said = self._process.stderr.read().strip().splitlines() or ["no message"]
            raise BenchmarkError(f"the process ended with {self._process.wait()}: {said[-1][:200]}")
        return line.strip()

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


def progress(text: str) -> None:
    """A line of progress, apart from what is reported."""
    print(text, file=sys.stderr, flush=True)
