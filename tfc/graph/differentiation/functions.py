"""What is made of gradients: stop_gradient, custom_gradient, hessians."""

from collections.abc import Callable
from functools import wraps
from itertools import count
from typing import Any

from tfc.errors import ShapeError, TraceError
from tfc.graph.building import operation, result
from tfc.graph.constants import convert_to_tensor
from tfc.graph.differentiation.gradients import gradients
from tfc.graph.differentiation.registered import RegisterGradient, registered
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Operation, Tensor


def stop_gradient(input: Any, name: str | None = None) -> Tensor:
    """The tensor itself, which is a constant to `gradients`."""
    return result("StopGradient", input, name=name)


def prevent_gradient(input: Any, message: str = "", name: str | None = None) -> Tensor:
    """The tensor itself; asking for a gradient through it raises LookupError."""
    return result("PreventGradient", input, name=name, message=message)


_numbers = count()


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tensors whose gradient it states itself.

    Args:
        f: (*tensors) -> (result or tuple of results, function of the results' gradients that gives
            the gradient of each tensor).
    """

    @wraps(f)
    def wrapper(*args: Any, **named: Any) -> Any:
        inputs = [convert_to_tensor(x) for x in args]
        made = f(*inputs, **named)
        if not isinstance(made, tuple) or len(made) != 2 or not callable(made[1]):
            raise TraceError(
                f"custom_gradient requires a function that returns (result, gradient function), "
                f"got {made!r}"
            )
        value, gradient = made
        results = [convert_to_tensor(x) for x in _listed(value)]
        name = f"CustomGradient-{next(_numbers)}"

        def back(op: Operation, *arrived: Any) -> list[Any]:
            found = _listed(gradient(*arrived[: len(results)]))
            if len(found) != len(inputs):
                raise ShapeError(
                    f"a custom gradient gave {len(found)} gradients for {len(inputs)} arguments"
                )
            return [*[None] * len(results), *found]

        registered.enter(name, back)
        with get_default_graph().gradient_override_map({"IdentityN": name}):
            outputs = operation("IdentityN", [*results, *inputs]).outputs[: len(results)]
        return list(outputs) if isinstance(value, (list, tuple)) else outputs[0]

    return wrapper


@RegisterGradient("Abs")
def _of_magnitude(op: Operation, gradient: Tensor) -> Tensor:
    """0 at 0, as TensorFlow's is; tfc's own is 1 there."""
    return result("Mul", gradient, result("Sign", op.inputs[0]))


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def hessians(
    ys: Any,
    xs: Any,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: Any = None,
    aggregation_method: Any = None,
) -> list[Tensor | None]:
    """The second derivatives of the sum of ys by each of xs, of the shape of x twice.

    Raises:
        ValueError: the shape of one of xs is not known.
    """
    graph = get_default_graph()
    made: list[Tensor | None] = []
    with graph.name_scope(name):
        for x, first in zip(_listed(xs), gradients(ys, xs)):
            made.append(None if first is None else _second(x, first))
    return made


def _second(x: Any, first: Tensor) -> Tensor | None:
    """The derivative of each element of a gradient by x."""
    dims = x.shape.known()
    size = 1
    for n in dims:
        size *= n
    rows = []
    for place in range(size):
        element = result("Reshape", first, [size])[place]
        row = gradients(element, x)[0]
        if row is None:
            return None
        rows.append(row)
    stacked = result("Pack", *rows, axis=0, N=size)
    return result("Reshape", stacked, [*dims, *dims])
