"""Computations on scalars, such as a reduction's `to_apply`, applied to every element of arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.op import Call, op_named
from tfc.hlo.shape import Shape, leaves


def apply_to_elements(
    computation: Computation, arrays: Sequence[Any], call: Call
) -> list[np.ndarray]:
    """The results of a computation on scalars at each element of arrays, which broadcast.

    A computation of elementwise operations is evaluated once, over whole arrays.
    """
    dims = np.broadcast_shapes(*(np.shape(a) for a in arrays))
    if all(is_pointwise(i) for i in computation.instructions):
        return [np.broadcast_to(r, dims) for r in _parts(call(computation, arrays))]
    spread = [np.broadcast_to(a, dims) for a in arrays]
    results = [np.empty(dims, s.element_type.dtype) for s in leaves(computation.root.shape)]
    for index in np.ndindex(dims):
        found = _parts(call(computation, [np.asarray(a[index]) for a in spread]))
        for result, value in zip(results, found):
            result[index] = value
    return results


def is_pointwise(instruction: Instruction, dims: tuple[int, ...] = ()) -> bool:
    """True if an instruction on arrays of one shape, or scalars, works element by element."""
    if any(shape.dims not in (dims, ()) for shape in leaves(instruction.shape)):
        return False
    match instruction.opcode:
        case "parameter" | "tuple":
            return True
        case "constant":
            return instruction["literal"].is_splat()
        case "broadcast":
            return (
                bool(instruction.array_shape.rank) and not instruction.operands[0].array_shape.rank
            )
        case opcode:
            return isinstance(instruction.shape, Shape) and op_named(opcode).elementwise


def over_arrays(
    computation: Computation, operands: Sequence[Instruction]
) -> list[Instruction] | None:
    """The results of a computation on scalars as operations on whole arrays of one shape.

    None if some instruction of it is not elementwise.
    """
    dims = operands[0].array_shape.dims
    new = dict(zip(computation.parameters, operands))
    for old in computation.instructions:
        if not is_pointwise(old):
            return None
        if old.opcode == "constant":
            new[old] = builder.broadcast(old, dims, ()) if dims else old
        elif old.opcode not in ("parameter", "tuple"):
            shape = Shape(old.array_shape.element_type, dims)
            new[old] = old.with_(operands=tuple(new[o] for o in old.operands), shape=shape)
    root = computation.root
    return [new[r] for r in (root.operands if root.opcode == "tuple" else (root,))]


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
