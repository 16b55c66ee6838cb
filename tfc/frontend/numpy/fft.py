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
from tfc.frontend.numpy.complex_numbers import conj
from tfc.frontend.numpy.manipulation import Axes, moveaxis, normalize_axes, roll
from tfc.frontend.promotion import as_inexact, as_tensor, widen
from tfc.frontend.python_numbers import sizes, whole
from tfc.frontend.tensor import ArrayLike, Tensor, numpys
from tfc.hlo.shape import complex_of

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
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
    if s is not None and len(lengths) == len(places) > 1:
        lengths = [tensor.shape[d] if n == -1 else n for n, d in zip(lengths, places)]
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
    return numpys(f"fft.{name}")(function)


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

_OPPOSITE = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _opposite(norm: str | None) -> str:
    """The norm that scales the other direction.

    Raises:
        ShapeError: there is no such norm.
    """
    if norm not in _OPPOSITE:
        raise ShapeError(f"the norm must be backward, ortho or forward, got {norm}")
    return _OPPOSITE[norm]


@numpys("fft.hfft")
def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The real transform of what has the Hermitian symmetry, of which `a` is the first half.

    Raises:
        ShapeError: the axis does not exist, or n is not positive.
    """
    return irfft(conj(a), n, axis, _opposite(norm))


@numpys("fft.ihfft")
def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """Half the inverse transform of real numbers, which has the Hermitian symmetry.

    Raises:
        ShapeError: the axis does not exist, or n is not positive.
    """
    return conj(rfft(a, n, axis, _opposite(norm)))


def _shifted(x: ArrayLike, axes: Axes | None, inverse: bool) -> Tensor:
    tensor = as_tensor(x)
    places = normalize_axes(axes, tensor.ndim)
    halves = [tensor.shape[d] // 2 for d in places]
    return roll(tensor, tuple(-h if inverse else h for h in halves), places)


@numpys("fft.fftshift")
def fftshift(x: ArrayLike, axes: Axes | None = None) -> Tensor:
    """The frequency zero moved to the middle of the axes, all of them if left out.

    Raises:
        ShapeError: an axis does not exist.
    """
    return _shifted(x, axes, inverse=False)


@numpys("fft.ifftshift")
def ifftshift(x: ArrayLike, axes: Axes | None = None) -> Tensor:
    """What undoes `fftshift`.

    Raises:
        ShapeError: an axis does not exist.
    """
    return _shifted(x, axes, inverse=True)


# Constants, which need no tracing.


def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> np.ndarray:
    """The frequencies of fft's n elements, in cycles for each unit of the sample spacing d.

    Args:
        dtype: float64 if left out.
        device: only None and "cpu".

    Raises:
        ShapeError: n is no positive integer.
    """
    return _frequencies(np.fft.fftfreq, n, d, dtype, device)


def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> np.ndarray:
    """The frequencies of rfft's elements for n samples, in cycles for each unit of d.

    Args:
        dtype: float64 if left out.
        device: only None and "cpu".

    Raises:
        ShapeError: n is no positive integer.
    """
    return _frequencies(np.fft.rfftfreq, n, d, dtype, device)


def _frequencies(function: Any, n: int, d: float, dtype: Any, device: Any) -> np.ndarray:
    if device not in (None, "cpu"):
        raise ShapeError(f"frequencies are made on the device 'cpu', got {device!r}")
    count = whole(n, "the number of samples")
    if count < 1:
        raise ShapeError(f"frequencies require one sample or more, got {count}")
    return function(count, d).astype(np.float64 if dtype is None else dtype)
