"""Reduce large arrays to a scalar in two steps: what lies together first, then the few that remain.

    s = f32[] reduce(f32[4096,1000] x, i, {0,1})  -->  r = f32[4096] reduce(x, -0, {1})
                                                       s = f32[] reduce(r, i, {0})

Rows are shared by threads, gone along several at a time, and may be part of a kernel of rows. An
array without rows of a good length is given some, where this moves no byte:

    s = f32[] reduce(f32[65536] x, i, {0})        -->  y = f32[64,1024] reshape(x)
                                                       r = f32[64] reduce(y, -0, {1})
                                                       s = f32[] reduce(r, i, {0})

Nothing is done where the partial results would be rounded, or have no neutral value to begin with.
"""

from collections import Counter
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction, Module, rebuild
from tfc.passes.called import control_computations, map_some
from tfc.passes.replacing import made, reducer
from tfc.passes.simplify_reductions import neutral

_LEAST = 1 << 16  # elements that are worth a second step
_LEAST_ROWS = 16
_MOST_ROWS = 64  # that an array is given
_LEAST_LENGTH = 512  # of a row
_EXACT = frozenset({"maximum", "minimum"})


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
    return rebuild(computation, lambda i: _split(i, shared))


def _split(x: Instruction, shared: set[str]) -> Instruction:
    """The reduction, or its second step."""
    if x.opcode != "reduce" or len(x.operands) != 2 or x.array_shape.rank:
        return x
    operand, init = x.operands
    shape, opcode = operand.array_shape, reducer(x["to_apply"])
    rounded = shape.element_type.is_float and shape.element_type.bits <= 16
    plain = shape.size >= _LEAST and shape.has_default_layout
    if opcode is None or not plain or (rounded and opcode not in _EXACT):
        return x
    begin = neutral(opcode, shape.element_type)
    if begin is None:
        return x
    rows = next((n for n in range(shape.rank) if prod(shape.dims[:n]) >= _LEAST_ROWS), shape.rank)
    kept = range(rows)
    if prod(shape.dims[rows:]) < _LEAST_LENGTH:
        first, *rest = shape.dims
        parts = max(n for n in range(1, _MOST_ROWS + 1) if not first % n)
        if parts < _LEAST_ROWS or operand.name in shared:
            return x
        operand, kept = builder.reshape(operand, (parts, first // parts, *rest)), range(1)
    reduced = [d for d in range(operand.array_shape.rank) if d not in kept]
    neutral_value = builder.constant(begin, shape.element_type)
    partial = builder.reduce(operand, neutral_value, reduced, x["to_apply"])
    return made(x, "reduce", [partial, init], dimensions=tuple(kept), to_apply=x["to_apply"])
