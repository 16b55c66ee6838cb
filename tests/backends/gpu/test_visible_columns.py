"""Which columns a block of attention's gradient goes along: never fewer than its lines need."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc import nn
from tfc.backends.gpu.attention.gradient_spec import gradient_in
from tfc.backends.gpu.attention.visible import Cut, Visible
from tfc.hlo import parse
from tfc.hlo.index_maps import evaluate_index
from tfc.passes.attention.scores import Scores

LOW = -1e30


def kernels(loss: Any, *arguments: np.ndarray) -> Iterator[Scores]:
    """The scores of the gradient's kernels: that of the rows, and that of the keys."""
    gradient = tfc.grad(loss, argnums=(0, 1, 2))
    compiled = tfc.jit(gradient, backend="gpu").lower(*arguments).compile()
    for computation in parse(compiled.as_text()).computations:
        if "attention" in computation.name:
            spec = gradient_in(computation)
            if spec is not None:
                yield spec.scores


def cuts(scores: Scores) -> tuple[str, tuple[Cut | None, Cut | None]]:
    """Rows or keys, and what is left out of the sums of the results."""
    (lines,) = {m.lines for m in scores.mixings}
    weights = [m.weights.value for m in scores.mixings]
    known = [s.reduce for s in scores.statistics]
    return lines, Visible(scores, lines).cuts(weights, [False] * len(weights), known)


@pytest.mark.parametrize(
    ("queries", "keys", "heads", "window", "causal"),
    [
        (40, 40, 1, None, True),
        (33, 70, 2, None, True),
        (70, 33, 1, (9, 4), False),
        (50, 50, 3, (7, 0), True),
        (20, 50, 1, (3, 25), False),
    ],
)
def test_columns_are_left_out_exactly_where_a_mask_hides_them(
    queries: int, keys: int, heads: int, window: tuple[int, int] | None, causal: bool
):
    def loss(q: Any, k: Any, v: Any) -> Any:
        return tnp.sum(
            nn.dot_product_attention(q, k, v, is_causal=causal, local_window_size=window) ** 2
        )

    of_keys = np.zeros((1, keys, 1, 8), np.float32)
    row, key = np.arange(queries * heads)[:, None] // heads, np.arange(keys)
    visible = np.ones((queries * heads, keys), bool)
    if causal:
        visible &= key <= row
    if window is not None:
        visible &= (row - window[0] <= key) & (key <= row + window[1])
    found = kernels(loss, np.zeros((1, queries, heads, 8), np.float32), of_keys, of_keys)
    seen = {}
    for lines, (before, behind) in map(cuts, found):
        lines_first = visible if lines == "r" else visible.T
        for line, columns in enumerate(lines_first):
            first = 0 if before is None else evaluate_index(before.column, {lines: line, "b": 0})
            end = len(columns)
            if behind is not None:
                end = min(end, evaluate_index(behind.column, {lines: line, "b": 0}))
            inside = np.flatnonzero(columns)
            if len(inside):
                assert (max(first, 0), end) == (inside[0], inside[-1] + 1)
            else:
                assert max(first, 0) >= end
        seen[lines] = (before is not None, behind is not None)
    has_first = window is not None
    assert seen == {"r": (has_first, True), "j": (True, has_first)}


@pytest.mark.parametrize("dtype", [np.int32, np.int8])
def test_a_mask_whose_numbers_do_not_fit_their_type_hides_nothing_that_is_known(dtype: Any):
    q = np.zeros((200, 8), np.float32)

    def loss(q: Any, k: Any, v: Any) -> Any:
        row, key = (tnp.arange(200).astype(dtype) for _ in range(2))
        seen = key[None, :] <= row[:, None]
        return tnp.sum(tnp.matmul(nn.softmax(tnp.where(seen, tnp.matmul(q, k.T), LOW)), v) ** 2)

    for _, found in map(cuts, kernels(loss, q, q, q)):
        assert (found == (None, None)) is (dtype == np.int8)


def test_weights_that_do_not_come_from_hidden_logits_are_all_needed():
    q = np.zeros((64, 8), np.float32)

    def loss(q: Any, k: Any, v: Any) -> Any:
        logits = tnp.matmul(q, k.T)
        seen = tnp.tri(64, dtype=bool)
        weights = nn.softmax(tnp.where(seen, logits, logits * 2))
        return tnp.sum(tnp.matmul(weights, v) ** 2)

    for lines, found in map(cuts, kernels(loss, q, q, q)):
        # The gradient of a logit is another one where the mask hides it, not 0.
        assert found == (None, None), lines
