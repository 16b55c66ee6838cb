"""Assertions and what shows values: checked while the graph is built where values are known."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError, TraceError
from tfc.graph.building import alike, operation, result
from tfc.graph.constants import convert_to_tensor
from tfc.graph.functions.creation import no_op
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Operation, Tensor
from tfc.graph.types.dtypes import as_dtype
from tfc.graph.types.shapes import TensorShape


def Assert(
    condition: Any, data: Sequence[Any], summarize: int | None = None, name: str | None = None
) -> Operation:
    """An operation that ends the run with an error which shows data, unless a condition is true.

    Raises:
        ValueError: the condition is known, and is not true.
    """
    with get_default_graph().name_scope(name or "Assert") as scope:
        shown, words = _shown(data)
        known = convert_to_tensor(condition)
        _refuse(known, words)
        more = {"summarize": 3 if summarize is None else summarize}
        return operation("Assert", [known, *shown], scope + "Assert", **more)


def _shown(data: Sequence[Any]) -> tuple[list[Any], str]:
    """Tensors to show, and the words between them."""
    words = [x for x in data if isinstance(x, (str, bytes))]
    text = " ".join(w.decode() if isinstance(w, bytes) else w for w in words)
    return [convert_to_tensor(x) for x in data if not isinstance(x, (str, bytes))], text


def _refuse(condition: Tensor, words: str) -> None:
    value = condition.known_value()
    if value is not None and not np.all(value):
        raise ShapeError(f"an assertion is false whatever is fed: {words or condition.name}")


def Print(
    input_: Any,
    data: Sequence[Any],
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """The first tensor; when it is computed, a message and data are written to standard error."""
    with get_default_graph().name_scope(name or "Print") as scope:
        shown, words = _shown(data)
        more: dict[str, Any] = {"message": (message or "") + words}
        more["first_n"] = -1 if first_n is None else first_n
        more["summarize"] = 3 if summarize is None else summarize
        return operation("Print", [input_, *shown], scope, **more).outputs[0]


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    """The tensor, which holds numbers only; a run that finds NaN or an infinity in it fails."""
    return result("CheckNumerics", tensor, name=name, message=message)


def verify_tensor_all_finite(t: Any, msg: str, name: str | None = None) -> Tensor:
    """`check_numerics`."""
    return check_numerics(t, msg, name or "VerifyFinite")


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Tensor:
    """The tensor, which has a shape."""
    return result("EnsureShape", x, name=name, shape=TensorShape(shape))


def _comparison(type: str, called: str, words: str) -> Callable[..., Operation]:
    def function(
        x: Any,
        y: Any,
        data: Sequence[Any] | None = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        with get_default_graph().name_scope(name or called):
            x, y = alike(x, y, names=("x", "y"))
            holds = result(type, x, y)
            every = _all(holds)
            given = data or [message or "", f"{x.name} {words} {y.name} is false:", x, y]
            return Assert(every, given, summarize)

    function.__name__ = called
    function.__doc__ = f"An operation that ends the run with an error unless x {words} y."
    return function


def _all(condition: Tensor) -> Tensor:
    rank = condition.shape.ndims
    if rank is None:
        axes: Any = result("Range", np.int32(0), result("Rank", condition), np.int32(1))
    else:
        axes = np.arange(rank, dtype=np.int32)
    return result("All", condition, axes, keep_dims=False)


assert_equal = _comparison("Equal", "assert_equal", "==")
assert_none_equal = _comparison("NotEqual", "assert_none_equal", "!=")
assert_less = _comparison("Less", "assert_less", "<")
assert_less_equal = _comparison("LessEqual", "assert_less_equal", "<=")
assert_greater = _comparison("Greater", "assert_greater", ">")
assert_greater_equal = _comparison("GreaterEqual", "assert_greater_equal", ">=")


def _sign(type: str, called: str, words: str) -> Callable[..., Operation]:
    def function(
        x: Any,
        data: Sequence[Any] | None = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        with get_default_graph().name_scope(name or called):
            x = convert_to_tensor(x, name="x")
            holds = result(type, x, result("ZerosLike", x))
            given = data or [message or "", f"{x.name} is not {words}:", x]
            return Assert(_all(holds), given, summarize)

    function.__name__ = called
    function.__doc__ = f"An operation that ends the run with an error unless x is {words}."
    return function


assert_positive = _sign("Greater", "assert_positive", "positive")
assert_negative = _sign("Less", "assert_negative", "negative")
assert_non_negative = _sign("GreaterEqual", "assert_non_negative", "0 or more")
assert_non_positive = _sign("LessEqual", "assert_non_positive", "0 or less")


def _ranked(x: Any, holds: Callable[[int], bool], words: str, message: str | None) -> Operation:
    """Check a rank that is known; one that is not is told by what is fed.

    Raises:
        ValueError: the rank is another.
    """
    tensor = convert_to_tensor(x)
    rank = tensor.shape.ndims
    if rank is None:
        raise ShapeError(f"the rank of {tensor.name} is not known: state it with set_shape")
    if not holds(rank):
        text = f"{message} " if message else ""
        raise ShapeError(f"{text}{tensor.name} must have rank {words}, got shape {tensor.shape}")
    return no_op("static_checks_determined_all_ok")


def assert_rank(
    x: Any,
    rank: int,
    data: Any = None,
    summarize: Any = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Check the rank of a tensor while the graph is built."""
    with get_default_graph().name_scope(name or "assert_rank"):
        return _ranked(x, lambda n: n == int(rank), str(rank), message)


def assert_rank_at_least(
    x: Any,
    rank: int,
    data: Any = None,
    summarize: Any = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Check that a tensor has so many dimensions at least, while the graph is built."""
    with get_default_graph().name_scope(name or "assert_rank_at_least"):
        return _ranked(x, lambda n: n >= int(rank), f"{rank} at least", message)


def assert_type(
    tensor: Any, tf_type: Any, message: str | None = None, name: Any = None
) -> Operation:
    """Check the dtype of a tensor while the graph is built.

    Raises:
        TypeError: it is another.
    """
    found, wanted = convert_to_tensor(tensor), as_dtype(tf_type)
    if found.dtype != wanted:
        raise TraceError(f"{message or ''} {found.name} must be of type {wanted.name}".strip())
    return no_op("statically_determined_correct_type")
