"""Samples of operators that take boxes of high scores without those that overlap."""

from collections.abc import Iterator

import numpy as np
from operator_samples import DTYPES, Sample, known, of, some


def _boxes(shape, dtype: str, seed: int = 0) -> np.ndarray:
    """Boxes of corners in any order, in eighths, so that overlaps are often the same."""
    return (some((*shape, 4), "f", seed, 0, 2) / 2).astype(DTYPES[dtype])


def _scores(shape, dtype: str, seed: int = 0) -> np.ndarray:
    """Scores that differ."""
    count = int(np.prod(shape))
    order = np.random.RandomState(seed).permutation(count).reshape(shape)
    return (order / 64 + 1 / 16).astype(DTYPES[dtype])


def samples() -> Iterator[Sample]:
    for dtype in ("f", "h"):
        boxes, scores = _boxes((20,), dtype), _scores((20,), dtype)
        for most, overlap, least in ((6, 0.5, 0.1), (12, 0.25, 0.2), (30, 0.0, 0.0), (3, 1.0, 9.0)):
            bounds = (np.asarray(x, DTYPES[dtype]) for x in (overlap, least))
            yield of("NonMaxSuppressionV4", boxes, scores, known(most), *bounds,
                     pad_to_max_output_size=True)  # fmt: skip
        for overlap, width in ((0.5, 0.0), (0.5, 0.25), (1.0, 0.5)):
            bounds = (np.asarray(x, DTYPES[dtype]) for x in (overlap, 0.1, width))
            yield of("NonMaxSuppressionV5", boxes, scores, known(9), *bounds,
                     pad_to_max_output_size=True)  # fmt: skip
    half = np.float32([[0, 0, 1, 1], [0, 0, 1, 0.5], [0.5, 0, 0, 0], [1, 1, 0, 0]])
    bounds = (np.float32(0.5), np.float32(-np.inf))  # that some overlaps are equal to
    yield of("NonMaxSuppressionV4", half, np.float32([1, 4, 3, 2]), known(4), *bounds,
             pad_to_max_output_size=True)  # fmt: skip
    several, scores = _boxes((2, 12, 3), "f") * np.float32(1.5), _scores((2, 12, 3), "f")
    bounds = np.float32(0.3), np.float32(0.25)
    for sizes in ((4, 7), (3, 20), (20, 5), (2, 2)):
        counts = [known(n) for n in sizes]
        yield of("CombinedNonMaxSuppression", several, scores, *counts, *bounds)
        yield of("CombinedNonMaxSuppression", several[:, :, :1], scores, *counts, *bounds,
                 pad_per_class=True, clip_boxes=False)  # fmt: skip
