"""`tf.metrics`: numbers that say how good predictions are, over all runs since they were reset.

Each gives (value, update_op): fetching `update_op` counts a run in and gives the new value, `value`
is what was counted before the run. Counts are local variables, in METRIC_VARIABLES too; the
operation of `local_variables_initializer` sets them to 0.
"""

from collections.abc import Callable
from typing import Any

from tfc.errors import ShapeError
from tfc.graph.building import result
from tfc.graph.constants import convert_to_tensor
from tfc.graph.functions.arithmetic import abs as absolute
from tfc.graph.functions.arithmetic import (
    add,
    cast,
    div_no_nan,
    equal,
    logical_and,
    logical_not,
    multiply,
    sqrt,
    squared_difference,
    subtract,
)
from tfc.graph.functions.arrays import expand_dims, squeeze
from tfc.graph.functions.creation import size
from tfc.graph.functions.reductions import reduce_sum
from tfc.graph.operation import Tensor
from tfc.graph.scopes import add_to_collections
from tfc.graph.types.dtypes import bool_, float32
from tfc.graph.variables.initializers import Zeros
from tfc.graph.variables.keys import GraphKeys
from tfc.graph.variables.scopes import get_local_variable, variable_scope

Metric = tuple[Tensor, Tensor]


def mean(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The mean of all values, weighted; 0 before there are any.

    Args:
        weights: a scalar, or of the rank of `values`, each dimension the same or 1.
    """
    with variable_scope(name, "mean"):
        numbers = cast(convert_to_tensor(values), float32)
        total, count = _counter("total"), _counter("count")
        many = cast(size(numbers), float32)
        if weights is not None:
            weight = _spread(weights, numbers)
            numbers, many = multiply(numbers, weight), reduce_sum(weight)
        value = div_no_nan(convert_to_tensor(total), convert_to_tensor(count), name="value")
        updates = total.assign_add(reduce_sum(numbers)), count.assign_add(many)
        update = div_no_nan(*updates, name="update_op")
        return _kept(value, update, metrics_collections, updates_collections)


def _counter(name: str) -> Any:
    collections = [GraphKeys.METRIC_VARIABLES]
    return get_local_variable(name, [], float32, Zeros(), collections=collections)


def _spread(weights: Any, values: Tensor) -> Tensor:
    """Weights, one for each value.

    Raises:
        ShapeError: they are neither a scalar nor of the values' rank with fitting dimensions.
    """
    given = cast(convert_to_tensor(weights), float32)
    mine, theirs = given.shape.dims, values.shape.dims
    if mine and theirs is not None:
        fits = len(mine) == len(theirs) and all(
            m == 1 or None in (m, t) or m == t for m, t in zip(mine, theirs)
        )
        if not fits:
            raise ShapeError(
                f"weights can not be broadcast to values: weights have shape {given.shape}, values "
                f"{values.shape}; give a scalar, or dimensions that are 1 or those of the values"
            )
    return multiply(given, result("OnesLike", values))


def _kept(value: Tensor, update: Tensor, of_values: Any, of_updates: Any) -> Metric:
    if of_values:
        add_to_collections(of_values, value)
    if of_updates:
        add_to_collections(of_updates, update)
    return value, update


def _aligned(labels: Any, predictions: Any, weights: Any) -> tuple[Tensor, Tensor, Any]:
    """Labels and predictions of one rank: a last dimension of 1 that one alone has is dropped.

    Raises:
        ShapeError: their shapes are other ones.
    """
    made, truth = convert_to_tensor(predictions), convert_to_tensor(labels)
    ranks = made.shape.ndims, truth.shape.ndims
    if None not in ranks:
        difference = ranks[0] - ranks[1]  # pyright: ignore[reportOperatorIssue]
        if difference == 1 and made.shape.is_compatible_with(truth.shape.concatenate([1])):
            made = squeeze(made, [-1])
        elif difference == -1 and truth.shape.is_compatible_with(made.shape.concatenate([1])):
            truth = squeeze(truth, [-1])
    made.shape.assert_is_compatible_with(truth.shape)
    return truth, made, None if weights is None else _of_rank(weights, made)


def _of_rank(weights: Any, values: Tensor) -> Tensor:
    """Weights with a last dimension of 1 more or less, so that they have the values' rank."""
    given = convert_to_tensor(weights)
    ranks = given.shape.ndims, values.shape.ndims
    if not given.shape.dims or ranks[1] is None:
        return given
    if len(given.shape.dims) == ranks[1] + 1 and given.shape.dims[-1] == 1:
        return squeeze(given, [-1])
    return expand_dims(given, -1) if len(given.shape.dims) == ranks[1] - 1 else given


def accuracy(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """How many of the predictions are the labels, as a fraction."""
    truth, made, weight = _aligned(labels, predictions, weights)
    right = cast(equal(cast(made, truth.dtype), truth), float32)
    return mean(right, weight, metrics_collections, updates_collections, name or "accuracy")


def _mean_of(difference: Callable[[Tensor, Tensor], Tensor], called: str, words: str) -> Any:
    """The function for the mean of what is between predictions and labels."""

    def function(
        labels: Any,
        predictions: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Metric:
        truth, made, weight = _aligned(labels, predictions, weights)
        errors = difference(cast(made, float32), cast(truth, float32))
        return mean(errors, weight, metrics_collections, updates_collections, name or called)

    function.__name__ = function.__qualname__ = called
    function.__doc__ = words
    return function


mean_squared_error = _mean_of(
    squared_difference, "mean_squared_error", "The mean of the squares of the differences."
)
mean_absolute_error = _mean_of(
    lambda made, truth: absolute(subtract(made, truth)),
    "mean_absolute_error",
    "The mean of the absolute differences.",
)


def root_mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The root of the mean of the squares of the differences."""
    called = name or "root_mean_squared_error"
    value, update = mean_squared_error(labels, predictions, weights, name=called)
    return _kept(sqrt(value), sqrt(update), metrics_collections, updates_collections)


def _counted(label: bool, prediction: bool, called: str, words: str) -> Any:
    """The function that counts where labels and predictions are so."""

    def function(
        labels: Any,
        predictions: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Metric:
        with variable_scope(name, called):
            truth, made, weight = _aligned(labels, predictions, weights)
            found = logical_and(_as(truth, label), _as(made, prediction))
            numbers = cast(found, float32)
            if weight is not None:
                numbers = multiply(numbers, _spread(weight, numbers))
            count = _counter("count")
            value = result("Identity", convert_to_tensor(count))
            update = count.assign_add(reduce_sum(numbers))
            return _kept(value, update, metrics_collections, updates_collections)

    function.__name__ = function.__qualname__ = called
    function.__doc__ = words
    return function


def _as(values: Tensor, wanted: bool) -> Tensor:
    truth = cast(values, bool_)
    return truth if wanted else logical_not(truth)


true_positives = _counted(
    True, True, "true_positives", "How many are predicted to be true, and are, weighted."
)
true_negatives = _counted(
    False, False, "true_negatives", "How many are predicted to be false, and are, weighted."
)
false_positives = _counted(
    False, True, "false_positives", "How many are predicted to be true, but are not, weighted."
)
false_negatives = _counted(
    True, False, "false_negatives", "How many are predicted to be false, but are not, weighted."
)


def _fraction(missed: Callable[..., Metric], called: str, words: str) -> Any:
    """The function for true positives as a fraction of them and of what is wrong in one way."""

    def function(
        labels: Any,
        predictions: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Metric:
        with variable_scope(name, called):
            right = true_positives(labels, predictions, weights)
            wrong = missed(labels, predictions, weights)
            value, update = (
                div_no_nan(good, add(good, bad), name=which)
                for good, bad, which in zip(right, wrong, ("value", "update_op"))
            )
            return _kept(value, update, metrics_collections, updates_collections)

    function.__name__ = function.__qualname__ = called
    function.__doc__ = words
    return function


precision = _fraction(
    false_positives, "precision", "How many of those predicted to be true are, as a fraction."
)
recall = _fraction(
    false_negatives, "recall", "How many of those that are true are predicted so, as a fraction."
)
