"""Functions of `nn` that compare predictions with labels, and find the largest predictions."""

from typing import Any

from tfc.errors import ShapeError
from tfc.graph.building import alike, operation, result
from tfc.graph.constants import convert_to_tensor
from tfc.graph.functions.activations import along_last
from tfc.graph.functions.arithmetic import add, multiply, negative, subtract
from tfc.graph.functions.arrays import reshape
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Tensor


def _check_by_name(sentinel: Any, function: str, *values: Any) -> None:
    """Check that logits and labels were passed by name.

    Raises:
        ValueError: they were not, or one is missing.
    """
    if sentinel is not None:
        raise ShapeError(f"call {function} with named arguments (labels=…, logits=…, …)")
    if any(value is None for value in values):
        raise ShapeError("both labels and logits must be provided")


def softmax_cross_entropy_with_logits_v2(
    _sentinel: Any = None,
    labels: Any = None,
    logits: Any = None,
    axis: Any = None,
    name: str | None = None,
    dim: Any = None,
) -> Tensor:
    """The cross entropy between labels, probabilities, and the softmax of logits, along an axis."""
    _check_by_name(_sentinel, "softmax_cross_entropy_with_logits_v2", labels, logits)
    along = -1 if axis is None and dim is None else axis if axis is not None else dim
    with get_default_graph().name_scope(name or "softmax_cross_entropy_with_logits") as scope:
        logits, labels = alike(logits, labels, names=("logits", "labels"))
        logits.shape.assert_is_compatible_with(labels.shape)
        if along != -1:
            logits, labels = (_last(x, along) for x in (logits, labels))
        rank = logits.shape.ndims
        if rank == 2:
            made = operation("SoftmaxCrossEntropyWithLogits", [logits, labels], scope)
            return made.outputs[0]
        classes = _last_size(logits)
        flat = [reshape(x, [-1, classes]) for x in (logits, labels)]
        loss = operation("SoftmaxCrossEntropyWithLogits", flat).outputs[0]
        return _as_rows_of(loss, logits, scope)


def _last(x: Tensor, axis: int) -> Tensor:
    moved: list[Tensor] = []
    along_last(x, axis, lambda v, _: moved.append(v) or v)
    return moved[0]


def _last_size(x: Tensor) -> Any:
    dims = x.shape.dims
    if dims is not None and dims[-1] is not None:
        return dims[-1]
    return result("Shape", x)[-1]


def _as_rows_of(loss: Tensor, x: Tensor, name: str) -> Tensor:
    """A number for each row, in the shape that a tensor has without its last dimension."""
    dims = x.shape.dims
    if dims is not None and None not in dims[:-1]:
        return reshape(loss, [n for n in dims[:-1] if n is not None], name)
    made = reshape(loss, result("Shape", x)[:-1], name)
    if dims is not None:
        made.set_shape(dims[:-1])
    return made


def softmax_cross_entropy_with_logits(
    _sentinel: Any = None,
    labels: Any = None,
    logits: Any = None,
    dim: int = -1,
    name: str | None = None,
    axis: Any = None,
) -> Tensor:
    """`softmax_cross_entropy_with_logits_v2`, whose labels are constants to gradients."""
    _check_by_name(_sentinel, "softmax_cross_entropy_with_logits", labels, logits)
    with get_default_graph().name_scope(name or "softmax_cross_entropy_with_logits_sg") as scope:
        logits, labels = alike(logits, labels, names=("logits", "labels_stop_gradient"))
        constant_labels = result("StopGradient", labels, name="labels_stop_gradient")
        return softmax_cross_entropy_with_logits_v2(
            labels=constant_labels, logits=logits, axis=dim if axis is None else axis, name=scope
        )


def sparse_softmax_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """The cross entropy between classes, a number each, and the softmax of logits."""
    _check_by_name(_sentinel, "sparse_softmax_cross_entropy_with_logits", labels, logits)
    type = "SparseSoftmaxCrossEntropyWithLogits"
    with get_default_graph().name_scope(name or type) as scope:
        labels = convert_to_tensor(labels)
        logits = convert_to_tensor(logits)
        known = logits.shape.dims is not None and labels.shape.dims is not None
        if known and logits.shape.ndims != (labels.shape.ndims or 0) + 1:
            raise ShapeError(
                f"Rank mismatch: rank of labels (received {labels.shape.ndims}) should equal rank "
                f"of logits minus 1 (received {logits.shape.ndims})"
            )
        if known:
            logits.shape[:-1].assert_is_compatible_with(labels.shape)
        if logits.shape.ndims == 2:
            return operation(type, [logits, labels], scope).outputs[0]
        flat = reshape(logits, [-1, _last_size(logits)])
        loss = operation(type, [flat, reshape(labels, [-1])]).outputs[0]
        made = reshape(loss, result("Shape", labels), scope)
        made.set_shape(labels.shape)
        return made


def sigmoid_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """The cross entropy between probabilities and the sigmoids of logits, each by itself."""
    _check_by_name(_sentinel, "sigmoid_cross_entropy_with_logits", labels, logits)
    with get_default_graph().name_scope(name or "logistic_loss") as scope:
        logits, labels = alike(logits, labels, names=("logits", "labels"))
        _check_alike(logits, labels)
        size = result("Abs", logits)
        linear = subtract(result("Relu", logits), multiply(logits, labels))
        return add(linear, result("Log1p", result("Exp", negative(size))), name=scope)


def _check_alike(logits: Tensor, labels: Tensor) -> None:
    if not logits.shape.is_compatible_with(labels.shape):
        raise ShapeError(
            f"logits and labels must have the same shape ({logits.shape} vs {labels.shape})"
        )


def weighted_cross_entropy_with_logits(
    targets: Any, logits: Any, pos_weight: Any, name: str | None = None
) -> Tensor:
    """`sigmoid_cross_entropy_with_logits` in which what is to be 1 weighs more."""
    with get_default_graph().name_scope(name or "logistic_loss") as scope:
        logits, targets = alike(logits, targets, names=("logits", "targets"))
        _check_alike(logits, targets)
        weight = add(1, multiply(subtract(convert_to_tensor(pos_weight, logits.dtype), 1), targets))
        tail = result("Log1p", result("Exp", negative(result("Abs", logits))))
        tail = add(tail, result("Relu", negative(logits)))
        linear = multiply(subtract(1, targets), logits)
        return add(linear, multiply(weight, tail), name=scope)


def log_poisson_loss(
    targets: Any, log_input: Any, compute_full_loss: bool = False, name: str | None = None
) -> Tensor:
    """The negative logarithm of the probability of counts, for logarithms of rates."""
    with get_default_graph().name_scope(name or "log_poisson_loss"):
        log_input, targets = alike(log_input, targets)
        loss = subtract(result("Exp", log_input), multiply(log_input, targets))
        if not compute_full_loss:
            return loss
        two_pi = multiply(6.283185307179586, targets)
        stirling = subtract(multiply(targets, result("Log", targets)), targets)
        stirling = add(stirling, multiply(0.5, result("Log", two_pi)))
        small = result("Less", targets, convert_to_tensor(1, targets.dtype))
        zero = result("ZerosLike", targets)
        return add(loss, result("Select", small, zero, stirling))


def top_k(
    input: Any, k: Any = 1, sorted: bool = True, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """(values, indices) of the largest elements along the last axis, largest first."""
    made = operation("TopKV2", [input, k], name, sorted=sorted).outputs
    return made[0], made[1]


def in_top_k(predictions: Any, targets: Any, k: int, name: str | None = None) -> Tensor:
    """Whether the class of each row is among the k with the largest predictions."""
    return result("InTopK", predictions, targets, name=name, k=int(k))
