"""Cells of recurrent layers, and going through the steps of a sequence with one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tfc.numpy as tnp
from tfc import nn
from tfc.errors import UnsupportedError
from tfc.frontend.control.scan import scan
from tfc.importers.keras.operators.activations import activated
from tfc.importers.keras.operators.convolutions import channels_back, channels_last, numbers
from tfc.importers.keras.operators.core import floating
from tfc.importers.keras.table import Use

States = list[Any]


@dataclass(frozen=True)
class Cell:
    """What a class of cells computes.

    project: what depends on the inputs alone, of [steps, batch, ...] or of one step.
    step: (output, states) of what `project` gives for a step, and the states before. The output is
        `output(states)`.
    zeros: the states to begin with, for what `project` gives for a step.
    """

    project: Callable[[Use, Any], Any]
    step: Callable[[Use, Any, States], States]
    zeros: Callable[[Use, Any], States]
    output: Callable[[States], Any] = lambda states: states[0]


def cell_of(use: Use) -> Cell:
    """The Cell of a layer that is one.

    Raises:
        UnsupportedError: it is of a class that has none.
    """
    found = CELLS.get(use.layer.class_name)
    if found is None:
        raise UnsupportedError(f"a cell of the class {use.layer.class_name} is not supported")
    return found


def _activations(use: Use, recurrent: bool = True) -> tuple[Any, Any]:
    """(activation, activation of the gates) as functions."""
    config = use.layer.config
    gate = config.get("recurrent_activation", "hard_sigmoid" if use.is_old else "sigmoid")
    return (
        lambda x: activated(use, config.get("activation", "tanh"), x),
        lambda x: activated(use, gate, x),
    )


def _projected(use: Use, x: Any) -> Any:
    made = tnp.matmul(floating(use, x), use["kernel"])
    bias = use["bias"]
    return made if bias is None else made + bias


def _zeros(count: int) -> Callable[[Use, Any], States]:
    def found(use: Use, projected: Any) -> States:
        units = use["recurrent_kernel"].shape[0]
        return [tnp.zeros((*projected.shape[:-1], units), projected.dtype) for _ in range(count)]

    return found


def _simple(use: Use, projected: Any, states: States) -> States:
    made = projected + tnp.matmul(states[0], use["recurrent_kernel"])
    return [activated(use, use.layer.config.get("activation", "tanh"), made)]


def _lstm(use: Use, projected: Any, states: States) -> States:
    activate, gate = _activations(use)
    hidden, memory = states
    both = projected + tnp.matmul(hidden, use["recurrent_kernel"])
    enter, keep, new, leave = tnp.split(both, 4, axis=-1)
    memory = gate(keep) * memory + gate(enter) * activate(new)
    return [gate(leave) * activate(memory), memory]


def _is_reset_after(use: Use) -> bool:
    return bool(use.layer.config.get("reset_after", not use.is_old))


def _gru_projected(use: Use, x: Any) -> Any:
    made = tnp.matmul(floating(use, x), use["kernel"])
    bias = use["bias"]
    if bias is None:
        return made
    return made + (tnp.reshape(bias, (2, -1))[0] if _is_reset_after(use) else bias)


def _gru(use: Use, projected: Any, states: States) -> States:
    activate, gate = _activations(use)
    (hidden,) = states
    kernel, bias = use["recurrent_kernel"], use["bias"]
    units = kernel.shape[0]
    update, reset, new = tnp.split(projected, 3, axis=-1)
    if _is_reset_after(use):
        inner = tnp.matmul(hidden, kernel)
        inner = inner if bias is None else inner + tnp.reshape(bias, (2, -1))[1]
        of_update, of_reset, of_new = tnp.split(inner, 3, axis=-1)
        update, reset = gate(update + of_update), gate(reset + of_reset)
        new = activate(new + reset * of_new)
    else:
        gates = tnp.matmul(hidden, kernel[:, : 2 * units])
        update, reset = gate(update + gates[:, :units]), gate(reset + gates[:, units:])
        new = activate(new + tnp.matmul(reset * hidden, kernel[:, 2 * units :]))
    return [update * hidden + (1 - update) * new]


def _conv_projected(use: Use, x: Any) -> Any:
    """The convolutions of all steps, channels last."""
    config, kernel = use.layer.config, use["kernel"]
    rank = kernel.ndim - 2
    lead = x.shape[: x.ndim - rank - 1]
    merged = tnp.reshape(floating(use, x), (-1, *x.shape[len(lead) :]))
    made = nn.conv(
        channels_last(merged, config.get("data_format")), kernel,
        numbers(config.get("strides", 1), rank), str(config.get("padding", "valid")).upper(),
        rhs_dilation=numbers(config.get("dilation_rate", 1), rank),
    )  # fmt: skip
    made = made if use["bias"] is None else made + use["bias"]
    return tnp.reshape(made, (*lead, *made.shape[1:]))


def _conv_step(use: Use, projected: Any, states: States) -> States:
    activate, gate = _activations(use)
    order = use.layer.config.get("data_format")
    hidden, memory = (channels_last(s, order) for s in states)
    both = projected + nn.conv(hidden, use["recurrent_kernel"], 1, "SAME")
    enter, keep, new, leave = tnp.split(both, 4, axis=-1)
    memory = gate(keep) * memory + gate(enter) * activate(new)
    made = [gate(leave) * activate(memory), memory]
    return [channels_back(s, order) for s in made]


def _conv_zeros(use: Use, projected: Any) -> States:
    shape = (*projected.shape[:-1], projected.shape[-1] // 4)
    zeros = channels_back(tnp.zeros(shape, projected.dtype), use.layer.config.get("data_format"))
    return [zeros, zeros]


def _stacked(use: Use, projected: Any, states: States) -> States:
    """The cells one after the other; the states are those of all, in the cells' order."""
    made: States = []
    value, rest = projected, list(states)
    for inner in use.children.values():
        cell = cell_of(inner)
        count = STATES[inner.layer.class_name]
        found = cell.step(inner, cell.project(inner, value), rest[:count])
        made, rest, value = made + found, rest[count:], cell.output(found)
    return made


def _stacked_zeros(use: Use, projected: Any) -> States:
    made: States = []
    value = projected
    for inner in use.children.values():
        cell = cell_of(inner)
        zeros = cell.zeros(inner, cell.project(inner, value))
        made, value = made + zeros, cell.output(zeros)
    return made


CELLS: dict[str, Cell] = {
    "SimpleRNNCell": Cell(_projected, _simple, _zeros(1)),
    "LSTMCell": Cell(_projected, _lstm, _zeros(2)),
    "GRUCell": Cell(_gru_projected, _gru, _zeros(1)),
    "ConvLSTMCell": Cell(_conv_projected, _conv_step, _conv_zeros),
}
STATES = {"SimpleRNNCell": 1, "LSTMCell": 2, "GRUCell": 1, "ConvLSTMCell": 2}


def _from_cudnn(use: Use) -> Use:
    """The cell that one of the layers for cuDNN is, with its weights as other layers have them."""
    name, count = _CUDNN[use.layer.class_name]
    kernels = tnp.split(use["kernel"], count, axis=1)
    turned = [tnp.reshape(k, (k.shape[1], k.shape[0])).T for k in kernels]
    recurrent = [k.T for k in tnp.split(use["recurrent_kernel"], count, axis=1)]
    bias = tnp.reshape(use["bias"], (2, -1))
    weights = {
        "kernel": tnp.concatenate(turned, axis=1),
        "recurrent_kernel": tnp.concatenate(recurrent, axis=1),
        "bias": tnp.sum(bias, axis=0) if name == "LSTMCell" else bias,
    }
    config = {"recurrent_activation": "sigmoid", "reset_after": True, "name": use.layer.name}
    return Use(replace(use.layer, class_name=name, config=config), weights, {}, use.call)


_CUDNN = {"CuDNNLSTMCell": ("LSTMCell", 4), "CuDNNGRUCell": ("GRUCell", 3)}


def run(
    use: Use, x: Any, initial: Sequence[Any] | None, mask: Any, backwards: bool, zero: bool
) -> tuple[Any, Any, States]:
    """(last output, outputs [batch, steps, ...] in the sequence's order, last states).

    Args:
        use: that of the cell.
        mask: [batch, steps] or more dimensions; where it does not show, states stay.
        backwards: from the last step to the first.
        zero: outputs that the mask does not show are 0, rather than those before.
    """
    use = _from_cudnn(use) if use.layer.class_name in _CUDNN else use
    stacked = use.layer.class_name == "StackedRNNCells"
    cell = STACKED if stacked else cell_of(use)
    steps = tnp.moveaxis(x, 1, 0)
    projected = cell.project(use, steps)
    zeros = cell.zeros(use, projected[0])
    states = zeros if initial is None else [s.astype(z.dtype) for s, z in zip(initial, zeros)]
    if len(states) != len(zeros):
        raise UnsupportedError(f"there are {len(zeros)} states, and {len(states)} are given")
    shown = None if mask is None else _time_first(mask)
    output = _last_output(use) if stacked else cell.output

    def step(carry: Any, at: Any) -> Any:
        before, previous = list(carry[:-1]), carry[-1]
        after = cell.step(use, at[0], before)
        made = output(after)
        if shown is not None:
            after = [_where(at[1], a, b) for a, b in zip(after, before)]
            made = _where(at[1], made, tnp.zeros_like(made) if zero else previous)
        return (*after, made), made

    first = output(states)
    xs = (projected,) if shown is None else (projected, shown)
    carry, outputs = scan(step, (*states, tnp.zeros_like(first)), xs, reverse=backwards)
    return carry[-1], tnp.moveaxis(outputs, 0, 1), list(carry[:-1])


def _last_output(use: Use) -> Callable[[States], Any]:
    last = list(use.children.values())[-1]
    count = STATES[last.layer.class_name]
    return lambda states: states[-count]


STACKED = Cell(lambda use, x: x, _stacked, _stacked_zeros)


def _time_first(mask: Any) -> Any:
    return tnp.moveaxis(mask.astype(bool), 1, 0)


def _where(shown: Any, value: Any, other: Any) -> Any:
    """One or the other by a mask of the first dimensions."""
    if shown.ndim == value.ndim + 1:
        shown = shown[..., 0]
    wide = tnp.reshape(shown, (*shown.shape, *[1] * (value.ndim - shown.ndim)))
    return tnp.where(wide, value, other)
