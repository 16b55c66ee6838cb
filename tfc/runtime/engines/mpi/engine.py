"""The engine of MPI, and the job of processes that it joins."""

import hashlib
import zlib
from collections.abc import Sequence
from typing import Any

from mpi4py import MPI

from tfc.errors import TfcError
from tfc.runtime.arrays import show, spec_of
from tfc.runtime.collectives import Arrays, Collective
from tfc.runtime.engines.mpi.plans import Done, plan
from tfc.runtime.replicas import Program


class MpiEngine:
    """Joins the processes of a communicator: device r of a program is the process of rank r.

    A group of devices is a communicator of its own, made when it first meets.

    is_checking: before each collective the group compares what it is about to do.
    """

    def __init__(self, everyone: Any, is_checking: bool = False):
        self._everyone = everyone.Dup()  # so that what the user sends is not mixed up with this
        self._is_checking = is_checking
        self._communicators = {tuple(range(everyone.size)): self._everyone}

    def bind(self, collective: Collective, given: Arrays, results: Arrays) -> Done:
        """A function that runs a collective on arrays where they lie, as often as it is called."""
        communicator = self._communicator(collective.group)
        run = plan(collective, communicator, given, results).bound(communicator)
        if not self._is_checking:
            return run

        def checked() -> None:
            self._check(communicator, collective, given)
            run()

        return checked

    def begin(self, collective: Collective, given: Arrays, results: Arrays) -> Done:
        """Begin a collective by MPI's calls that do not block; the function returned waits.

        Raises:
            TfcError: others of the group run another collective, and that is checked.
        """
        communicator = self._communicator(collective.group)
        if self._is_checking:
            self._check(communicator, collective, given)
        return plan(collective, communicator, given, results).begin(communicator)

    def barrier(self, what: str, group: Sequence[int], device: int) -> None:
        """Wait until all of the group have come here."""
        self._communicator(tuple(group)).Barrier()

    def _communicator(self, group: tuple[int, ...]) -> Any:
        found = self._communicators.get(group)
        if found is None:
            members = self._everyone.Get_group().Incl(list(group))
            # Groups with members in common may be made at the same time: each has its own tag.
            found = self._everyone.Create_group(members, zlib.crc32(repr(group).encode()) & 0x7FFF)
            self._communicators[group] = found
        return found

    def _check(self, communicator: Any, collective: Collective, given: Arrays) -> None:
        reduction = collective.reduction
        name = "" if reduction is None else f" by {reduction.name or 'a function'}"
        shapes = ", ".join(show(spec_of(a)) for a in given)
        own = f"{collective.what}{name} of {shapes} along {collective.dimension}"
        everybody = communicator.allgather(own)
        other = next((n for n, text in enumerate(everybody) if text != everybody[0]), None)
        if other is not None:
            raise TfcError(
                f"rank {collective.group[other]} runs {everybody[other]} where rank "
                f"{collective.group[0]} runs {everybody[0]}: all of a group must run the same "
                "collectives in the same order"
            )


class Job:
    """All processes that mpiexec started, as a `World`."""

    def __init__(self, is_checking: bool = False):
        self._everyone = MPI.COMM_WORLD
        self.size, self.rank = self._everyone.size, self._everyone.rank
        self.engine = MpiEngine(self._everyone, is_checking)
        self._known: dict[int, Program] = {}  # by identity, which holds while they are kept
        self._digests: set[str] = set()

    def require_same(self, program: Program) -> None:
        """Check that all processes are about to run the same program for the first time.

        Raises:
            TfcError: some run another.
        """
        if id(program) in self._known:
            return
        self._known[id(program)] = program
        digest = hashlib.sha256(str(program).encode()).hexdigest()
        if digest in self._digests:
            return
        self._digests.add(digest)
        everybody = self._everyone.allgather((digest, program.name))
        other = next((n for n, e in enumerate(everybody) if e[0] != everybody[0][0]), None)
        if other is not None:
            raise TfcError(
                f"rank {other} runs a program '{everybody[other][1]}' that is not rank 0's, "
                f"'{everybody[0][1]}': all ranks must make the same program, and be given what "
                "differs among them as arguments"
            )
