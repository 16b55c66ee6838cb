"""Data movement by indices that are read when the program runs: dynamic slices and gather.

Semantics: DS-1, section 1.19, GA-1…GA-8 of the operation semantics. An index out of bounds is
clamped, as in XLA, so that a window always lies inside: the index maps know its range, and nothing
is ever read or written outside of an array.
"""

from collections.abc import Container, Sequence

import numpy as np

from tfc.hlo.index_maps import Condition, Index, Piece, constant, element
from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.op import (
    Attribute,
    Call,
    Value,
    describe,
    movement,
    require,
    require_array,
)
from tfc.hlo.shape import AnyShape, Shape

Array = np.ndarray
Indices = Sequence[Index]


def _require_starts(op: str, shapes: Sequence[AnyShape], rank: int) -> None:
    """Start indices are one integer scalar a dimension, or one vector of them (DS-1)."""
    starts = [require_array(op, s) for s in shapes]
    for start in starts:
        require(start.element_type.is_integer, op, "integer start indices", start, "DS-1")
    scalars = len(starts) == rank and all(s.rank == 0 for s in starts)
    vector = len(starts) == 1 and starts[0].dims == (rank,)
    require(scalars or vector, op, f"{rank} scalar start indices, or a vector of {rank}",
            describe(shapes) or "none", "DS-1")  # fmt: skip


def _starts(operands: Sequence[Instruction], limits: Sequence[int]) -> list[Index]:
    """Each start index, clamped to 0 … limit."""
    if len(operands) == 1 and operands[0].array_shape.rank:
        return [element(operands[0], (constant(d),), n) for d, n in enumerate(limits)]
    return [element(operand, (), n) for operand, n in zip(operands, limits)]


def _clamped(values: Sequence[Value], limits: Sequence[int]) -> list[int]:
    """The same for values."""
    flat = values[0] if len(values) == 1 and np.ndim(values[0]) else values
    return [min(max(int(v), 0), n) for v, n in zip(flat, limits)]


def _infer_slice(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> Shape:
    require(bool(shapes), "dynamic-slice", "an operand and its start indices", describe(shapes))
    operand, sizes = require_array("dynamic-slice", shapes[0]), a["dynamic_slice_sizes"]
    _require_starts("dynamic-slice", shapes[1:], operand.rank)
    fits = len(sizes) == operand.rank and all(0 <= s <= n for s, n in zip(sizes, operand.dims))
    require(fits, "dynamic-slice", f"a size within each of {list(operand.dims)}", list(sizes))
    return Shape(operand.element_type, tuple(sizes))


def _evaluate_slice(x: Instruction, values: Sequence[Value], _: Call) -> Array:
    sizes = x["dynamic_slice_sizes"]
    starts = _clamped(values[1:], [n - s for n, s in zip(values[0].shape, sizes)])
    return values[0][tuple(slice(i, i + s) for i, s in zip(starts, sizes))]


def _index_slice(x: Instruction, index: Indices) -> list[Piece]:
    dims, sizes = x.operands[0].array_shape.dims, x["dynamic_slice_sizes"]
    starts = _starts(x.operands[1:], [n - s for n, s in zip(dims, sizes)])
    return [Piece(0, tuple(i + start for i, start in zip(index, starts)))]


def _infer_update(shapes: Sequence[AnyShape], _: Attributes, __: AnyShape | None) -> Shape:
    name = "dynamic-update-slice"
    require(len(shapes) > 1, name, "an operand, an update and start indices", describe(shapes))
    operand, update = (require_array(name, s) for s in shapes[:2])
    _require_starts(name, shapes[2:], operand.rank)
    fits = update.rank == operand.rank and all(u <= n for u, n in zip(update.dims, operand.dims))
    require(fits and update.element_type == operand.element_type, name,
            "an update of the operand's type that fits inside it",
            describe([operand, update]))  # fmt: skip
    return operand


def _evaluate_update(_: Instruction, values: Sequence[Value], __: Call) -> Array:
    operand, update = values[:2]
    starts = _clamped(values[2:], [n - u for n, u in zip(operand.shape, update.shape)])
    result = np.array(operand)  # a scalar may be no array
    result[tuple(slice(i, i + u) for i, u in zip(starts, update.shape))] = update
    return result


def update_index(x: Instruction, index: Indices) -> tuple[Index, ...]:
    """Where a dynamic-update-slice puts an element of its update."""
    dims, sizes = x.array_shape.dims, x.operands[1].array_shape.dims
    starts = _starts(x.operands[2:], [n - s for n, s in zip(dims, sizes)])
    return tuple(i + start for i, start in zip(index, starts))


def updates_of(
    root: Instruction, stop: Container[Instruction]
) -> tuple[Instruction, list[Instruction]]:
    """What dynamic-update-slices on one another are applied to, and they, in order.

    Args:
        stop: instructions whose values are given.
    """
    found: list[Instruction] = []
    while root.opcode == "dynamic-update-slice" and root not in stop:
        found.append(root)
        root = root.operands[0]
    return root, found[::-1]


def _index_update(x: Instruction, index: Indices) -> list[Piece]:
    dims, sizes = x.array_shape.dims, x.operands[1].array_shape.dims
    if not x.operands[1].array_shape.size:
        return [Piece(0, tuple(index))]
    starts = _starts(x.operands[2:], [n - s for n, s in zip(dims, sizes)])
    inside = tuple(i - start for i, start in zip(index, starts))
    conditions = tuple(Condition(i, 0, s) for i, s in zip(inside, sizes))
    return [Piece(1, inside, conditions), Piece(0, tuple(index))]


# fmt: off
movement("dynamic-slice", None, _infer_slice, _evaluate_slice, _index_slice,
         (Attribute("dynamic_slice_sizes", "ints"),), moved=1, aligned=1)
movement("dynamic-update-slice", None, _infer_update, _evaluate_update, _index_update,
         moved=2, aligned=2)
# fmt: on
