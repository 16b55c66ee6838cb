"""MPI's C functions, which compiled code calls by itself for what a plan asks for.

    Allreduce([x, 256, FLOAT], [y, 256, FLOAT], SUM)     what mpi4py is asked for
    MPI_Allreduce(x, y, 256, MPI_FLOAT, MPI_SUM, comm)   what code calls, wherever x and y lie

Their addresses are those that mpi4py itself is linked with, and so are the handles. Where the
system does not find them so (Windows), or counts do not fit an int, programs go by mpi4py.
"""

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

from mpi4py import MPI

from tfc.runtime.collectives import Array, Arrays, CopyBytes, ForeignCall, Place

_MOST = 2**31 - 1
Word = tuple[str, int | Place]


class _Indirect(Exception):
    """Something that code cannot do by itself."""


def direct_steps(
    calls: Sequence[tuple[str, tuple[Any, ...]]],
    copies: Sequence[tuple[Array, Array]],
    communicator: Any,
    given: Arrays,
    results: Arrays,
) -> tuple[ForeignCall | CopyBytes, ...] | None:
    """What code calls in place of a plan's calls and copies; None if it cannot.

    Args:
        calls: name and arguments of methods of the communicator, which are not asynchronous.
        copies: (from, to).
        given, results: all the arrays that the calls may be about.
    """
    try:
        places = _places([*given, *results])
        steps = [_call(*call, communicator, places) for call in calls]
        return (*steps, *(_copy(*copy, places) for copy in copies))
    except _Indirect:
        return None


def _places(arrays: Sequence[Array]) -> dict[int, Place]:
    """The numbers of arrays by their addresses, which must tell them apart."""
    found = {a.ctypes.data: Place(n) for n, a in enumerate(arrays) if a.nbytes}
    if len(found) < len(arrays):
        raise _Indirect
    return found


def _call(
    name: str, arguments: tuple[Any, ...], communicator: Any, places: dict[int, Place]
) -> ForeignCall:
    def buffer(argument: Sequence[Any]) -> list[Word]:
        memory, count, kind = argument
        if memory.address not in places or not 0 <= count <= _MOST:
            raise _Indirect
        return [("ptr", places[memory.address]), ("i32", count), _handle(kind)]

    match name:
        case "Allreduce" | "Reduce_scatter_block":
            sent, received, operation = arguments
            words = [buffer(sent)[0], *buffer(received), _handle(operation)]
        case "Allgather" | "Alltoall":
            sent, received = arguments
            words = [*buffer(sent), *buffer(received)]
        case "Bcast":
            (sent, root) = arguments
            words = [*buffer(sent), ("i32", root)]
        case "Sendrecv":
            sent, target, sent_tag, received, source, received_tag = arguments
            words = [*buffer(sent), ("i32", target), ("i32", sent_tag)]
            words += [*buffer(received), ("i32", source), ("i32", received_tag)]
        case _:
            raise _Indirect
    words.append(_handle(communicator))
    if name == "Sendrecv":
        words.append(("ptr", ctypes.addressof(_status())))
    kinds, passed = zip(*words)
    return ForeignCall(_address(f"MPI_{name}"), kinds, passed)


def _copy(source: Array, target: Array, places: dict[int, Place]) -> CopyBytes:
    from_, to = (places.get(a.ctypes.data) for a in (source, target))
    both_dense = source.flags.c_contiguous and target.flags.c_contiguous
    if from_ is None or to is None or not both_dense:
        raise _Indirect
    return CopyBytes(to, from_, source.nbytes)


def _handle(thing: Any) -> Word:
    """A handle of MPI's as C has it: an int, or a pointer."""
    return ("i32" if MPI._sizeof(thing) == 4 else "ptr"), MPI._handleof(thing)


@cache
def _status() -> Any:
    """Where what nobody asks for is written."""
    return (ctypes.c_char * MPI._sizeof(MPI.Status))()


@cache
def _address(name: str) -> int:
    """The address of one of MPI's functions."""
    try:
        function = getattr(_library(), name)
    except (OSError, AttributeError):
        raise _Indirect from None
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@cache
def _library() -> ctypes.CDLL:
    # What is looked for in a library is looked for in those that it is linked with, too.
    return ctypes.CDLL(MPI.__file__)
