"""Recurrent networks: cells, which make one step, and sequences, which are scans of them.

A cell takes (parameters, carry, x) and gives (carry, output). Its parameters are a dict: "input"
[features, gates * size], "recurrent" [size, gates * size], "bias" [gates * size].
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.control.scan import scan
from tfc.frontend.numpy.functions import sigmoid
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import FUNCTIONS, ArrayLike, Tensor, evaluable
from tfc.nn.initializers import glorot_uniform
from tfc.nn.layers import dense
from tfc.random import split

Parameters = Mapping[str, Any]
Cell = Callable[[Parameters, Any, Any], tuple[Any, Any]]


def _gates(x: Tensor, count: int) -> list[Tensor]:
    """The equal parts of the last dimension."""
    size = x.shape[-1] // count
    return [ops.slice_along(x, x.ndim - 1, k * size, (k + 1) * size) for k in range(count)]


def _tanh(x: Any) -> Tensor:
    return FUNCTIONS["tanh"](x)


@evaluable
def rnn_cell(parameters: Parameters, carry: ArrayLike, x: ArrayLike) -> tuple[Tensor, Tensor]:
    """h = tanh(x · input + h · recurrent + bias); the output is h."""
    state = _tanh(
        dense(x, parameters["input"]) + dense(carry, parameters["recurrent"], parameters["bias"])
    )
    return state, state


@evaluable
def lstm_cell(
    parameters: Parameters, carry: tuple[ArrayLike, ArrayLike], x: ArrayLike
) -> tuple[tuple[Tensor, Tensor], Tensor]:
    """One step of a long short-term memory; the carry is (h, c), the output h.

    The gates, in their order along the kernels: input, forget, cell, output.
    """
    hidden, memory = carry
    inner = dense(x, parameters["input"])
    inner = inner + dense(hidden, parameters["recurrent"], parameters["bias"])
    enter, keep, new, leave = _gates(inner, 4)
    memory = sigmoid(keep) * memory + sigmoid(enter) * _tanh(new)
    hidden = sigmoid(leave) * _tanh(memory)
    return (hidden, memory), hidden


@evaluable
def gru_cell(parameters: Parameters, carry: ArrayLike, x: ArrayLike) -> tuple[Tensor, Tensor]:
    """One step of a gated recurrent unit; the output is the new carry.

    The gates, in their order along the kernels: reset, update, new. The reset gate multiplies what
    comes of the carry, with "recurrent_bias" if there is one, after the product.
    """
    state = as_tensor(carry)
    of_input = _gates(dense(x, parameters["input"], parameters["bias"]), 3)
    of_state = _gates(dense(state, parameters["recurrent"], parameters.get("recurrent_bias")), 3)
    reset, update = (sigmoid(a + b) for a, b in zip(of_input[:2], of_state[:2]))
    new = _tanh(of_input[2] + reset * of_state[2])
    made = (1 - update) * new + update * state
    return made, made


def _initial(gates: int, key: ArrayLike, features: int, size: int, dtype: Any) -> dict[str, Any]:
    keys = split(key)
    kernel = glorot_uniform(dtype=dtype)
    return {
        "input": kernel(keys[0], (features, gates * size)),
        "recurrent": kernel(keys[1], (size, gates * size)),
        "bias": np.zeros(gates * size, dtype),
    }


def rnn_init(key: ArrayLike, features: int, size: int, dtype: Any = np.float32) -> dict[str, Any]:
    """Parameters of an `rnn_cell` for inputs of so many features and a carry of so many."""
    return _initial(1, key, features, size, dtype)


def lstm_init(key: ArrayLike, features: int, size: int, dtype: Any = np.float32) -> dict[str, Any]:
    """Parameters of an `lstm_cell`; the forget gate begins open, with a bias of 1."""
    made = _initial(4, key, features, size, dtype)
    made["bias"] = np.repeat(np.array([0, 1, 0, 0], dtype), size)
    return made


def gru_init(key: ArrayLike, features: int, size: int, dtype: Any = np.float32) -> dict[str, Any]:
    """Parameters of a `gru_cell`."""
    return _initial(3, key, features, size, dtype)


def _sequence(
    cell: Cell, parameters: Parameters, xs: ArrayLike, carry: Any, reverse: bool, parts: int
) -> tuple[Any, Any]:
    """The last carry and all outputs of a cell along the first dimension; it begins with zeros."""
    inputs = as_tensor(xs)
    if inputs.ndim < 2:
        raise ShapeError(f"a sequence is [T, ..., features], got {list(inputs.shape)}")
    if carry is None:
        recurrent = as_tensor(parameters["recurrent"])
        dims = (*inputs.shape[1:-1], recurrent.shape[0])
        zero = ops.full(0, dims, recurrent.array_shape.element_type)
        carry = zero if parts == 1 else (zero,) * parts
    return scan(lambda state, x: cell(parameters, state, x), carry, inputs, reverse=reverse)


@evaluable
def rnn(
    parameters: Parameters, xs: ArrayLike, carry: Any = None, reverse: bool = False
) -> tuple[Any, Any]:
    """(last carry, outputs [T, ..., size]) of `rnn_cell` along xs [T, ..., features].

    Args:
        carry: what to begin with; zeros if it is left out.
        reverse: from the last element to the first.
    """
    return _sequence(rnn_cell, parameters, xs, carry, reverse, 1)


@evaluable
def lstm(
    parameters: Parameters, xs: ArrayLike, carry: Any = None, reverse: bool = False
) -> tuple[Any, Any]:
    """(last carry (h, c), outputs [T, ..., size]) of `lstm_cell` along xs; see `rnn`."""
    return _sequence(lstm_cell, parameters, xs, carry, reverse, 2)


@evaluable
def gru(
    parameters: Parameters, xs: ArrayLike, carry: Any = None, reverse: bool = False
) -> tuple[Any, Any]:
    """(last carry, outputs [T, ..., size]) of `gru_cell` along xs; see `rnn`."""
    return _sequence(gru_cell, parameters, xs, carry, reverse, 1)
