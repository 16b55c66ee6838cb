"""Fourier transforms, windows and filters of signals."""

from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc import fft
from tfc.importers.onnx.table import operator
from tfc.importers.onnx.tensors import dtype_of
from tfc.importers.values import few


def _complex(x: Any) -> Any:
    """Numbers of one part or two, in the last dimension, as complex ones."""
    if x.shape[-1] == 1:
        return x[..., 0]
    return x[..., 0] + 1j * x[..., 1]


def _parts(x: Any, dtype: Any) -> Any:
    return tnp.astype(tnp.stack([tnp.real(x), tnp.imag(x)], -1), dtype)


def transformed(x: Any, length: int | None, axis: int, inverse: int, onesided: int) -> Any:
    """The Fourier transform of numbers whose parts are the last dimension."""
    axis = axis % x.ndim
    wide = tnp.astype(x, np.float32) if x.dtype.itemsize < 4 else x
    signal = _complex(wide)
    if inverse and onesided:
        made = fft.irfft(signal, length or 2 * (x.shape[axis] - 1), axis)
        return tnp.astype(made[..., None], x.dtype)
    if inverse:
        return _parts(fft.ifft(signal, length, axis), x.dtype)
    if onesided and x.shape[-1] == 1:
        return _parts(fft.rfft(signal, length, axis), x.dtype)
    made = fft.fft(signal, length, axis)
    if onesided:
        made = made[(slice(None),) * axis + (slice(0, made.shape[axis] // 2 + 1),)]
    return _parts(made, x.dtype)


@operator("DFT", since=20, needs=("dft_length", "axis"))
def dft(
    x: Any, dft_length: Any = None, axis: Any = None, *, inverse: int = 0, onesided: int = 0
) -> Any:
    """The discrete Fourier transform along an axis, or its inverse."""
    length = None if dft_length is None else int(np.asarray(dft_length).reshape(()))
    along = -2 if axis is None else int(np.asarray(axis).reshape(()))
    return transformed(x, length, along, inverse, onesided)


@operator("DFT", since=17, until=19, needs=("dft_length",))
def dft_by_attribute(
    x: Any, dft_length: Any = None, *, axis: int = 1, inverse: int = 0, onesided: int = 0
) -> Any:
    """The discrete Fourier transform along an axis, or its inverse."""
    length = None if dft_length is None else int(np.asarray(dft_length).reshape(()))
    return transformed(x, length, axis, inverse, onesided)


@operator("STFT", since=17, needs=("frame_step", "frame_length"))
def stft(
    signal: Any, frame_step: Any, window: Any = None, frame_length: Any = None, *, onesided: int = 1
) -> Any:
    """The Fourier transforms of windows that step along a signal [batch, time, parts]."""
    if signal.ndim == 2:
        signal = signal[..., None]  # ONNX Runtime takes real numbers without parts, too
    step = int(np.asarray(frame_step).reshape(()))
    if frame_length is not None:
        size = int(np.asarray(frame_length).reshape(()))
    else:
        size = signal.shape[1] if window is None else window.shape[0]
    count = (signal.shape[1] - size) // step + 1
    few(count * size)
    places = np.arange(count)[:, None] * step + np.arange(size)
    frames = tnp.take(signal, places, 1)  # [batch, frames, size, parts]
    if window is not None:
        frames = frames * tnp.reshape(window, (-1, 1))
    return transformed(frames, None, 2, 0, onesided)


def _enter_window(name: str, weights: tuple[float, ...]) -> None:
    @operator(name, since=17, needs=("size",))
    def window(size: Any, *, output_datatype: int = 1, periodic: int = 1) -> Any:
        count = few(int(np.asarray(size).reshape(())))
        angle = np.arange(count) * (2 * np.pi / max(count if periodic else count - 1, 1))
        made = sum(w * np.cos(k * angle) for k, w in enumerate(weights))
        return np.asarray(made).astype(dtype_of(output_datatype))


_enter_window("HannWindow", (0.5, -0.5))
_enter_window("HammingWindow", (25 / 46, -21 / 46))
_enter_window("BlackmanWindow", (0.42, -0.5, 0.08))


@operator(
    "MelWeightMatrix",
    since=17,
    needs=(
        "num_mel_bins",
        "dft_length",
        "sample_rate",
        "lower_edge_hertz",
        "upper_edge_hertz",
    ),
)
def mel_weight_matrix(
    num_mel_bins: Any, dft_length: Any, sample_rate: Any, lower_edge_hertz: Any,
    upper_edge_hertz: Any, *, output_datatype: int = 1,
) -> Any:  # fmt: skip
    """Triangles of weights that gather the frequencies of a transform on the mel scale."""
    bins, length, rate = (int(np.asarray(v).reshape(())) for v in
                          (num_mel_bins, dft_length, sample_rate))  # fmt: skip
    low, high = (2595 * np.log10(1 + float(np.asarray(v).reshape(())) / 700)
                 for v in (lower_edge_hertz, upper_edge_hertz))  # fmt: skip
    few(bins * length)
    step = (high - low) / (bins + 2)
    hertz = 700 * (10 ** ((low + step * np.arange(bins + 2)) / 2595) - 1)
    places = ((length + 1) * hertz // rate).astype(np.int64)
    found = np.zeros((length // 2 + 1, bins))
    for i in range(bins):
        start, middle, end = places[i : i + 3]
        rising, falling = np.arange(start, middle + 1), np.arange(middle, end)
        found[rising, i] = (rising - start) / (middle - start) if middle > start else 1.0
        if end > middle:
            found[falling, i] = (end - falling) / (end - middle)
    return found.astype(dtype_of(output_datatype))
