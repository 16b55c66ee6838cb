"""Which variables there are, and operations that initialize them or say whether they are."""

from collections.abc import Sequence
from typing import Any

from tfc.graph.building import result
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Operation, Tensor
from tfc.graph.variables.keys import GraphKeys
from tfc.graph.variables.variable import Variable


def global_variables(scope: str | None = None) -> list[Any]:
    """The variables of the default graph, of those whose names match `scope` at their beginning."""
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def all_variables() -> list[Any]:
    """The variables of the default graph."""
    return global_variables()


def local_variables(scope: str | None = None) -> list[Any]:
    """The local variables: temporary ones, of metrics for example."""
    return get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Any]:
    """The variables that inference needs."""
    return get_default_graph().get_collection(GraphKeys.MODEL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Any]:
    """The variables that optimizers change if nothing else is said."""
    return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Any]:
    """The variables of which moving averages are kept."""
    return get_default_graph().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def variables_initializer(var_list: Sequence[Any], name: str = "init") -> Operation:
    """An operation that gives variables their initial values."""
    graph = get_default_graph()
    with graph.control_dependencies([v.initializer for v in var_list]):
        return graph.create_operation("NoOp", (), None, name)


def global_variables_initializer() -> Operation:
    """An operation that gives all variables their initial values."""
    return variables_initializer(global_variables())


def initialize_all_variables() -> Operation:
    """An operation that gives all variables their initial values."""
    return global_variables_initializer()


def local_variables_initializer() -> Operation:
    """An operation that gives the local variables their initial values."""
    return variables_initializer(local_variables())


def is_variable_initialized(variable: Variable) -> Tensor:
    """Whether a variable has a value in the session that runs it."""
    return result("VarIsInitializedOp", variable.handle, name="IsVariableInitialized")


def report_uninitialized_variables(
    var_list: Sequence[Any] | None = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """The names of the variables that have no value: a run gives an array of bytes objects.

    Args:
        var_list: which may be named; all and the local ones if left out.
    """
    variables = [*global_variables(), *local_variables()] if var_list is None else list(var_list)
    with get_default_graph().name_scope(name):
        known = [is_variable_initialized(v) for v in variables]
        names = tuple(v.op.name for v in variables)
        return result("UninitializedNames", *known, names=names, name="names")
