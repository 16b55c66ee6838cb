"""Cholesky and triangular-solve: linear algebra on the last two dimensions, the others a batch.

Semantics: StableHLO's, and XLA's where that leaves a choice. Only the triangle that `lower` names
is read; the other may hold anything. The other triangle of a Cholesky factor is zero, and a matrix
that is not positive definite has a factor of NaN alone. The reference computes in 64 bits.
"""

from collections.abc import Sequence

import numpy as np

from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.op import Attribute, Call, Op, Value, describe, register, require, require_array
from tfc.hlo.ops.elementwise.families import COMPLEX, FLOAT, require_kind
from tfc.hlo.shape import AnyShape, Shape
from tfc.hlo.traits import Accuracy, Category, Cost

Array = np.ndarray
SOLVE_FLAGS = ("left_side", "lower", "unit_diagonal")
TRANSPOSES = ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")


def flags(x: Instruction, *names: str) -> list[bool]:
    """The values of flags; one that is not stated is false."""
    return [x.attributes.get(name, False) for name in names]


def _require_square(op: str, shape: AnyShape) -> Shape:
    """An array of square matrices."""
    array = require_array(op, shape)
    require_kind(op, array.element_type, FLOAT | COMPLEX)
    require(
        array.rank >= 2 and array.dims[-1] == array.dims[-2],
        op,
        "square matrices in the last two dimensions",
        array,
    )
    return array


def _infer_cholesky(shapes: Sequence[AnyShape], _: Attributes, __: AnyShape | None) -> Shape:
    return _require_square("cholesky", shapes[0])


def _wide(x: Instruction, values: Sequence[Value]) -> list[Array]:
    is_complex = x.array_shape.element_type.is_complex
    return [v.astype(np.complex128 if is_complex else np.float64) for v in values]


def _adjoint(a: Array) -> Array:
    return np.conj(np.swapaxes(a, -1, -2))


def _evaluate_cholesky(x: Instruction, values: Sequence[Value], _: Call) -> Array:
    (a,), (lower,) = _wide(x, values), flags(x, "lower")
    a = a if lower else _adjoint(a)
    factor = np.zeros_like(a)
    with np.errstate(all="ignore"):
        for j in range(a.shape[-1]):
            before = factor[..., j:, :j] * np.conj(factor[..., j : j + 1, :j])
            column = a[..., j:, j] - before.sum(-1)
            pivot = np.sqrt(column[..., :1].real)
            factor[..., j:, j] = column / pivot
            factor[..., j, j] = pivot[..., 0]
        failed = np.isnan(factor).any((-1, -2), keepdims=True)
        factor = np.where(failed, np.nan, factor if lower else _adjoint(factor))
        return factor.astype(x.array_shape.element_type.dtype)


def _infer_solve(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> Shape:
    op = "triangular-solve"
    matrix = _require_square(op, shapes[0])
    right = require_array(op, shapes[1])
    require(
        matrix.element_type == right.element_type
        and matrix.rank == right.rank
        and matrix.dims[:-2] == right.dims[:-2],
        op,
        "operands that agree in type and batch dimensions",
        describe([matrix, right]),
    )
    shared = right.dims[-2 if a.get("left_side", False) else -1]
    require(
        shared == matrix.dims[-1],
        op,
        f"a right-hand side with {matrix.dims[-1]} unknowns for each equation",
        right,
    )
    require(a["transpose_a"] in TRANSPOSES, op, " or ".join(TRANSPOSES), a["transpose_a"])
    return right


def _evaluate_solve(x: Instruction, values: Sequence[Value], _: Call) -> Array:
    a, b = _wide(x, values)
    (left, lower, unit), transpose = flags(x, *SOLVE_FLAGS), x["transpose_a"]
    a = np.conj(a) if transpose == "ADJOINT" else a
    if not left:  # x op(a) = b is op(a)ᵀ xᵀ = bᵀ
        b = np.swapaxes(b, -1, -2)
    if left == (transpose != "NO_TRANSPOSE"):
        a, lower = np.swapaxes(a, -1, -2), not lower
    found = np.zeros_like(b)
    count = a.shape[-1]
    with np.errstate(all="ignore"):
        for i in range(count) if lower else reversed(range(count)):
            known = slice(0, i) if lower else slice(i + 1, count)
            sums = (a[..., i, known, None] * found[..., known, :]).sum(-2)
            row = b[..., i, :] - sums
            found[..., i, :] = row if unit else row / a[..., i, i, None]
        found = found if left else np.swapaxes(found, -1, -2)
        return found.astype(x.array_shape.element_type.dtype)


def _flags(*names: str) -> tuple[Attribute, ...]:
    return tuple(Attribute(name, "bool", required=False, default=False) for name in names)


# fmt: off
register(Op("cholesky", 1, _infer_cholesky, _evaluate_cholesky, _flags("lower"),
            domain=FLOAT | COMPLEX,
            category=Category.PRODUCT, cost=Cost.OWN, accuracy=Accuracy.APPROXIMATE))
register(Op("triangular-solve", 2, _infer_solve, _evaluate_solve,
            (*_flags(*SOLVE_FLAGS), Attribute("transpose_a", "name")),
            domain=FLOAT | COMPLEX,
            category=Category.PRODUCT, cost=Cost.OWN, accuracy=Accuracy.APPROXIMATE))
# fmt: on
