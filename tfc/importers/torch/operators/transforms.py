"""Fourier transforms of chosen dimensions."""

from collections.abc import Sequence
from typing import Any

from tfc import fft
from tfc.importers.torch.table import aten

# torch's numbers for how a transform is scaled: not at all, by the root of the count, by the count.
_FORWARD = ("backward", "ortho", "forward")
_INVERSE = ("forward", "ortho", "backward")


@aten("_fft_c2c.default")
def complex_transform(x: Any, dims: Sequence[int], scaling: int, forward: bool) -> Any:
    """The transform of complex numbers, or its inverse."""
    if not dims:
        return x
    if forward:
        return fft.fftn(x, axes=tuple(dims), norm=_FORWARD[scaling])
    return fft.ifftn(x, axes=tuple(dims), norm=_INVERSE[scaling])


@aten("_fft_r2c.default")
def real_transform(x: Any, dims: Sequence[int], scaling: int, onesided: bool) -> Any:
    """The transform of real numbers: of the last dimension listed the first half, or all of it."""
    transform = fft.rfftn if onesided else fft.fftn
    return transform(x, axes=tuple(dims), norm=_FORWARD[scaling])


@aten("_fft_c2r.default")
def to_real(x: Any, dims: Sequence[int], scaling: int, last_size: int) -> Any:
    """The inverse of the transform of real numbers that are so many in the last dimension."""
    sizes = [x.shape[d] for d in dims[:-1]] + [last_size]
    return fft.irfftn(x, s=sizes, axes=tuple(dims), norm=_INVERSE[scaling])
