"""Products of matrices."""

from typing import Any

import tfc.numpy as tnp
from tfc import linalg
from tfc.importers.onnx.table import MICROSOFT, operator


@operator("MatMul")
def matmul(a: Any, b: Any) -> Any:
    """The product of matrices, or of stacks of them."""
    return tnp.matmul(a, b)


@operator("Gemm", since=7)
def gemm(
    a: Any, b: Any, c: Any = None, *, alpha: float = 1.0, beta: float = 1.0, transA: int = 0,
    transB: int = 0,
) -> Any:  # fmt: skip
    """alpha · a @ b + beta · c, of either matrix its transpose."""
    product = tnp.matmul(a.T if transA else a, b.T if transB else b)
    if alpha != 1.0:
        product = tnp.astype(product * alpha, a.dtype)
    if c is None or beta == 0.0:
        return product
    return tnp.add(product, c if beta == 1.0 else tnp.astype(c * beta, c.dtype))


@operator("Gemm", until=6)
def first_gemm(
    a: Any, b: Any, c: Any, *, alpha: float = 1.0, beta: float = 1.0, transA: int = 0,
    transB: int = 0, broadcast: int = 0,
) -> Any:  # fmt: skip
    """As the later ones, which always broadcast."""
    return gemm(a, b, c, alpha=alpha, beta=beta, transA=transA, transB=transB)


@operator("Einsum", since=12)
def einsum(*inputs: Any, equation: str) -> Any:
    """Sums of products as an equation of indices says."""
    return tnp.einsum(equation.replace(" ", ""), *inputs)


@operator("Det", since=11)
def det(x: Any) -> Any:
    """The determinant of each matrix."""
    return linalg.det(x)


@operator("FusedMatMul", domain=MICROSOFT)
def fused_matmul(
    a: Any, b: Any, *, alpha: float = 1.0, transA: int = 0, transB: int = 0,
    transBatchA: int = 0, transBatchB: int = 0,
) -> Any:  # fmt: skip
    """alpha · a @ b, of either its transpose."""

    def turned(x: Any, batch: int, last: int) -> Any:
        if batch:
            x = tnp.moveaxis(x, 0, -2)
        return tnp.swapaxes(x, -1, -2) if last and x.ndim > 1 else x

    product = tnp.matmul(turned(a, transBatchA, transA), turned(b, transBatchB, transB))
    return product if alpha == 1.0 else tnp.astype(product * alpha, a.dtype)
