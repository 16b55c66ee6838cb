"""Operators of differentiation: the gradient of any other operator, and what stops gradients."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tfc import numpy as tnp
from tfc.frontend.differentiation.gradient import stop_gradient, vjp
from tfc.frontend.tensor import evaluable
from tfc.graph.operators.inference import same
from tfc.graph.operators.registry import Attributes, Operator, Spec, find, operator


def _like_wanted(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(inputs[n].dtype, inputs[n].shape) for n in attributes["wanted"]]


def _as_forward(row: Operator, attributes: Attributes) -> Operator:
    """What the forward operator must know, its gradient must, of the same inputs."""
    forward = find(attributes["type"], attributes["attributes"])
    return replace(row, known=forward.known)


@operator("Vjp", types="", infer=_like_wanted, decide=_as_forward)
def vector_jacobian_product(
    *inputs: Any,
    type: str,
    attributes: Mapping[str, Any],
    wanted: Sequence[int],
    given: Sequence[int],
    context: Any,
) -> list[Any]:
    """The gradients of an operation's inputs, from those of its results.

    Complex gradients are TensorFlow's: conjugates of what `tfc.vjp` gives.

    Args:
        inputs: the operation's inputs, then the gradients of the results that have one.
        type, attributes: the operation's.
        wanted: the inputs whose gradients are asked for, by number.
        given: the results that have gradients, by number.
    """
    row = find(type, attributes)
    count = len(inputs) - len(given)
    more = {"context": context} if row.takes_context else {}

    def forward(*values: Any) -> list[Any]:
        taken = list(inputs[:count])
        for place, value in zip(wanted, values):
            taken[place] = value
        results = row(taken, attributes, **more)
        return [tnp.asarray(results[n]) for n in given]

    def pulled(primals: list[Any], cotangents: list[Any]) -> list[Any]:
        _, back = vjp(forward, *primals)
        return [_conjugate(x) for x in back([_conjugate(g) for g in cotangents])]

    return evaluable(pulled)([inputs[n] for n in wanted], list(inputs[count:]))


def pulled_back(function: Callable[..., Any], at: Any, arrived: Any, *others: Any) -> Any:
    """The gradient by the first argument of a function, for rows that compute just that.

    Args:
        function: (at, *others) -> an array.
        arrived: the gradient by its result.
    """

    def pulled(at: Any, arrived: Any, *others: Any) -> Any:
        return vjp(lambda x: function(x, *others), tnp.asarray(at))[1](arrived)[0]

    return evaluable(pulled)(at, arrived, *others)


def _conjugate(x: Any) -> Any:
    return tnp.conj(x) if np.issubdtype(x.dtype, np.complexfloating) else x


@operator("StopGradient", "PreventGradient", infer=same)
def stopped(x: Any) -> Any:
    """The value itself, which no gradient flows through."""
    return x if isinstance(x, np.ndarray) else stop_gradient(x)


def _all_same(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(x.dtype, x.shape) for x in inputs]


@operator("_EagerConst", infer=same)
def unchanged(input: Any) -> Any:
    """The value itself."""
    return input


@operator("IdentityN", "_ArrayToList", "_ListToArray", types="", infer=_all_same)
def identities(*values: Any) -> list[Any]:
    """The values themselves."""
    return list(values)


@operator("AddN", infer=same)
def add_all(*values: Any) -> Any:
    """The sum of several values of one shape."""
    total = values[0]
    for value in values[1:]:
        total = tnp.add(total, value)
    return total


@operator("OnesLike", infer=same)
def ones_like(x: Any) -> Any:
    """Ones in the shape of a value."""
    return np.ones(x.shape, x.dtype)


@operator("ZerosLike", infer=same)
def zeros_like(x: Any) -> Any:
    """Zeros in the shape of a value."""
    return np.zeros(x.shape, x.dtype)
