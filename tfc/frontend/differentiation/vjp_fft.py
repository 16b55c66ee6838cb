"""The gradient of the Fourier transform, which is linear: its transpose, without conjugation.

The transform of complex numbers is a symmetric matrix, so it is its own transpose.
"""

from math import prod

import numpy as np

from tfc.frontend import operations as ops
from tfc.frontend.differentiation.reverse import Cotangent, vjp
from tfc.frontend.operations import operation
from tfc.frontend.tensor import Tensor


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
