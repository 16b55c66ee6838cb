"""Canonical convolutions: one form that is fast to compute, or a dot where that is what it is.

    before:  y = bf16[8,64,54,54] convolution(x, k), window={size=3x3}, dim_labels=bf01_oi01->bf01
    after:   c = f32[8,54,54,64] convolution(transpose(convert(x)), transpose(convert(k))),
                 window={size=3x3}, dim_labels=b01f_01io->b01f
             y = bf16[8,64,54,54] convert(transpose(c))

A canonical convolution has operands and a result of one type, labels as above, no batch groups and
no reversal; those are feature groups and a reversed kernel. One whose window is a single element,
or all of the array, along each dimension is a dot. One that is canonical is left alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.hlo.builder import instruction, reshape
from tfc.hlo.ir import Instruction, Module, map_computations, rebuild
from tfc.hlo.ops.convolution import convolution_window, group_counts
from tfc.passes.analysis.products import canonical_labels
from tfc.passes.expand.one_sum_type import in_one_type, moved


@dataclass(frozen=True)
class Convolutions:
    """Put every convolution in canonical form."""

    name: ClassVar[str] = "convolutions"

    def __call__(self, module: Module) -> Module:
        """The module with canonical convolutions, and dots for some."""
        return map_computations(module, lambda c: rebuild(c, canonical))


def canonical(x: Instruction) -> Instruction:
    """A convolution in canonical form; itself if it is, or is another op."""
    if x.opcode != "convolution" or not x.array_shape.size:
        return x
    wide = in_one_type(x)
    if wide is not x:
        # in_one_type converts the result if it has another type.
        if wide.opcode == "convolution":
            return canonical(wide)
        return wide.with_(operands=(canonical(wide.operands[0]),))
    labels, window = x["dim_labels"], convolution_window(x.attributes)
    (batch, feature, *places), (outputs, inputs, *kernel) = labels.lhs, labels.rhs
    groups, batch_groups = group_counts(x.attributes)
    lhs = _transpose(x.operands[0], (batch, *places, feature))
    rhs = _transpose(x.operands[1], (*kernel, inputs, outputs))
    turned = tuple(n for n, d in enumerate(window.dimensions) if d.reversal)
    if turned:
        rhs = instruction("reverse", [rhs], dimensions=turned)
        window = Window(tuple(replace(d, reversal=False) for d in window.dimensions))
    single = batch_groups == lhs.array_shape.dims[0] == rhs.array_shape.dims[-1]
    over_inputs = batch_groups > 1 and single and lhs.array_shape.size > 0
    if over_inputs:
        lhs, rhs, window = _over_inputs(lhs, rhs, window)
    elif batch_groups > 1:
        lhs = _batches_as_features(lhs, batch_groups)
    groups = max(groups, batch_groups)
    plain = canonical_labels(len(window.dimensions))
    made = _as_dot(x, lhs, rhs, window, groups)
    if made is None and (lhs, rhs, plain) == (*x.operands, labels):
        return x
    made = made or instruction(
        "convolution", [lhs, rhs], shape=x.shape, metadata=x.metadata,
        **x.attributes.with_(window=window, dim_labels=plain, feature_group_count=groups,
                             batch_group_count=None),
    )  # fmt: skip
    if over_inputs:
        made = reshape(made, made.array_shape.dims[1:])
    out = (labels.out[0], *labels.out[2:], labels.out[1])
    placed = _transpose(made, tuple(out.index(d) for d in range(len(out))))
    return placed.with_(shape=x.shape, annotations=x.annotations)


def _over_inputs(
    lhs: Instruction, rhs: Instruction, window: Window
) -> tuple[Instruction, Instruction, Window]:
    """Canonical operands of a convolution of single batches, each for a feature of its own.

    [g,…,i] by [k…,i,g] is [1,i,…,g] by [i,k…,1,g]: batches are features of their own, and sums over
    the input features are those of a window along them. So lies a depthwise kernel's gradient.
    """
    (batches, *sizes, inputs), last = lhs.array_shape.dims, lhs.array_shape.rank - 1
    lhs = _transpose(lhs, (last, *range(1, last), 0))
    rhs = _transpose(rhs, (last - 1, *range(last - 1), last))
    lhs = reshape(lhs, [1, inputs, *sizes, batches])
    rhs = reshape(rhs, [*rhs.array_shape.dims[:-1], 1, batches])
    return lhs, rhs, Window((WindowDimension(inputs), *window.dimensions))


def _transpose(x: Instruction, order: Sequence[int]) -> Instruction:
    if list(order) == list(range(len(order))):
        return x
    return moved(
        x, lambda x: instruction("transpose", [x], dimensions=tuple(order), metadata=x.metadata)
    )


def _batches_as_features(lhs: Instruction, groups: int) -> Instruction:
    """[groups·b, …, f] as [b, …, groups·f]: what each group of batches was is one of features."""
    batch, *places, features = lhs.array_shape.dims
    apart = reshape(lhs, [groups, batch // groups, *places, features])
    last = len(places) + 2
    together = _transpose(apart, [*range(1, last), 0, last])
    return reshape(together, [batch // groups, *places, groups * features])


def _as_dot(
    x: Instruction, lhs: Instruction, rhs: Instruction, window: Window, groups: int
) -> Instruction | None:
    """The canonical convolution of canonical operands as a dot, if it is one."""
    batch, *sizes, _ = lhs.array_shape.dims
    *kernel, inputs, outputs = rhs.array_shape.dims
    dimensions = list(zip(window.dimensions, sizes))
    whole = [n for n, (d, size) in enumerate(dimensions) if _is_whole(d, size)]
    if not all(n in whole or _is_single(d) for n, (d, _) in enumerate(dimensions)):
        return None
    if groups > 1 and inputs == 1 and dimensions and not whole:
        return None  # products without sums
    kept = [(0, n, 1) if i in whole else (-d.low, n + d.high, d.stride)
            for i, (d, n) in enumerate(dimensions)]  # fmt: skip
    features = lhs.array_shape.dims[-1]
    if kept != [(0, n, 1) for n in sizes]:
        bounds = ((0, batch, 1), *kept, (0, features, 1))
        lhs = moved(lhs, lambda x: instruction("slice", [x], slice=bounds))
    counts = window.counts(sizes)
    parts = [groups] if groups > 1 else []
    split = [*lhs.array_shape.dims[:-1], *parts, features // groups]
    lhs = moved(lhs, lambda x: reshape(x, split))
    channels = [*(kernel[n] for n in whole), inputs, *parts, outputs // groups]
    rhs = moved(rhs, lambda x: reshape(x, channels))
    group, last = lhs.array_shape.rank - 2, lhs.array_shape.rank - 1
    dot = instruction(
        "dot", [lhs, rhs], shape=x.shape, metadata=x.metadata,
        lhs_batch_dims=(group,) if parts else None,
        lhs_contracting_dims=(*(n + 1 for n in whole), last),
        rhs_batch_dims=(len(whole) + 1,) if parts else None,
        rhs_contracting_dims=tuple(range(len(whole) + 1)),
        operand_precision=x.attributes.get("operand_precision"),
        algorithm=x.attributes.get("algorithm"),
    )  # fmt: skip
    if parts:
        rank = dot.array_shape.rank
        dot = _transpose(dot, [*range(1, rank - 1), 0, rank - 1])
    return reshape(dot, [batch, *counts, outputs])


def _is_single(d: WindowDimension) -> bool:
    """True if each window is one element, and none is padding."""
    return d.size == d.base_dilation == 1 and max(d.low, d.high) <= 0


def _is_whole(d: WindowDimension, size: int) -> bool:
    """True if there is one window, and it is the whole array."""
    plain = d.base_dilation == d.window_dilation == 1 and d.low == d.high == 0
    return plain and d.size == size
