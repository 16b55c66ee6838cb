"""The gradient of convolution: two convolutions, with strides and dilations exchanged.

With y[p] = Σ x[p·s + k·d − low] · h[k], what flows back to x at i is the sum of g[p] · h[k] over
all p and k with p·s + k·d − low = i: a convolution of g, dilated by the stride, with the kernel
turned around. What flows back to the kernel at k is the sum of x[p·s + k·d − low] · g[p] over p: a
convolution of x with g for a kernel, stride and dilation exchanged, features in place of batches.

In both g stands in the place of the operand that the result flows back to, so that each operand's
precision stays where it is.
"""

from dataclasses import replace

from tfc.frontend import operations as ops
from tfc.frontend.differentiation.reverse import Cotangent, is_differentiable, vjp, zeros
from tfc.frontend.precision import kept_precision
from tfc.frontend.tensor import Tensor
from tfc.hlo.attributes.convolution_dimensions import ConvolutionDimensionNumbers
from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.hlo.ops.convolution import convolution_window, group_counts


@vjp("convolution")
def _convolution(g: Tensor, y: Tensor, x: Tensor, kernel: Tensor) -> list[Cotangent]:
    if 0 in (y.size, x.size, kernel.size):
        return [zeros(x.array_shape), zeros(kernel.array_shape)]
    rules = (_of_array, x), (_of_kernel, kernel)
    return [
        rule(g, y, x, kernel) if is_differentiable(operand.array_shape) else None
        for rule, operand in rules
    ]


def _of_array(g: Tensor, y: Tensor, x: Tensor, kernel: Tensor) -> Tensor:
    labels: ConvolutionDimensionNumbers = y.instruction["dim_labels"]
    window = convolution_window(y.instruction.attributes)
    groups, batch_groups = group_counts(y.instruction.attributes)
    parts = groups * batch_groups
    turned, rhs = kernel, (labels.rhs[1], labels.rhs[0], *labels.rhs[2:])
    if parts > 1:
        # Output features are the summed ones now, so each group's become a dimension of their own.
        outputs, inputs, *sizes = (kernel.shape[d] for d in labels.rhs)
        split = ops.reshape(
            ops.transpose(kernel, labels.rhs), [parts, outputs // parts, inputs, *sizes]
        )
        swapped = ops.transpose(split, [1, 0, *range(2, split.ndim)])
        turned = ops.reshape(swapped, [outputs // parts, parts * inputs, *sizes])
        rhs = (1, 0, *range(2, turned.ndim))
    sizes = [(x.shape[i], y.shape[o]) for i, o in zip(labels.lhs[2:], labels.out[2:])]
    # The kernel is turned around.
    back = Window(tuple(
        replace(d.transposed(*n), reversal=not d.reversal) for d, n in zip(window.dimensions, sizes)
    ))  # fmt: skip
    out = labels.lhs if batch_groups == 1 else tuple(range(x.ndim))
    made = ops.convolution(
        g, turned, back, ConvolutionDimensionNumbers(labels.out, rhs, out), parts,
        result=x.array_shape.element_type, **kept_precision(y.instruction),
    )  # fmt: skip
    if batch_groups == 1:
        return made
    # Groups of features, in the order of roles, are groups of batches again.
    batch, features, *rest = made.shape
    split = ops.reshape(made, [batch, batch_groups, features // batch_groups, *rest])
    swapped = ops.transpose(split, [1, 0, *range(2, split.ndim)])
    joined = ops.reshape(swapped, [batch * batch_groups, features // batch_groups, *rest])
    return ops.transpose(joined, [labels.lhs.index(d) for d in range(x.ndim)])


def _of_kernel(g: Tensor, y: Tensor, x: Tensor, kernel: Tensor) -> Tensor:
    labels: ConvolutionDimensionNumbers = y.instruction["dim_labels"]
    window = convolution_window(y.instruction.attributes)
    groups, batch_groups = group_counts(y.instruction.attributes)
    sizes = [(x.shape[i], y.shape[o]) for i, o in zip(labels.lhs[2:], labels.out[2:])]
    exchanged = Window(tuple(_exchanged(d, *n) for d, n in zip(window.dimensions, sizes)))
    made = ops.convolution(
        x, g, exchanged,
        ConvolutionDimensionNumbers(
            (labels.lhs[1], labels.lhs[0], *labels.lhs[2:]),
            (labels.out[1], labels.out[0], *labels.out[2:]),
            (labels.rhs[1], labels.rhs[0], *labels.rhs[2:]),
        ),
        batch_groups, groups, result=kernel.array_shape.element_type,
        **kept_precision(y.instruction),
    )  # fmt: skip
    return ops.reverse(made, [k for d, k in zip(window.dimensions, labels.rhs[2:]) if d.reversal])


def _exchanged(d: WindowDimension, size: int, count: int) -> WindowDimension:
    """The window of the result's `count` elements over the array, of as many places as d's."""
    return WindowDimension(
        size=count, stride=d.window_dilation, low=d.low,
        high=d.reach(count)[1] + 1 - d.dilated(size),
        base_dilation=d.base_dilation, window_dilation=d.stride,
    )  # fmt: skip
