"""Gradients of complex numbers' parts and of reduced precision.

Cotangents are JAX's: that of a complex number pairs with it by the product without conjugation, so
that the rules of holomorphic functions are those of real ones, and the gradient of a real function
is the conjugate of the direction in which it grows.
"""

from tfc.frontend.operations import compare, full_like, operation, select
from tfc.frontend.reverse import Cotangent, nondifferentiable, vjp
from tfc.frontend.tensor import Tensor


def _is_complex(x: Tensor) -> bool:
    return x.array_shape.element_type.is_complex


def _negate(x: Tensor) -> Tensor:
    return operation("negate", x)


@vjp("abs")
def _abs(g: Tensor, y: Tensor, x: Tensor) -> list[Cotangent]:
    if not _is_complex(x):
        return [g * operation("sign", x)]
    zero = compare("EQ", y, full_like(0, y))
    size = select(zero, full_like(1, y), y)
    along, across = (g * (operation(part, x) / size) for part in ("real", "imag"))
    return [operation("complex", along, _negate(across))]


@vjp("real")
def _real(g: Tensor, _: Tensor, x: Tensor) -> list[Cotangent]:
    return [operation("complex", g, full_like(0, g)) if _is_complex(x) else g]


@vjp("imag")
def _imag(g: Tensor, _: Tensor, x: Tensor) -> list[Cotangent]:
    return [operation("complex", full_like(0, g), _negate(g)) if _is_complex(x) else None]


@vjp("complex")
def _complex(g: Tensor, *_: Tensor) -> list[Cotangent]:
    return [operation("real", g), _negate(operation("imag", g))]


@vjp("reduce-precision")
def _reduce_precision(g: Tensor, y: Tensor, _: Tensor) -> list[Cotangent]:
    """The cotangent is rounded as the value is."""
    return [operation("reduce-precision", g, **dict(y.instruction.attributes))]


nondifferentiable("mulhi", "stochastic-convert")
