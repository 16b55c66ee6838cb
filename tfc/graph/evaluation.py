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

from tfc.errors import TfcError
from tfc.frontend.trace import outside_traces
from tfc.graph.operation import Operation, Tensor
from tfc.graph.operators.registry import find
from tfc.graph.types.handles import Handle


class Context(Protocol):
    """What operations act on beyond their inputs while a graph is evaluated."""

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
        """A random key of this run for the operation at hand."""
        ...

    def call(self, subgraph: Any, arguments: Sequence[Any]) -> list[Any]:
        """The results of a subgraph."""
        ...


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
    """The operations that must run for the fetched ones, in the order that a run has."""
    wanted = needed(fetched, fed)
    waits: dict[Operation, int] = {}
    followers: dict[Operation, list[Operation]] = {}
    ready: list[tuple[bool, int, Operation]] = []

    def is_ready(op: Operation) -> None:
        heappush(ready, (find(op.type, op.attributes).effect == "write", op.number, op))

    for op in wanted:
        before = {x.op for x in op.inputs if x not in fed} | set(op.control_inputs)
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
    return ordered


def evaluate(operations: Sequence[Operation], values: dict[Tensor, Any], context: Context) -> None:
    """Run operations in order, entering their results in `values`.

    What is known, NumPy arrays, stays known: it is computed at once even within a trace, so that
    shapes and axes that the graph computes are numbers to the functions that take them.
    """
    for op in operations:
        inputs = [values[x] for x in op.inputs]
        try:
            results = apply(op, inputs, context)
        except TfcError as error:
            _locate(error, op)
            raise
        for tensor, value in zip(op.outputs, results):
            values.setdefault(tensor, value)  # what is fed stays as it is


def apply(op: Operation, inputs: Sequence[Any], context: Context) -> list[Any]:
    """The results of one operation."""
    row = find(op.type, op.attributes)
    more = {"context": context} if row.takes_context else {}
    if inputs and not row.effect and all(isinstance(x, (np.ndarray, np.generic)) for x in inputs):
        with outside_traces():
            return row(inputs, op.attributes, **more)
    return row(inputs, op.attributes, **more)


def _locate(error: TfcError, op: Operation) -> None:
    notes: Sequence[str] = getattr(error, "__notes__", ())
    note = f"in operation {op.name!r} of type {op.type}, made at {op.location[0]}:{op.location[1]}"
    if not any(known.startswith("in operation") for known in notes):
        error.add_note(note)


def results_of(values: Mapping[Tensor, Any], tensors: Iterable[Tensor]) -> list[Any]:
    """The values of tensors."""
    return [values[x] for x in tensors]
