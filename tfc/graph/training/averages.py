"""Moving averages of variables and of tensors."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError, TraceError
from tfc.graph.building import result
from tfc.graph.constants import constant, convert_to_tensor
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Operation, Tensor
from tfc.graph.training.optimizer import number_of
from tfc.graph.types.dtypes import float32
from tfc.graph.variables.keys import GraphKeys
from tfc.graph.variables.listing import moving_average_variables, trainable_variables
from tfc.graph.variables.variable import Variable, outermost_graph, outside_of_scopes


class ExponentialMovingAverage:
    """Averages in which older values count `decay` times as much at each step.

    With `num_updates` the decay is at most (1 + num_updates) / (10 + num_updates).
    """

    def __init__(
        self,
        decay: Any,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ):
        self._decay, self._updates, self._debias = decay, num_updates, zero_debias
        self.name = name
        self._averages: dict[Any, Variable] = {}

    def apply(self, var_list: Sequence[Any] | None = None) -> Operation:
        """The operation that lets the averages follow variables or tensors.

        Raises:
            TypeError: one holds no floats. ValueError: it is averaged already.
        """
        values = trainable_variables() if var_list is None else list(var_list)
        for value in values:
            if not value.dtype.is_floating:
                raise TraceError(f"The variables must be half, float, or double: {value.name}")
            if value in self._averages:
                raise ShapeError(f"Moving average already computed for: {value.name}")
            self._averages[value] = self._average(value)
        graph = get_default_graph()
        with graph.name_scope(self.name) as scope:
            decay = number_of(self._decay, float32)
            if self._updates is not None:
                count = number_of(self._updates, float32)
                share = result(
                    "RealDiv",
                    result("AddV2", number_of(1, float32), count),
                    result("AddV2", number_of(10, float32), count),
                )
                decay = result("Minimum", decay, share)
            changed = [self._followed(value, decay) for value in values]
            with graph.control_dependencies(changed):
                return graph.create_operation("NoOp", (), None, scope)

    def _followed(self, value: Any, decay: Tensor) -> Operation:
        average = self._averages[value]
        debias = self._debias or not isinstance(value, Variable)
        rest = result("Sub", number_of(1, average.dtype), number_of(decay, average.dtype))
        return assign_moving_average(average, value, None, debias, rest=rest).op

    def _average(self, value: Any) -> Variable:
        """The variable that holds the average of a variable or tensor."""
        graph = outermost_graph()
        is_variable = isinstance(value, Variable)
        if is_variable:
            graph.get_collection_ref(GraphKeys.MOVING_AVERAGE_VARIABLES).append(value)
        start = value.initialized_value() if is_variable else None
        with outside_of_scopes(graph), graph.name_scope(None):
            return Variable(
                (lambda: result("Identity", start)) if is_variable else _zeros_like(value),
                trainable=False,
                collections=[
                    GraphKeys.GLOBAL_VARIABLES,
                    *([] if is_variable else [GraphKeys.MOVING_AVERAGE_VARIABLES]),
                ],
                name=f"{value.op.name}/{self.name}",
            )

    def average(self, var: Any) -> Variable | None:
        """The variable that holds the average of a variable, or None."""
        return self._averages.get(var)

    def average_name(self, var: Any) -> str:
        """The name of the average's operation, whether there is one or not."""
        if var in self._averages:
            return self._averages[var].op.name
        return f"{var.op.name}/{self.name}"

    def variables_to_restore(
        self, moving_avg_variables: Sequence[Any] | None = None
    ) -> dict[str, Any]:
        """What a `Saver` takes to let variables have their averages' values."""
        averaged = moving_avg_variables
        if averaged is None:
            averaged = [*trainable_variables(), *moving_average_variables()]
        found = {self.average_name(v): v for v in dict.fromkeys(averaged)}
        others = get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES)
        for v in others:
            if v not in averaged and v.op.name not in found:
                found[v.op.name] = v
        return found


def assign_moving_average(
    variable: Variable,
    value: Any,
    decay: Any,
    zero_debias: bool = True,
    name: str | None = None,
    rest: Tensor | None = None,
) -> Tensor:
    """Let a variable follow a value: variable -= (variable - value) * (1 - decay).

    Args:
        zero_debias: take the variable's beginning at zero out of the average.
        rest: 1 - decay, where it is known.
    """
    value = convert_to_tensor(value)
    if rest is None:
        kept = number_of(decay, variable.dtype)
        rest = result("Sub", number_of(1.0, variable.dtype), kept)
    with get_default_graph().name_scope(name or "AssignMovingAvg"):
        if not zero_debias:
            return variable.assign_sub((variable.value() - value) * rest)
        return variable.assign(_debiased(variable, value, rest))


def _debiased(variable: Variable, value: Tensor, rest: Tensor) -> Tensor:
    """The average without the zeros that it began as, kept in variables of its own."""
    graph = outermost_graph()
    kind = variable.dtype
    with outside_of_scopes(graph), graph.name_scope(None):
        zeros = _zeros_like(variable)
        biased = Variable(zeros, trainable=False, name=f"{variable.op.name}/biased")
        count = Variable(
            np.zeros((), kind.dtype), trainable=False, name=f"{variable.op.name}/local_step"
        )
    summed = biased.assign_sub((biased.value() - value) * rest)
    steps = count.assign_add(1.0)
    one = number_of(1.0, kind)
    return summed / (one - result("Pow", one - rest, steps))


def _zeros_like(value: Any) -> Any:
    if not value.shape.is_fully_defined():
        raise ShapeError(f"the average of {value.name} needs its shape, which is {value.shape}")
    return lambda: constant(np.zeros(value.shape.known(), value.dtype.dtype))
