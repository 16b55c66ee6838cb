"""Convolutions of the namespace tfc.nn: what a window over an array is, in a caller's words."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.promotion import promote
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable
from tfc.frontend.window_arguments import Numbers, Padding, padding_pairs, spatial_numbers
from tfc.hlo.convolution_dimensions import (
    ConvolutionDimensionNumbers,
    default_dimensions,
    dimensions_from_labels,
)
from tfc.hlo.shape import element_type_of
from tfc.hlo.window import Window, WindowDimension

DimensionNumbers: TypeAlias = str | Sequence[str] | ConvolutionDimensionNumbers | None


@evaluable
def conv(
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: Numbers = 1,
    padding: Padding = "VALID",
    lhs_dilation: Numbers = 1,
    rhs_dilation: Numbers = 1,
    dimension_numbers: DimensionNumbers = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    preferred_element_type: Any = None,
) -> Tensor:
    """Slide a kernel over an array: at each place, the sum of the products (CNV-1, CNV-2, CGP-1…7).

    As in jax.lax.conv_general_dilated: the kernel is not turned around.

    Args:
        lhs, rhs: the array and the kernel, of any number of spatial dimensions.
        strides, lhs_dilation, rhs_dilation: one number, or one for each spatial dimension.
        padding: "VALID" for none; "SAME" for a result of ceil(size / stride) places, the smaller
            half of the padding first, "SAME_LOWER" the larger; or (low, high) for each spatial
            dimension, where negative numbers remove elements.
        dimension_numbers: three strings such as ("NHWC", "HWIO", "NHWC"), or labels such as
            "b01f_01io->b01f"; left out, ("NCHW", "OIHW", "NCHW") for any spatial dimensions.
        feature_group_count, batch_group_count: parts of features or batches that have kernels of
            their own.
        preferred_element_type: the dtype to accumulate in; the operands' if left out.

    Raises:
        ShapeError: the arrays, or the numbers for spatial dimensions, do not fit each other.
    """
    array, kernel = promote(lhs, rhs)
    labels = _dimensions(dimension_numbers, array)
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
    return _convolution(array, kernel, plain, pairs, labels, groups, preferred_element_type)


@evaluable
def conv_transpose(
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: Numbers = 1,
    padding: Padding = "SAME",
    rhs_dilation: Numbers = 1,
    dimension_numbers: DimensionNumbers = None,
    transpose_kernel: bool = False,
    preferred_element_type: Any = None,
) -> Tensor:
    """The convolution that undoes the shape of one with these strides: lhs is dilated by them.

    As in jax.lax.conv_transpose, but with the dimension numbers of `conv` where they are left out.

    Args:
        padding: "SAME" for a result of size · stride places, "VALID" for all that the kernel
            reaches; or (low, high) around the dilated array for each spatial dimension.
        transpose_kernel: turn the kernel around and exchange its features: then this is the
            gradient of `conv` by its array.

    Raises:
        ShapeError: as `conv`.
    """
    array, kernel = promote(lhs, rhs)
    labels = _dimensions(dimension_numbers, array)
    if transpose_kernel:
        outputs, inputs, *rest = labels.rhs
        labels = ConvolutionDimensionNumbers(labels.lhs, (inputs, outputs, *rest), labels.out)
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
    return _convolution(array, kernel, plain, pairs, labels, (1, 1), preferred_element_type)


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


def _dimensions(numbers: DimensionNumbers, array: Tensor) -> ConvolutionDimensionNumbers:
    """Dimension numbers in any of their forms."""
    if isinstance(numbers, ConvolutionDimensionNumbers):
        return numbers
    if array.ndim < 2:
        raise ShapeError(
            f"conv requires an array with batch and feature dimensions, got {list(array.shape)}"
        )
    if numbers is None:
        return default_dimensions(array.ndim - 2)
    if isinstance(numbers, str):
        parts = numbers.replace("->", "_").split("_")
    else:
        parts = [str(part) for part in numbers]
        spatial = [c for c in parts[1] if c not in "OI"] if len(parts) == 3 else []
        digits = {c: str(n) for n, c in enumerate(spatial)}
        names = ({"N": "b", "C": "f"}, {"O": "o", "I": "i"}, {"N": "b", "C": "f"})
        parts = [
            "".join({**digits, **known}.get(c, "?") for c in part)
            for part, known in zip(parts, names)
        ]
    found = dimensions_from_labels(parts) if len(parts) == 3 else "three parts"
    if isinstance(found, str):
        raise ShapeError(f"conv requires dimension_numbers of {found}, got {numbers}")
    return found


def _spatial(tensor: Tensor, dims: Sequence[int]) -> list[int]:
    """The sizes of the spatial dimensions."""
    if tensor.ndim != len(dims):
        raise ShapeError(
            f"conv requires arrays of {len(dims)} dimensions for its dimension_numbers, "
            f"got {list(tensor.shape)} (CGP-1)"
        )
    return [tensor.shape[d] for d in dims[2:]]


def _convolution(
    array: Tensor, kernel: Tensor, plain: Sequence[WindowDimension],
    padding: Sequence[tuple[int, int]], labels: ConvolutionDimensionNumbers,
    groups: tuple[int, int], dtype: Any,
) -> Tensor:  # fmt: skip
    padded = [replace(d, low=low, high=high) for d, (low, high) in zip(plain, padding)]
    result = None if dtype is None else element_type_of(dtype)
    return ops.convolution(array, kernel, Window(tuple(padded)), labels, *groups, result)
