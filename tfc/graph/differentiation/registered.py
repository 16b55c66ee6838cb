"""The table of gradient functions: (operation, *gradients of results) -> those of its inputs."""

from collections.abc import Callable
from typing import Any

from tfc.graph.operation import Operation

GradientFunction = Callable[..., Any]


class Registered:
    """Gradient functions by the name of an operator, or by one made up for an override map.

    None stands for operators without gradient.
    """

    def __init__(self) -> None:
        self._functions: dict[str, GradientFunction | None] = {}

    def enter(self, name: str, function: GradientFunction | None) -> None:
        """Enter a function.

        Raises:
            KeyError: the name has one already.
        """
        if not isinstance(name, str):
            raise TypeError(f"the name of an operator is a string, got {name!r}")
        if name in self._functions:
            raise KeyError(f"Registering two gradient with name {name!r}!")
        self._functions[name] = function

    def __contains__(self, name: str) -> bool:
        return name in self._functions

    def function_of(self, op: Operation) -> tuple[bool, GradientFunction | None]:
        """Whether the operation's gradient is stated, and the function; None for no gradient.

        Raises:
            LookupError: an override names a gradient that is not registered.
        """
        override = op.attributes.get("_gradient_op_type")
        if override is not None and override not in self._functions:
            raise LookupError(
                f"No gradient defined for operation {op.name!r} (op type: {op.type}): no gradient "
                f"is registered under {override!r}"
            )
        name = op.type if override is None else override
        return name in self._functions, self._functions.get(name)


registered = Registered()


class RegisterGradient:
    """A decorator: the function is the gradient of an operator, or of what an override map names.

    @RegisterGradient("Square")
    def gradient(op, grad): return 2 * op.inputs[0] * grad
    """

    def __init__(self, op_type: str):
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, function: GradientFunction) -> GradientFunction:
        """Enter the function, and give it back.

        Raises:
            KeyError: the name has a gradient already.
        """
        registered.enter(self._op_type, function)
        return function


def NotDifferentiable(op_type: str) -> None:
    """Say that an operator has no gradient: what flows into it from above ends there.

    Raises:
        KeyError: the operator has a gradient already.
    """
    registered.enter(op_type, None)


NoGradient = NotDifferentiable


def _passed_on(op: Operation, *gradients: Any) -> list[Any]:
    return list(gradients)


def _to_first(op: Operation, gradient: Any) -> list[Any]:
    return [gradient, *[None] * (len(op.inputs) - 1)]


# A variable's gradient is collected at its handle, whose tensor it has the element type of.
for _name in ("Identity", "Snapshot", "IdentityN", "PlaceholderWithDefault"):
    registered.enter(_name, _passed_on)
for _name in ("ReadVariableOp", "Print", "CheckNumerics", "EnsureShape"):
    registered.enter(_name, _to_first)
for _name in ("StopGradient", "Const", "Placeholder", "Shape", "Size", "Rank", "VarHandleOp"):
    registered.enter(_name, None)
# Steps, whose derivative is zero where there is one: TensorFlow, too, has none for them.
for _name in ("Floor", "Ceil", "Round", "Rint", "FloorDiv", "TruncateDiv"):
    registered.enter(_name, None)
for _name in ("OnesLike", "ZerosLike", "OneHot"):
    registered.enter(_name, None)
for _name in ("PyFunc", "PyFuncStateless", "VarIsInitializedOp", "Assert", "NoOp"):
    registered.enter(_name, None)


@RegisterGradient("PreventGradient")
def _prevented(op: Operation, gradient: Any) -> Any:
    message = op.attributes.get("message") or "a gradient is asked for where there must be none"
    raise LookupError(f"Gradient explicitly disabled. Reason: {message}")
