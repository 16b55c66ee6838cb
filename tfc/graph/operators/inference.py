"""What is known of results beforehand: dtypes, and shapes that may be unknown in part.

There are no shape functions for most operators: the operator's own function is traced with abstract
inputs. Where dimensions are unknown it is traced twice, with other sizes in their places, and the
dimensions of the result that differ are unknown too.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError, TfcError, TraceError
from tfc.frontend.abstract import ShapeDtypeStruct, eval_shape
from tfc.graph.operators.registry import Attributes, Operator, Spec, UnknownValueError
from tfc.graph.types import shapes
from tfc.graph.types.dtypes import DType, as_dtype, bool_
from tfc.graph.types.shapes import TensorShape

# Sizes in place of unknown ones; they have many divisors, as reshapes ask for some.
_STAND_INS = (5040, 55440)
SMALL = 12  # where the dtype alone is asked for


def infer(operator: Operator, inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    """The dtype and shape of each result of an operation.

    Args:
        inputs: graph tensors: `dtype`, `shape`, and `known_value()`, an array or None.

    Raises:
        ShapeError: no inputs of these shapes are taken.
    """
    if operator.infer is not None:
        return list(operator.infer(inputs, attributes))
    return infer_by_tracing(operator, inputs, attributes)


def infer_by_tracing(
    operator: Operator, inputs: Sequence[Any], attributes: Attributes
) -> list[Spec]:
    """What the operator's function tells when it is called with abstract inputs."""
    values = known_values(operator, inputs)
    unknown = [x for x, value in zip(inputs, values) if value is None]
    if any(values[n] is None for n in operator.known if n < len(inputs)) or any(
        x.shape.dims is None for x in unknown
    ):
        return _without_shapes(operator, inputs, values, attributes)
    try:
        if all(x.shape.is_fully_defined() for x in unknown):
            return _traced(operator, inputs, values, attributes, 0)
        found = [_traced(operator, inputs, values, attributes, n) for n in _STAND_INS]
    except UnknownValueError:
        return _without_shapes(operator, inputs, values, attributes)
    except (ShapeError, TraceError):
        if all(x.shape.is_fully_defined() for x in unknown):
            raise
        return _without_shapes(operator, inputs, values, attributes)
    return [(dtype, _as_known(shape.common(other))) for (dtype, shape), (_, other) in zip(*found)]


def _as_known(shape: TensorShape) -> TensorShape:
    """Without the zeros: such dimensions are differences that the sizes assumed made negative."""
    return shape if shape.dims is None else TensorShape(n or None for n in shape.dims)


def _without_shapes(
    operator: Operator,
    inputs: Sequence[Any],
    values: Sequence[np.ndarray | None],
    attributes: Attributes,
) -> list[Spec]:
    """Results of unknown shape, with the dtypes that inputs of the first rank that fits give."""
    for rank in range(6):
        try:
            found = _traced(operator, inputs, values, attributes, SMALL, rank)
        except (TfcError, IndexError, TypeError, ValueError):  # it takes more dimensions
            continue
        return [(dtype, TensorShape(None)) for dtype, _ in found]
    stated = attributes.get("dtype") or attributes.get("DstT") or attributes.get("out_type")
    dtype = as_dtype(stated) if stated is not None else inputs[0].dtype
    return [(dtype, TensorShape(None))] * operator_results(operator, attributes)


def known_values(operator: Operator, inputs: Sequence[Any]) -> list[np.ndarray | None]:
    """Of each input its value, where the operator asks for it and it is known."""
    asked = (*operator.known, *operator.hints)
    return [x.known_value() if n in asked else None for n, x in enumerate(inputs)]


def of_unknown(
    operator: Operator,
    values: Sequence[np.ndarray | None],
    attributes: Attributes,
    **more: Any,
) -> Callable[..., list[Any]]:
    """The operator as a function of those inputs alone whose values are not known."""

    def call(*unknown: Any) -> list[Any]:
        rest = iter(unknown)
        given = [next(rest) if value is None else value for value in values]
        return operator(given, attributes, **more)

    return call


def _traced(
    operator: Operator,
    inputs: Sequence[Any],
    values: Sequence[np.ndarray | None],
    attributes: Attributes,
    stand_in: int,
    rank: int | None = None,
) -> list[Spec]:
    """What tracing tells, with a number for each unknown dimension; or all inputs of a rank."""

    def dims(shape: TensorShape) -> tuple[int, ...]:
        listed = shape.as_list() if rank is None else [None] * rank
        return tuple(stand_in if n is None else n for n in listed)

    unknown = [x for x, value in zip(inputs, values) if value is None]
    abstract = [ShapeDtypeStruct(dims(x.shape), x.dtype.dtype) for x in unknown]
    found = eval_shape(of_unknown(operator, values, attributes), *abstract)
    return [(as_dtype(x.dtype), TensorShape(x.shape)) for x in found]


def operator_results(operator: Operator, attributes: Attributes) -> int:
    """How many results an operation has, where its function cannot be asked."""
    for name in ("num", "num_split", "N_results"):
        if name in attributes and name in operator.keywords:
            return int(attributes[name])
    return 1


def elementwise(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    """`infer` of elementwise operators whose result has the inputs' dtype."""
    return [(inputs[0].dtype, shapes.broadcast([x.shape for x in inputs]))]


def comparison(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    """`infer` of elementwise operators whose result is boolean."""
    return [(bool_, shapes.broadcast([x.shape for x in inputs]))]


def same(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    """`infer` of operators whose result is like their first input."""
    return [(inputs[0].dtype, inputs[0].shape)]


def stated(attributes: Attributes) -> Spec:
    """What the attributes dtype and shape say."""
    dtype: DType = as_dtype(attributes["dtype"])
    return dtype, TensorShape(attributes.get("shape"))
