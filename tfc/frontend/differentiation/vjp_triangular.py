"""The gradients of cholesky and triangular-solve.

Each flows into the triangle that the operation reads, and into nothing else. Of complex matrices
the real part of Σ g dl is what changes, so it is conj(g) that plays the part of a real g.
"""

from tfc.frontend import operations as ops
from tfc.frontend.differentiation.reverse import Cotangent, vjp
from tfc.frontend.numpy.complex_numbers import conj
from tfc.frontend.numpy.creation import tril, triu
from tfc.frontend.numpy.manipulation import matrix_transpose
from tfc.frontend.operations import operation
from tfc.frontend.precision import exact_precision
from tfc.frontend.tensor import Tensor
from tfc.hlo.ops.triangular import SOLVE_FLAGS, flags


@vjp("cholesky")
def _cholesky(g: Tensor, y: Tensor, _: Tensor) -> list[Cotangent]:
    # Of the lower factor l: with p the lower triangle of lᴴ g, its diagonal halved, the gradient
    # is that of l⁻ᴴ p l⁻¹ and its adjoint together. (Iain Murray, arXiv:1602.07527.)
    (lower,) = flags(y.instruction, "lower")
    factor, g = (y, conj(g)) if lower else (_adjoint(y), matrix_transpose(g))
    product = _halved(_products(conj(factor), tril(g), -2, -2))
    above = _solve(factor, product, left=True, transpose="ADJOINT")
    both = _solve(factor, above, left=False, transpose="NO_TRANSPOSE")
    found = _halved(both + _adjoint(both))
    return [conj(found) if lower else matrix_transpose(found)]


def _adjoint(x: Tensor) -> Tensor:
    return matrix_transpose(conj(x))


def _halved(x: Tensor) -> Tensor:
    """The lower triangle with half of the diagonal."""
    return tril(x) - tril(triu(x)) * 0.5


def _solve(a: Tensor, b: Tensor, left: bool, transpose: str) -> Tensor:
    return operation("triangular-solve", a, b, left_side=left, lower=True, transpose_a=transpose)


@vjp("triangular-solve")
def _triangular_solve(g: Tensor, x: Tensor, a: Tensor, _: Tensor) -> list[Cotangent]:
    attributes = x.instruction.attributes
    left, lower, unit = flags(x.instruction, *SOLVE_FLAGS)
    transposed = attributes["transpose_a"] != "NO_TRANSPOSE"
    other = "NO_TRANSPOSE" if transposed else "TRANSPOSE"
    if attributes["transpose_a"] == "ADJOINT":
        # The transpose of conj(a) is solved with: conj(g) and conj(x) belong to a itself.
        g, x = conj(g), conj(x)
    to_b = operation("triangular-solve", a, g, **attributes.with_(transpose_a=other))
    pair = (to_b, x) if left != transposed else (x, to_b)
    to_a = -_products(*pair, *((-1, -1) if left else (-2, -2)))
    diagonal = int(unit)
    to_b = conj(to_b) if attributes["transpose_a"] == "ADJOINT" else to_b
    return [tril(to_a, -diagonal) if lower else triu(to_a, diagonal), to_b]


def _products(x: Tensor, y: Tensor, x_contracts: int, y_contracts: int) -> Tensor:
    """The products of matrices of a batch over one dimension of each, counted from the last."""
    batch = tuple(range(x.ndim - 2))
    contracting = ([x.ndim + x_contracts], [y.ndim + y_contracts])
    return ops.dot(x, y, contracting, (batch, batch), precision=exact_precision())
