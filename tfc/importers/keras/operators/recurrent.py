"""Recurrent layers, their cells as layers, and layers that go both ways."""

from collections.abc import Mapping
from typing import Any

import tfc.numpy as tnp
from tfc.errors import UnsupportedError
from tfc.importers.keras.layer import Layer, Variable
from tfc.importers.keras.operators import sequences
from tfc.importers.keras.table import Use, layer, with_bias

_CELLS = {
    "CuDNNLSTM": "CuDNNLSTMCell", "CuDNNGRU": "CuDNNGRUCell",
    "SimpleRNN": "SimpleRNNCell", "LSTM": "LSTMCell", "GRU": "GRUCell",
    "ConvLSTM1D": "ConvLSTMCell", "ConvLSTM2D": "ConvLSTMCell", "ConvLSTM3D": "ConvLSTMCell",
}  # fmt: skip
_STATEFUL = "stateful ones begin each call with zeros"


def _own_cell(layer: Layer) -> dict[str, Any]:
    """The cell whose options a layer has among its own."""
    return {"cell": {"class_name": _CELLS[layer.class_name], "config": layer.config}}


def _mask(use: Use, mask: Any, result: Any) -> Any:
    """The mask of the steps, where the result has them."""
    first = mask[0] if isinstance(mask, (list, tuple)) and mask else mask
    return first if use.layer.config.get("return_sequences") else None


def split_inputs(x: Any, initial_state: Any) -> tuple[Any, Any]:
    """The sequence and the states to begin with, which may come in one list."""
    if isinstance(x, (list, tuple)):
        initial_state = list(x[1:]) or initial_state
        x = x[0]
    if initial_state is not None and not isinstance(initial_state, (list, tuple)):
        initial_state = [initial_state]
    return x, None if initial_state is None else _flat(initial_state)


def _flat(states: Any) -> list[Any]:
    if isinstance(states, (list, tuple)):
        return [leaf for part in states for leaf in _flat(part)]
    return [states]


def through(
    use: Use, x: Any, initial: Any, mask: Any, zero: Any = None
) -> tuple[Any, Any, list[Any]]:
    """(last output, outputs in the sequence's order, states) of a recurrent layer.

    Raises:
        UnsupportedError: it has options of Keras 2 that came to be for other frameworks.
    """
    config = use.layer.config
    if config.get("time_major") or config.get("num_constants"):
        raise UnsupportedError(f"'{use.layer.name}' has time_major or constants: not supported")
    (cell,) = use.children.values()
    zero = config.get("zero_output_for_mask") if zero is None else zero
    return sequences.run(cell, x, initial, mask, bool(config.get("go_backwards")), bool(zero))


@layer("CuDNNGRU", "CuDNNLSTM", "SimpleRNN", "LSTM", "GRU", "ConvLSTM1D", "ConvLSTM2D",
       "ConvLSTM3D", children=_own_cell, mask=_mask, remark=_STATEFUL)  # fmt: skip
def recurrent(
    use: Use, x: Any, initial_state: Any = None, *, return_sequences: bool = False,
    return_state: bool = False, go_backwards: bool = False, stateful: bool = False,
    zero_output_for_mask: Any = None, time_major: Any = None, units: Any = None,
    activation: Any = None, recurrent_activation: Any = None, use_bias: Any = None,
    unit_forget_bias: Any = None, dropout: Any = None, recurrent_dropout: Any = None,
    implementation: Any = None, reset_after: Any = None, num_constants: Any = None,
    filters: Any = None, kernel_size: Any = None, strides: Any = None, padding: Any = None,
    data_format: Any = None, dilation_rate: Any = None, rank: Any = None, cell: Any = None,
) -> Any:  # fmt: skip
    """The outputs of a cell along a sequence, or the last one; and the states if asked for."""
    x, initial = split_inputs(x, initial_state)
    mask = use.mask[0] if isinstance(use.mask, (list, tuple)) else use.mask
    last, outputs, states = through(use, x, initial, mask)
    found = last
    if return_sequences:
        found = tnp.flip(outputs, axis=1) if go_backwards else outputs
    return (found, *states) if return_state else found


def _given_cell(layer: Layer) -> dict[str, Any]:
    cell = layer.config.get("cell")
    if isinstance(cell, (list, tuple)):
        cell = {"class_name": "StackedRNNCells", "config": {"cells": list(cell)}}
    return {"cell": cell}


layer("RNN", children=_given_cell, mask=_mask, remark=_STATEFUL)(recurrent)


def _stacked_cells(layer: Layer) -> dict[str, Any]:
    cells = layer.config.get("cells")
    return {f"cells/{n}": cell for n, cell in enumerate(cells if isinstance(cells, list) else [])}


@layer("StackedRNNCells", children=_stacked_cells, remark="within RNN")
def stacked(use: Use, x: Any, states: Any = None, *, cells: Any = None,
            reverse_state_order: Any = None) -> Any:  # fmt: skip
    """One step of cells one after the other."""
    raise UnsupportedError("StackedRNNCells outside of an RNN are not supported")


def _cell_variables(layer: Layer) -> list[Variable]:
    return with_bias("kernel", "recurrent_kernel")(layer)


@layer("SimpleRNNCell", "LSTMCell", "GRUCell", "ConvLSTMCell", "CuDNNGRUCell",
       "CuDNNLSTMCell", variables=_cell_variables,
       remark="within RNN, or one step")  # fmt: skip
def one_step(use: Use, x: Any, states: Any, **options: Any) -> Any:
    """One step: the output, and the states after it."""
    cell = sequences.cell_of(use)
    found = cell.step(use, cell.project(use, x), _flat(states))
    return (cell.output(found), *found)


def _both(layer: Layer) -> dict[str, Any]:
    """The layers forward and backward of one config."""
    forward = layer.config.get("layer")
    backward = layer.config.get("backward_layer")
    if backward is None and isinstance(forward, Mapping):
        inner = forward.get("config")
        if isinstance(inner, Mapping):
            turned = not inner.get("go_backwards") if layer.is_old else True
            backward = {**forward, "config": {**inner, "go_backwards": turned}}
    return {"forward_layer": forward, "backward_layer": backward}


def _both_masks(use: Use, mask: Any, result: Any) -> Any:
    inner = use.children["forward_layer"].layer.config
    first = mask[0] if isinstance(mask, (list, tuple)) and mask else mask
    if not inner.get("return_sequences"):
        return None
    return [first, first] if use.layer.config.get("merge_mode", "concat") is None else first


_MERGES = {
    "concat": lambda a, b: tnp.concatenate([a, b], axis=-1), "sum": lambda a, b: a + b,
    "ave": lambda a, b: (a + b) / 2, "mul": lambda a, b: a * b, None: lambda a, b: (a, b),
}  # fmt: skip


@layer("Bidirectional", children=_both, mask=_both_masks, remark=_STATEFUL)
def bidirectional(
    use: Use, x: Any, initial_state: Any = None, *, layer: Any = None, backward_layer: Any = None,
    merge_mode: Any = "concat", num_constants: Any = None,
) -> Any:  # fmt: skip
    """A layer along the sequence and another against it, merged."""
    if num_constants or merge_mode not in _MERGES:
        raise UnsupportedError(f"Bidirectional with the merge_mode {merge_mode!r} or constants")
    x, initial = split_inputs(x, initial_state)
    mask = use.mask[0] if isinstance(use.mask, (list, tuple)) else use.mask
    half = None if initial is None else len(initial) // 2
    parts = [None, None] if initial is None else [initial[:half], initial[half:]]
    ways = [use.children["forward_layer"], use.children["backward_layer"]]
    options = ways[0].layer.config
    sequence = bool(options.get("return_sequences"))
    found = [through(way, x, part, mask, zero=sequence) for way, part in zip(ways, parts)]
    if sequence and bool(options.get("go_backwards")):  # results are against the sequence
        made = [tnp.flip(outputs, axis=1) for _, outputs, _ in found]
    else:
        made = [outputs if sequence else last for last, outputs, _ in found]
    merged = _MERGES[merge_mode](*made)
    if not options.get("return_state"):
        return merged
    results = merged if isinstance(merged, tuple) else (merged,)
    return (*results, *found[0][2], *found[1][2])
