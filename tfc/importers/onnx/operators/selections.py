"""What selects among boxes, and counts n-grams."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.errors import UnsupportedError
from tfc.importers.onnx.table import operator


def _overlap(box: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The area that a box shares with others over that of both; boxes are y, x, y, x in order."""
    first = np.maximum(box[:2], others[:, :2])
    last = np.minimum(box[2:], others[:, 2:])
    shared = np.maximum(last - first, 0).prod(1)
    area = (box[2:] - box[:2]).prod() + (others[:, 2:] - others[:, :2]).prod(1)
    return shared / np.maximum(area - shared, 1e-12)


def _chosen(boxes: np.ndarray, scores: np.ndarray, most: int, overlap: float) -> Iterator[int]:
    """The boxes by their scores, without those that overlap one that was taken."""
    order = np.argsort(-scores, kind="stable")
    taken: list[int] = []
    for k in order:
        if len(taken) == most:
            return
        if not taken or (_overlap(boxes[k], boxes[taken]) <= overlap).all():
            taken.append(int(k))
            yield int(k)


@operator(
    "NonMaxSuppression",
    since=10,
    needs=(
        "boxes",
        "scores",
        "max_output_boxes_per_class",
        "iou_threshold",
        "score_threshold",
    ),
)
def non_max_suppression(
    boxes: Any, scores: Any, max_output_boxes_per_class: Any = None, iou_threshold: Any = None,
    score_threshold: Any = None, *, center_point_box: int = 0,
) -> Any:  # fmt: skip
    """Of known boxes those of the highest scores that overlap little: batch, class, box."""
    given = np.asarray(boxes)
    if center_point_box:
        middle, size = given[..., [1, 0]], given[..., [3, 2]]
        corners = np.concatenate([middle - size / 2, middle + size / 2], -1)
    else:
        pairs = np.sort(np.stack([given[..., :2], given[..., 2:]], -1), -1)
        corners = np.concatenate([pairs[..., 0], pairs[..., 1]], -1)
    most, overlap, least = (
        None if v is None else np.asarray(v).reshape(-1)[0]
        for v in (max_output_boxes_per_class, iou_threshold, score_threshold)
    )
    found = []
    for n, classes in enumerate(np.asarray(scores)):
        for c, values in enumerate(classes):
            places = np.arange(len(values)) if least is None else np.flatnonzero(values > least)
            picked = _chosen(corners[n][places], values[places], int(most or 0), overlap or 0.0)
            found += [(n, c, places[k]) for k in picked]
    return np.array(found, np.int64).reshape(-1, 3)


@operator("TfIdfVectorizer", since=9)
def count_ngrams(
    x: Any, *, max_gram_length: int, max_skip_count: int, min_gram_length: int, mode: str,
    ngram_counts: tuple[int, ...], ngram_indexes: tuple[int, ...],
    pool_int64s: tuple[int, ...] | None = None, pool_strings: Any = None,
    weights: tuple[float, ...] | None = None,
) -> Any:  # fmt: skip
    """How often each of some n-grams is in a row, or whether it is, weighted.

    Raises:
        UnsupportedError: the n-grams are of text.
    """
    if pool_int64s is None:
        raise UnsupportedError("n-grams of text are not supported")
    rows = x[None] if x.ndim == 1 else x
    width = max(ngram_indexes) + 1
    columns: list[Any] = [tnp.zeros(rows.shape[0], np.float32)] * width
    bounds = [*ngram_counts, len(pool_int64s)]
    number = 0
    for size, (start, end) in enumerate(pairwise(bounds), 1):
        for first in range(start, end, size):
            place, gram = ngram_indexes[number], pool_int64s[first : first + size]
            number += 1
            if min_gram_length <= size <= max_gram_length:
                columns[place] = columns[place] + _occurrences(rows, gram, max_skip_count)
    counts = tnp.stack(columns, 1)
    factors = np.ones(width, np.float32)
    if weights is not None:
        factors[list(ngram_indexes)] = weights
    made = counts if mode == "TF" else (counts if mode == "TFIDF" else counts > 0) * factors
    made = tnp.astype(made, np.float32)
    return made[0] if x.ndim == 1 else made


def _occurrences(rows: Any, gram: tuple[int, ...], most_skipped: int) -> Any:
    """How often an n-gram is in each row, with up to so many elements between its own."""
    total: Any = 0
    for distance in range(1, most_skipped + 2):
        count = rows.shape[1] - distance * (len(gram) - 1)
        if count <= 0 or (len(gram) == 1 and distance > 1):
            break
        here: Any = True
        for k, token in enumerate(gram):
            start = k * distance
            here = tnp.logical_and(here, rows[:, start : start + count] == token)
        total = total + tnp.sum(here, 1)
    return tnp.astype(total, np.float32) if not isinstance(total, int) else np.float32(0)
