"""What MPI is asked to do for a collective on arrays that lie somewhere in memory.

    all-reduce of f32 by add             Allreduce, in place of the arrays
    all-reduce of bf16, or by a function Allgather, then one after the other in the order of ranks;
                                         if long, each rank does so for its part of the elements
    all-gather along dimension 1         Allgather into every n-th run of bytes (a vector type)

MPI reduces by itself where its result cannot depend on who computes it: every rank gets the same
bits (but for which NaN it is, where several meet). Elsewhere the order is that of the group, as
among threads. Data movement is of bytes.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from math import prod
from typing import Any

import numpy as np
from mpi4py import MPI

from tfc.runtime.collectives import (
    Array,
    Arrays,
    Collective,
    CopyBytes,
    ForeignCall,
    Reduction,
)
from tfc.runtime.engines.mpi.direct import direct_steps

_SHORT = 1 << 15  # bytes of a group up to which all of it is gathered by every rank
_TAG = 7
Done = Callable[[], None]


@dataclass(frozen=True)
class Plan:
    """Calls of MPI that may overlap, and what this process does when they are through.

    calls: name and arguments of methods of a communicator.
    together: one call that does the same as all of them where it may block; the name may be "".
    """

    calls: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    after: tuple[Done, ...] = ()
    together: tuple[str, tuple[Any, ...]] = ("", ())

    @property
    def asked(self) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        """The calls where they may block."""
        # All of a group must do the same: MPI does not pair Bcast with another's Ibcast.
        return (self.together,) if self.together[0] else self.calls

    def bound(self, communicator: Any) -> Done:
        """What does all of it, and comes back at the end."""
        calls = [(getattr(communicator, name), arguments) for name, arguments in self.asked]
        is_blocking = not any(name.startswith("I") for name, _ in self.asked)
        if is_blocking and len(calls) == 1 and not self.after:
            ((method, arguments),) = calls
            return partial(method, *arguments)

        def run() -> None:
            if not is_blocking:
                self.begin(communicator)()
                return
            for method, arguments in calls:
                method(*arguments)
            for done in self.after:
                done()

        return run

    def direct(
        self, communicator: Any, given: Arrays, results: Arrays
    ) -> tuple[ForeignCall | CopyBytes, ...] | None:
        """How code does all of it by itself, on such arrays wherever they lie; None if not."""
        copies = [(done.source, done.target) for done in self.after if isinstance(done, Copy)]
        if len(copies) < len(self.after):
            return None
        return direct_steps(self.asked, copies, communicator, given, results)

    def begin(self, communicator: Any) -> Done:
        """Ask for all of it; what is returned waits for the end."""
        requests = [
            getattr(communicator, name if name.startswith("I") else f"I{name.lower()}")(*arguments)
            for name, arguments in self.calls
        ]

        def finish() -> None:
            MPI.Request.Waitall(requests)
            for done in self.after:
                done()

        return finish


def plan(collective: Collective, communicator: Any, given: Arrays, results: Arrays) -> Plan:
    """The plan for a collective on arrays where they lie.

    Arrays that do not lie in one order of dimensions are copied when the plan is carried out.
    """
    order = _common_order(given, results)
    if order is not None:
        operands, places = ([a.transpose(order) for a in arrays] for arrays in (given, results))
        at = None if collective.dimension is None else order.index(collective.dimension)
        return _plan(collective, communicator, operands, places, at)
    into = [np.empty(r.shape, r.dtype) for r in results]
    copies = [np.array(a, order="C") for a in given]
    made = _plan(collective, communicator, copies, into, collective.dimension)

    def copy_in() -> None:
        for copy, a in zip(copies, given):
            copy[...] = a

    def copy_out() -> None:
        for place, made in zip(results, into):
            place[...] = made

    # Whatever is called is called only then: the copies must hold the values of that time.
    return Plan((), (copy_in, made.bound(communicator), copy_out))


def _common_order(given: Arrays, results: Arrays) -> list[int] | None:
    """The order of dimensions in which all of the arrays are row-major; None if there is none."""
    first = results[0]
    order = sorted(range(first.ndim), key=lambda d: (-first.strides[d], d))
    arrays = (*given, *results)
    if any(a.ndim != first.ndim or not a.transpose(order).flags.c_contiguous for a in arrays):
        return None
    return order


def _plan(
    collective: Collective, communicator: Any, given: Arrays, results: Arrays, at: int | None
) -> Plan:
    """The plan for row-major arrays; `at` is the collective's dimension among theirs."""
    size, own = len(collective.group), collective.own
    match collective.kind:
        case "all-reduce":
            pairs = zip(given, results)
            return _joined(_all_reduce(collective.reduction, communicator, *p) for p in pairs)
        case "reduce-scatter":
            pairs = zip(given, results)
            return _joined(_reduce_scatter(collective.reduction, size, at, *p) for p in pairs)
        case "all-gather":
            return Plan(tuple(
                ("Allgather", (as_bytes(a), [_memory(r), 1, _part(r, at, size)]))
                for a, r in zip(given, results)
            ))  # fmt: skip
        case "all-to-all" if at is None:
            peers = [p for p in range(size) if p != own]
            moves = [("Irecv", (as_bytes(results[p]), p, _TAG)) for p in peers]
            moves += [("Isend", (as_bytes(given[p]), p, _TAG)) for p in peers]
            return Plan(tuple(moves), (Copy(given[own], results[own]),))
        case "all-to-all":
            part = _part(given[0], at, size)
            call = ([_memory(given[0]), 1, part], [_memory(results[0]), 1, part])
            return Plan((("Alltoall", call),))
        case "collective-permute":
            return _joined(_permute(collective, *pair) for pair in zip(given, results))
        case _:
            return _joined(_broadcast(own, *pair) for pair in zip(given, results))


def _joined(plans: Iterable[Plan]) -> Plan:
    """All plans as one, in which their calls overlap."""
    found = list(plans)
    if len(found) == 1:
        return found[0]
    return Plan(tuple(c for p in found for c in p.calls), tuple(d for p in found for d in p.after))


def _permute(collective: Collective, given: Array, result: Array) -> Plan:
    source = collective.source
    targets = [t for s, t in collective.pairs if s == collective.own]
    if source == collective.own:
        return Plan((), (Copy(given, result),))
    calls = [("Isend", (as_bytes(given), t, _TAG)) for t in targets]
    if source is None:
        return Plan(tuple(calls), (lambda: result.fill(0),))
    calls.insert(0, ("Irecv", (as_bytes(result), source, _TAG)))
    if len(targets) != 1:
        return Plan(tuple(calls))
    both = (as_bytes(given), targets[0], _TAG, as_bytes(result), source, _TAG)
    return Plan(tuple(calls), (), ("Sendrecv", both))


def _broadcast(own: int, given: Array, result: Array) -> Plan:
    if own:
        return Plan((("Bcast", (as_bytes(result), 0)),))
    return Plan((("Bcast", (as_bytes(given), 0)),), (Copy(given, result),))


def _all_reduce(
    reduction: Reduction | None, communicator: Any, given: Array, result: Array
) -> Plan:
    assert reduction is not None
    known = _native(reduction.name, given.dtype)
    if known is not None:
        kind, operation = known
        call = ([_memory(given), given.size, kind], [_memory(result), given.size, kind], operation)
        return Plan((("Allreduce", call),))
    size, own = communicator.size, communicator.rank
    flat, into = given.reshape(-1), result.reshape(-1)
    if size * given.nbytes <= _SHORT:
        all_given = np.empty((size, given.size), given.dtype)

        def reduce_all() -> None:
            into[...] = reduction.total(list(all_given))

        return Plan((("Allgather", (as_bytes(given), as_bytes(all_given, size))),), (reduce_all,))
    counts = [len(part) for part in np.array_split(flat, size)]
    begins = [sum(counts[:n]) for n in range(size)]
    parts = np.empty((size, counts[own]), given.dtype)
    mine = into[begins[own] : begins[own] + counts[own]]
    width = given.itemsize
    sent = [_memory(given), [c * width for c in counts], [b * width for b in begins], MPI.BYTE]
    back = [_memory(result), *sent[1:]]
    here = [counts[own] * width] * size
    received = [_memory(parts), here, [n * here[0] for n in range(size)], MPI.BYTE]

    def reduce_mine() -> None:
        if counts[own]:
            mine[...] = reduction.total(list(parts))
        communicator.Allgatherv(MPI.IN_PLACE, back)

    return Plan((("Alltoallv", (sent, received)),), (reduce_mine,))


def _reduce_scatter(
    reduction: Reduction | None, size: int, at: int | None, given: Array, result: Array
) -> Plan:
    assert reduction is not None
    known = _native(reduction.name, given.dtype)
    if known is not None and at is not None and prod(given.shape[:at]) == 1:
        kind, operation = known
        call = ([_memory(given), result.size, kind], [_memory(result), result.size, kind])
        return Plan((("Reduce_scatter_block", (*call, operation)),))
    parts = np.empty((size, *result.shape), given.dtype)

    def reduce_mine() -> None:
        result[...] = reduction.total(list(parts))

    sent = [_memory(given), 1, _part(given, at, size)]
    return Plan((("Alltoall", (sent, as_bytes(parts, size))),), (reduce_mine,))


@dataclass(frozen=True, eq=False)
class Copy:
    """Copies an array into another."""

    source: Array
    target: Array

    def __call__(self) -> None:
        self.target[...] = self.source


def _memory(array: Array) -> Any:
    """The bytes of a row-major array as MPI takes them."""
    return MPI.memory.fromaddress(array.ctypes.data, array.nbytes)


def as_bytes(array: Array, blocks: int = 1) -> list[Any]:
    """A row-major array as MPI takes it, which counts the bytes of each block."""
    return [_memory(array), array.nbytes // blocks, MPI.BYTE]


def _part(array: Array, at: int | None, size: int) -> Any:
    """The type of one of `size` parts along a dimension; the next begins where its runs end."""
    assert at is not None
    outer = prod(array.shape[:at])
    inner = array.nbytes // (outer * size) if outer else 0
    if outer == 1:
        return _run(inner)
    return _runs(outer, inner, inner * size)


@cache
def _run(length: int) -> Any:
    return MPI.BYTE.Create_contiguous(length).Commit()


@cache
def _runs(count: int, length: int, step: int) -> Any:
    return MPI.BYTE.Create_vector(count, length, step).Create_resized(0, length).Commit()


_INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_REALS = {"float32": MPI.FLOAT, "float64": MPI.DOUBLE}
_COMPLEX = {"complex64": MPI.C_FLOAT_COMPLEX, "complex128": MPI.C_DOUBLE_COMPLEX}
_ORDERED = {"minimum": MPI.MIN, "maximum": MPI.MAX}
_BITS = {"and": MPI.BAND, "or": MPI.BOR, "xor": MPI.BXOR}


def _native(name: str, dtype: np.dtype) -> tuple[Any, Any] | None:
    """MPI's type and operation for a reduction whose operands it may take in any order.

    Its minimum and maximum of floats are not: they depend on where a NaN stands. Nor are its
    products of complex numbers, whose sums may be rounded once on one side and twice on the other.
    """
    kind, sums = dtype.name, {"add": MPI.SUM, "multiply": MPI.PROD}
    if kind in _INTEGERS:
        operation = {**sums, **_ORDERED, **_BITS}.get(name)
        found = getattr(MPI, f"{kind.upper()}_T")
    elif kind == "bool":
        operation, found = _BITS.get(name), MPI.UINT8_T
    elif kind in _REALS:
        operation, found = sums.get(name), _REALS[kind]
    else:
        operation, found = MPI.SUM if name == "add" else None, _COMPLEX.get(kind)
    return None if operation is None or found is None else (found, operation)
