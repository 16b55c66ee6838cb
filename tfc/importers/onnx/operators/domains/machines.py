"""ai.onnx.ml: support vector machines."""

from itertools import combinations
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc import nn
from tfc.errors import ModelFileError, UnsupportedError
from tfc.frontend.control.loops import fori_loop
from tfc.importers.onnx.operators.domains.learning import labels_of, transformed
from tfc.importers.onnx.table import ML, operator

_STEPS = 100  # of the search for probabilities, as many as LIBSVM takes at most
_LEAST = 1e-7  # probability of one class against another


def kernel(x: Any, vectors: np.ndarray, kind: str, params: Any) -> Any:
    """The products of rows with support vectors by a kernel."""
    gamma, coefficient, degree = (*params, 0.0, 0.0, 3.0)[:3] if params else (0.0, 0.0, 3.0)
    if kind == "RBF":
        apart = x[:, None] - vectors
        return tnp.exp(-gamma * tnp.sum(apart * apart, -1))
    product = tnp.matmul(x, vectors.T)
    if kind == "POLY":
        return (gamma * product + coefficient) ** float(degree)
    if kind == "SIGMOID":
        return tnp.tanh(gamma * product + coefficient)
    return product


@operator("SVMRegressor", domain=ML)
def svm_regressor(
    x: Any, *, coefficients: Any, kernel_params: Any = None, kernel_type: str = "LINEAR",
    n_supports: int = 0, one_class: int = 0, post_transform: str = "NONE", rho: Any,
    support_vectors: Any = None,
) -> Any:  # fmt: skip
    """A weighted sum of kernels with support vectors."""
    wide = tnp.astype(x, np.float32)
    weights = np.array(coefficients, np.float32)
    if n_supports:
        vectors = np.array(support_vectors, np.float32).reshape(n_supports, -1)
        made = tnp.matmul(kernel(wide, vectors, kernel_type, kernel_params), weights[:, None])
    else:
        made = tnp.matmul(wide, weights[:, None])
    made = made + np.float32(rho[0])
    if one_class:
        made = tnp.where(made > 0, np.float32(1), np.float32(-1))
    return transformed(made, post_transform)


@operator("SVMClassifier", domain=ML)
def svm_classifier(
    x: Any, *, classlabels_ints: Any = None, classlabels_strings: Any = None, coefficients: Any,
    kernel_params: Any = None, kernel_type: str = "LINEAR", post_transform: str = "NONE",
    prob_a: Any = None, prob_b: Any = None, rho: Any, support_vectors: Any = None,
    vectors_per_class: Any = None,
) -> Any:  # fmt: skip
    """The class that most pairs of classes decide for, and the decisions or probabilities.

    Raises:
        UnsupportedError: it has no support vectors, or a transform that has no meaning for it.
        ModelFileError: its lists have lengths that do not fit.
    """
    labels = classlabels_ints or classlabels_strings or ()
    if not vectors_per_class:
        raise UnsupportedError(
            "an SVMClassifier without vectors is a LinearClassifier: export that"
        )
    count = len(vectors_per_class)
    pairs = list(combinations(range(count), 2))
    if len(labels) != count or len(rho) < len(pairs):
        raise ModelFileError(f"an SVMClassifier of {count} classes has {len(labels)} labels")
    wide = tnp.astype(x, np.float32)
    vectors = np.array(support_vectors, np.float32).reshape(sum(vectors_per_class), -1)
    weights = _weights_of_pairs(coefficients, vectors_per_class, pairs)
    made = tnp.matmul(kernel(wide, vectors, kernel_type, kernel_params), weights)
    made = made + np.array(rho[: len(pairs)], np.float32)
    if prob_a:
        found = _probabilities(made, count, pairs, prob_a, prob_b)
        places = tnp.astype(tnp.argmax(found, -1), np.int64)
        scores = transformed(found, post_transform)
    else:
        votes = np.zeros((2, len(pairs), count), np.float32)
        for number, pair in enumerate(pairs):
            votes[0, number, pair[0]] = votes[1, number, pair[1]] = 1
        wins = tnp.astype(made > 0, np.float32)
        total = tnp.matmul(wins, votes[0]) + tnp.matmul(1 - wins, votes[1])
        places = tnp.astype(tnp.argmax(total, -1), np.int64)
        if count == 2 and post_transform not in ("NONE", "LOGISTIC"):
            raise UnsupportedError(f"an SVMClassifier of two classes takes no {post_transform}")
        both = tnp.concatenate([-made, made], -1) if count == 2 else made
        scores = transformed(both, post_transform)
    return labels_of(places, classlabels_ints, classlabels_strings), scores


def _weights_of_pairs(coefficients: Any, counts: Any, pairs: list[tuple[int, int]]) -> np.ndarray:
    """The weights [vectors, pairs] of support vectors in the decision between two classes."""
    ends = np.cumsum([0, *counts])
    given = np.array(coefficients, np.float32).reshape(len(counts) - 1, -1)
    made = np.zeros((ends[-1], len(pairs)), np.float32)
    for number, (a, b) in enumerate(pairs):
        made[ends[a] : ends[a + 1], number] = given[b - 1, ends[a] : ends[a + 1]]
        made[ends[b] : ends[b + 1], number] = given[a, ends[b] : ends[b + 1]]
    return made


def _probabilities(
    scores: Any, count: int, pairs: list[tuple[int, int]], slopes: Any, offsets: Any
) -> Any:
    """The probabilities of classes that fit those of each pair best, found as LIBSVM does.

    With r[i, j] the probability of i against j, p minimizes the sum of (r[j, i] p[i] - r[i, j]
    p[j])², by one p[i] at a time, until the gradient is as small as 0.005 / classes.
    """
    wins = nn.sigmoid(-(scores * np.array(slopes, np.float32) + np.array(offsets, np.float32)))
    wins = tnp.clip(wins, _LEAST, 1 - _LEAST)
    r: dict[tuple[int, int], Any] = {}
    for number, (a, b) in enumerate(pairs):
        r[a, b], r[b, a] = wins[:, number], 1 - wins[:, number]
    q = tnp.stack([tnp.stack([
        sum(r[k, i] ** 2 for k in range(count) if k != i) if i == j else -r[j, i] * r[i, j]
        for j in range(count)], -1) for i in range(count)], -2)  # fmt: skip

    def step(_: Any, p: Any) -> Any:
        slope = tnp.sum(q * p[:, None, :], -1)
        value = tnp.sum(p * slope, -1)
        is_done = tnp.max(tnp.absolute(slope - value[:, None]), -1) < 0.005 / count
        made = p
        for i in range(count):
            change = (value - slope[:, i]) / q[:, i, i]
            scale = 1 + change
            value = (value + change * (change * q[:, i, i] + 2 * slope[:, i])) / scale / scale
            slope = (slope + change[:, None] * q[:, i]) / scale[:, None]
            made = (made + change[:, None] * np.eye(count, dtype=np.float32)[i]) / scale[:, None]
        return tnp.where(is_done[:, None], p, made)

    return fori_loop(0, _STEPS, step, tnp.ones((scores.shape[0], count), np.float32) / count)
