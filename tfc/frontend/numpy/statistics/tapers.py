"""Windows of signal processing, as vectors of float64: bartlett, blackman, hamming and others."""

import numpy as np

from tfc.frontend import operations as ops
from tfc.frontend.numpy.numbers.bessel import i0
from tfc.frontend.promotion import as_tensor, cast, expand
from tfc.frontend.python_numbers import whole
from tfc.frontend.tensor import ArrayLike, Tensor, traceable


def _known(name: str, M: int) -> Tensor:
    """NumPy's window, which depends on nothing but its size."""
    return ops.constant(getattr(np, name)(whole(M, "the size of a window")))


@traceable
def bartlett(M: int) -> Tensor:
    """The triangle of M points with zeros at both ends."""
    return _known("bartlett", M)


@traceable
def blackman(M: int) -> Tensor:
    """The sum of three cosines, near zero at both ends."""
    return _known("blackman", M)


@traceable
def hamming(M: int) -> Tensor:
    """A cosine raised to 0.08 at both ends."""
    return _known("hamming", M)


@traceable
def hanning(M: int) -> Tensor:
    """A cosine raised to zero at both ends."""
    return _known("hanning", M)


@traceable
def kaiser(M: int, beta: ArrayLike) -> Tensor:
    """The Kaiser window: i0 of beta times a half circle, over i0(beta); 1 in the middle."""
    M = whole(M, "the size of a window")
    if isinstance(beta, (int, float)):
        return ops.constant(np.kaiser(M, beta))
    shape = cast(as_tensor(beta), np.float64)
    if M < 2:
        return ops.constant(np.ones(max(M, 0)))
    places = np.arange(0, M, dtype=np.float64)
    middle = (M - 1) / 2.0
    circle = ops.constant(np.sqrt(1 - ((places - middle) / middle) ** 2.0))
    return i0(expand(shape, circle.shape) * circle) / expand(i0(shape), circle.shape)
