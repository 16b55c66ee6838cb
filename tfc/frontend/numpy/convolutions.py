"""Convolutions of the namespace tfc.nn: what a window over an array is, in a caller's words."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.window_arguments import (
    Numbers,
    Padding,
    data_format_of,
    kernel_format_of,
    padding_pairs,
    spatial_numbers,
)
from tfc.frontend.promotion import promote
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable
from tfc.hlo.attributes.convolution_dimensions import ConvolutionDimensionNumbers
from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.hlo.shape import element_type_of


@evaluable
def conv(
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: Numbers = 1,
    padding: Padding = "VALID",
    lhs_dilation: Numbers = 1,
    rhs_dilation: Numbers = 1,
    data_format: str | None = None,
    kernel_format: str | None = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    preferred_element_type: Any = None,
    precision: Any = None,
) -> Tensor:
    """Slide a kernel over an array: at each place, the sum of the products (CNV-1, CNV-2, CGP-1…7).

    The kernel is not turned around. Channels are last, in the array as in its result.

    Args:
        lhs, rhs: the array and the kernel, of any number of spatial dimensions.
        strides, lhs_dilation, rhs_dilation: one number, or one for each spatial dimension.
        padding: "VALID" for none; "SAME" for a result of ceil(size / stride) places, the smaller
            half of the padding first, "SAME_LOWER" the larger; or (low, high) for each spatial
            dimension, where negative numbers remove elements.
        data_format: what the dimensions of the array and of the result are: NHWC, or NCHW for
            channels first; NWC and NCW for one spatial dimension, NDHWC and NCDHW for three.
        kernel_format: what those of the kernel are: HWIO, or OIHW for features first (output
            features are O); WIO and OIW, DHWIO and OIDHW.
        feature_group_count, batch_group_count: parts of features or batches that have kernels of
            their own.
        preferred_element_type: the dtype to accumulate in; the operands' if left out.
        precision: of the products, as tfc.numpy.matmul takes it.

    Raises:
        ShapeError: the arrays, or the numbers for spatial dimensions, do not fit each other; or
            there is no such precision for them.
    """
    array, kernel = promote(lhs, rhs)
    labels = _dimensions("conv", array, kernel, data_format, kernel_format)
    _require_features("conv", array, kernel, labels, feature_group_count)
    counts = [
        spatial_numbers("conv", n, labels.spatial) for n in (strides, lhs_dilation, rhs_dilation)
    ]
    sizes = _spatial(array, labels.lhs), _spatial(kernel, labels.rhs)
    plain = [
        WindowDimension(size=k, stride=s, base_dilation=b, window_dilation=w)
        for k, s, b, w in zip(sizes[1], *counts)
    ]
    pairs = padding_pairs("conv", padding, plain, sizes[0])
    groups = feature_group_count, batch_group_count
    return _convolution(
        array, kernel, plain, pairs, labels, groups, preferred_element_type, precision
    )


@evaluable
def conv_transpose(
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: Numbers = 1,
    padding: Padding = "SAME",
    rhs_dilation: Numbers = 1,
    data_format: str | None = None,
    kernel_format: str | None = None,
    transpose_kernel: bool = False,
    preferred_element_type: Any = None,
    precision: Any = None,
) -> Tensor:
    """The convolution that undoes the shape of one with these strides: lhs is dilated by them.

    Args:
        data_format, kernel_format: as in `conv`.
        padding: "SAME" for a result of size · stride places, "VALID" for all that the kernel
            reaches; or (low, high) around the dilated array for each spatial dimension.
        transpose_kernel: turn the kernel around and exchange its features: then this is the
            gradient of `conv` by its array.
        preferred_element_type, precision: as in `conv`.

    Raises:
        ShapeError: as `conv`.
    """
    array, kernel = promote(lhs, rhs)
    labels = _dimensions("conv_transpose", array, kernel, data_format, kernel_format)
    if transpose_kernel:
        outputs, inputs, *rest = labels.rhs
        labels = ConvolutionDimensionNumbers(labels.lhs, (inputs, outputs, *rest), labels.out)
    _require_features("conv_transpose", array, kernel, labels, 1)
    apart, dilations = (
        spatial_numbers("conv_transpose", n, labels.spatial) for n in (strides, rhs_dilation)
    )
    plain = [
        WindowDimension(size=k, base_dilation=s, window_dilation=w, reversal=transpose_kernel)
        for k, s, w in zip(_spatial(kernel, labels.rhs), apart, dilations)
    ]
    if isinstance(padding, str):
        pairs = [_transposed_padding(d, padding) for d in plain]
    else:
        pairs = padding_pairs("conv_transpose", padding, plain, _spatial(array, labels.lhs))
    return _convolution(
        array, kernel, plain, pairs, labels, (1, 1), preferred_element_type, precision
    )


def _transposed_padding(d: WindowDimension, padding: str) -> tuple[int, int]:
    """The padding of a transposed convolution whose stride is the base dilation."""
    stride, extent = d.base_dilation, d.extent
    if padding == "VALID":
        total = extent + stride - 2 + max(extent - stride, 0)
        low = extent - 1
    elif padding == "SAME":
        total = extent + stride - 2
        low = extent - 1 if stride > extent - 1 else -(-total // 2)
    else:
        raise ShapeError(f"conv_transpose requires padding SAME, VALID or pairs, got '{padding}'")
    return low, total - low


def _dimensions(
    function: str,
    array: Tensor,
    kernel: Tensor,
    data_format: str | None,
    kernel_format: str | None,
) -> ConvolutionDimensionNumbers:
    _, lhs = data_format_of(function, data_format, array)
    _, rhs = kernel_format_of(function, kernel_format, kernel, array.ndim)
    return ConvolutionDimensionNumbers(lhs, rhs, lhs)


def _require_features(
    function: str, array: Tensor, kernel: Tensor, labels: ConvolutionDimensionNumbers, groups: int
) -> None:
    """Check that the kernel is for the array's features, and say where both were looked for."""
    features, inputs = array.shape[labels.lhs[1]], kernel.shape[labels.rhs[1]]
    if features == inputs * groups:
        return
    many = f" in each of {groups} groups" if groups != 1 else ""
    shown = [t.array_shape.without_layout() for t in (array, kernel)]
    raise ShapeError(
        f"{function} requires a kernel for the array's input features{many}: {shown[0]} has "
        f"{features} in dimension {labels.lhs[1]} and {shown[1]} takes {inputs} in dimension "
        f"{labels.rhs[1]}; other orders are stated by data_format and kernel_format (CGP-2)"
    )


def _spatial(tensor: Tensor, dims: Sequence[int]) -> list[int]:
    """The sizes of the spatial dimensions."""
    return [tensor.shape[d] for d in dims[2:]]


def _convolution(
    array: Tensor, kernel: Tensor, plain: Sequence[WindowDimension],
    padding: Sequence[tuple[int, int]], labels: ConvolutionDimensionNumbers,
    groups: tuple[int, int], dtype: Any, precision: Any,
) -> Tensor:  # fmt: skip
    padded = [replace(d, low=low, high=high) for d, (low, high) in zip(plain, padding)]
    result = None if dtype is None else element_type_of(dtype)
    return ops.convolution(array, kernel, Window(tuple(padded)), labels, *groups, result, precision)
