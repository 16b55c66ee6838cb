"""Multiply all inputs of a loop by its weights before the loop, in one dot.

    body { … x = f32[1,4,64] dynamic-slice(xs, i, 0, 0)        d = f32[400,256] dot(xs, w)
             d = f32[4,256] dot(reshape(x), w)           -->   body { … y = f32[1,4,256]
             … }                                                 dynamic-slice(d, i, 0, 0) … }

A recurrent layer multiplies one slice of its inputs an iteration: a product of few rows, for which
all weights are read. The rows of a dot are independent of one another, so slicing the inputs first
or the products afterwards gives the same, whatever the index. One dot reads the weights once.

It does not pay, and is refused with a reason, if the loop's length is unknown or less than half of
the slices; if writing and reading all products moves more than reading the weights each time; or if
they take more than `max_bytes`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from tfc.hlo import builder
from tfc.hlo.ir import Instruction, Module
from tfc.hlo.loops.loop_state import (
    Loop,
    Replace,
    extended,
    loop_of,
    rewrite_each,
)
from tfc.hlo.loops.trip_counts import trips_of, whiles
from tfc.hlo.ops.contraction import dot_dimensions
from tfc.hlo.shape import Shape
from tfc.passes.rewriting.decisions import Decisions, Refused, Taken, label


@dataclass(frozen=True)
class _Projection:
    """A dot in a body: the slice of the inputs in it, and the whole arrays outside of the loop."""

    dot: Instruction
    slice: Instruction
    inputs: Instruction
    weights: Instruction

    @property
    def shape(self) -> Shape:
        """That of all products: (slices, rows of one, columns of the weights)."""
        slices = self.slice.operands[0].array_shape.dims[0]
        return Shape(self.dot.array_shape.element_type, (slices, *self.dot.array_shape.dims))


@dataclass(frozen=True)
class InputProjections:
    """Take dots of slices of a loop's inputs out of the loop.

    max_bytes: the most that all products may take.
    """

    name: ClassVar[str] = "input-projections"
    max_bytes: int = 1 << 26

    def __call__(self, module: Module) -> Module:
        """The module with one dot before each loop in the place of one in each iteration."""
        return rewrite_each(module, "while", lambda x, _: self._projected(x))

    def explain(self, module: Module) -> Decisions:
        """Which dots would be taken out, and which not, and why."""
        return tuple(
            self._refuse(loop, found) or Taken("before the loop", label(found.dot))
            for loop in filter(None, map(loop_of, whiles(module)))
            for found in _projections(loop)
        )

    def _refuse(self, loop: Loop, found: _Projection) -> Refused | None:
        """Why a dot stays in its loop; None if it does not."""
        count = trips_of(loop.instruction).exact
        slices, size = found.shape.dims[0], found.shape.byte_size
        weights = found.weights.array_shape.byte_size
        reason = None
        if count is None or 2 * count < slices:
            reason = f"the loop is not known to use most of {slices} slices"
        elif size > self.max_bytes:
            reason = f"all products take {size} bytes, more than {self.max_bytes}"
        elif (count - 1) * weights <= 2 * size:
            reason = "storing all products moves more than reading the weights each time"
        return Refused.of(found.dot, reason) if reason else None

    def _projected(self, instruction: Instruction) -> Instruction:
        loop = loop_of(instruction)
        if loop is None:
            return instruction
        chosen = [p for p in _projections(loop) if self._refuse(loop, p) is None]
        if not chosen:
            return instruction
        return extended(
            loop,
            [_all_products(p) for p in chosen],
            lambda parts: _sliced(dict(zip((p.dot for p in chosen), zip(chosen, parts)))),
        )


def _projections(loop: Loop) -> list[_Projection]:
    """The dots of one slice of what does not change with what does not, matrix with matrix."""
    found = []
    for x in loop.body.instructions:
        if x.opcode != "dot" or not x.array_shape.has_default_layout:
            continue
        lhs, weights = x.operands
        cut = lhs.operands[0] if lhs.opcode == "reshape" else lhs
        contracting = dot_dimensions(x.attributes)[:2]
        plain = weights.array_shape.rank == lhs.array_shape.rank == 2
        if contracting != ((), (1,)) or not plain or not _is_one_slice(cut, lhs):
            continue
        outside = [_outside(loop, v) for v in (cut.operands[0], weights)]
        if outside[0] is not None and outside[1] is not None:
            found.append(_Projection(x, cut, outside[0], outside[1]))
    return found


def _is_one_slice(cut: Instruction, rows: Instruction) -> bool:
    """True for a dynamic slice of size one along the first dimension, whole along the others."""
    if cut.opcode != "dynamic-slice" or cut.operands[1].array_shape.rank:
        return False
    dims = cut.operands[0].array_shape.dims
    return cut["dynamic_slice_sizes"] == (1, *dims[1:]) and dims[-1] == rows.array_shape.dims[1]


def _outside(loop: Loop, value: Instruction) -> Instruction | None:
    """What a value of the body is outside of the loop, if that does not change in it."""
    if value.opcode == "constant":
        return value
    number = loop.number_in(loop.body, value)
    return loop.inits[number] if number is not None and loop.invariant[number] else None


def _all_products(found: _Projection) -> Instruction:
    """The dot of all inputs, outside of the loop."""
    slices, rows, columns = found.shape.dims
    flat = builder.reshape(found.inputs, (slices * rows, found.inputs.array_shape.dims[-1]))
    shape = Shape(found.shape.element_type, (slices * rows, columns))
    made = found.dot.with_(operands=(flat, found.weights), shape=shape)
    return builder.reshape(made, found.shape.dims)


def _sliced(chosen: Mapping[Instruction, tuple[_Projection, Instruction]]) -> Replace:
    """In a body, a slice of all products in the place of each dot."""

    def replace(old: Instruction, new: Mapping[Instruction, Instruction]) -> Instruction | None:
        if old not in chosen:
            return None
        found, products = chosen[old]
        index = new[found.slice.operands[1]]
        zero = builder.constant(0, index.array_shape.element_type)
        sizes = (1, *found.shape.dims[1:])
        cut = builder.instruction(
            "dynamic-slice", [products, index, zero, zero], dynamic_slice_sizes=sizes
        )
        return builder.reshape(cut, sizes[1:])

    return replace
