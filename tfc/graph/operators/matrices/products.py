"""Operators that multiply and sum: matrices, batches of them, Einstein's notation."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc import numpy as tnp
from tfc.errors import ShapeError
from tfc.graph.operators.registry import Attributes, Spec, operator
from tfc.graph.types import shapes
from tfc.graph.types.dtypes import as_dtype
from tfc.graph.types.shapes import TensorShape


def _flipped(shape: TensorShape, flip: Any) -> tuple[int | None, ...]:
    dims = shape.dims or ()
    if len(dims) < 2:
        raise ShapeError(f"a product of matrices takes rank 2 at least, got shape {shape}")
    return (*dims[:-2], dims[-1], dims[-2]) if flip else dims


def _product(
    inputs: Sequence[Any], attributes: Attributes, names: tuple[str, ...], exact: bool
) -> list[Spec]:
    """The shape of a product, whose unknown dimensions are those of the factors."""
    if inputs[0].dtype != inputs[1].dtype:
        raise ShapeError(
            f"a product takes factors of one dtype, got {inputs[0].dtype.name} and "
            f"{inputs[1].dtype.name}"
        )
    if any(x.shape.dims is None for x in inputs):
        return [(inputs[0].dtype, TensorShape([None, None] if exact else None))]
    a, b = (_flipped(x.shape, attributes.get(n)) for x, n in zip(inputs, names))
    if None not in (a[-1], b[-2]) and a[-1] != b[-2]:
        raise ShapeError(
            f"dimensions must be equal, but are {a[-1]} and {b[-2]} for a product of shapes "
            f"{inputs[0].shape} and {inputs[1].shape}"
        )
    if exact and (len(a), len(b)) != (2, 2):
        raise ShapeError(f"MatMul takes matrices, got {inputs[0].shape} and {inputs[1].shape}")
    batch = shapes.broadcast([TensorShape(a[:-2]), TensorShape(b[:-2])])
    return [(inputs[0].dtype, batch.concatenate([a[-2], b[-1]]))]


def _of_matrices(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return _product(inputs, attributes, ("transpose_a", "transpose_b"), True)


def _of_batches(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return _product(inputs, attributes, ("adj_x", "adj_y"), False)


@operator("MatMul", infer=_of_matrices)
def matmul(a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False) -> Any:
    """The product of two matrices."""
    return tnp.matmul(a.T if transpose_a else a, b.T if transpose_b else b)


@operator("BatchMatMul", "BatchMatMulV2", infer=_of_batches)
def batch_matmul(x: Any, y: Any, adj_x: bool = False, adj_y: bool = False) -> Any:
    """Products of the matrices in two arrays, each as it is or adjoint."""
    return tnp.matmul(_adjoint(x) if adj_x else x, _adjoint(y) if adj_y else y)


@operator("BatchMatMulV3", types="Ta Tb")
def batch_matmul_to(x: Any, y: Any, *, Tout: Any, adj_x: bool = False, adj_y: bool = False) -> Any:
    """The same of factors of any dtypes, in which the sums are of one that is stated."""
    wide = as_dtype(Tout).dtype
    return batch_matmul(tnp.astype(x, wide), tnp.astype(y, wide), adj_x, adj_y)


@operator("SparseMatMul", types="Ta Tb")
def matmul_of_zeros(a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False) -> Any:
    """The product of two matrices of many zeros, in single precision."""
    single = np.dtype(np.float32)
    return matmul(tnp.astype(a, single), tnp.astype(b, single), transpose_a, transpose_b)


def _adjoint(x: Any) -> Any:
    return tnp.conj(tnp.swapaxes(x, -1, -2))


@operator("Einsum")
def einsum(*inputs: Any, equation: str) -> Any:
    """The sum of products that an equation of letters says."""
    return tnp.einsum(equation, *inputs)


@operator("Cross")
def cross(a: Any, b: Any) -> Any:
    """Cross products of vectors of three elements, in the last dimension."""
    return tnp.cross(a, b)
