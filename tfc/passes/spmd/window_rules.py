"""The factors of ops whose elements come from windows: dimensions that are cut need halos.

    slice, pad         an element is one of the operand's, elsewhere
    reduce-window      and convolution: it is made of the elements in a window

A weight gradient is a convolution whose window is as long as the image: that dimension is summed
over, and its parts need what of the image they meet.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.hlo.ir import Attributes, Computation, Instruction
from tfc.hlo.op import OPS
from tfc.hlo.shape import leaves
from tfc.passes.rewriting.replacing import reducer
from tfc.passes.spmd.factors import Factors, Labels
from tfc.passes.spmd.halos import Needed, Reach

Found = Mapping[int, Needed]


def _labels(numbers: Sequence[int | None]) -> Labels:
    return tuple(() if n is None else (n,) for n in numbers)


def is_neutral(init: Instruction, combine: Computation) -> bool:
    """Whether a reduction begins with what leaves every value as it is, so that parts combine."""
    opcode = reducer(combine)
    if opcode is None or init.opcode != "constant":
        return False
    neutral = OPS[opcode].neutral
    element_type = init.array_shape.element_type
    return neutral is not None and bool(init["literal"].array == neutral(element_type))


def slice_factors(x: Instruction) -> Factors:
    """Elements from a start on, so many apart."""
    given, made = x.operands[0].array_shape.dims, x.array_shape.dims
    reaches = tuple(
        Reach(0, d, given[d], d, step, begin, 1)
        for d, (begin, end, step) in enumerate(x["slice"])
        if (begin, end, step) != (0, given[d], 1)
    )

    def adapt(a: Attributes, dims: Sequence[Sequence[int]], needed: Found) -> Attributes:
        bounds = [
            (0, dims[0][d], step) if d in needed or (begin, end, step) == (0, given[d], 1)
            else (begin, end, step)
            for d, (begin, end, step) in enumerate(a["slice"])
        ]  # fmt: skip
        return a.with_(slice=tuple(bounds))

    same = _labels(range(len(made)))
    return Factors((same,), (same,), made, adapt=adapt, reaches=reaches)


def pad_factors(x: Instruction) -> Factors:
    """Elements elsewhere, apart, and the padding value."""
    given, made = x.operands[0].array_shape.dims, x.array_shape.dims
    reaches = tuple(
        Reach(0, d, given[d], d, 1, -low, 1, interior + 1, 1)
        for d, (low, high, interior) in enumerate(x["padding"])
        if low or high or interior
    )

    def adapt(a: Attributes, _: Sequence[Sequence[int]], needed: Found) -> Attributes:
        padding = [
            (needed[d].low, needed[d].high, p[2]) if d in needed else p
            for d, p in enumerate(a["padding"])
        ]
        return a.with_(padding=tuple(padding))

    same = _labels(range(len(made)))
    return Factors((same, ()), (same,), made, adapt=adapt, reaches=reaches)


def _along(w: WindowDimension, needed: Needed | None) -> WindowDimension:
    """The window along a dimension of which parts have what they need."""
    return w if needed is None else replace(w, low=needed.low, high=needed.high)


def reduce_window_factors(x: Instruction) -> Factors:
    """Windows of the operands; where they go beyond the ends, init values must change nothing."""
    half = len(x.operands) // 2
    given, made = x.operands[0].array_shape.dims, next(leaves(x.shape)).dims
    windows = x["window"].dimensions or (WindowDimension(1),) * len(made)
    reaches = tuple(
        Reach(k, d, given[d], d, w.stride, -w.low, w.extent, w.base_dilation, half + k)
        for k in range(half)
        for d, w in enumerate(windows)
        if w != WindowDimension(1)
    )
    anywhere = half == 1 and is_neutral(x.operands[1], x["to_apply"])

    def adapt(a: Attributes, _: Sequence[Sequence[int]], needed: Found) -> Attributes:
        if not needed:
            return a
        return a.with_(window=Window(tuple(
            _along(w, needed.get(d)) for d, w in enumerate(windows)
        )))  # fmt: skip

    kept = [d if anywhere or max(w.low, w.high) <= 0 else None for d, w in enumerate(windows)]
    same = _labels(kept)
    return Factors((same,) * half + ((),) * half, (same,) * half, made, adapt=adapt,
                   reaches=reaches)  # fmt: skip


def convolution_factors(x: Instruction) -> Factors:
    """Batch, output and input features, and the spatial dimensions."""
    labels, windows = x["dim_labels"], x["window"].dimensions
    given, kernel, made = (s.array_shape.dims for s in (*x.operands, x))
    groups = x.attributes.get("feature_group_count", 1)
    batch_groups = x.attributes.get("batch_group_count", 1)
    none: list[int | None] = [None] * len(made)
    lhs, rhs, out = none.copy(), none.copy(), none.copy()
    sizes = [given[labels.lhs[0]], kernel[labels.rhs[0]], given[labels.lhs[1]]]
    if batch_groups == 1:
        lhs[labels.lhs[0]] = out[labels.out[0]] = 0
    if groups == batch_groups == 1:
        rhs[labels.rhs[0]] = out[labels.out[1]] = 1
        lhs[labels.lhs[1]] = rhs[labels.rhs[1]] = 2
    reaches, summed = [], {2}
    for k, w in enumerate(windows):
        at, factor, count = labels.lhs[2 + k], 3 + k, made[labels.out[2 + k]]
        step, extent = w.stride, w.extent
        lhs[at] = factor
        if w.size > count and not w.reversal:
            rhs[labels.rhs[2 + k]] = factor
            summed.add(factor)
            sizes.append(w.size)
            step, extent = w.window_dilation, (count - 1) * w.stride + 1
        else:
            out[labels.out[2 + k]] = factor
            sizes.append(count)
        if w != WindowDimension(1):
            reaches.append(Reach(0, at, given[at], factor, step, -w.low, extent, w.base_dilation))

    def adapt(a: Attributes, dims: Sequence[Sequence[int]], needed: Found) -> Attributes:
        if not needed:
            return a
        return a.with_(window=Window(tuple(
            replace(_along(w, needed.get(3 + k)), size=dims[1][labels.rhs[2 + k]])
            for k, w in enumerate(windows)
        )))  # fmt: skip

    return Factors((_labels(lhs), _labels(rhs)), (_labels(out),), tuple(sizes),
                   frozenset(summed), None, adapt, tuple(reaches))  # fmt: skip
