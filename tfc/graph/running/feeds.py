"""What a run is given: arrays in place of tensors, which fit them."""

from typing import Any

import numpy as np

from tfc.errors import ShapeError, TraceError
from tfc.graph.constants import as_array
from tfc.graph.graph import Graph
from tfc.graph.operation import Tensor


def fed_tensor(graph: Graph, key: Any) -> Tensor:
    """The tensor that a key of a feed_dict stands for.

    Raises:
        TypeError: it stands for none. ValueError: it is of another graph, or cannot be fed.
    """
    try:
        found = graph.as_graph_element(key, allow_operation=False)
    except (TypeError, KeyError, ValueError) as error:
        kind = TraceError if isinstance(error, TypeError) else ShapeError
        raise kind(f"Cannot interpret feed_dict key as Tensor: {error.args[0]}") from None
    assert isinstance(found, Tensor)
    if not graph.is_feedable(found):
        raise ShapeError(f"Tensor {found.name} may not be fed.")
    if found.dtype.name in ("resource", "variant"):
        raise ShapeError(f"Tensor {found.name} may not be fed: a {found.dtype.name} has no value")
    return found


def fed_array(tensor: Tensor, value: Any) -> np.ndarray:
    """The value that is fed for a tensor, as an array of its dtype.

    Raises:
        TypeError: it is no array, or a graph's tensor.
    """
    if isinstance(value, Tensor) or hasattr(value, "_as_graph_element"):
        raise TraceError(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include "
            f"Python scalars, strings, lists, numpy ndarrays; got {value!r} for {tensor.name}"
        )
    if tensor.dtype.numpy is None:
        return np.asarray(value, object)
    try:
        return np.asarray(as_array(value, tensor.dtype))
    except TraceError as error:
        raise TraceError(f"Cannot feed {tensor.name}: {error}") from None


def check_shape(tensor: Tensor, array: np.ndarray) -> None:
    """Check that a tensor may have an array's shape.

    Raises:
        ValueError: it may not.
    """
    if not tensor.shape.is_compatible_with(array.shape):
        raise ShapeError(
            f"Cannot feed value of shape {array.shape} for Tensor {tensor.name!r}, which has shape "
            f"{str(tensor.shape)!r}"
        )
