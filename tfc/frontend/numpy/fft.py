"""NumPy's Fourier transforms on Tensors: `tnp.fft.rfft(x)`.

The arguments are NumPy's: lengths to which axes are cut or filled with zeros, axes, and a norm of
"backward" (the inverse is divided by the number of elements), "forward" or "ortho". float32 gives
complex64, and the other way round.
"""

from collections.abc import Callable, Sequence
from math import prod, sqrt
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.manipulation import moveaxis, normalize_axes
from tfc.frontend.promotion import as_inexact, widen
from tfc.frontend.python_numbers import sizes
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable
from tfc.hlo.shape import complex_of

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "ifft", "ifft2", "ifftn", "irfft", "irfft2", "irfftn",
    "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

_MOST_DIMENSIONS = 3  # that one fft transforms


def _resized(tensor: Tensor, size: int, axis: int) -> Tensor:
    """Cut or filled with zeros at the end of an axis."""
    have = tensor.shape[axis]
    if have >= size:
        return ops.slice_along(tensor, axis, 0, size)
    zero = ops.constant(0, tensor.array_shape.element_type)
    padding = [(0, size - have if d == axis else 0, 0) for d in range(tensor.ndim)]
    return ops.pad(tensor, zero, padding)


def _operand(a: ArrayLike, fft_type: str) -> Tensor:
    """The operand in the type that a transform takes."""
    tensor = widen(as_inexact(a))
    element_type = tensor.array_shape.element_type
    if fft_type != "RFFT" and not element_type.is_complex:
        return ops.convert(tensor, complex_of(element_type))
    return tensor


def _apply(tensor: Tensor, fft_type: str, lengths: Sequence[int]) -> Tensor:
    """Transform the last dimensions, as many as there are lengths."""
    lengths, rest = lengths[-_MOST_DIMENSIONS:], lengths[:-_MOST_DIMENSIONS]
    inner = {"RFFT": "FFT", "IRFFT": "IFFT"}.get(fft_type, fft_type)
    if rest and fft_type == "IRFFT":
        tensor = _apply_before(tensor, inner, rest, len(lengths))
    tensor = ops.operation("fft", tensor, fft_type=fft_type, fft_length=tuple(lengths))
    if rest and fft_type != "IRFFT":
        tensor = _apply_before(tensor, inner, rest, len(lengths))
    return tensor


def _apply_before(tensor: Tensor, fft_type: str, lengths: Sequence[int], last: int) -> Tensor:
    """Transform the dimensions before the `last` ones."""
    places = range(tensor.ndim - last - len(lengths), tensor.ndim - last)
    order = [*(d for d in range(tensor.ndim) if d not in places), *places]
    found = _apply(ops.transpose(tensor, order), fft_type, lengths)
    return ops.transpose(found, [int(d) for d in np.argsort(order)])


def _factor(fft_type: str, norm: str | None, count: int) -> float:
    """What the transform, which has a scale of 1/count if it is an inverse, is multiplied by."""
    forward = fft_type in ("FFT", "RFFT")
    if norm not in (None, "backward", "ortho", "forward"):
        raise ShapeError(f"the norm must be backward, ortho or forward, got {norm}")
    if norm == "ortho":
        return 1 / sqrt(count) if forward else sqrt(count)
    return 1.0 if norm != "forward" else 1 / count if forward else float(count)


def _transform(
    fft_type: str,
    a: ArrayLike,
    s: Sequence[int] | None,
    axes: Sequence[int] | None,
    norm: str | None,
) -> Tensor:
    tensor = _operand(a, fft_type)
    if axes is None:
        axes = range(tensor.ndim) if s is None else range(-len(sizes(s)), 0)
    places = normalize_axes(tuple(axes), tensor.ndim)
    if not places:
        raise ShapeError("a Fourier transform requires at least one axis")
    lengths = [tensor.shape[d] for d in places] if s is None else sizes(s)
    if len(lengths) != len(places):
        raise ShapeError(f"{len(places)} axes require as many lengths, got {list(lengths)}")
    if s is None and fft_type == "IRFFT":
        lengths[-1] = 2 * (lengths[-1] - 1)
    if any(n < 1 for n in lengths):
        raise ShapeError(f"a Fourier transform requires lengths of one at least, got {lengths}")
    stored = list(lengths)
    if fft_type == "IRFFT":
        stored[-1] = lengths[-1] // 2 + 1
    for place, size in zip(places, stored):
        tensor = _resized(tensor, size, place)
    last = range(tensor.ndim - len(places), tensor.ndim)
    found = _apply(moveaxis(tensor, places, tuple(last)), fft_type, lengths)
    factor = _factor(fft_type, norm, prod(lengths))
    if factor != 1:
        found = ops.operation("multiply", found, ops.full_like(factor, found))
    return moveaxis(found, tuple(last), places)


def _named(function: Callable[..., Tensor], name: str, doc: str) -> Callable[..., Any]:
    function.__name__, function.__doc__ = name, doc
    return evaluable(function)


_ERRORS = """

    Raises:
        ShapeError: an axis does not exist or is repeated, a length is not positive, or a transform
            of real numbers is asked for complex ones.
"""


def _along_one(name: str, fft_type: str, doc: str) -> Callable[..., Any]:
    def function(
        a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None
    ) -> Tensor:
        return _transform(fft_type, a, None if n is None else (n,), (axis,), norm)

    return _named(function, name, doc + _ERRORS)


def _along_many(
    name: str, fft_type: str, default: tuple[int, ...] | None, doc: str
) -> Callable[..., Any]:
    def function(
        a: ArrayLike,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = default,
        norm: str | None = None,
    ) -> Tensor:
        return _transform(fft_type, a, s, axes, norm)

    return _named(function, name, doc + _ERRORS)


# fmt: off
fft    = _along_one("fft",     "FFT",   "The Fourier transform along an axis.")
ifft   = _along_one("ifft",    "IFFT",  "The inverse Fourier transform along an axis.")
rfft   = _along_one("rfft",    "RFFT",  "Half the Fourier transform of real numbers.")
irfft  = _along_one("irfft",   "IRFFT", "The real numbers of half a Fourier transform.")
fft2   = _along_many("fft2",   "FFT",   (-2, -1), "The Fourier transform along two axes.")
ifft2  = _along_many("ifft2",  "IFFT",  (-2, -1), "The inverse transform along two axes.")
rfft2  = _along_many("rfft2",  "RFFT",  (-2, -1), "Half the transform of real numbers.")
irfft2 = _along_many("irfft2", "IRFFT", (-2, -1), "The real numbers of half a transform.")
fftn   = _along_many("fftn",   "FFT",   None, "The Fourier transform along several axes.")
ifftn  = _along_many("ifftn",  "IFFT",  None, "The inverse transform along several axes.")
rfftn  = _along_many("rfftn",  "RFFT",  None, "Half the transform of real numbers.")
irfftn = _along_many("irfftn", "IRFFT", None, "The real numbers of half a transform.")
# fmt: on

# Constants, which need no tracing.
fftfreq, rfftfreq = np.fft.fftfreq, np.fft.rfftfreq
