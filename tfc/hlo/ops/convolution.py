"""Convolution: a window slides over an array, and each of its places gives sums of products.

Semantics: CGP-1…CGP-7 of the operation semantics; groups, batch groups and window reversal as in
XLA. Padding and the gaps of a dilated array take no part: their products are not zero but absent,
which only differs where the kernel is infinite or NaN.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from tfc.hlo.attributes.convolution_dimensions import ConvolutionDimensionNumbers
from tfc.hlo.attributes.window import Window, require_window
from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.op import Attribute, Call, Op, Value, register, require, require_array
from tfc.hlo.ops.contraction import matrix_product
from tfc.hlo.ops.sum_types import as_exact, sum_type
from tfc.hlo.shape import AnyShape, Shape
from tfc.hlo.traits import Accuracy, Category, Cost

KINDS = ("fprop", "dgrad", "wgrad")


def convolution_window(a: Attributes) -> Window:
    """The window of a convolution; without one it has no spatial dimensions."""
    return a.get("window", Window())


def group_counts(a: Attributes) -> tuple[int, int]:
    """How many (feature groups, batch groups) a convolution has."""
    return a.get("feature_group_count", 1), a.get("batch_group_count", 1)


def product_count(x: Instruction) -> int:
    """The number of products that a convolution sums, counting those with padding."""
    rhs = x.operands[1].array_shape
    outputs = rhs.dims[x["dim_labels"].rhs[0]]
    return x.array_shape.size * (rhs.size // max(outputs, 1))


def _infer_convolution(shapes: Sequence[AnyShape], a: Attributes, stated: AnyShape | None) -> Shape:
    lhs, rhs = (require_array("convolution", s) for s in shapes)
    element_type = sum_type("convolution", [lhs, rhs], a, stated)
    labels: ConvolutionDimensionNumbers = a["dim_labels"]
    rank, window = labels.spatial + 2, convolution_window(a)
    for side, operand in (("left", lhs), ("right", rhs)):
        require(
            operand.rank == rank,
            "convolution",
            f"a {side} operand of {rank} dimensions for dim_labels {labels}",
            operand,
            "CGP-1",
        )
    batch, features, *sizes = (lhs.dims[d] for d in labels.lhs)
    outputs, inputs, *kernel = (rhs.dims[d] for d in labels.rhs)
    require_window("convolution", window, sizes)
    require(
        window.size == tuple(kernel),
        "convolution",
        "a window of the kernel's spatial sizes",
        f"{list(window.size)} for {list(kernel)}",
        "CGP-1",
    )
    _require_groups(a, batch, features, inputs, outputs)
    kind = a.get("convolution_kind")
    require(kind in (None, *KINDS), "convolution", f"a kind of {', '.join(KINDS)}", kind)
    dims = [0] * rank
    made = (batch // group_counts(a)[1], outputs, *window.counts(sizes))
    for d, size in zip(labels.out, made):
        dims[d] = size
    return Shape(element_type, tuple(dims))


def _require_groups(a: Attributes, batch: int, features: int, inputs: int, outputs: int) -> None:
    groups, batch_groups = group_counts(a)
    counted = f"feature_group_count={groups}, batch_group_count={batch_groups}"
    require(
        min(groups, batch_groups) == 1,
        "convolution",
        "one group of features or of batches",
        counted,
    )
    require(
        features == inputs * groups,
        "convolution",
        f"as many input features as the kernel has, for {groups} groups",
        f"{features} and {inputs}",
        "CGP-2",
    )
    require(
        outputs % groups == 0 and outputs % batch_groups == 0 and batch % batch_groups == 0,
        "convolution",
        "features of the result and batches that the groups divide",
        f"{outputs} and {batch} for {counted}",
    )


def _evaluate_convolution(x: Instruction, values: Sequence[Value], _: Call) -> np.ndarray:
    element_type, labels = x.array_shape.element_type, x["dim_labels"]
    groups, batch_groups = group_counts(x.attributes)
    lhs, rhs = as_exact(values, element_type)
    # From here on every array has its dimensions in the order of their roles.
    lhs, rhs = lhs.transpose(labels.lhs), rhs.transpose(labels.rhs)
    result = np.zeros([x.array_shape.dims[d] for d in labels.out], lhs.dtype)
    # A feature group has the features of its own, a batch group the batches; both have results.
    parts = zip(
        np.split(lhs, batch_groups) if groups == 1 else np.split(lhs, groups, axis=1),
        np.split(rhs, groups * batch_groups),
        np.split(result, groups * batch_groups, axis=1),
    )
    with np.errstate(all="ignore"):
        for inputs, kernel, outputs in parts:
            _slide(convolution_window(x.attributes), inputs, kernel, outputs)
        return result.transpose(np.argsort(labels.out)).astype(element_type.dtype)


def _slide(window: Window, lhs: np.ndarray, rhs: np.ndarray, result: np.ndarray) -> None:
    """Add to the result what each place of the window contributes (CGP-7)."""
    for at in np.ndindex(*window.size):
        places = [
            d.meeting(lhs.shape[n], result.shape[n], k)
            for n, (d, k) in enumerate(zip(window.dimensions, at), 2)
        ]
        outs, ins = [o for o, _ in places], [i for _, i in places]
        every = [range(n) for n in (*lhs.shape[:2], *result.shape[:2])]
        seen = lhs[np.ix_(*every[:2], *ins)]
        turned = (d.size - 1 - k if d.reversal else k for d, k in zip(window.dimensions, at))
        weights = rhs[(slice(None), slice(None), *turned)]
        batch, features, *spatial = seen.shape
        products = matrix_product(
            weights, np.moveaxis(seen, 1, 0).reshape(features, batch * prod(spatial))
        )
        products = products.reshape(len(weights), batch, *spatial)
        result[np.ix_(*every[2:], *outs)] += np.moveaxis(products, 0, 1)


# fmt: off
register(Op("convolution", 2, _infer_convolution, _evaluate_convolution, (
    Attribute("window", "window", required=False, default=Window()),
    Attribute("dim_labels", "labels"),
    Attribute("feature_group_count", "int", required=False, default=1),
    Attribute("batch_group_count", "int", required=False, default=1),
    Attribute("convolution_kind", "name", required=False),
    Attribute("operand_precision", "precisions", required=False),
    Attribute("algorithm", "name", required=False)),
            category=Category.PRODUCT, cost=Cost.OWN, accuracy=Accuracy.SUMMED, any_order=True))
# fmt: on
