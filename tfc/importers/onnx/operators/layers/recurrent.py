"""Recurrent layers: RNN, GRU, LSTM, in one direction or both."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc import nn
from tfc.errors import UnsupportedError
from tfc.frontend.control.scan import scan
from tfc.importers.onnx.operators.indexing import reversed_within
from tfc.importers.onnx.table import operator

Activation = Callable[[Any], Any]
Times = Callable[[Any, Any], Any]
_ACTIVATIONS: dict[str, tuple[Callable[..., Any], tuple[float, ...]]] = {
    "relu": (lambda x: tnp.maximum(x, 0), ()),
    "tanh": (tnp.tanh, ()),
    "sigmoid": (nn.sigmoid, ()),
    "affine": (lambda x, a, b: x * a + b, (1.0, 0.0)),
    "leakyrelu": (lambda x, a: tnp.where(x < 0, x * a, x), (0.01,)),
    "thresholdedrelu": (lambda x, a: tnp.where(x > a, x, 0 * x), (1.0,)),
    "scaledtanh": (lambda x, a, b: a * tnp.tanh(b * x), (1.0, 1.0)),
    "hardsigmoid": (lambda x, a, b: tnp.clip(x * a + b, 0, 1), (0.2, 0.5)),
    "elu": (lambda x, a: tnp.where(x < 0, a * tnp.expm1(tnp.minimum(x, 0)), x), (1.0,)),
    "softsign": (lambda x: x / (1 + tnp.absolute(x)), ()),
    "softplus": (nn.softplus, ()),
}


def activations(
    names: Sequence[str] | None, defaults: Sequence[str], directions: int, alphas: Any, betas: Any
) -> list[list[Activation]]:
    """The activations of each direction; alpha and beta go to those that take them, in order."""
    chosen = list(names or list(defaults) * directions)
    alpha, beta = list(alphas or ()), list(betas or ())
    found = []
    for name in chosen:
        if name.lower() not in _ACTIVATIONS:
            raise UnsupportedError(f"the activation {name} is not supported")
        function, options = _ACTIVATIONS[name.lower()]
        given = list(options)
        if given and alpha:
            given[0] = alpha.pop(0)
        if len(given) > 1 and beta:
            given[1] = beta.pop(0)
        found.append(lambda x, function=function, given=given: function(x, *given))
    count = len(defaults)
    return [found[d * count : (d + 1) * count] for d in range(directions)]


def _times(a: Any, weights: Any) -> Any:
    """The product with weights [outputs, inputs]."""
    return tnp.matmul(a, weights.T)


def _lstm(
    functions: list[Activation], clip: Any, p: Any, input_forget: int, times: Times
) -> Callable[..., Any]:
    """One step: gates input, output, forget, cell."""
    f, g, h = functions

    def step(gates: Any, state: Any, r: Any, _: Any) -> Any:
        hidden, memory = state
        inner = gates + times(hidden, r)
        enter, leave, keep, new = tnp.split(inner, 4, -1)
        peep = (0, 0, 0) if p is None else tnp.split(p, 3, -1)
        enter = f(clip(enter + peep[0] * memory))
        keep = 1 - enter if input_forget else f(clip(keep + peep[2] * memory))
        memory = keep * memory + enter * g(clip(new))
        leave = f(clip(leave + peep[1] * memory))
        hidden = leave * h(memory)
        return hidden, memory

    return step


def _gru(functions: list[Activation], clip: Any, linear_before_reset: int) -> Callable[..., Any]:
    """One step: gates update, reset, hidden."""
    f, g = functions

    def step(gates: Any, state: Any, r: Any, bias: Any) -> Any:
        (hidden,) = state
        size = hidden.shape[-1]
        update, reset = tnp.split(
            gates[..., : 2 * size]
            + tnp.matmul(hidden, r[: 2 * size].T)
            + (0 if bias is None else bias[: 2 * size]),
            2,
            -1,
        )
        update, reset = f(clip(update)), f(clip(reset))
        last = 0 if bias is None else bias[2 * size :]
        if linear_before_reset:
            inner = reset * (tnp.matmul(hidden, r[2 * size :].T) + last)
        else:
            inner = tnp.matmul(reset * hidden, r[2 * size :].T) + last
        new = g(clip(gates[..., 2 * size :] + inner))
        return ((1 - update) * new + update * hidden,)

    return step


def _rnn(functions: list[Activation], clip: Any) -> Callable[..., Any]:
    (f,) = functions

    def step(gates: Any, state: Any, r: Any, _: Any) -> Any:
        return (f(clip(gates + tnp.matmul(state[0], r.T))),)

    return step


def _clip(bound: float | None) -> Activation:
    return (lambda x: x) if bound is None else lambda x: tnp.clip(x, -bound, bound)


def _one_direction(
    step: Callable[..., Any], x: Any, w: Any, r: Any, bias: Any, lengths: Any,
    state: tuple[Any, ...], is_reverse: bool, keeps_bias: bool, times: Times,
) -> tuple[Any, tuple[Any, ...]]:  # fmt: skip
    """The outputs [time, batch, size] of one direction, and the last state.

    Args:
        bias: of inputs and of states, one after the other.
        lengths: of each example; None for the whole of it.
        keeps_bias: whether the step adds the bias of states itself.
    """
    if is_reverse:
        x = tnp.flip(x, 0) if lengths is None else reversed_within(x, lengths)
    gates = times(x, w)
    of_state = None
    if bias is not None:
        of_input, of_state = tnp.split(bias, 2)
        gates = gates + (of_input if keeps_bias else of_input + of_state)
    numbers = np.arange(x.shape[0], dtype=np.int32)

    def one(carry: tuple[Any, ...], given: Any) -> Any:
        inner, time = given
        new = step(inner, carry, r, of_state if keeps_bias else None)
        if lengths is None:
            return new, new[0]
        lives = (time < lengths)[:, None]
        kept = tuple(tnp.where(lives, a, b) for a, b in zip(new, carry))
        return kept, tnp.where(lives, new[0], tnp.zeros_like(new[0]))

    last, outputs = scan(one, state, (gates, numbers))
    if is_reverse:
        outputs = tnp.flip(outputs, 0) if lengths is None else reversed_within(outputs, lengths)
    return outputs, last


def _layer(
    steps: Sequence[Callable[..., Any]], x: Any, w: Any, r: Any, b: Any, lengths: Any,
    initial: Sequence[Any], direction: str, layout: int, keeps_bias: bool = False,
    times: Times = _times, size: int = 0,
) -> tuple[Any, ...]:  # fmt: skip
    """All directions of a layer: the outputs, then each part of the last state.

    Args:
        w, r: the weights of inputs and of states, one for each direction.
        times: their product with arrays.
        size: of the state; that of `r` when left out.
    """
    if layout:
        x = tnp.swapaxes(x, 0, 1)
        initial = [None if v is None else tnp.swapaxes(v, 0, 1) for v in initial]
    size, batch = size or r.shape[-1], x.shape[1]
    lengths = None if lengths is None else tnp.astype(lengths, np.int32)
    outputs, states = [], []
    for d, step in enumerate(steps):
        state = tuple(
            tnp.zeros((batch, size), x.dtype) if v is None else tnp.asarray(v[d]) for v in initial
        )
        is_reverse = direction == "reverse" or d == 1
        bias = None if b is None else b[d]
        made, last = _one_direction(
            step, x, w[d], r[d], bias, lengths, state, is_reverse, keeps_bias, times
        )
        outputs.append(made)
        states.append(last)
    found = tnp.stack(outputs, 1)  # [time, directions, batch, size]
    ends = [tnp.stack([s[k] for s in states], 0) for k in range(len(initial))]
    if layout:
        found = tnp.transpose(found, (2, 0, 1, 3))
        ends = [tnp.swapaxes(v, 0, 1) for v in ends]
    return found, *ends


def _count(direction: str) -> int:
    return 2 if direction == "bidirectional" else 1


@operator("LSTM")
def lstm(
    x: Any, w: Any, r: Any, b: Any = None, sequence_lens: Any = None, initial_h: Any = None,
    initial_c: Any = None, p: Any = None, *, activation_alpha: Any = None,
    activation_beta: Any = None, activations: Any = None, clip: float | None = None,
    direction: str = "forward", hidden_size: int | None = None, input_forget: int = 0,
    layout: int = 0, output_sequence: int = 0,
) -> Any:  # fmt: skip
    """Long short-term memories, with peepholes if there are any."""
    return lstm_layer(x, w, r, b, sequence_lens, initial_h, initial_c, p, _times, r.shape[-1],
                      activation_alpha, activation_beta, activations, clip, direction,
                      input_forget, layout)  # fmt: skip


def lstm_layer(
    x: Any, w: Any, r: Any, b: Any, lengths: Any, initial_h: Any, initial_c: Any, p: Any,
    times: Times, size: int, activation_alpha: Any = None, activation_beta: Any = None,
    activations: Any = None, clip: float | None = None, direction: str = "forward",
    input_forget: int = 0, layout: int = 0,
) -> Any:  # fmt: skip
    """Long short-term memories of weights that `times` multiplies with, one for each direction."""
    chosen = _chosen(activations, ("Sigmoid", "Tanh", "Tanh"), direction, activation_alpha,
                     activation_beta)  # fmt: skip
    steps = [
        _lstm(functions, _clip(clip), None if p is None else p[d], input_forget, times)
        for d, functions in enumerate(chosen)
    ]
    return _layer(steps, x, w, r, b, lengths, (initial_h, initial_c), direction, layout,
                  times=times, size=size)  # fmt: skip


def _chosen(names: Any, defaults: Sequence[str], direction: str, alphas: Any, betas: Any) -> Any:
    return activations(names, defaults, _count(direction), alphas, betas)


@operator("GRU")
def gru(
    x: Any, w: Any, r: Any, b: Any = None, sequence_lens: Any = None, initial_h: Any = None, *,
    activation_alpha: Any = None, activation_beta: Any = None, activations: Any = None,
    clip: float | None = None, direction: str = "forward", hidden_size: int | None = None,
    layout: int = 0, linear_before_reset: int = 0, output_sequence: int = 0,
) -> Any:  # fmt: skip
    """Gated recurrent units, whose reset gate comes before or after the product."""
    chosen = _chosen(activations, ("Sigmoid", "Tanh"), direction, activation_alpha, activation_beta)
    steps = [_gru(functions, _clip(clip), linear_before_reset) for functions in chosen]
    return _layer(steps, x, w, r, b, sequence_lens, (initial_h,), direction, layout, True)


@operator("RNN")
def rnn(
    x: Any, w: Any, r: Any, b: Any = None, sequence_lens: Any = None, initial_h: Any = None, *,
    activation_alpha: Any = None, activation_beta: Any = None, activations: Any = None,
    clip: float | None = None, direction: str = "forward", hidden_size: int | None = None,
    layout: int = 0, output_sequence: int = 0,
) -> Any:  # fmt: skip
    """Plain recurrent units."""
    chosen = _chosen(activations, ("Tanh",), direction, activation_alpha, activation_beta)
    steps = [_rnn(functions, _clip(clip)) for functions in chosen]
    return _layer(steps, x, w, r, b, sequence_lens, (initial_h,), direction, layout)
