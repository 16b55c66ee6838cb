"""Reduce-window and select-and-scatter: what a window sees of an array, and the way back.

Semantics: RW-1…RW-4 and SAS-1…SAS-5 of the operation semantics. As in XLA, positions in the padding
and between dilated elements are passed over, and the init value enters each window once, on the
left. Windows are taken in row-major order, and so are the elements of each.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfc.hlo.attributes.window import Window, require_window
from tfc.hlo.evaluation.scalar_computations import apply_to_elements
from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.op import (
    Attribute,
    Call,
    Op,
    Value,
    describe,
    register,
    require,
    require_array,
    require_computation,
)
from tfc.hlo.ops.contraction import one_or_tuple, reduced_operands
from tfc.hlo.shape import PRED, AnyShape, Shape
from tfc.hlo.traits import Accuracy, Category, Cost

Array = np.ndarray
Places = tuple[Any, ...]  # an open mesh of indices, as of np.ix_


def window_of(instruction: Instruction) -> Window:
    """The window of an instruction; a scalar's is left out in text."""
    return instruction.attributes.get("window", Window())


def _infer_reduce_window(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> AnyShape:
    operands, inits = reduced_operands("reduce-window", shapes)
    window, dims = a.get("window", Window()), operands[0].dims
    require_window("reduce-window", window, dims)
    require_computation(
        "reduce-window", "to_apply", a["to_apply"], [*inits, *inits], one_or_tuple(inits)
    )
    return one_or_tuple([Shape(o.element_type, window.counts(dims)) for o in operands])


def _evaluate_reduce_window(x: Instruction, values: Sequence[Value], call: Call) -> Value:
    count, window, to_apply = len(values) // 2, window_of(x), x["to_apply"]
    operands, inits = values[:count], values[count:]
    dims = np.shape(operands[0])
    running = window.cumulative(dims)
    if running is not None:
        results = _evaluate_running(x, operands, inits, *running, call)
        return results[0] if count == 1 else tuple(results)
    results = [np.broadcast_to(i, window.counts(dims)).copy() for i in inits]
    for at, place in _offsets(window, dims):
        seen = [*(r[at] for r in results), *(np.asarray(o)[place] for o in operands)]
        for result, combined in zip(results, apply_to_elements(to_apply, seen, call)):
            result[at] = combined
    return results[0] if count == 1 else tuple(results)


def _evaluate_running(
    x: Instruction,
    operands: Sequence[Array],
    inits: Sequence[Value],
    dimension: int,
    reverse: bool,
    call: Call,
) -> list[Array]:
    """A cumulative window: one step for each place along its dimension.

    In reverse the new element stands on the left, so that all stay in the order of the array.
    """
    rows = [np.moveaxis(o, dimension, 0) for o in operands]
    results = [np.empty(r.shape, r.dtype) for r in rows]
    total: list[Array] = list(inits)
    for step, place in enumerate(range(len(rows[0]))[:: -1 if reverse else 1]):
        here = [r[place] for r in rows]
        sides = [*here, *total] if reverse and step else [*total, *here]
        total = apply_to_elements(x["to_apply"], sides, call)
        for result, value in zip(results, total):
            result[place] = value
    return [np.moveaxis(r, 0, dimension) for r in results]


def _offsets(window: Window, dims: Sequence[int]) -> Iterator[tuple[Places, Places]]:
    """For each element of the window: the windows in which it lies in the array, and where there.

    Args:
        dims: the array's sizes.
    """
    for offset in np.ndindex(window.size):
        each = zip(window.dimensions, dims, window.counts(dims), offset)
        met = [d.meeting(n, count, k) for d, n, count, k in each]
        yield np.ix_(*(m[0] for m in met)), np.ix_(*(m[1] for m in met))


def _infer_select_and_scatter(
    shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None
) -> Shape:
    op = "select-and-scatter"
    operand, source, init = (require_array(op, s) for s in shapes)
    scalar, window = Shape(operand.element_type), a.get("window", Window())
    require(
        init == scalar and source.element_type == operand.element_type,
        op, "a source and a scalar init value of the operand's type", describe(shapes),
    )  # fmt: skip
    require_window(op, window, operand.dims)
    counts = window.counts(operand.dims)
    require(source.dims == counts, op, f"a source of dimensions {list(counts)}", source, "SAS-2")
    require_computation(op, "select", a["select"], [scalar, scalar], Shape(PRED))
    require_computation(op, "scatter", a["scatter"], [scalar, scalar], scalar)
    return operand


def _evaluate_select_and_scatter(x: Instruction, values: Sequence[Value], call: Call) -> Array:
    operand, source, init = (np.asarray(v) for v in values)
    offsets = list(enumerate(_offsets(window_of(x), operand.shape)))
    best = np.zeros(source.shape, operand.dtype)
    chosen = np.full(source.shape, -1)  # the number of the window's element that is selected
    for number, (at, place) in offsets:
        old, new = best[at], operand[place]
        (wins,) = apply_to_elements(x["select"], [old, new], call)
        keeps = wins & (chosen[at] >= 0)
        best[at], chosen[at] = np.where(keeps, old, new), np.where(keeps, chosen[at], number)
    result = np.full(operand.shape, init, operand.dtype)
    # One element of the window at a time never meets a place twice; the last one first, so that a
    # place meets its windows in row-major order.
    for number, (at, place) in reversed(offsets):
        (combined,) = apply_to_elements(x["scatter"], [result[place], source[at]], call)
        result[place] = np.where(chosen[at] == number, combined, result[place])
    return result


_WINDOW = Attribute("window", "window", required=False, default=Window())
# fmt: off
register(Op("reduce-window", None, _infer_reduce_window, _evaluate_reduce_window,
            (_WINDOW, Attribute("to_apply", "computation")),
            category=Category.REDUCTION, cost=Cost.OWN, accuracy=Accuracy.SUMMED,
            aligned=1, any_order=True))
register(Op("select-and-scatter", 3, _infer_select_and_scatter, _evaluate_select_and_scatter,
            (_WINDOW, Attribute("select", "computation"), Attribute("scatter", "computation")),
            category=Category.REDUCTION, cost=Cost.OWN, accuracy=Accuracy.APPROXIMATE,
            aligned=2, any_order=True))
# fmt: on
