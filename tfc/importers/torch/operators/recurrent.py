"""Recurrent layers: all steps, layers and directions of one in a row."""

from collections.abc import Callable, Sequence
from typing import Any

import tfc.numpy as tnp
from tfc import nn
from tfc.errors import UnsupportedError
from tfc.frontend.control.scan import scan
from tfc.importers.torch.operators.composites import gru_cell, linear, lstm_cell
from tfc.importers.torch.table import composite

# The state of a cell is a tuple; a step gives the next one from an input and the weights.
Step = Callable[[Any, tuple[Any, ...], Sequence[Any]], tuple[Any, ...]]


def _lstm(x: Any, state: tuple[Any, ...], weights: Sequence[Any]) -> tuple[Any, ...]:
    return lstm_cell(x, state, *weights)


def _gru(x: Any, state: tuple[Any, ...], weights: Sequence[Any]) -> tuple[Any, ...]:
    return (gru_cell(x, state[0], *weights),)


def _plain(function: Callable[[Any], Any]) -> Step:
    def step(x: Any, state: tuple[Any, ...], weights: Sequence[Any]) -> tuple[Any, ...]:
        w, u, *biases = weights
        b, c = biases or (None, None)
        return (function(linear(x, w, b) + linear(state[0], u, c)),)

    return step


def _layers(
    step: Step, x: Any, states: Sequence[Any], weights: Sequence[Any], has_biases: bool,
    count: int, dropout: float, train: bool, both_ways: bool, batch_first: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """What the last layer gives at each step, and each state of each layer and way at the end."""
    if train and dropout and count > 1:
        raise UnsupportedError("it drops elements between layers: call .eval() before the export")
    is_single = x.ndim == 2
    if is_single:
        x, states = x[:, None], [s[:, None] for s in states]
    elif batch_first:
        x = tnp.swapaxes(x, 0, 1)
    ways = 2 if both_ways else 1
    each = 4 if has_biases else 2
    if len(weights) != each * ways * count:  # a projection of the hidden state has one more
        raise UnsupportedError("it projects its hidden state, which is not supported")
    ends: list[tuple[Any, ...]] = []
    for layer in range(count):
        given = []
        for way in range(ways):
            number = layer * ways + way
            own = weights[each * number : each * (number + 1)]

            def one(state: Any, part: Any, own: Sequence[Any] = own) -> Any:
                made = step(part, state, own)
                return made, made[0]

            end, outputs = scan(one, tuple(s[number] for s in states), x, reverse=way == 1)
            given.append(outputs)
            ends.append(end)
        x = given[0] if ways == 1 else tnp.concatenate(given, -1)
    lasts = [tnp.stack(parts, 0) for parts in zip(*ends)]
    if is_single:
        return x[:, 0], *[last[:, 0] for last in lasts]
    return tnp.swapaxes(x, 0, 1) if batch_first else x, *lasts


@composite("lstm.input")
def lstm(x: Any, states: Sequence[Any], weights: Sequence[Any], *given: Any) -> tuple[Any, ...]:
    """An LSTM: the hidden states of the last layer, and the last hidden states and cells."""
    return _layers(_lstm, x, states, weights, *given)


def _enter(name: str, step: Step) -> None:
    @composite(f"{name}.input")
    def row(x: Any, state: Any, weights: Sequence[Any], *given: Any) -> tuple[Any, ...]:
        return _layers(step, x, [state], weights, *given)


_enter("gru", _gru)
_enter("rnn_tanh", _plain(tnp.tanh))
_enter("rnn_relu", _plain(nn.relu))


def _enter_cell(name: str, function: Callable[[Any], Any]) -> None:
    step = _plain(function)

    @composite(f"{name}_cell.default", f"{name}_cell.input")
    def row(x: Any, state: Any, w: Any, u: Any, b: Any = None, c: Any = None) -> Any:
        return step(x, (state,), (w, u) if b is None else (w, u, b, c))[0]


_enter_cell("rnn_tanh", tnp.tanh)
_enter_cell("rnn_relu", nn.relu)
