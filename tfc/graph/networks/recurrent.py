"""Recurrent networks over time: a cell is called with each step's inputs and the state before."""

from collections.abc import Sequence
from typing import Any

from tfc.errors import ShapeError
from tfc.frontend import tree
from tfc.graph.building import int32s, result
from tfc.graph.constants import convert_to_tensor
from tfc.graph.control.loops import while_loop
from tfc.graph.control.tensor_array import TensorArray
from tfc.graph.functions.arithmetic import add, cast
from tfc.graph.functions.arrays import reverse, reverse_sequence, transpose
from tfc.graph.functions.creation import zeros_like
from tfc.graph.networks.cells import RNNCell, depth_of, dims_of
from tfc.graph.operation import Tensor
from tfc.graph.types.dtypes import int32
from tfc.graph.variables.scopes import get_variable_scope, variable_scope


def dynamic_rnn(
    cell: RNNCell,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:
    """(outputs of all steps, last state) of a cell, by a loop over time.

    Args:
        inputs: of shape (batch, time, depth), (time, batch, depth) if `time_major`; the outputs
            have these axes too.
        sequence_length: how many steps each row has: outputs behind are 0, its state stays.
        initial_state: nested as the cell's; zeros of `dtype` if it is not stated.
        parallel_iterations, swap_memory: say nothing here.

    Raises:
        ShapeError: there is neither an initial state nor a dtype, or shapes do not fit.
    """
    with variable_scope(scope or "rnn"):
        steps = convert_to_tensor(inputs)
        if steps.shape.dims is not None and len(steps.shape.dims) < 3:
            raise ShapeError(f"dynamic_rnn takes inputs of batch, time, depth, got {steps.shape}")
        if not time_major:
            steps = _swapped(steps)
        depth_of(steps)
        size = result("Shape", steps)
        rows = steps.shape.dims[1] if steps.shape.dims is not None else None
        state = _begun(cell, initial_state, dtype, size[1] if rows is None else rows)
        lengths = _lengths(sequence_length, rows)
        outputs, last = _looped(cell, steps, size[0], state, lengths)
        return outputs if time_major else _swapped(outputs), last


def _swapped(x: Tensor) -> Tensor:
    """The tensor with its first two axes exchanged."""
    return transpose(x, [1, 0, *range(2, x.shape.ndims or 3)])


def _begun(cell: RNNCell, initial_state: Any, dtype: Any, batch: Any) -> Any:
    """The state before the first step."""
    if initial_state is None:
        if dtype is None:
            raise ShapeError("If there is no initial_state, you must give a dtype.")
        return cell.zero_state(batch, dtype)
    leaves, structure = tree.flatten(initial_state)
    return tree.unflatten(structure, [convert_to_tensor(x) for x in leaves])


def _lengths(sequence_length: Any, rows: int | None) -> Tensor | None:
    """How many steps rows have, as int32.

    Raises:
        ShapeError: it is no vector of one number a row.
    """
    if sequence_length is None:
        return None
    lengths = cast(convert_to_tensor(sequence_length), int32)
    if not lengths.shape.is_compatible_with([rows]):
        raise ShapeError(
            f"sequence_length must be a vector of length batch_size, but saw shape: {lengths.shape}"
        )
    return lengths


def _looped(
    cell: RNNCell, steps: Tensor, count: Tensor, state: Any, lengths: Tensor | None
) -> tuple[Tensor, Any]:
    """The outputs, time first, and the last state."""
    leaves, structure = tree.flatten(state)
    sizes, _ = tree.flatten(cell.output_size)
    if len(sizes) != 1 or not leaves:
        raise ShapeError("dynamic_rnn takes cells with one output and a state")
    given = TensorArray(steps.dtype, count).unstack(steps)
    rows = steps.shape.dims[1] if steps.shape.dims is not None else None
    shape, dtype = [rows, *dims_of(sizes[0])], leaves[0].dtype
    known = steps.shape.dims[0] if steps.shape.dims is not None else None
    made = TensorArray(dtype, count if known is None else known, element_shape=shape)

    def step(time: Any, now: Any, written: Any) -> Any:
        output, after = cell(given.read(time), now)
        output, after = _within(time, lengths, output, now, after)
        for old, new in zip(tree.flatten(now)[0], tree.flatten(after)[0]):
            new.set_shape(old.shape)
        parts = tree.unflatten(structure, tree.flatten(after)[0])
        return add(time, 1), parts, written.write(time, output)

    begun = (convert_to_tensor(0, int32), state, made)
    _, last, made = while_loop(lambda time, *_: result("Less", time, count), step, begun)
    return made.stack(), last


def _within(
    time: Any, lengths: Tensor | None, output: Tensor, before: Any, after: Any
) -> tuple[Tensor, Any]:
    """The output and the state; of rows that have ended, zeros and the state before."""
    if lengths is None:
        return output, after
    goes_on = result("Less", time, lengths)
    leaves, structure = tree.flatten(after)
    kept = [
        result("Select", goes_on, new, old) for new, old in zip(leaves, tree.flatten(before)[0])
    ]
    shown = result("Select", goes_on, output, zeros_like(output))
    return shown, tree.unflatten(structure, kept)


def static_rnn(
    cell: RNNCell,
    inputs: Sequence[Any],
    initial_state: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """(outputs, last state) of a cell, by one call for each of a list of inputs.

    Args:
        inputs: a list of the steps' inputs, each of shape (batch, depth).
        sequence_length, initial_state: as of `dynamic_rnn`.

    Raises:
        ShapeError: there are no inputs, or neither an initial state nor a dtype.
    """
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ShapeError("static_rnn takes a list of inputs, one for each step")
    with variable_scope(scope or "rnn"):
        steps = [convert_to_tensor(x) for x in inputs]
        first = steps[0]
        rows = first.shape.dims[0] if first.shape.dims else None
        state = _begun(cell, initial_state, dtype, rows or result("Shape", first)[0])
        lengths = _lengths(sequence_length, rows)
        outputs = []
        for number, x in enumerate(steps):
            if number == 1:
                get_variable_scope().reuse_variables()
            output, after = cell(x, state)
            output, state = _within(int32s(number), lengths, output, state, after)
            outputs.append(output)
        return outputs, state


def bidirectional_dynamic_rnn(
    cell_fw: RNNCell,
    cell_bw: RNNCell,
    inputs: Any,
    sequence_length: Any = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """((outputs, outputs), (state, state)) of a cell forwards in time and of one backwards.

    The outputs of both are in the order of the inputs. Arguments are those of `dynamic_rnn`.
    """
    x = convert_to_tensor(inputs)
    along = (0, 1) if time_major else (1, 0)

    def turned(values: Tensor) -> Tensor:
        if sequence_length is None:
            return reverse(values, [along[0]])
        return reverse_sequence(values, sequence_length, *along)

    def one_way(cell: RNNCell, values: Tensor, state: Any, name: str) -> tuple[Any, Any]:
        with variable_scope(name) as inner:
            return dynamic_rnn(
                cell, values, sequence_length, state, dtype, time_major=time_major, scope=inner
            )

    with variable_scope(scope or "bidirectional_rnn"):
        forwards, last = one_way(cell_fw, x, initial_state_fw, "fw")
        backwards, first = one_way(cell_bw, turned(x), initial_state_bw, "bw")
        return (forwards, turned(backwards)), (last, first)
