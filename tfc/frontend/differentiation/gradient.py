"""Gradients of Python functions, in reverse mode: grad, value_and_grad, vjp.

    def loss(w, x, y):
        return tnp.mean((x @ w - y) ** 2)

    step = tfc.jit(tfc.grad(loss))

The function is traced into a computation, which is then walked backwards; the result is again
made of plain operations, so gradients of gradients need nothing more.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from tfc.errors import TraceError
from tfc.frontend import operations as ops
from tfc.frontend import tree
from tfc.frontend.arguments import call_python
from tfc.frontend.differentiation.reverse import (
    Values,
    backward,
    forward,
    inline_calls,
    is_differentiable,
    zeros,
)
from tfc.frontend.program import Abstract, Program, trace_function
from tfc.frontend.promotion import as_tensor, cast
from tfc.frontend.tensor import Tensor, evaluable
from tfc.frontend.trace import current_trace
from tfc.hlo.ir import Computation
from tfc.tracebacks import api_boundary


class Pulled:
    """A function applied to arguments in the current trace, ready to take cotangents back.

    function: takes the arguments, nested as they were given.
    """

    def __init__(
        self, function: Callable[..., Any], arguments: Any, name: str, allow_int: bool = False
    ):
        leaves, self.structure = tree.flatten(arguments)
        self.tensors = [as_tensor(leaf) for leaf in leaves]
        for tensor, path in zip(self.tensors, tree.paths(self.structure, "argument ")):
            if not allow_int and not is_differentiable(tensor.array_shape):
                shape = tensor.array_shape.without_layout()
                raise TraceError(
                    f"{name} requires floating-point arguments, got {shape} for {path}; convert "
                    "it with astype, or leave it out of argnums"
                )
        self.program: Program = trace_function(
            getattr(function, "__name__", "function"),
            lambda *given: call_python(function, *tree.unflatten(self.structure, given)),
            [Abstract.of(t) for t in self.tensors],
        )
        captured = [ops.wrap(c) for c in self.program.captures]
        self.computation: Computation = inline_calls(self.program.computation())
        self.wanted = self.computation.parameters[: len(self.tensors)]
        self.values: Values = forward(self.computation, [*self.tensors, *captured], self.wanted)
        results = [self.values[o] for o in self.computation.root.operands]
        self.results = [
            Tensor(r.instruction, r.home, traced.weak)
            for r, traced in zip(results, self.program.results)
        ]

    def take(self, cotangents: Sequence[Tensor | None]) -> Any:
        """The cotangents of the arguments, nested as they were given."""
        found = backward(self.computation, self.values, list(cotangents), self.wanted)
        made = [f if isinstance(f, Tensor) else zeros(t.array_shape)
                for f, t in zip(found, self.tensors)]  # fmt: skip
        return tree.unflatten(self.structure, made)


def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """A function that gives the gradient of a scalar function.

    Args:
        fun: returns a float scalar; with `has_aux`, a pair of it and anything else.
        argnums: the argument, or arguments, to differentiate by; they hold floats, may be nested,
            and the gradient has their structure (a tuple of them for several).
        has_aux: return (gradient, aux).
        holomorphic: the function is holomorphic, and its result a complex scalar.
        allow_int: arguments may hold integers and booleans, whose gradients are zeros.

    Raises:
        TraceError (when called): an argument is not of floats, or the result no float scalar.
    """
    both = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int)

    @api_boundary
    @wraps(fun)
    def gradient(*args: Any, **named: Any) -> Any:
        value, found = both(*args, **named)
        return (found, value[1]) if has_aux else found

    return gradient


def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """A function that gives (value, gradient) of a scalar function; ((value, aux), gradient).

    The arguments and errors are those of `grad`.
    """
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    @evaluable
    @wraps(fun)
    def both(*args: Any, **named: Any) -> Any:
        places = [place(n, len(args)) for n in numbers]

        def of_chosen(*chosen: Any) -> Any:
            filled = list(args)
            for number, value in zip(places, chosen):
                filled[number] = value
            return call_python(fun, *filled, **named)

        of_chosen.__name__ = getattr(fun, "__name__", "function")
        pulled = Pulled(of_chosen, tuple(args[p] for p in places), "grad", allow_int)
        value = tree.unflatten(pulled.program.structure, pulled.results)
        _check_value(value, has_aux, holomorphic)
        one = [ops.full_like(1, pulled.results[0])]
        found = pulled.take(one + [None] * (len(pulled.results) - 1))
        return value, found[0] if isinstance(argnums, int) else found

    return both


def place(number: int, count: int) -> int:
    """The place of an argument that may be counted from the end.

    Raises:
        TraceError: there is none.
    """
    if not -count <= number < count:
        raise TraceError(f"argnums must be among the {count} positional arguments, got {number}")
    return number % count


def _check_value(value: Any, has_aux: bool, holomorphic: bool) -> None:
    """Check that a function has a gradient.

    Raises:
        TraceError: its result is no scalar of floats, or of complex numbers if it is holomorphic.
    """
    if has_aux:
        if not isinstance(value, tuple) or len(value) != 2:
            raise TraceError("grad with has_aux requires a function that returns (value, aux)")
        value = value[0]
    is_scalar = isinstance(value, Tensor) and not value.ndim
    kind = "complex" if holomorphic else "float"
    if not is_scalar or value.array_shape.element_type.kind != kind:
        got = value.array_shape.without_layout() if isinstance(value, Tensor) else type(value)
        raise TraceError(f"grad requires a function whose result is a {kind} scalar, got {got}")


@api_boundary
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of a function, and the function that takes a cotangent back to its arguments.

    In a function being traced, pulling back uses what computed the value; outside of any, it
    evaluates the function again, with its effects.

    Args:
        primals: the arguments: nested structures of floats.
        has_aux: `fun` returns (result, aux), of which the result alone is differentiated.

    Returns:
        (result, pullback), and aux third where there is one; pullback: cotangent of the result's
        structure, shapes and dtypes -> a tuple with the cotangent of each primal.

    Raises:
        TraceError: a primal is not of floats; when pulling back, the cotangent does not fit.
    """
    if current_trace() is None:
        # No trace to keep the forward values in: pulling back evaluates the function again.
        value = evaluable(fun)(*primals)
        made = evaluable(lambda cotangent: _pull(fun, primals, cotangent, has_aux))
    else:
        pulled = Pulled(fun, primals, "vjp")
        value = tree.unflatten(pulled.program.structure, pulled.results)
        made = evaluable(lambda cotangent: _take(pulled, cotangent, has_aux))
    if not has_aux:
        return value, made
    check_pair("vjp", value)
    return value[0], made, value[1]


def check_pair(name: str, value: Any) -> None:
    """Check that a function with auxiliary results returned a pair.

    Raises:
        TraceError: it returned something else.
    """
    if not isinstance(value, tuple) or len(value) != 2:
        raise TraceError(f"{name} with has_aux requires a function that returns (result, aux)")


@evaluable
def stop_gradient(value: Any) -> Any:
    """The same values as constants to differentiation, nested as they were given.

    Args:
        value: a nested structure of arrays; integers and booleans, which have no gradient anyway,
            pass as they are.
    """
    return tree.map_leaves(_held, value)


def _held(leaf: Any) -> Tensor:
    tensor = as_tensor(leaf)
    if not is_differentiable(tensor.array_shape):
        return tensor
    held = ops.stop_gradient(tensor)
    return Tensor(held.instruction, held.home, tensor.weak)


def _pull(function: Callable[..., Any], primals: Any, cotangent: Any, has_aux: bool) -> Any:
    return _take(Pulled(function, primals, "vjp"), cotangent, has_aux)


def _take(pulled: Pulled, cotangent: Any, has_aux: bool) -> Any:
    leaves, structure = tree.flatten(cotangent)
    expected = pulled.program.structure
    expected = expected.children[0] if has_aux else expected
    if structure != expected:
        raise TraceError(f"the cotangent must have the result's structure {expected}")
    taken: list[Tensor | None] = []
    for leaf, result, path in zip(leaves, pulled.results, tree.paths(expected, "result")):
        given = as_tensor(leaf)
        given = cast(given, result.dtype) if given.weak else given
        if not is_differentiable(result.array_shape):
            taken.append(None)
            continue
        if given.array_shape != result.array_shape:
            shapes = [t.array_shape.without_layout() for t in (result, given)]
            raise TraceError(f"the cotangent of {path} must be {shapes[0]}, got {shapes[1]}")
        taken.append(given)
    return pulled.take([*taken, *[None] * (len(pulled.results) - len(taken))])
