"""Losses over many classes that compare the true ones with a sample of the others only."""

from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.graph.building import operation, result
from tfc.graph.constants import convert_to_tensor
from tfc.graph.functions.arithmetic import add, cast, log, multiply, subtract
from tfc.graph.functions.arrays import concat, expand_dims, reshape
from tfc.graph.functions.creation import ones_like, zeros_like
from tfc.graph.functions.cross_entropy import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
)
from tfc.graph.functions.embeddings import embedding_lookup
from tfc.graph.functions.products import matmul
from tfc.graph.functions.reductions import reduce_any, reduce_sum
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Tensor
from tfc.graph.types.dtypes import int64
from tfc.graph.variables.seeds import seeds

Sampled = tuple[Tensor, Tensor, Tensor]


def log_uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Sampled:
    """(sampled classes, expected counts of the true ones, and of the sampled ones).

    The chance of a class k is (log(k + 2) - log(k + 1)) / log(range_max + 1): classes are in the
    order of how frequent they are. Expected counts are those of samples of as many draws.

    Args:
        true_classes: int64 of shape (batch, num_true).
        unique: each class is sampled once at most.

    Raises:
        ShapeError: there are not so many classes, or the true ones have another shape.
    """
    classes = cast(convert_to_tensor(true_classes), int64)
    if not classes.shape.is_compatible_with([None, num_true]):
        raise ShapeError(f"true_classes has shape (batch, {num_true}), got {classes.shape}")
    stated = {"num_true": int(num_true), "num_sampled": int(num_sampled), "unique": bool(unique)}
    type = "LogUniformCandidateSampler"
    made = operation(type, [classes], name, range_max=int(range_max), **stated, **seeds(seed))
    return made.outputs[0], made.outputs[1], made.outputs[2]


def nce_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Sampled | None = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str = "nce_loss",
) -> Tensor:
    """The noise-contrastive loss of each row: is each class a true one, or a sampled one?

    Args:
        weights: a row for each class, (num_classes, dim), or its parts in a list.
        labels: the true classes, (batch, num_true).
        inputs: (batch, dim).
        sampled_values: what a sampler gave; `log_uniform_candidate_sampler`'s otherwise.
        remove_accidental_hits: sampled classes that are true ones do not count.
    """
    with get_default_graph().name_scope(name):
        logits, truth = _sampled_logits(
            weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
            remove_accidental_hits, partition_strategy, None,
        )  # fmt: skip
        losses = sigmoid_cross_entropy_with_logits(labels=truth, logits=logits)
        return reduce_sum(losses, 1)


def sampled_softmax_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Sampled | None = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_softmax_loss",
    seed: int | None = None,
) -> Tensor:
    """The cross entropy of each row with the softmax over true and sampled classes.

    Arguments are those of `nce_loss`.
    """
    with get_default_graph().name_scope(name):
        logits, truth = _sampled_logits(
            weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
            remove_accidental_hits, partition_strategy, seed,
        )  # fmt: skip
        return softmax_cross_entropy_with_logits_v2(labels=truth, logits=logits)


def _sampled_logits(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Sampled | None,
    without_hits: bool,
    strategy: str,
    seed: int | None,
) -> tuple[Tensor, Tensor]:
    """The logits of true and sampled classes less the logarithms of their expected counts.

    Returns:
        the logits, (batch, num_true + num_sampled), and what they should be as probabilities.
    """
    truth = cast(convert_to_tensor(labels), int64)
    x = convert_to_tensor(inputs)
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(
            truth, num_true, num_sampled, True, num_classes, seed
        )
    sampled, of_true, of_sampled = (
        result("StopGradient", convert_to_tensor(v)) for v in sampled_values
    )
    rows = embedding_lookup(weights, truth, strategy)
    right = reduce_sum(multiply(expand_dims(x, 1), rows), 2)
    others = matmul(x, embedding_lookup(weights, sampled, strategy), transpose_b=True)
    right = add(right, embedding_lookup(biases, truth, strategy))
    others = add(others, embedding_lookup(biases, sampled, strategy))
    if without_hits:
        others = add(others, _hits(truth, sampled, others))
    right, others = subtract(right, log(of_true)), subtract(others, log(of_sampled))
    wanted = [multiply(ones_like(right), 1.0 / num_true), zeros_like(others)]
    return concat([right, others], 1), concat(wanted, 1)


def _hits(truth: Tensor, sampled: Tensor, logits: Tensor) -> Tensor:
    """What takes the logits of sampled classes away that are true ones of their row."""
    is_hit = result("Equal", expand_dims(truth, 2), reshape(sampled, [1, 1, -1]))
    least = np.finfo(logits.dtype.as_numpy_dtype).min
    return multiply(cast(reduce_any(is_hit, 1), logits.dtype), least)
