"""Fourier transforms of chosen dimensions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc import fft
from tfc.importers.torch.table import aten, cast, composite

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


def _enter_named() -> None:
    """Enter the transforms as they are called, which take sizes, dimensions and a norm's name."""
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):

        def one(x: Any, n: Any = None, dim: int = -1, norm: Any = None, name: str = name) -> Any:
            return getattr(fft, name)(_float(x), n, dim, norm)

        composite(f"fft_{name}.default")(one)
    for name in ("fft2", "ifft2", "rfft2", "irfft2"):

        def plane(
            x: Any, sizes: Any = None, dims: Any = (-2, -1), norm: Any = None, name: str = name
        ) -> Any:
            return getattr(fft, name)(_float(x), sizes, tuple(dims), norm)

        composite(f"fft_{name}.default")(plane)
    for name in ("fftn", "ifftn", "rfftn", "irfftn"):

        def several(
            x: Any, sizes: Any = None, dims: Any = None, norm: Any = None, name: str = name
        ) -> Any:
            axes = tuple(range(-len(sizes), 0)) if dims is None and sizes else dims
            return getattr(fft, name)(_float(x), sizes, axes, norm)

        composite(f"fft_{name}.default")(several)
    for name in ("fftshift", "ifftshift"):

        def shifted(x: Any, dims: Any = None, name: str = name) -> Any:
            return getattr(fft, name)(x, dims)

        composite(f"fft_{name}.default")(shifted)


def _float(x: Any) -> Any:
    """Integers as torch's default floats."""
    return cast(x, np.float32) if np.dtype(x.dtype).kind in "iub" else x


_enter_named()
