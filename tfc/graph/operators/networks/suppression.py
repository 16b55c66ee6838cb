"""Operators that take the boxes of the highest scores, without those that overlap one of them.

How many are taken decides no shape: results are as long as there may be boxes, zeros behind them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc import nn
from tfc import numpy as tnp
from tfc.errors import ShapeError, UnsupportedError
from tfc.frontend.control.loops import fori_loop
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import evaluable
from tfc.graph.operators.registry import Attributes, Spec, known_numbers, operator
from tfc.graph.types.dtypes import int32
from tfc.graph.types.shapes import TensorShape

_INT = np.dtype(np.int32)


def _area(low: Any, high: Any) -> Any:
    sides = high - low
    return sides[..., 0] * sides[..., 1]


def _overlap(box: Any, boxes: Any) -> Any:
    """The area that a box shares with others over that of both: [..., 1, 4], [..., n, 4].

    Boxes are any two opposite corners, y and x of each.
    """
    corners = [(x[..., :2], x[..., 2:]) for x in (box, boxes)]
    low, high = ([f(*pair) for pair in corners] for f in (tnp.minimum, tnp.maximum))
    areas = [_area(*pair) for pair in zip(low, high)]
    first = tnp.maximum(*low)
    shared = _area(first, tnp.maximum(tnp.minimum(*high), first))
    is_box = tnp.logical_and(areas[0] > 0, areas[1] > 0)
    return tnp.where(is_box, shared / tnp.where(is_box, areas[0] + areas[1] - shared, 1), 0)


def _taken(
    boxes: Any, scores: Any, count: int, most_overlap: Any, least_score: Any, width: Any = None
) -> tuple[Any, Any, Any]:
    """(numbers of boxes, their scores, how many there are): [..., count], [..., count], [...].

    Args:
        boxes: [..., n, 4]. scores: [..., n].
        most_overlap: boxes that overlap one that was taken by more are not taken.
        width: lower the scores of others by Gauss's function of their overlap, of this width.
    """
    number = np.arange(scores.shape[-1], dtype=np.int32)
    none = np.asarray(-np.inf, scores.dtype)

    def step(at: Any, state: Any) -> Any:
        left, places, values, found = state
        best = tnp.astype(tnp.argmax(left, axis=-1), _INT)
        value = tnp.max(left, axis=-1)
        is_there = value > least_score
        is_best = number == best[..., None]
        box = tnp.sum(tnp.where(is_best[..., None], boxes, 0), axis=-2, keepdims=True)
        overlap = _overlap(box, boxes)
        if width is not None:
            scale = tnp.where(width > 0, -0.5 / tnp.where(width > 0, width, 1), 0)
            lowered = left * tnp.exp(scale * overlap * overlap)
        else:
            lowered = left
        is_out = tnp.logical_or(is_best, overlap > most_overlap)
        left = tnp.where(is_there[..., None], tnp.where(is_out, none, lowered), left)
        is_here = np.arange(count, dtype=np.int32) == at
        is_set = tnp.logical_and(is_there[..., None], is_here)
        return (
            left,
            tnp.where(is_set, best[..., None], places),
            tnp.where(is_set, value[..., None], values),
            found + tnp.astype(is_there, _INT),
        )

    several = (*scores.shape[:-1], count)
    begun = (
        tnp.where(scores > least_score, scores, none),
        tnp.zeros(several, _INT),
        tnp.zeros(several, scores.dtype),
        tnp.zeros(several[:-1], _INT),
    )
    return fori_loop(0, min(count, scores.shape[-1]), step, begun)[1:]


def _count(size: Any) -> int:
    (count,) = known_numbers(size, "the number of boxes to take")
    if count < 0:
        raise ShapeError(f"the number of boxes to take is 0 or more, got {count}")
    return count


def _check_padded(is_padded: bool) -> None:
    if not is_padded:
        raise UnsupportedError(
            "how many boxes are taken depends on data, so that the result has no fixed shape: "
            "state pad_to_max_output_size"
        )


def _places(inputs: Sequence[Any]) -> Spec:
    size = inputs[2].known_value()
    return int32, TensorShape([None if size is None else int(size)])


def _numbers_and_count(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [_places(inputs), (int32, TensorShape(()))]


@operator("NonMaxSuppressionV4", types="T T - T_threshold", known=(2,), infer=_numbers_and_count)
def suppressed(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any,
    score_threshold: Any,
    *,
    pad_to_max_output_size: bool = False,
) -> list[Any]:
    """(the numbers of the boxes, how many there are)."""
    _check_padded(pad_to_max_output_size)
    count = _count(max_output_size)

    def chosen(*given: Any) -> list[Any]:
        x, y, *bounds = map(as_tensor, given)
        bounds = [tnp.astype(z, x.dtype) for z in bounds]
        places, _, found = _taken(x, y, count, *bounds)
        return [places, found]

    return evaluable(chosen)(boxes, scores, iou_threshold, score_threshold)


def _with_scores(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    places = _places(inputs)
    return [places, (inputs[1].dtype, places[1]), (int32, TensorShape(()))]


@operator("NonMaxSuppressionV5", types="T T - T T T", known=(2,), infer=_with_scores)
def softly_suppressed(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any,
    score_threshold: Any,
    soft_nms_sigma: Any,
    *,
    pad_to_max_output_size: bool = False,
) -> list[Any]:
    """(the numbers of the boxes, their scores, how many there are).

    Scores of others are lowered by overlaps if sigma is above 0.
    """
    _check_padded(pad_to_max_output_size)
    count = _count(max_output_size)

    def chosen(*given: Any) -> list[Any]:
        x, y, *bounds = map(as_tensor, given)
        return list(_taken(x, y, count, *bounds))

    return evaluable(chosen)(boxes, scores, iou_threshold, score_threshold, soft_nms_sigma)


def _of_all_classes(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    dims = inputs[1].shape.dims
    batch, _, classes = (None, None, None) if dims is None else dims
    each, most = (x.known_value() for x in inputs[2:4])
    size = None if most is None else int(most)
    if attributes.get("pad_per_class", False):
        known = None not in (size, each, classes)
        size = min(int(size), int(each) * int(classes)) if known else None  # type: ignore[arg-type]
    float32 = inputs[0].dtype
    rows = [batch, size]
    return [
        (float32, TensorShape([*rows, 4])), (float32, TensorShape(rows)),
        (float32, TensorShape(rows)), (int32, TensorShape([batch])),
    ]  # fmt: skip


@operator("CombinedNonMaxSuppression", types="-", known=(2, 3), infer=_of_all_classes)
def suppressed_by_class(
    boxes: Any,
    scores: Any,
    max_output_size_per_class: Any,
    max_total_size: Any,
    iou_threshold: Any,
    score_threshold: Any,
    *,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
) -> list[Any]:
    """(boxes, scores, classes, how many there are) of the highest scores in each example.

    boxes: [batch, n, classes or 1, 4]. scores: [batch, n, classes].
    """
    each, most = _count(max_output_size_per_class), _count(max_total_size)
    batch, n, classes = scores.shape
    size = min(most, each * classes) if pad_per_class else most

    def chosen(*given: Any) -> list[Any]:
        x, y, *bounds = map(as_tensor, given)
        by_class = tnp.swapaxes(y, 1, 2)
        corners = tnp.broadcast_to(tnp.swapaxes(x, 1, 2), (batch, classes, n, 4))
        places, values, found = _taken(corners, by_class, each, *bounds)
        is_found = np.arange(each, dtype=np.int32) < found[..., None]
        ranked = tnp.reshape(tnp.where(is_found, values, -np.inf), (batch, classes * each))
        kept = min(size, classes * each)
        best, order = nn.top_k(ranked, kept)
        rows = tnp.reshape(
            tnp.take_along_axis(corners, tnp.expand_dims(places, -1), axis=2),
            (batch, classes * each, 4),
        )
        rows = tnp.take_along_axis(rows, tnp.expand_dims(order, -1), axis=1)
        rows = tnp.clip(rows, 0, 1) if clip_boxes else rows
        is_kept = tnp.isfinite(best)
        parts = [
            tnp.where(tnp.expand_dims(is_kept, -1), rows, 0), tnp.where(is_kept, best, 0),
            tnp.where(is_kept, tnp.astype(order // each, y.dtype), 0),
        ]  # fmt: skip
        padding = [(0, 0), (0, size - kept)]
        made = [tnp.pad(part, (*padding, (0, 0))[: part.ndim]) for part in parts]
        return [*made, tnp.sum(is_kept, axis=1, dtype=_INT)]

    return evaluable(chosen)(boxes, scores, iou_threshold, score_threshold)
