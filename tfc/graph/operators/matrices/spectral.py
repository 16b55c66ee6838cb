"""Operators of Fourier transforms, along the innermost dimensions."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tfc import fft
from tfc import numpy as tnp
from tfc.graph.operators.inference import same
from tfc.graph.operators.registry import known_numbers, operator


def _complex(name: str, function: Callable[..., Any], rank: int) -> None:
    @operator(name, types="Tcomplex", infer=same)
    def row(input: Any) -> Any:
        return tnp.astype(function(input, axes=tuple(range(-rank, 0))), input.dtype)


for _rank, _suffix in enumerate(("", "2D", "3D"), 1):
    _complex(f"FFT{_suffix}", fft.fftn, _rank)
    _complex(f"IFFT{_suffix}", fft.ifftn, _rank)


def _real(suffix: str, rank: int) -> None:
    axes = tuple(range(-rank, 0))

    @operator(f"RFFT{suffix}", types="Treal", known=(1,))
    def forward(input: Any, fft_length: Any) -> Any:
        lengths = known_numbers(fft_length, "the length of a Fourier transform")
        wanted = np.complex128 if input.dtype == np.float64 else np.complex64
        return tnp.astype(fft.rfftn(input, lengths, axes), np.dtype(wanted))

    @operator(f"IRFFT{suffix}", types="Tcomplex", known=(1,))
    def backward(input: Any, fft_length: Any) -> Any:
        lengths = known_numbers(fft_length, "the length of a Fourier transform")
        wanted = np.float64 if input.dtype == np.complex128 else np.float32
        return tnp.astype(fft.irfftn(input, lengths, axes), np.dtype(wanted))


for _rank, _suffix in enumerate(("", "2D", "3D"), 1):
    _real(_suffix, _rank)
