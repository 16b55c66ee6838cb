"""Operators that find the places of numbers among numbers in order."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc import numpy as tnp
from tfc.graph.operators.registry import Attributes, Spec, operator
from tfc.graph.types.dtypes import as_dtype, int32


def _places(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(as_dtype(attributes.get("out_type", int32)), inputs[1].shape)]


@operator("LowerBound", infer=_places)
def lower_bound(sorted_inputs: Any, values: Any, out_type: Any = np.int32) -> Any:
    """How many numbers of a row in order are smaller than each value of the row beside it."""
    smaller = tnp.expand_dims(sorted_inputs, -2) < tnp.expand_dims(values, -1)
    return tnp.sum(smaller, axis=-1, dtype=as_dtype(out_type).dtype)


@operator("UpperBound", infer=_places)
def upper_bound(sorted_inputs: Any, values: Any, out_type: Any = np.int32) -> Any:
    """How many numbers of a row in order are no larger than each value of the row beside it."""
    smaller = tnp.expand_dims(sorted_inputs, -2) <= tnp.expand_dims(values, -1)
    return tnp.sum(smaller, axis=-1, dtype=as_dtype(out_type).dtype)


def _buckets(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(int32, inputs[0].shape)]


@operator("Bucketize", infer=_buckets)
def bucketize(input: Any, *, boundaries: Sequence[float]) -> Any:
    """How many boundaries are no larger than each element."""
    limits = np.asarray(boundaries, np.float32)
    wide = np.result_type(limits.dtype, input.dtype)
    at_least = tnp.astype(tnp.expand_dims(input, -1), wide) >= limits.astype(wide)
    return tnp.sum(at_least, axis=-1, dtype=np.dtype(np.int32))
