"""Convolutions, also of integers, and their transposes."""

from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc import nn
from tfc.importers.onnx.operators.windows import Numbers, pairs, spatial, windows
from tfc.importers.onnx.table import MICROSOFT, operator

_LETTERS = {1: ("NCW", "OIW"), 2: ("NCHW", "OIHW"), 3: ("NCDHW", "OIDHW")}
# The attributes of all convolutions.
WINDOW = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")


def along_channels(vector: Any, rank: int) -> Any:
    """A vector of channels as it broadcasts with an array whose second dimension they are."""
    return tnp.reshape(vector, (-1, *[1] * (rank - 2)))


def formats(rank: int) -> dict[str, Any]:
    """How an array of so many dimensions and its kernel lie."""
    data, kernel = _LETTERS.get(rank - 2, _digits(rank - 2))
    return {"data_format": data, "kernel_format": kernel}


def _digits(count: int) -> tuple[str, str]:
    letters = "".join(map(str, range(count)))
    return f"NC{letters}", f"OI{letters}"


def convolved(
    x: Any, w: Any, *, auto_pad: str = "NOTSET", dilations: Any = None, group: int = 1,
    kernel_shape: Any = None, pads: Any = None, strides: Any = None, dtype: Any = None,
) -> Any:  # fmt: skip
    """The convolution of an array with channels second, accumulated in a dtype."""
    found = windows(x.shape[2:], w.shape[2:], strides, dilations, pads, auto_pad)
    return nn.conv(
        x, w, [d.stride for d in found], [(d.low, d.high) for d in found],
        rhs_dilation=[d.window_dilation for d in found], feature_group_count=group,
        preferred_element_type=dtype, **formats(x.ndim),
    )  # fmt: skip


@operator("Conv", attributes=WINDOW)
def conv(x: Any, w: Any, b: Any = None, **attributes: Any) -> Any:
    """The convolution, with a bias for each channel."""
    made = convolved(x, w, **attributes)
    return made if b is None else made + along_channels(b, made.ndim)


@operator("FusedConv", domain=MICROSOFT, attributes=WINDOW)
def fused_conv(
    x: Any, w: Any, b: Any = None, z: Any = None, *, activation: str = "",
    activation_params: Any = (), **attributes: Any,
) -> Any:  # fmt: skip
    """The convolution, with a bias and another array added, and an activation."""
    made = conv(x, w, b, **attributes)
    made = made if z is None else made + z
    if activation == "Clip":
        return tnp.clip(made, *activation_params)
    if activation == "LeakyRelu":
        return tnp.where(made < 0, made * activation_params[0], made)
    if activation == "HardSigmoid":
        return tnp.clip(made * activation_params[0] + activation_params[1], 0, 1)
    known = {"": lambda v: v, "Relu": nn.relu, "Tanh": tnp.tanh, "Sigmoid": nn.sigmoid}
    return known[activation](made)


@operator("ConvInteger", since=10, attributes=WINDOW)
def conv_integer(
    x: Any, w: Any, x_zero_point: Any = None, w_zero_point: Any = None, **attributes: Any
) -> Any:
    """The convolution of integers less their zero points, in int32."""
    return convolved(shifted(x, x_zero_point), shifted_kernel(w, w_zero_point), **attributes)


def shifted(x: Any, zero: Any) -> Any:
    """Integers less their zero point, as int32."""
    wide = tnp.astype(x, np.int32)
    return wide if zero is None else wide - tnp.astype(zero, np.int32)


def shifted_kernel(w: Any, zero: Any) -> Any:
    """A kernel's integers less their zero point, which may be one for each output channel."""
    if zero is not None and zero.ndim and zero.shape[0] > 1:
        zero = tnp.reshape(zero, (-1, *[1] * (w.ndim - 1)))
    elif zero is not None:
        zero = tnp.reshape(zero, ())
    return shifted(w, zero)


@operator("ConvTranspose")
def conv_transpose(
    x: Any, w: Any, b: Any = None, *, auto_pad: str = "NOTSET", dilations: Numbers | None = None,
    group: int = 1, kernel_shape: Any = None, output_padding: Numbers | None = None,
    output_shape: Numbers | None = None, pads: Numbers | None = None,
    strides: Numbers | None = None,
) -> Any:  # fmt: skip
    """What a convolution of these strides and this padding is undone by."""
    rank = x.ndim - 2
    steps, apart = spatial(strides, rank), spatial(dilations, rank)
    further = list(output_padding or [0] * rank)
    extents = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], apart)]
    full = [s * (n - 1) + e + o for n, s, e, o in zip(x.shape[2:], steps, extents, further)]
    around = pairs(pads, rank)
    wanted = list(output_shape)[-rank:] if output_shape else None
    if wanted is None and auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [n * s for n, s in zip(x.shape[2:], steps)]
    if auto_pad == "VALID":
        around = [(0, 0)] * rank
    if wanted is not None:
        around = []
        for n, size in zip(full, wanted):
            total = max(n - size, 0)
            smaller = total // 2
            low = total - smaller if auto_pad == "SAME_LOWER" else smaller
            around.append((low, total - low))
        further = [o + max(size - n, 0) for o, n, size in zip(further, full, wanted)]
    padding = [
        (e - 1 - low, e - 1 - high + o) for e, (low, high), o in zip(extents, around, further)
    ]
    # A kernel [inputs, outputs of a group] turned around, for each group its own outputs.
    inputs, outputs, *sizes = w.shape
    kernel = tnp.reshape(w, (group, inputs // group, outputs, *sizes))
    kernel = tnp.reshape(tnp.swapaxes(kernel, 1, 2), (group * outputs, inputs // group, *sizes))
    kernel = tnp.flip(kernel, tuple(range(2, kernel.ndim)))
    made = nn.conv(
        x, kernel, 1, padding, lhs_dilation=steps, rhs_dilation=apart, feature_group_count=group,
        **formats(x.ndim),
    )  # fmt: skip
    return made if b is None else made + along_channels(b, made.ndim)


@operator("DeformConv", since=19)
def deform_conv(
    x: Any, w: Any, offset: Any, b: Any = None, mask: Any = None, *,
    dilations: Numbers | None = None, group: int = 1, kernel_shape: Any = None,
    offset_group: int = 1, pads: Numbers | None = None, strides: Numbers | None = None,
) -> Any:  # fmt: skip
    """The convolution whose every element is read where an offset moves it, between the pixels."""
    n, channels, *sizes = x.shape
    kernel = w.shape[2:]
    found = windows(sizes, kernel, strides, dilations, pads, "NOTSET")
    count = int(np.prod(kernel))
    outer = offset.shape[2:]
    moved = tnp.reshape(offset, (n, offset_group, count, 2, *outer))
    strength = None
    if mask is not None:
        strength = tnp.reshape(mask, (n, offset_group, count, 1, *outer))
    parts = []
    steps = np.stack([g.reshape(-1) for g in np.indices(kernel)], -1)
    base = [np.arange(o) * d.stride - d.low for o, d in zip(outer, found)]
    per = channels // offset_group
    for k in range(count):
        places = []
        for axis, d in enumerate(found):
            at = base[axis] + steps[k][axis] * d.window_dilation
            shape = [1] * len(outer)
            shape[axis] = -1
            places.append(moved[:, :, k, axis] + at.reshape(shape).astype(x.dtype))
        sampled = bilinear(tnp.reshape(x, (n, offset_group, per, *sizes)), places)
        parts.append(sampled if strength is None else sampled * strength[:, :, k])
    columns = tnp.stack(parts, 3)  # [n, offset groups, channels, kernel, *outer]
    columns = tnp.reshape(columns, (n, group, channels // group * count, *outer))
    rows = tnp.reshape(w, (group, w.shape[0] // group, -1))
    flat = tnp.reshape(columns, (n, group, columns.shape[2], -1))
    made = tnp.reshape(tnp.matmul(rows[None], flat), (n, w.shape[0], *outer))
    return made if b is None else made + along_channels(b, made.ndim)


def bilinear(x: Any, places: list[Any]) -> Any:
    """An array's values between its pixels, zeros outside.

    Args:
        x: [n, groups, channels, height, width].
        places: for each of the two dimensions [n, groups, *outer].
    """
    n, groups, _, height, width = x.shape
    outer = places[0].shape[2:]
    batch = np.arange(n).reshape(n, 1, *[1] * len(outer))
    part = np.arange(groups).reshape(1, groups, *[1] * len(outer))
    last = tnp.moveaxis(x, 2, -1)
    total: Any = 0.0
    floors = [tnp.floor(p) for p in places]
    for corner in range(4):
        rows = floors[0] + (corner >> 1)
        columns = floors[1] + (corner & 1)
        weight = (1 - tnp.absolute(places[0] - rows)) * (1 - tnp.absolute(places[1] - columns))
        inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
        at = [tnp.astype(tnp.clip(v, 0, m - 1), np.int32)
              for v, m in ((rows, height), (columns, width))]  # fmt: skip
        total = total + last[batch, part, at[0], at[1]] * tnp.where(inside, weight, 0)[..., None]
    return tnp.moveaxis(total, -1, 2)
