"""The optimizers, by TensorFlow's names, arguments, slots and operations."""

from collections.abc import Callable, Sequence
from typing import Any

from tfc.errors import ShapeError
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Operation, Tensor
from tfc.graph.training.optimizer import Optimizer, number_of
from tfc.graph.variables.variable import Variable

Number = float | Tensor | Variable | Callable[[], Any]


class GradientDescentOptimizer(Optimizer):
    """Steps against the gradient."""

    def __init__(
        self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent"
    ):
        super().__init__(use_locking, name)
        self._rate = learning_rate

    def _apply(self, gradient: Tensor, v: Variable) -> Operation:
        return self._applied("ResourceApplyGradientDescent", v, (), (self._rate, gradient))


class ProximalGradientDescentOptimizer(Optimizer):
    """Steps against the gradient with penalties of the variables' sizes and squares."""

    def __init__(
        self,
        learning_rate: Any,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ):
        super().__init__(use_locking, name)
        self._rate = learning_rate
        self._penalties = (l1_regularization_strength, l2_regularization_strength)

    def _apply(self, gradient: Tensor, v: Variable) -> Operation:
        numbers = (self._rate, *self._penalties, gradient)
        return self._applied("ResourceApplyProximalGradientDescent", v, (), numbers)


class MomentumOptimizer(Optimizer):
    """Steps along a decaying sum of the gradients, or where that leads: Nesterov's."""

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ):
        super().__init__(use_locking, name)
        self._rate, self._momentum, self._nesterov = learning_rate, momentum, use_nesterov

    def _create_slots(self, variables: Sequence[Variable]) -> None:
        for v in variables:
            self._slot(v, "momentum", self._name)

    def _apply(self, gradient: Tensor, v: Variable) -> Operation:
        return self._applied(
            "ResourceApplyMomentum",
            v,
            ("momentum",),
            (self._rate, gradient, self._momentum),
            use_nesterov=self._nesterov,
        )


class AdamOptimizer(Optimizer):
    """Steps of averages of the gradients over averages of their squares, both unbiased."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ):
        super().__init__(use_locking, name)
        self._rate, self._epsilon = learning_rate, epsilon
        self._betas = (beta1, beta2)

    def _create_slots(self, variables: Sequence[Variable]) -> None:
        first = min(variables, key=lambda v: v.name)
        for number, beta in enumerate(self._betas, 1):
            self._number(f"beta{number}_power", _value(beta), first)
        for v in variables:
            self._slot(v, "m", self._name)
            self._slot(v, "v", self._name)

    def _powers(self) -> tuple[Variable, Variable]:
        graph = get_default_graph()
        return (self._shared["beta1_power", graph], self._shared["beta2_power", graph])

    def _apply(self, gradient: Tensor, v: Variable) -> Operation:
        numbers = (*self._powers(), self._rate, *self._betas, self._epsilon, gradient)
        return self._applied("ResourceApplyAdam", v, ("m", "v"), numbers, use_nesterov=False)

    def _finish(self, steps: Sequence[Operation], name: str) -> Operation:
        graph = get_default_graph()
        powers = [power.value() for power in self._powers()]
        with graph.control_dependencies(steps):
            changed = [
                power.assign(value * number_of(beta, power.dtype), read_value=False)
                for power, value, beta in zip(self._powers(), powers, self._betas)
            ]
        return super()._finish([*steps, *changed], name)


class AdagradOptimizer(Optimizer):
    """Steps of gradients over the root of the sum of their squares."""

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ):
        if initial_accumulator_value <= 0:
            raise ShapeError(
                f"initial_accumulator_value must be positive: {initial_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self._rate, self._initial = learning_rate, initial_accumulator_value

    def _create_slots(self, variables: Sequence[Variable]) -> None:
        for v in variables:
            self._slot(v, "accumulator", self._name, self._initial)

    def _apply(self, gradient: Tensor, v: Variable) -> Operation:
        numbers = (self._rate, gradient)
        return self._applied("ResourceApplyAdagrad", v, ("accumulator",), numbers)


class ProximalAdagradOptimizer(AdagradOptimizer):
    """Adagrad's steps with penalties of the variables' sizes and squares."""

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ):
        super().__init__(learning_rate, initial_accumulator_value, use_locking, name)
        self._penalties = (l1_regularization_strength, l2_regularization_strength)

    def _apply(self, gradient: Tensor, v: Variable) -> Operation:
        numbers = (self._rate, *self._penalties, gradient)
        return self._applied("ResourceApplyProximalAdagrad", v, ("accumulator",), numbers)


class AdadeltaOptimizer(Optimizer):
    """Steps whose size the averages of earlier steps and gradients give."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.95,
        epsilon: float = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ):
        super().__init__(use_locking, name)
        self._numbers = (learning_rate, rho, epsilon)

    def _create_slots(self, variables: Sequence[Variable]) -> None:
        for v in variables:
            self._slot(v, "accum", self._name)
            self._slot(v, "accum_update", self._name)

    def _apply(self, gradient: Tensor, v: Variable) -> Operation:
        numbers = (*self._numbers, gradient)
        return self._applied("ResourceApplyAdadelta", v, ("accum", "accum_update"), numbers)


class RMSPropOptimizer(Optimizer):
    """Steps of gradients over the root of the average of their squares, or of their variance."""

    def __init__(
        self,
        learning_rate: Any,
        decay: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ):
        super().__init__(use_locking, name)
        self._numbers = (learning_rate, decay, momentum, epsilon)
        self._centered = centered

    def _create_slots(self, variables: Sequence[Variable]) -> None:
        for v in variables:
            self._slot(v, "rms", self._name, 1.0)
            if self._centered:
                self._slot(v, "mg", self._name)
            self._slot(v, "momentum", self._name)

    def _apply(self, gradient: Tensor, v: Variable) -> Operation:
        numbers = (*self._numbers, gradient)
        if self._centered:
            slots = ("mg", "rms", "momentum")
            return self._applied("ResourceApplyCenteredRMSProp", v, slots, numbers)
        return self._applied("ResourceApplyRMSProp", v, ("rms", "momentum"), numbers)


class FtrlOptimizer(Optimizer):
    """Follow the regularized leader: sparse weights by the l1 penalty."""

    def __init__(
        self,
        learning_rate: Any,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
    ):
        _check_ftrl(
            learning_rate_power,
            initial_accumulator_value,
            l1_regularization_strength,
            l2_regularization_strength,
            l2_shrinkage_regularization_strength,
        )
        super().__init__(use_locking, name)
        self._rate, self._power = learning_rate, learning_rate_power
        self._initial = initial_accumulator_value
        self._penalties = (l1_regularization_strength, l2_regularization_strength)
        self._shrinkage = l2_shrinkage_regularization_strength
        self._names = (accum_name or name, linear_name or name)

    def _create_slots(self, variables: Sequence[Variable]) -> None:
        for v in variables:
            self._slot(v, "accum", self._names[0], self._initial)
            self._slot(v, "linear", self._names[1])

    def _apply(self, gradient: Tensor, v: Variable) -> Operation:
        numbers = (gradient, self._rate, *self._penalties)
        if self._shrinkage > 0:
            numbers = (*numbers, self._shrinkage, self._power)
            return self._applied("ResourceApplyFtrlV2", v, ("accum", "linear"), numbers)
        return self._applied("ResourceApplyFtrl", v, ("accum", "linear"), (*numbers, self._power))


def _check_ftrl(power: float, initial: float, *penalties: float) -> None:
    """Check that FTRL can have its numbers.

    Raises:
        ValueError: it cannot.
    """
    if initial < 0:
        raise ShapeError(f"initial_accumulator_value {initial} needs to be positive or zero")
    if power > 0:
        raise ShapeError(f"learning_rate_power {power} needs to be negative or zero")
    for penalty in penalties:
        if penalty < 0:
            raise ShapeError(f"regularization strength {penalty} needs to be positive or zero")


def _value(beta: Any) -> float:
    """A number that is a power's first value.

    Raises:
        ValueError: it is a tensor.
    """
    if isinstance(beta, (Tensor, Variable)):
        raise ShapeError("beta1 and beta2 must be numbers")
    return float(beta)
