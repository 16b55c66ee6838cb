"""Time collectives in compiled programs beside the same calls of mpi4py, in a job of processes.

A program has several of them, one after the other, and is called by Python like any other; mpi4py
is called by Python as often. Both are timed in turns.
"""

import statistics
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

_ROUNDS = 15
_LARGE = 1 << 20  # bytes: from here on there are fewer in a program, and fewer rounds


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
    """A collective that keeps the number of elements, so that one can follow another.

    text: of an instruction on `x` of `n` elements; `all` are all ranks, `ring` pairs of them.
    call: mpi4py's, of (communicator, operand, result).
    """

    name: str
    text: str
    call: Callable[[Any, np.ndarray, np.ndarray], Any]


_GLOBAL = "channel_id=1, use_global_device_ids=true, replica_groups={{{{{all}}}}}"


def _shift(communicator: Any, given: np.ndarray, result: np.ndarray) -> None:
    rank, size = communicator.rank, communicator.size
    communicator.Sendrecv(given, (rank + 1) % size, 0, result, (rank - 1) % size, 0)


KINDS = (
    _Kind("all-reduce", f"f32[{{n}}] all-reduce({{x}}), to_apply=sum, {_GLOBAL}",
          lambda c, x, y: c.Allreduce(x, y)),
    _Kind("all-to-all", "f32[{n}] all-to-all({x}), dimensions={{0}}, channel_id=1, "
          "replica_groups={{{{{all}}}}}", lambda c, x, y: c.Alltoall(x, y)),
    _Kind("collective-permute", "f32[{n}] collective-permute({x}), channel_id=1, "
          "source_target_pairs={{{ring}}}", _shift),
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
    elements = max(size // 4 // ranks, 1) * ranks
    repeats, rounds = (64, _ROUNDS) if size < _LARGE else (4, 5)
    program = compile_module(parse(_text(kind, elements, ranks, repeats)))
    given = np.full(elements, 0, np.float32)  # memory that was written, as the program's is
    result = np.empty_like(given)

    def own() -> None:
        for _ in range(repeats):
            kind.call(everyone, given, result)

    seconds: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds + 1):
        for run, found in zip((own, lambda: program(given)), seconds):
            everyone.Barrier()
            start = time.perf_counter()
            run()
            if number:  # the first makes communicators and memory
                found.append((time.perf_counter() - start) / repeats)
    mine = [statistics.median(s) * 1e6 for s in seconds]
    return Timing(kind.name, elements * 4, *mine)


def _text(kind: _Kind, elements: int, ranks: int, repeats: int) -> str:
    everybody = ",".join(map(str, range(ranks)))
    ring = ",".join(f"{{{r},{(r + 1) % ranks}}}" for r in range(ranks))
    lines = [
        f"x{k + 1} = " + kind.text.format(n=elements, x=f"x{k}", all=everybody, ring=ring)
        for k in range(repeats)
    ]
    # Results are memory that the system gives anew: the arrays themselves stay in the program's.
    lines.append(f"ROOT r = f32[1] slice(x{repeats}), slice={{[0:1]}}")
    return (
        f"HloModule bench, num_partitions={ranks}\n"
        "sum { a = f32[] parameter(0)\nb = f32[] parameter(1)\nROOT c = f32[] add(a, b) }\n"
        f"ENTRY e {{ x0 = f32[{elements}] parameter(0)\n" + "\n".join(lines) + " }"
    )
