"""Branches and loops: subgraphs that are chosen, or run again and again.

What is decided while importing leaves no trace: of a known condition only the branch taken is
imported. A loop of a known length becomes a scan; one whose values change their shapes is unrolled.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.errors import ModelFileError, ShapeError, TfcError, TraceError, UnsupportedError
from tfc.frontend.batching.vmap import vmap
from tfc.frontend.control.branches import cond as conditional
from tfc.frontend.control.loops import while_loop
from tfc.frontend.control.scan import scan
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import Tensor
from tfc.importers.graph import Graph
from tfc.importers.onnx.table import operator
from tfc.importers.values import UnknownValueError, traced
from tfc.importers.walk import Call

_FEW = 4  # iterations that are unrolled in any case
_MANY = 1 << 15  # nodes that unrolling may make


@operator("If", is_pure=False)
def if_(condition: Any, *, then_branch: Graph, else_branch: Graph, node: Call) -> Any:
    """The outputs of one of two graphs."""
    if not isinstance(condition, Tensor):
        is_true = bool(np.asarray(condition).reshape(()))
        return tuple(node.run(then_branch if is_true else else_branch, ()))

    def branch(graph: Graph) -> Any:
        return lambda: [_tensors(value) for value in node.run(graph, ())]

    chosen = tnp.reshape(condition, ())
    try:
        return tuple(conditional(chosen, branch(then_branch), branch(else_branch)))
    except (ShapeError, TraceError, ModelFileError) as error:
        raise UnknownValueError(
            "the branches give results of other shapes, or one of them cannot be computed for "
            "these inputs, so the condition must be known while importing; fix the input that "
            f"decides it ({error})"
        ) from error


def _tensors(value: Any) -> Any:
    """A value with Tensors in place of all arrays, so that branches and iterations agree."""
    found = traced(value)
    return [_tensors(v) for v in found] if isinstance(found, list) else as_tensor(found)


@operator("Loop", is_pure=False)
def loop(count: Any = None, condition: Any = None, *state: Any, body: Graph, node: Call) -> Any:
    """A graph run again and again: (iteration, condition, state) -> (condition, state, outputs)."""
    carried = len(state)
    stacked = len(body.outputs) - 1 - carried
    if isinstance(condition, np.ndarray) and not condition.reshape(()):
        count = np.zeros((), np.int64)
    starts = condition is None or isinstance(condition, np.ndarray)
    if isinstance(count, np.ndarray) and starts:
        number = max(0, int(count.reshape(())))
        if number <= _FEW:
            return _unrolled(number, list(state), body, node)
        try:
            return _scanned(number, list(state), body, node)
        except _ConditionVaries:
            if stacked:
                raise UnsupportedError(
                    "a loop that ends by its data has no outputs of known size"
                ) from None
        except (TfcError, TypeError, AttributeError) as error:
            if number * len(body.nodes) > _MANY:
                raise
            try:
                return _unrolled(number, list(state), body, node)
            except _ConditionVaries:
                raise error from None
    if stacked:
        raise UnknownValueError(
            "the number of a loop's iterations decides the sizes of its outputs, so it must be "
            "known while importing"
        )
    return _while(count, condition, list(state), body, node)


class _ConditionVaries(UnsupportedError):
    """Whether a loop goes on depends on what it computes."""


def _unrolled(number: int, state: list[Any], body: Graph, node: Call) -> tuple[Any, ...]:
    """All iterations, one after the other."""
    collected: list[list[Any]] = [[] for _ in range(len(body.outputs) - 1 - len(state))]
    for i in range(number):
        goes_on, *rest = node.run(body, [np.array(i), np.array(True), *state])
        state, outputs = rest[: len(state)], rest[len(state) :]
        for found, output in zip(collected, outputs):
            found.append(traced(output))
        if isinstance(goes_on, Tensor):
            raise _ConditionVaries("whether a loop goes on is not known while importing")
        if not np.asarray(traced(goes_on)).reshape(()):
            break
    return *state, *(_stacked(found, port) for found, port in zip(collected, _outputs(body, state)))


def _outputs(body: Graph, state: Sequence[Any]) -> Sequence[Any]:
    return body.outputs[1 + len(state) :]


def _stacked(values: list[Any], port: Any) -> Any:
    if values:
        return tnp.stack(values, 0)
    if port.dtype is None or port.dims is None or not all(isinstance(d, int) for d in port.dims):
        raise UnsupportedError(f"a loop that never runs has no known size for its output {port}")
    return tnp.zeros((0, *port.dims), port.dtype)


def _scanned(number: int, state: list[Any], body: Graph, node: Call) -> tuple[Any, ...]:
    """The iterations as a scan, whose state keeps its shapes."""
    if any(isinstance(v, list) or v is None for v in state):
        raise UnsupportedError("sequences have no fixed size")

    def step(given: Any, _: Any) -> Any:
        i, carry = given
        goes_on, *rest = node.run(body, [i, np.array(True), *carry])
        found = traced(goes_on)
        if isinstance(found, Tensor) or not np.asarray(found).reshape(()):
            raise _ConditionVaries("whether a loop goes on is not known while importing")
        made = [_tensors(v) for v in rest]
        return (i + 1, made[: len(carry)]), made[len(carry) :]

    begin = as_tensor(np.zeros((), np.int64)), [as_tensor(v) for v in state]
    (_, last), outputs = scan(step, begin, None, number)
    return *last, *outputs


def _while(
    count: Any, condition: Any, state: list[Any], body: Graph, node: Call
) -> tuple[Any, ...]:
    """The iterations while a condition on data holds."""
    if any(isinstance(v, list) or v is None for v in state):
        raise UnknownValueError(
            "a loop over sequences is unrolled, so the number of its iterations must be known "
            "while importing"
        )
    most = np.array(np.iinfo(np.int64).max) if count is None else count
    most = tnp.reshape(as_tensor(most), ())
    first = np.array(True) if condition is None else condition

    def goes_on(carry: Any) -> Any:
        return tnp.logical_and(carry[0] < most, carry[1])

    def step(carry: Any) -> Any:
        again, *rest = node.run(body, list(carry))
        return [carry[0] + 1, tnp.reshape(_tensors(again), ()), *map(_tensors, rest)]

    begin = [np.zeros((), np.int64), tnp.reshape(as_tensor(first), ()), *map(as_tensor, state)]
    return tuple(while_loop(goes_on, step, [as_tensor(v) for v in begin])[2:])


@operator("Scan", since=9, is_pure=False)
def scan_(
    *inputs: Any, body: Graph, num_scan_inputs: int, scan_input_axes: Any = None,
    scan_input_directions: Any = None, scan_output_axes: Any = None,
    scan_output_directions: Any = None, node: Call,
) -> Any:  # fmt: skip
    """A graph along the slices of arrays: (state, slices) -> (state, slices of outputs)."""
    held = len(inputs) - num_scan_inputs
    if held < 0 or not num_scan_inputs:
        raise ModelFileError(f"a scan of {num_scan_inputs} arrays got {len(inputs)} inputs")
    stacked = len(body.outputs) - held
    axes = list(scan_input_axes or [0] * num_scan_inputs)
    turns = list(scan_input_directions or [0] * num_scan_inputs)
    slices = []
    for x, axis, turn in zip(inputs[held:], axes, turns):
        moved = tnp.moveaxis(x, axis, 0)
        slices.append(tnp.flip(moved, 0) if turn else moved)

    def step(carry: list[Any], given: list[Any]) -> Any:
        made = [_tensors(v) for v in node.run(body, [*carry, *given])]
        return made[:held], made[held:]

    last, outputs = scan(step, [as_tensor(v) for v in inputs[:held]], slices)
    axes = list(scan_output_axes or [0] * stacked)
    turns = list(scan_output_directions or [0] * stacked)
    found = [tnp.flip(y, 0) if turn else y for y, turn in zip(outputs, turns)]
    return *last, *(tnp.moveaxis(y, 0, axis) for y, axis in zip(found, axes))


@operator("Scan", since=8, until=8, is_pure=False)
def batched_scan(
    sequence_lens: Any, *inputs: Any, body: Graph, num_scan_inputs: int, directions: Any = None,
    node: Call,
) -> Any:  # fmt: skip
    """As the later ones, for each example of a batch."""
    if sequence_lens is not None:
        raise UnsupportedError("a scan of sequences of several lengths is not supported")

    def one(*given: Any) -> Any:
        return scan_(
            *given, body=body, num_scan_inputs=num_scan_inputs, scan_input_directions=directions,
            node=node,
        )  # fmt: skip

    return vmap(one)(*map(as_tensor, inputs))
