"""XLA's products: dots, convolutions, Einstein's notation."""

from typing import Any

import numpy as np

import tfc.frontend.operations as ops
from tfc import numpy as tnp
from tfc.errors import ShapeError
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import evaluable
from tfc.graph.operators.registry import known, known_numbers, operator
from tfc.graph.operators.xla.dimension_numbers import dimension_numbers
from tfc.graph.types.dtypes import as_dtype
from tfc.hlo.attributes.convolution_dimensions import ConvolutionDimensionNumbers
from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.hlo.shape import element_type_of


@operator("XlaDotV2", types="LhsT RhsT")
def dot_to(lhs: Any, rhs: Any, *, dimension_numbers: Any, preferred_element_type: Any) -> Any:
    """Sums of products over paired dimensions, in a dtype that is stated."""
    return _dot(lhs, rhs, dimension_numbers, as_dtype(preferred_element_type).dtype)


@operator("XlaDot")
def dot(lhs: Any, rhs: Any, *, dimension_numbers: Any) -> Any:
    """Sums of products over paired dimensions."""
    return _dot(lhs, rhs, dimension_numbers, lhs.dtype)


def _dot(lhs: Any, rhs: Any, stated: Any, wide: np.dtype) -> Any:
    fields = dimension_numbers(stated)
    contracting = fields.get(1, ()), fields.get(2, ())
    batch = fields.get(3, ()), fields.get(4, ())

    def made(x: Any, y: Any) -> Any:
        return ops.dot(as_tensor(x), as_tensor(y), contracting, batch)

    return evaluable(made)(tnp.astype(lhs, wide), tnp.astype(rhs, wide))


@operator("XlaEinsum")
def einsum(a: Any, b: Any, *, equation: str) -> Any:
    """The sum of products that an equation of letters says."""
    return tnp.einsum(equation, a, b)


@operator("XlaConv", types="T T Tindices", known=(2, 3, 4, 5, 6))
def convolution(
    lhs: Any,
    rhs: Any,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any,
    rhs_dilation: Any,
    feature_group_count: Any,
    *,
    dimension_numbers: Any,
) -> Any:
    """Sums of products at each place of a window."""
    given = window_strides, padding, lhs_dilation, rhs_dilation, feature_group_count
    return _convolution(lhs, rhs, *given, dimension_numbers, 1, lhs.dtype)


@operator("XlaConvV2", types="LhsT RhsT Tindices", known=(2, 3, 4, 5, 6))
def convolution_to(
    lhs: Any,
    rhs: Any,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any,
    rhs_dilation: Any,
    feature_group_count: Any,
    *,
    dimension_numbers: Any,
    preferred_element_type: Any,
    batch_group_count: int = 1,
) -> Any:
    """The same in a dtype that is stated."""
    given = window_strides, padding, lhs_dilation, rhs_dilation, feature_group_count
    wide = as_dtype(preferred_element_type).dtype
    return _convolution(lhs, rhs, *given, dimension_numbers, batch_group_count, wide)


def _convolution(
    lhs: Any,
    rhs: Any,
    strides: Any,
    padding: Any,
    lhs_dilation: Any,
    rhs_dilation: Any,
    groups: Any,
    stated: Any,
    batch_groups: int,
    wide: np.dtype,
) -> Any:
    fields = dimension_numbers(stated)

    def roles(first: int, second: int, spatial: int) -> tuple[int, ...]:
        return (fields.get(first, (0,))[0], fields.get(second, (0,))[0], *fields.get(spatial, ()))

    labels = ConvolutionDimensionNumbers(roles(7, 8, 11), roles(4, 3, 6), roles(9, 10, 12))
    if {len(part) for part in (labels.lhs, labels.rhs, labels.out)} != {lhs.ndim}:
        raise ShapeError(f"a convolution of rank {lhs.ndim} has dimension numbers {labels}")
    pairs = known(padding, "the padding of a convolution").reshape(-1, 2)
    numbers = (known_numbers(n, "a convolution") for n in (strides, lhs_dilation, rhs_dilation))
    window = Window(
        tuple(
            WindowDimension(rhs.shape[at], step, int(low), int(high), base, apart)
            for at, (low, high), step, base, apart in zip(labels.rhs[2:], pairs, *numbers)
        )
    )
    (count,) = known_numbers(groups, "the groups of a convolution")
    result = element_type_of(wide)

    def made(x: Any, kernel: Any) -> Any:
        return ops.convolution(
            as_tensor(x), as_tensor(kernel), window, labels, count, batch_groups, result
        )

    return evaluable(made)(lhs, rhs)
