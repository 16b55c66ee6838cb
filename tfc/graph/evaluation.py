"""Evaluating a graph: its operations in a defined order, on arrays or on Tensors of a trace.

The order: data and control dependencies first of all. Where they leave it open, what reads a
variable comes before what writes it, and writes come in the order in which they were made. So a
run sees its variables as they were when it began, unless it says otherwise, and gives the same
each time.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from typing import Any, Protocol

import numpy as np

from tfc.errors import (
    InternalError,
    OutOfBoundsError,
    ShapeError,
    TfcError,
    UnsupportedError,
)
from tfc.frontend.trace import blame, outside_traces
from tfc.graph import errors
from tfc.graph.operation import Operation, Tensor
from tfc.graph.operators.registry import Operator, find
from tfc.graph.types.handles import Handle
from tfc.hlo.ir import Metadata


class Context(Protocol):
    """What operations act on beyond their inputs while a graph is evaluated.

    operation: the one at hand, which `evaluate` states.
    written: what was written so far, by the variables' names.

    A row that runs a subgraph as a part of the program of its own, a branch or a body, lets it act
    on a context of its own and takes what that wrote as further results:

        handles = [x for x in inputs if isinstance(x, Handle)]

        def branch(inputs, values):                      # within tfc.cond
            inner = context.nested(dict(zip(handles, values)))
            results = inner.call(subgraph, inputs)
            return results, [inner.read(handle) for handle in handles]

        results, values = tfc.cond(…, inputs, [context.read(handle) for handle in handles])
        for handle, value in zip(handles, values):
            context.write(handle, value)
    """

    operation: Operation | None
    written: dict[str, Any]

    def read(self, handle: Handle) -> Any:
        """The value of a variable."""
        ...

    def write(self, handle: Handle, value: Any) -> None:
        """Give a variable a value."""
        ...

    def is_initialized(self, handle: Handle) -> bool:
        """Whether a variable has a value."""
        ...

    def key(self, seed: int, seed2: int) -> Any:
        """A random key of this run: of the seeds, or of the operation at hand if both are 0."""
        ...

    def call(self, subgraph: Any, arguments: Sequence[Any]) -> list[Any]:
        """The results of a subgraph, whose effects are of this context."""
        ...

    def nested(self, values: Mapping[Handle, Any], iteration: Any = None) -> "Context":
        """A context whose variables have these values, and where what is written stays.

        Args:
            values: of variables; those left out cannot be read within.
            iteration: the number of a loop's iteration, so that each has random numbers of its own.
        """
        ...


def row_of(op: Operation) -> Operator:
    """What an operation does."""
    return find(op.type, op.attributes)


def needed(fetched: Iterable[Operation], fed: Collection[Tensor]) -> set[Operation]:
    """The operations that must run for the fetched ones; what is fed needs nothing."""
    found: set[Operation] = set()
    left = list(fetched)
    while left:
        op = left.pop()
        if op in found or (op.outputs and all(x in fed for x in op.outputs)):
            continue
        found.add(op)
        left += [x.op for x in op.inputs if x not in fed]
        left += op.control_inputs
    return found


def order(fetched: Iterable[Operation], fed: Collection[Tensor]) -> list[Operation]:
    """The operations that must run for the fetched ones, in the order that a run has.

    Raises:
        InvalidArgumentError: some wait for each other in a circle.
    """
    wanted = needed(fetched, fed)
    waits: dict[Operation, int] = {}
    followers: dict[Operation, list[Operation]] = {}
    ready: list[tuple[bool, int, Operation]] = []

    def is_ready(op: Operation) -> None:
        heappush(ready, (row_of(op).effect == "write", op.number, op))

    for op in wanted:
        before = required(op, fed) & wanted
        waits[op] = len(before)
        for other in before:
            followers.setdefault(other, []).append(op)
        if not before:
            is_ready(op)
    ordered: list[Operation] = []
    while ready:
        op = heappop(ready)[2]
        ordered.append(op)
        for other in followers.get(op, ()):
            waits[other] -= 1
            if not waits[other]:
                is_ready(other)
    if len(ordered) < len(wanted):
        raise _circle(wanted.difference(ordered), fed)
    return ordered


def required(op: Operation, fed: Collection[Tensor]) -> set[Operation]:
    """The operations that run before one: those it takes tensors of, and its control inputs."""
    return {x.op for x in op.inputs if x not in fed} | set(op.control_inputs)


def _circle(waiting: set[Operation], fed: Collection[Tensor]) -> errors.InvalidArgumentError:
    """The error for operations that wait for each other, to be raised; names one circle."""
    path = [min(waiting, key=lambda op: op.number)]
    while path.count(path[-1]) == 1:
        path.append(min(required(path[-1], fed) & waiting, key=lambda op: op.number))
    circle = path[path.index(path[-1]) :]
    names = " -> ".join(repr(op.name) for op in reversed(circle))
    return errors.InvalidArgumentError(
        circle[0], circle[0], f"the graph has a cycle, so that it cannot be run: {names}"
    )


def evaluate(operations: Sequence[Operation], values: dict[Tensor, Any], context: Context) -> None:
    """Run operations in order, entering their results in `values`.

    What is known, NumPy arrays, stays known: it is computed at once even within a trace, so that
    shapes and axes that the graph computes are numbers to the functions that take them.

    Raises:
        OpError: an operation failed; it says which, and has what was raised as its cause.
    """
    for op in operations:
        inputs = [values[x] for x in op.inputs]
        context.operation = op
        try:
            results = apply(op, inputs, context)
        except Exception as error:
            failure = as_failure(error, op)
            if failure is error:
                raise
            raise failure from error
        for tensor, value in zip(op.outputs, results):
            values.setdefault(tensor, value)  # what is fed stays as it is


def apply(op: Operation, inputs: Sequence[Any], context: Context) -> list[Any]:
    """The results of one operation."""
    row = row_of(op)
    more = {"context": context} if row.takes_context else {}
    if inputs and not row.effect and all(isinstance(x, (np.ndarray, np.generic)) for x in inputs):
        with outside_traces():
            return row(inputs, op.attributes, **more)
    with blame(Metadata(op_name=op.name, source_file=op.location[0], source_line=op.location[1])):
        return row(inputs, op.attributes, **more)


# What an operation raised, and what a run raises for it; the first that fits.
_FAILURES: tuple[tuple[type[Exception], type[errors.OpError]], ...] = (
    (UnsupportedError, errors.UnimplementedError),
    (NotImplementedError, errors.UnimplementedError),
    (MemoryError, errors.ResourceExhaustedError),
    (StopIteration, errors.OutOfRangeError),
    (OutOfBoundsError, errors.OutOfRangeError),
    (ShapeError, errors.InvalidArgumentError),
    (ValueError, errors.InvalidArgumentError),
    (TypeError, errors.InvalidArgumentError),
    (Exception, errors.UnknownError),
)


def as_failure(error: Exception, op: Operation) -> Exception:
    """What a run raises where an operation raised an error, which says what failed and where.

    That is the error itself if it is an OpError already, or a defect in tfc.
    """
    where = f"{op.location[0]}:{op.location[1]}"
    note = f"in operation {op.name!r} of type {op.type}, made at {where}"
    is_users = isinstance(error, (TfcError, ValueError)) or row_of(op).on_host
    if isinstance(error, (errors.OpError, InternalError)) or not is_users:
        if not any(known.startswith("in operation") for known in getattr(error, "__notes__", ())):
            error.add_note(note)
        if isinstance(error, errors.OpError) and error.op is None:
            error.op = error.node_def = op
        return error
    kind = next(made for raised, made in _FAILURES if isinstance(error, raised))
    said = str(error) or type(error).__name__
    text = said if isinstance(error, TfcError) else f"{type(error).__name__}: {said}"
    failure = kind(op, op, f"{op.name}: {text}")
    failure.add_note(note)
    return failure
