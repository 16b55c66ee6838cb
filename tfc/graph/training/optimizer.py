"""What all optimizers have: gradients are computed, and then applied by each one's operation."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError, TraceError
from tfc.graph.constants import constant, convert_to_tensor
from tfc.graph.differentiation.gradients import gradients
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Operation, Tensor
from tfc.graph.types.dtypes import DType
from tfc.graph.variables.keys import GraphKeys
from tfc.graph.variables.listing import trainable_variables
from tfc.graph.variables.variable import Variable, outermost_graph, outside_of_scopes


class Optimizer:
    """Base of the optimizers; a subclass says which slots it has and which operation it applies."""

    GATE_NONE, GATE_OP, GATE_GRAPH = 0, 1, 2

    def __init__(self, use_locking: bool, name: str):
        if not name:
            raise ShapeError("Must specify the optimizer name")
        self._name = name
        self._slots: dict[str, dict[Variable, Variable]] = {}
        self._shared: dict[tuple[str, Any], Variable] = {}

    def get_name(self) -> str:
        """Its name, which its operations and slots have."""
        return self._name

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Sequence[Any] | None = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> Operation:
        """The operation that makes a step: gradients of the loss, applied to variables.

        Args:
            global_step: a variable that counts the steps.
            var_list: which variables; the trainable ones if left out.

        Raises:
            ValueError: the loss depends on none of the variables, or there are none.
        """
        found = self.compute_gradients(
            loss,
            var_list,
            gate_gradients,
            aggregation_method,
            colocate_gradients_with_ops,
            grad_loss,
        )
        if all(gradient is None for gradient, _ in found):
            raise ShapeError(
                "No gradients provided for any variable: the loss depends on none of "
                f"{[v.name for _, v in found]}"
            )
        return self.apply_gradients(found, global_step, name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Sequence[Any] | None = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        """Pairs (gradient or None, variable)."""
        if gate_gradients not in (Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH):
            raise ShapeError(f"gate_gradients must be GATE_NONE, _OP or _GRAPH: {gate_gradients!r}")
        loss = loss() if callable(loss) else loss
        variables = trainable_variables() if var_list is None else _flat(var_list)
        if not variables:
            raise ShapeError("No variables to optimize.")
        for variable in variables:
            if not isinstance(variable, Variable):
                raise TraceError(f"Argument is not a variable: {variable!r}")
        loss = convert_to_tensor(loss)
        if not loss.dtype.is_floating:
            raise ShapeError(f"Invalid type {loss.dtype.name} for {loss.name}, expected a float.")
        found = gradients(
            loss,
            variables,
            grad_ys=grad_loss,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            aggregation_method=aggregation_method,
        )
        return list(zip(found, variables))

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Operation:
        """The operation that applies gradients, of `compute_gradients` or changed ones.

        Raises:
            ValueError: there is none.
        """
        pairs = [(gradient, v) for gradient, v in grads_and_vars if gradient is not None]
        if not pairs:
            raise ShapeError("No gradients provided for any variable: there is none to apply.")
        graph = get_default_graph()
        self._create_slots([v for _, v in pairs])
        with graph.name_scope(name or self._name) as scope:
            self._prepare()
            steps = []
            for gradient, v in pairs:
                with graph.name_scope(f"update_{v.op.name}"):
                    steps.append(self._step(convert_to_tensor(gradient, v.dtype), v))
            if global_step is None:
                done = self._finish(steps, scope)
            else:
                with graph.control_dependencies([self._finish(steps, "update")]):
                    counted = _counted(global_step)
                    done = _group([counted], scope)
        graph.get_collection_ref(GraphKeys.TRAIN_OP).append(done)
        return done

    # --- what optimizers say

    def _create_slots(self, variables: Sequence[Variable]) -> None:
        """Make the variables that it keeps beside each variable."""

    def _prepare(self) -> None:
        """Make the tensors of its numbers."""

    def _apply(self, gradient: Tensor, v: Variable) -> Operation:
        """Apply a gradient to a variable."""
        raise NotImplementedError

    def _finish(self, steps: Sequence[Operation], name: str) -> Operation:
        """What has run once all steps have."""
        return _group(steps, name)

    # --- what they are given for that

    def _step(self, gradient: Tensor, v: Variable) -> Operation:
        step = self._apply(gradient, v)
        if v.constraint is None:
            return step
        with get_default_graph().control_dependencies([step]):
            return v.assign(v.constraint(v.read_value()), read_value=False)

    def _applied(
        self,
        type: str,
        v: Variable,
        slots: Sequence[str],
        inputs: Sequence[Any],
        **attributes: Any,
    ) -> Operation:
        """An operation that takes a variable and its slots, and numbers of the variable's dtype."""
        handles = [v.handle, *(self._slots[name][v].handle for name in slots)]
        numbers = [number_of(x, v.dtype) for x in inputs]
        attributes = {"T": v.dtype, "use_locking": False, **attributes}
        graph = get_default_graph()
        return graph.create_operation(type, [*handles, *numbers], attributes)

    def _slot(self, v: Variable, kind: str, name: str, value: float = 0.0) -> Variable:
        """A variable like another one, made once; its name is the other's and this one's."""
        slots = self._slots.setdefault(kind, {})
        if v not in slots:
            if not v.shape.is_fully_defined():
                raise ShapeError(f"a slot of {v.name} needs its shape, which is {v.shape}")
            filled = np.full(v.shape.known(), value, v.dtype.dtype)
            slots[v] = _untrained(lambda: constant(filled), f"{v.op.name}/{name}")
        return slots[v]

    def _number(self, name: str, value: float, like: Variable) -> Variable:
        """A scalar variable that all steps share."""
        key = (name, like.graph)
        if key not in self._shared:
            held = np.asarray(value, like.dtype.dtype)
            self._shared[key] = Variable(held, trainable=False, name=name)
        return self._shared[key]

    # --- slots, for users

    def get_slot(self, var: Any, name: str) -> Variable | None:
        """The variable of a kind that it keeps beside a variable, or None."""
        return self._slots.get(name, {}).get(var)

    def get_slot_names(self) -> list[str]:
        """The kinds of variables that it keeps."""
        return sorted(self._slots)

    def variables(self) -> list[Variable]:
        """The variables that it keeps."""
        found = [
            *self._shared.values(),
            *(v for kind in self._slots.values() for v in kind.values()),
        ]
        graph = get_default_graph()
        return sorted((v for v in found if v.graph is graph), key=lambda v: v.name)


def _untrained(initial: Callable[[], Tensor], name: str) -> Variable:
    graph = outermost_graph()
    with outside_of_scopes(graph), graph.name_scope(None):
        return Variable(initial, trainable=False, name=name)


def number_of(value: Any, dtype: DType) -> Tensor:
    """A rate or gradient as a tensor of a dtype; a tensor of another one is cast."""
    value = value() if callable(value) and not isinstance(value, Variable) else value
    tensor = convert_to_tensor(value) if hasattr(value, "dtype") else None
    if tensor is None:
        return convert_to_tensor(value, dtype)
    if tensor.dtype == dtype:
        return tensor
    attributes = {"SrcT": tensor.dtype, "DstT": dtype}
    return get_default_graph().create_operation("Cast", [tensor], attributes).outputs[0]


def _flat(values: Any) -> list[Any]:
    if isinstance(values, (list, tuple)):
        return [x for value in values for x in _flat(value)]
    return [values]


def _group(operations: Sequence[Operation], name: str) -> Operation:
    graph = get_default_graph()
    with graph.control_dependencies(operations):
        return graph.create_operation("NoOp", (), None, name)


def _counted(global_step: Any) -> Operation:
    if not isinstance(global_step, Variable):
        raise TraceError(f"global_step must be a variable, got {global_step!r}")
    return global_step.assign_add(1, read_value=False)
