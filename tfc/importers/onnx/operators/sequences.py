"""Sequences, which are lists while importing, and what may be left out."""

from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.errors import ModelFileError
from tfc.importers.graph import Graph, Port
from tfc.importers.onnx.operators.shapes import parts
from tfc.importers.onnx.table import operator
from tfc.importers.values import few, whole_numbers
from tfc.importers.walk import Call


def _place(position: Any, sequence: list[Any], most: int) -> int:
    """A known position, which may count from the end.

    Raises:
        ModelFileError: it is beyond the sequence.
    """
    place = int(np.asarray(position).reshape(()))
    place = place + len(sequence) if place < 0 else place
    if not 0 <= place <= most:
        raise ModelFileError(f"a sequence of {len(sequence)} has no place {place}")
    return place


@operator("SequenceConstruct", since=11)
def construct(*inputs: Any) -> Any:
    """A sequence of tensors."""
    return (list(inputs),)


@operator("SequenceEmpty", since=11)
def empty(*, dtype: int = 1) -> Any:
    """A sequence of nothing."""
    return ([],)


@operator("SequenceInsert", since=11, needs=("position",))
def insert(sequence: Any, tensor: Any, position: Any = None) -> Any:
    """A sequence with one tensor more."""
    place = len(sequence) if position is None else _place(position, sequence, len(sequence))
    return ([*sequence[:place], tensor, *sequence[place:]],)


@operator("SequenceErase", since=11, needs=("position",))
def erase(sequence: Any, position: Any = None) -> Any:
    """A sequence with one tensor less."""
    position = -1 if position is None else position
    place = _place(position, sequence, len(sequence) - 1)
    return ([*sequence[:place], *sequence[place + 1 :]],)


@operator("SequenceAt", since=11, needs=("position",))
def at(sequence: Any, position: Any) -> Any:
    """A tensor of a sequence."""
    return sequence[_place(position, sequence, len(sequence) - 1)]


@operator("SequenceLength", since=11)
def length(sequence: Any) -> Any:
    """The number of tensors."""
    return np.array(len(sequence), np.int64)


@operator("SplitToSequence", since=11, needs=("split",))
def split_to_sequence(x: Any, split: Any = None, *, axis: int = 0, keepdims: int = 1) -> Any:
    """The parts of an array along an axis, as a sequence."""
    size = x.shape[axis]
    if split is None:
        few(size, 1 << 12)
        found = parts(x, axis, size, [1] * size)
        return ([*found] if keepdims else [tnp.squeeze(part, axis) for part in found],)
    if np.ndim(split):
        return ([*parts(x, axis, 0, whole_numbers(split))],)
    each = int(split)
    few(size // max(each, 1), 1 << 12)
    sizes = [min(each, size - start) for start in range(0, size, each)]
    return ([*parts(x, axis, 0, sizes)],)


@operator("ConcatFromSequence", since=11)
def concat_from_sequence(sequence: Any, *, axis: int, new_axis: int = 0) -> Any:
    """The tensors of a sequence one after the other, along an axis or a new one."""
    return tnp.stack(sequence, axis) if new_axis else tnp.concatenate(list(sequence), axis)


@operator("SequenceMap", since=17, is_pure=False)
def sequence_map(*inputs: Any, body: Graph, node: Call) -> Any:
    """A graph of each tensor of a sequence."""
    found: list[list[Any]] = [[] for _ in body.outputs]
    for k in range(len(inputs[0])):
        given = [v[k] if isinstance(v, list) else v for v in inputs]
        for outputs, made in zip(found, node.run(body, given)):
            outputs.append(made)
    return tuple(found)


@operator("Optional", since=15)
def optional(x: Any = None, *, type: Port | None = None) -> Any:
    """What may be there: a value, or nothing."""
    return (x,)


@operator("OptionalHasElement", since=15)
def has_element(x: Any = None) -> Any:
    """Whether there is a value."""
    return np.array(x is not None)


@operator("OptionalGetElement", since=15)
def get_element(x: Any) -> Any:
    """The value that is there."""
    if x is None:
        raise ModelFileError("there is no value to take")
    return (x,)
