"""Reduce large arrays to a scalar in two steps: what lies together first, then the few that remain.

    s = f32[] reduce(f32[4096,1000] x, i, {0,1})  -->  r = f32[4096] reduce(x, -0, {1})
                                                       s = f32[] reduce(r, i, {0})

Rows are shared by threads, gone along several at a time, and may be part of a kernel of rows. An
array without rows of a good length is given some, where this moves no byte:

    s = f32[] reduce(f32[65536] x, i, {0})        -->  y = f32[64,1024] reshape(x)
                                                       r = f32[64] reduce(y, -0, {1})
                                                       s = f32[] reduce(r, i, {0})

A long running sum becomes running sums of such rows, each of which begins with the sum of those
before it:

    c = f32[65536] reduce-window(x, i), window={size=65536 pad=65535_0}

    -->  r = f32[64] reduce(y, -0, {1})
         b = f32[64] reduce-window(r, i), window={size=64 pad=64_-1}
         c = reshape(scan(y, b), dimensions={1})

Nothing is done where the partial results would be rounded, or have no neutral value to begin with.
Nor are running products of floats split, of which a part may overflow where all of it is zero.
"""

from collections import Counter
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from tfc.hlo import builder
from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.hlo.ir import Computation, Instruction, Module, rebuild
from tfc.hlo.ops.windows import window_of
from tfc.hlo.shape import Shape
from tfc.passes.analysis.called import control_computations, map_some
from tfc.passes.rewriting.replacing import made, reducer
from tfc.passes.simplify.reductions import neutral, rounds_parts

_LEAST = 1 << 16  # elements that are worth a second step
_LEAST_ROWS = 16
_MOST_ROWS = 64  # that an array is given
_LEAST_LENGTH = 512  # of a row


@dataclass(frozen=True)
class SplitReductions:
    """Reduce to a scalar by way of rows, in every computation that runs as steps."""

    name: ClassVar[str] = "split-reductions"

    def __call__(self, module: Module) -> Module:
        """The module with reductions in two steps."""
        return map_some(module, control_computations(module), _split_all)


def _split_all(computation: Computation) -> Computation:
    users = Counter(o for i in computation.instructions for o in i.operands)
    # Elementwise values with other users are stored while they are reduced, in their own shape.
    shared = {i.name for i in computation.instructions if i.operands and users[i] > 1}
    return rebuild(computation, lambda i: _split_window(_split(i, shared)))


def _split(x: Instruction, shared: set[str]) -> Instruction:
    """The reduction, or its second step."""
    if x.opcode != "reduce" or len(x.operands) != 2 or x.array_shape.rank:
        return x
    operand, init = x.operands
    begin, shape = _begin(x), operand.array_shape
    if begin is None:
        return x
    rows = next((n for n in range(shape.rank) if prod(shape.dims[:n]) >= _LEAST_ROWS), shape.rank)
    kept = range(rows)
    if prod(shape.dims[rows:]) < _LEAST_LENGTH:
        parts = _parts(shape.dims[0])
        if parts < _LEAST_ROWS or operand.name in shared:
            return x
        dims = (parts, shape.dims[0] // parts, *shape.dims[1:])
        operand, kept = builder.reshape(operand, dims), range(1)
    reduced = [d for d in range(operand.array_shape.rank) if d not in kept]
    partial = builder.reduce(operand, begin, reduced, x["to_apply"])
    return made(x, "reduce", [partial, init], dimensions=tuple(kept), to_apply=x["to_apply"])


def _split_window(x: Instruction) -> Instruction:
    """The reduce-window, or running sums of rows in its place."""
    if x.opcode != "reduce-window" or len(x.operands) != 2:
        return x
    operand, init = x.operands
    size, dims = operand.array_shape.size, operand.array_shape.dims
    running, parts = window_of(x).cumulative(dims), _parts(size)
    if running is None or dims[running[0]] != size or parts < _LEAST_ROWS:
        return x
    begin, reverse, combine = _begin(x), running[1], x["to_apply"]
    is_product = combine.root.opcode == "multiply" and x.array_shape.element_type.is_float
    if begin is None or is_product:
        return x
    rows = builder.reshape(operand, (parts, size // parts))
    totals = builder.reduce(rows, begin, [1], combine)
    before, after = (-1, parts) if reverse else (parts, -1)
    window = Window((WindowDimension(parts, low=before, high=after),))
    starts = builder.instruction("reduce-window", [totals, init], window=window, to_apply=combine)
    scan = made(
        x, "scan", [rows, starts], dimensions=(1,), num_carries=1, is_reverse=reverse,
        is_associative=False, to_apply=_step(x, starts.array_shape),
    )  # fmt: skip
    return builder.reshape(made(x, "get-tuple-element", [scan], index=0), dims)


def _step(x: Instruction, carried: Shape) -> Computation:
    """A scan's step that gives what it carries: (x, carried) -> (new, new)."""
    opcode, pair = x["to_apply"].root.opcode, [builder.parameter(n, carried) for n in range(2)]
    new = builder.binary(opcode, pair[0], pair[1])
    return Computation.make(f"{opcode}_step", pair, builder.instruction("tuple", [new, new]))


def _begin(x: Instruction) -> Instruction | None:
    """The neutral value that partial results begin with; None if `x` had better have none."""
    shape, opcode = x.operands[0].array_shape, reducer(x["to_apply"])
    plain = shape.size >= _LEAST and shape.has_default_layout
    if opcode is None or not plain or rounds_parts(opcode, shape.element_type):
        return None
    begin = neutral(opcode, shape.element_type)
    return None if begin is None else builder.constant(begin, shape.element_type)


def _parts(size: int) -> int:
    """Into how many equal parts so many elements are divided."""
    return max(n for n in range(1, _MOST_ROWS + 1) if not size % n)
