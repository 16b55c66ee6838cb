"""Gradients of complex numbers' parts and transforms, of conversions and of reduced precision.

Cotangents pair with values without conjugation, as in JAX: for a holomorphic function the rule is
the one of the real function, and the gradient of a real function f of z = x + iy is
df/dx - i df/dy. The Fourier transform of complex numbers is a symmetric matrix, so it is its own
transpose.
"""

from math import prod

import numpy as np

from tfc.frontend import operations as ops
from tfc.frontend.differentiation.reverse import Cotangent, nondifferentiable, vjp, zeros
from tfc.frontend.operations import compare, full_like, operation, select
from tfc.frontend.tensor import Tensor


@vjp("imag")
def _imag(g: Tensor, _: Tensor, x: Tensor) -> list[Cotangent]:
    if not x.array_shape.element_type.is_complex:
        return [None]
    return [operation("complex", zeros(g.array_shape), -g)]


@vjp("real")
def _real(g: Tensor, _: Tensor, x: Tensor) -> list[Cotangent]:
    return [of_real(g, x)]


@vjp("complex")
def _complex(g: Tensor, _: Tensor, real: Tensor, imaginary: Tensor) -> list[Cotangent]:
    return [operation("real", g), -operation("imag", g)]


@vjp("abs")
def _abs(g: Tensor, y: Tensor, x: Tensor) -> list[Cotangent]:
    if not x.array_shape.element_type.is_complex:
        # 1 at 0, as in JAX.
        return [select(compare("GE", x, full_like(0, x)), g, operation("negate", g))]
    # conj(x) / |x|, and 0 at 0.
    length = select(compare("EQ", y, full_like(0, y)), full_like(1, y), y)
    real, imaginary = (g * operation(part, x) / length for part in ("real", "imag"))
    return [operation("complex", real, -imaginary)]


@vjp("sign")
def _sign(g: Tensor, y: Tensor, x: Tensor) -> list[Cotangent]:
    if not x.array_shape.element_type.is_complex:
        return [None]
    # z / |z| turns as z does and keeps its length: what is along it is taken away. 0 at 0.
    along = operation("real", g * y)
    turned = g - operation("complex", along * operation("real", y), -along * operation("imag", y))
    length = operation("abs", x)
    at_zero = compare("EQ", length, full_like(0, length))
    inverse = select(at_zero, full_like(0, length), 1 / length)
    return [turned * operation("complex", inverse, zeros(inverse.array_shape))]


@vjp("reduce-precision")
def _reduce_precision(g: Tensor, y: Tensor, _: Tensor) -> list[Cotangent]:
    # The cotangent is rounded as the value is.
    return [operation("reduce-precision", g, **dict(y.instruction.attributes))]


nondifferentiable("mulhi", "stochastic-convert")


@vjp("convert")
def _convert(g: Tensor, _: Tensor, x: Tensor) -> list[Cotangent]:
    to = x.array_shape.element_type
    if g.array_shape.element_type.is_complex and not to.is_complex:
        g = operation("real", g)
    elif to.is_complex and not g.array_shape.element_type.is_complex:
        return [of_real(ops.convert(g, to.component), x)]
    return [ops.convert(g, to)]


def of_real(g: Tensor, x: Tensor) -> Tensor:
    """A real cotangent as one of x, whose real part it is of."""
    if not x.array_shape.element_type.is_complex:
        return g
    return operation("complex", g, zeros(g.array_shape))


@vjp("fft")
def _fft(g: Tensor, y: Tensor, x: Tensor) -> list[Cotangent]:
    attributes = y.instruction.attributes
    lengths, element_type = attributes["fft_length"], g.array_shape.element_type
    match attributes["fft_type"]:
        case "RFFT":
            # The whole transform, of which RFFT leaves elements out, of numbers made complex.
            *others, last = g.shape
            padding = [*((0, 0, 0) for _ in others), (0, lengths[-1] - last, 0)]
            whole = ops.pad(g, ops.constant(0, element_type), padding)
            found = operation("fft", whole, fft_type="FFT", fft_length=lengths)
            return [operation("real", found)]
        case "IRFFT":
            # Elements that have a conjugate at the other end count twice.
            found = operation("fft", g, fft_type="RFFT", fft_length=lengths)
            counts = np.full(x.shape[-1:], 2 / max(prod(lengths), 1))
            counts[:1] /= 2
            if lengths[-1] % 2 == 0:
                counts[-1:] /= 2
            scale = ops.broadcast(ops.constant(counts, element_type), x.shape, [x.ndim - 1])
            real, imaginary = (operation(part, found) for part in ("real", "imag"))
            return [operation("complex", real * scale, -(imaginary * scale))]
        case _:
            return [operation("fft", g, **attributes)]
