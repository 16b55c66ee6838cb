"""Functions that multiply and sum: matrices, Einstein's notation."""

from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.graph.building import alike, result
from tfc.graph.constants import convert_to_tensor
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Tensor


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product of two matrices, or of the matrices in two arrays of higher rank.

    Raises:
        ValueError: both of transpose and adjoint are asked for, or dimensions differ.
    """
    if (transpose_a and adjoint_a) or (transpose_b and adjoint_b):
        raise ShapeError("only one of transpose and adjoint can be true")
    with get_default_graph().name_scope(name or "MatMul") as scope:
        a, b = alike(a, b, names=("a", "b"))
        ranks = (a.shape.ndims, b.shape.ndims)
        if all(rank is None or rank > 2 for rank in ranks):
            x, flip_a = _conjugated(a, transpose_a, adjoint_a)
            y, flip_b = _conjugated(b, transpose_b, adjoint_b)
            return result("BatchMatMul", x, y, name=scope, adj_x=flip_a, adj_y=flip_b)
        if any(rank not in (2, None) for rank in ranks):
            return result(
                "BatchMatMulV2",
                *(
                    _conjugated(a, transpose_a, adjoint_a)[0],
                    _conjugated(b, transpose_b, adjoint_b)[0],
                ),
                name=scope,
                adj_x=transpose_a or adjoint_a,
                adj_y=transpose_b or adjoint_b,
            )
        if adjoint_a and a.dtype.is_complex:
            a = result("Conj", a)
        if adjoint_b and b.dtype.is_complex:
            b = result("Conj", b)
        flips = {"transpose_a": transpose_a or adjoint_a, "transpose_b": transpose_b or adjoint_b}
        return result("MatMul", a, b, name=scope, **flips)


def _conjugated(x: Tensor, transpose: bool, adjoint: bool) -> tuple[Tensor, bool]:
    """What is to be multiplied, and whether its adjoint is: a transpose conjugates first."""
    if transpose and x.dtype.is_complex:
        return result("Conj", x), True
    return x, transpose or adjoint


def einsum(equation: str, *inputs: Any, name: str | None = None) -> Tensor:
    """The sum of products that an equation of letters says: "ij,jk->ik"."""
    tensors = alike(*inputs)
    spaceless = equation.replace(" ", "")
    return result("Einsum", *tensors, name=name or "einsum", equation=spaceless, N=len(tensors))


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Tensor:
    """The sum of products over axes of the one and the other.

    Args:
        axes: how many, the last of a and the first of b; or the axes of a and those of b.
    """
    with get_default_graph().name_scope(name or "Tensordot") as scope:
        a, b = alike(a, b, names=("a", "b"))
        rank_a, rank_b = a.shape.ndims, b.shape.ndims
        if rank_a is None or rank_b is None:
            raise ShapeError("tensordot takes tensors of known rank")
        if np.ndim(axes) == 0:
            over_a, over_b = list(range(rank_a - int(axes), rank_a)), list(range(int(axes)))
        else:
            over_a, over_b = ([int(n) for n in np.ravel(part)] for part in axes)
        letters = "abcdefghijklmnopqrstuvwxyz"
        of_a = list(letters[:rank_a])
        of_b = list(letters[rank_a : rank_a + rank_b])
        for m, n in zip(over_a, over_b, strict=True):
            of_b[n] = of_a[m]
        summed = {of_a[m] for m in over_a}
        kept = [x for x in of_a if x not in summed] + [x for x in of_b if x not in summed]
        equation = f"{''.join(of_a)},{''.join(of_b)}->{''.join(kept)}"
        return result("Einsum", a, b, name=scope, equation=equation, N=2)


def cross(a: Any, b: Any, name: str | None = None) -> Tensor:
    """Cross products of vectors of three elements, in the last dimension."""
    a, b = alike(a, b)
    return result("Cross", a, b, name=name)


def trace(x: Any, name: str | None = None) -> Tensor:
    """The sums of the main diagonals of matrices."""
    with get_default_graph().name_scope(name or "Trace") as scope:
        diagonal = result("MatrixDiagPart", convert_to_tensor(x, name="x"))
        return result("Sum", diagonal, np.array([-1], np.int32), name=scope, keep_dims=False)
