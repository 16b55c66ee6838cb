"""Convolution as one sum for each result element: any element type, labels and attributes."""

from collections.abc import Sequence
from typing import Any

from tfc.backends.mlir.arithmetic.value import Scalar, constant, convert
from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.kernels import (
    Kernel,
    Loops,
    add_product,
    finish_element,
    nest,
    product_space,
    sources,
)
from tfc.backends.mlir.windows import along, guarded
from tfc.hlo.attributes.convolution_dimensions import ConvolutionDimensionNumbers
from tfc.hlo.index_maps import Condition, Index, variable
from tfc.hlo.ops.convolution import convolution_window, group_counts
from tfc.hlo.ops.sum_types import kernel_sum_type
from tfc.passes.analysis.products import root_index


def emit_convolution(kernel: Kernel, buffers: Sequence[Buffer], loops: Loops) -> None:
    """A convolution: for each result element, loops over the window and the input features.

    Places of the window that fall on padding or into a gap are left out by a branch.
    """
    root, space = product_space(kernel, loops)
    result = root.array_shape
    lhs, rhs = root.operands
    labels: ConvolutionDimensionNumbers = root["dim_labels"]
    window = convolution_window(root.attributes)
    groups, batch_groups = group_counts(root.attributes)
    batch, feature, *places = (space.index[d] for d in labels.out)
    outputs, inputs = (rhs.array_shape.dims[d] for d in labels.rhs[:2])
    group = feature // max(outputs // (groups * batch_groups), 1)
    summed = variable("c", inputs)
    taps = [variable(f"k{d}", size) for d, size in enumerate(window.size)]
    at: list[Index] = []
    conditions: list[Condition] = []
    for d, place, tap, label in zip(window.dimensions, places, taps, labels.lhs[2:]):
        position, inside = along(d, lhs.array_shape.dims[label], place, tap)
        at.append(position)
        conditions += inside
    if batch_groups > 1:
        batch = group * result.dims[labels.out[0]] + batch
    from_lhs = group * inputs + summed if groups > 1 else summed
    turned = [k * -1 + (d.size - 1) if d.reversal else k for d, k in zip(window.dimensions, taps)]
    lhs_index = _by_label(labels.lhs, (batch, from_lhs, *at))
    rhs_index = _by_label(labels.rhs, (feature, summed, *turned))
    stored = result.element_type
    wide = kernel_sum_type(stored, [o.array_shape.element_type for o in root.operands])

    finished = root_index(kernel.computation, space.index)

    def add_one(scope: Elements, total: Sequence[Scalar]) -> Sequence[Scalar]:
        x, y = scope.element(lhs, lhs_index), scope.element(rhs, rhs_index)
        return [add_product(total[0], x, y)]

    def add_features(scope: Elements, total: Sequence[Scalar]) -> Sequence[Scalar]:
        return nest(scope, [summed], [inputs], total, add_one)

    def add_tap(scope: Elements, total: Sequence[Scalar]) -> Sequence[Scalar]:
        return guarded(scope, conditions, lambda inner: add_features(inner, total), total)

    def body(points: Sequence[Any]) -> None:
        outer = Elements(sources(kernel, buffers), space.bind(points))
        (total,) = nest(outer, taps, window.size, [constant(wide, 0)], add_tap)
        finish_element(kernel, buffers, outer, convert(total, stored), finished)

    loops.each(space.sizes, body)


def _by_label(labels: Sequence[int], index: Sequence[Index]) -> tuple[Index, ...]:
    """An index given in the order of roles, in the order of the array's dimensions."""
    placed = dict(zip(labels, index))
    return tuple(placed[d] for d in range(len(labels)))
