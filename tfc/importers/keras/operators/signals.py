"""Layers that turn waves into spectra."""

from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc import fft
from tfc.errors import ShapeError, UnsupportedError
from tfc.importers.keras.table import Use, layer

_WINDOWS = {"hann": 0.5, "hamming": 0.54}  # the constant part of each


def _framed(x: Any, length: int, stride: int) -> Any:
    """The parts of the last dimension that begin so far apart: [..., frames, length]."""
    count = (x.shape[-1] - length) // stride + 1
    places = np.arange(count)[:, None] * stride + np.arange(length)
    return tnp.take(x, places, axis=-1)


def _window(name: Any, length: int, whole: int, dtype: np.dtype) -> np.ndarray:
    """A window of a length in the middle of a whole.

    Raises:
        UnsupportedError: it is of no known name, or of an odd length, of which Keras's backends
            make different ones.
    """
    if name not in (None, *_WINDOWS) or (name is not None and length % 2):
        raise UnsupportedError(f"the window '{name}' of {length} numbers is not supported")
    part = 1.0 if name is None else _WINDOWS[name]
    turn = 2 * np.pi * np.arange(length) / length
    held = part - (1 - part) * np.cos(turn)
    before = (whole - length) // 2
    return np.pad(held, (before, whole - length - before)).astype(dtype)


def _mel(hertz: Any) -> Any:
    return 1127.0 * np.log(1.0 + np.asarray(hertz) / 700.0)


def _mel_matrix(bins: int, mels: int, rate: float, low: float, high: float) -> np.ndarray:
    """Triangles over the mel scale, a column each: [bins of the spectrum, mels]."""
    places = _mel(np.linspace(0.0, rate / 2.0, bins)[1:])[:, None]
    edges = np.linspace(_mel(low), _mel(high), mels + 2)
    first, middle, last = edges[:-2], edges[1:-1], edges[2:]
    rising, falling = (places - first) / (middle - first), (last - places) / (last - middle)
    return np.pad(np.maximum(0.0, np.minimum(rising, falling)), ((1, 0), (0, 0)))


@layer("MelSpectrogram")
def mel_spectrogram(
    use: Use, x: Any, *, fft_length: int = 2048, sequence_stride: int = 512,
    sequence_length: int | None = None, window: Any = "hann", sampling_rate: float = 16000,
    num_mel_bins: int = 128, min_freq: float = 20.0, max_freq: float | None = None,
    power_to_db: bool = True, top_db: float = 80.0, mag_exp: float = 2.0,
    min_power: float = 1e-10, ref_power: float = 1.0,
) -> Any:  # fmt: skip
    """The power of waves in bands of frequencies: [..., bands, frames].

    Raises:
        ShapeError: the waves are too short.
    """
    dtype = use.dtype if use.dtype == np.float64 else np.dtype(np.float32)
    half, length = fft_length // 2, sequence_length or fft_length
    if x.shape[-1] <= half:
        raise ShapeError(f"waves of more than {half} numbers are needed, got {x.shape[-1]}")
    padded = tnp.pad(x.astype(dtype), [(0, 0)] * (x.ndim - 1) + [(half, half)], mode="reflect")
    frames = _framed(padded, fft_length, sequence_stride)
    made = fft.rfft(frames * _window(window, length, fft_length, dtype))
    power = tnp.power(tnp.abs(made), np.asarray(mag_exp, dtype))
    top = max_freq or int(sampling_rate / 2)
    matrix = _mel_matrix(half + 1, num_mel_bins, sampling_rate, min_freq, top)
    bands = tnp.matmul(power, matrix.astype(dtype))
    if power_to_db:
        floor = np.asarray(min_power, dtype)
        bands = 10.0 * tnp.log10(tnp.maximum(bands, floor))
        bands = bands - np.asarray(10.0 * np.log10(max(abs(ref_power), min_power)), dtype)
        bands = tnp.maximum(bands, tnp.max(bands) - np.asarray(top_db, dtype))
    return tnp.swapaxes(bands, -1, -2).astype(use.dtype)
