"""The global step: the variable that counts steps of training."""

from typing import Any

from tfc.errors import ShapeError, TraceError
from tfc.graph.graph import Graph, get_default_graph
from tfc.graph.types.dtypes import int64
from tfc.graph.variables.initializers import Zeros
from tfc.graph.variables.keys import GraphKeys
from tfc.graph.variables.scopes import get_variable
from tfc.graph.variables.variable import Variable


def global_step(sess: Any, global_step_tensor: Any) -> int:
    """The number that a global step has in a session."""
    return int(sess.run(global_step_tensor))


def get_global_step(graph: Graph | None = None) -> Variable | None:
    """The global step of a graph, or None."""
    graph = graph or get_default_graph()
    found = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) > 1:
        raise TraceError(f"Multiple tensors in collection {GraphKeys.GLOBAL_STEP!r}")
    if found:
        return found[0]
    listed = [v for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES) if _is_step(v)]
    return listed[0] if listed else None


def _is_step(v: Any) -> bool:
    return isinstance(v, Variable) and v.op.name == "global_step"


def create_global_step(graph: Graph | None = None) -> Variable:
    """Make the global step of a graph.

    Raises:
        ValueError: it has one.
    """
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ShapeError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        collections = [GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP]
        return get_variable(
            GraphKeys.GLOBAL_STEP, (), int64, Zeros(), trainable=False, collections=collections
        )


def get_or_create_global_step(graph: Graph | None = None) -> Variable:
    """The global step of a graph, which is made if there is none."""
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


def assert_global_step(global_step_tensor: Any) -> None:
    """Check that a variable or tensor can be a global step: a scalar integer.

    Raises:
        TypeError: it cannot.
    """
    if not global_step_tensor.dtype.is_integer or global_step_tensor.shape.ndims not in (0, None):
        raise TraceError(f"a global step is a scalar integer, got {global_step_tensor!r}")
