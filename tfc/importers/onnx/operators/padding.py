"""Padding and cropping."""

from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.errors import ModelFileError
from tfc.importers.onnx.operators.windows import pairs
from tfc.importers.onnx.table import operator
from tfc.importers.values import whole_numbers

_MODES = {"reflect": "reflect", "edge": "edge", "wrap": "wrap"}


def padded(x: Any, around: Any, mode: str, value: Any) -> Any:
    """An array with more elements around it; amounts below zero remove some."""
    if mode == "constant":
        fill = np.zeros((), x.dtype) if value is None else tnp.reshape(value, ())
        x = _cropped(x, around)
        return tnp.pad(x, [(max(a, 0), max(b, 0)) for a, b in around], constant_values=fill)
    if mode not in _MODES:
        raise ModelFileError(f"there is no padding '{mode}'")
    x = tnp.pad(x, [(max(a, 0), max(b, 0)) for a, b in around], mode=_MODES[mode])
    return _cropped(x, around)


def _cropped(x: Any, around: Any) -> Any:
    key = tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(around, x.shape))
    return x if all(a >= 0 and b >= 0 for a, b in around) else x[key]


@operator("Pad", since=11, needs=("pads", "axes"))
def pad(
    data: Any, pads: Any, constant_value: Any = None, axes: Any = None, *, mode: str = "constant"
) -> Any:
    """Elements around an array: constant, mirrored, the edge's, or the other end's."""
    amounts = whole_numbers(pads)
    if axes is None:
        return padded(data, pairs(amounts, data.ndim), mode, constant_value)
    along = [a % data.ndim for a in whole_numbers(axes)]
    around = [(0, 0)] * data.ndim
    for axis, amount in zip(along, pairs(amounts, len(along))):
        around[axis] = amount
    return padded(data, around, mode, constant_value)


@operator("Pad", until=10)
def pad_by_attributes(
    data: Any, *, mode: str = "constant", pads: tuple[int, ...], value: float = 0.0
) -> Any:
    """Elements around an array."""
    return padded(data, pairs(pads, data.ndim), mode, np.asarray(value, data.dtype))


@operator("CenterCropPad", since=18, needs=("shape",))
def center_crop_pad(data: Any, shape: Any, *, axes: tuple[int, ...] | None = None) -> Any:
    """The middle of an array, or the array with zeros around it, as large as asked for."""
    along = range(data.ndim) if axes is None else [a % data.ndim for a in axes]
    around = [(0, 0)] * data.ndim
    for axis, wanted in zip(along, whole_numbers(shape)):
        more = wanted - data.shape[axis]
        if more < 0:
            first = -more // 2
            around[axis] = (-first, more + first)
        else:
            around[axis] = (more // 2, more - more // 2)
    return padded(data, around, "constant", None)
