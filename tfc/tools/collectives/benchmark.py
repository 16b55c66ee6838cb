"""Time collectives in compiled programs beside the same calls of mpi4py, in a job of processes.

A program has several of them, one after the other, and is called by Python like any other; mpi4py
is called by Python as often. Both take turns, and the least time of each counts: what other work
on the machine adds is not theirs. Where one can follow another it reads what that one wrote, in
both: bytes that a processor has read before and nobody wrote since cost less.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from tfc import distributed
from tfc.compiler import compile as compile_module
from tfc.errors import TfcError, UnsupportedError
from tfc.hlo.text.parser import parse

_MEDIUM, _LARGE = 1 << 14, 1 << 20  # bytes: from here on programs have fewer, and are run less


@dataclass(frozen=True)
class Timing:
    """Microseconds of one collective on so many bytes: by mpi4py, and in a program."""

    kind: str
    size: int
    own: float
    program: float

    @property
    def ratio(self) -> float:
        """How much longer the program takes."""
        return self.program / self.own


@dataclass(frozen=True)
class _Kind:
    """A collective on an array of `n` elements, of which each rank holds a part of `m`.

    text: of an instruction on `x`; `all` are all ranks, `ring` pairs of them.
    call: mpi4py's, of (communicator, operand, result).
    operand, result: "n" or "m". Where they are the same, one collective follows another.
    """

    name: str
    text: str
    call: Callable[[Any, np.ndarray, np.ndarray], Any]
    operand: str = "n"
    result: str = "n"


_GLOBAL = "channel_id=1, use_global_device_ids=true, replica_groups={{{{{all}}}}}"
_GROUPS = "channel_id=1, replica_groups={{{{{all}}}}}"


def _shift(communicator: Any, given: np.ndarray, result: np.ndarray) -> None:
    rank, size = communicator.rank, communicator.size
    communicator.Sendrecv(given, (rank + 1) % size, 0, result, (rank - 1) % size, 0)


def _broadcast(communicator: Any, given: np.ndarray, result: np.ndarray) -> None:
    """The first one's array, in another of every rank, as a program has it."""
    if communicator.rank == 0:
        result[...] = given
    communicator.Bcast(result)


KINDS = (
    _Kind("all-reduce", f"f32[{{n}}] all-reduce({{x}}), to_apply=sum, {_GLOBAL}",
          lambda c, x, y: c.Allreduce(x, y)),
    _Kind("all-to-all", f"f32[{{n}}] all-to-all({{x}}), dimensions={{{{0}}}}, {_GROUPS}",
          lambda c, x, y: c.Alltoall(x, y)),
    _Kind("collective-permute", "f32[{n}] collective-permute({x}), channel_id=1, "
          "source_target_pairs={{{ring}}}", _shift),
    _Kind("collective-broadcast", f"f32[{{n}}] collective-broadcast({{x}}), {_GROUPS}", _broadcast),
    _Kind("all-gather", f"f32[{{n}}] all-gather({{x}}), dimensions={{{{0}}}}, {_GLOBAL}",
          lambda c, x, y: c.Allgather(x, y), operand="m"),
    _Kind("reduce-scatter",
          f"f32[{{m}}] reduce-scatter({{x}}), to_apply=sum, dimensions={{{{0}}}}, {_GLOBAL}",
          lambda c, x, y: c.Reduce_scatter_block(x, y), result="m"),
)  # fmt: skip


def timings(sizes: list[int]) -> Iterator[Timing]:
    """Time each kind of collective on arrays of so many bytes in every process.

    Raises:
        TfcError: there is no job of several processes.
        UnsupportedError: mpi4py is not there.
    """
    distributed.initialize()
    if distributed.process_count() == 1:
        raise TfcError("there is one process: run `mpiexec -n 2 tfc bench-collectives`")
    try:
        everyone = import_module("mpi4py.MPI").COMM_WORLD
    except ImportError as error:
        raise UnsupportedError(f"{error}: pip install 'tfc[mpi]'") from None
    for kind in KINDS:
        for size in sizes:
            yield _timing(kind, size, everyone)


def _timing(kind: _Kind, size: int, everyone: Any) -> Timing:
    ranks = everyone.size
    counts = {"m": max(size // 4 // ranks, 1), "n": max(size // 4 // ranks, 1) * ranks}
    repeats, rounds = (64, 150) if size < _MEDIUM else (16, 100) if size < _LARGE else (4, 10)
    program = compile_module(parse(_text(kind, counts, ranks, repeats)))
    # Memory that was written, as the program's is.
    given, result = (np.full(counts[c], 0, np.float32) for c in (kind.operand, kind.result))

    def own() -> None:
        source, target = given, result
        for _ in range(repeats):
            kind.call(everyone, source, target)
            if kind.operand == kind.result:
                source, target = target, source

    seconds: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds + 1):
        for run, found in zip((own, lambda: program(given)), seconds):
            everyone.Barrier()
            start = time.perf_counter()
            run()
            if number:  # the first makes communicators and memory
                found.append((time.perf_counter() - start) / repeats)
    return Timing(kind.name, counts["n"] * 4, *(min(s) * 1e6 for s in seconds))


def _text(kind: _Kind, counts: dict[str, int], ranks: int, repeats: int) -> str:
    everybody = ",".join(map(str, range(ranks)))
    ring = ",".join(f"{{{r},{(r + 1) % ranks}}}" for r in range(ranks))
    follows = kind.operand == kind.result
    lines = [
        f"x{k + 1} = " + kind.text.format(x=f"x{k * follows}", all=everybody, ring=ring, **counts)
        for k in range(repeats)
    ]
    # Results are memory that the system gives anew: the arrays themselves stay in the program's.
    lines.append(f"ROOT r = f32[1] slice(x{repeats}), slice={{[0:1]}}")
    return (
        f"HloModule bench, num_partitions={ranks}\n"
        "sum { a = f32[] parameter(0)\nb = f32[] parameter(1)\nROOT c = f32[] add(a, b) }\n"
        f"ENTRY e {{ x0 = f32[{counts[kind.operand]}] parameter(0)\n" + "\n".join(lines) + " }"
    )
