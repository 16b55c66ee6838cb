"""Layers around others, and models within models."""

from typing import Any

import tfc.numpy as tnp
from tfc.errors import UnsupportedError
from tfc.importers.keras.layer import Layer, Variable
from tfc.importers.keras.table import KERAS, Form, Use, filled, layer
from tfc.importers.walk import Call


def _inner(layer: Layer) -> dict[str, Any]:
    return {"layer": layer.config.get("layer")}


@layer("TimeDistributed", children=_inner, mask="passes")
def time_distributed(use: Use, x: Any, *, layer: Any = None) -> Any:
    """A layer for each step: they are a part of the batch meanwhile."""
    (inner,) = use.children.values()
    steps = x.shape[:2]
    merged = tnp.reshape(x, (steps[0] * steps[1], *x.shape[2:]))
    mask = use.mask
    if mask is not None and mask.ndim > 2:
        mask = tnp.reshape(mask, (steps[0] * steps[1], *mask.shape[2:]))
    else:
        mask = None
    made = inner.apply(merged, mask=mask)
    if isinstance(made, tuple):
        raise UnsupportedError("TimeDistributed around a layer of several results")
    return tnp.reshape(made, (*steps, *made.shape[1:]))


def _vector(layer: Layer) -> list[Variable]:
    return [Variable("vector_u", False)]


@layer("SpectralNormalization", children=_inner, variables=_vector)
def spectral(use: Use, x: Any, *, layer: Any = None, power_iterations: Any = None) -> Any:
    """The layer within it, whose kernel was normalized while training."""
    (inner,) = use.children.values()
    return inner.apply(x)


def _model(*values: Any, layer: Layer, form: Form, graphs: Any, node: Call) -> Any:
    """The outputs of a model within another, with their masks."""
    (graph,) = graphs
    if form.kwargs.get("training") and layer.is_old:
        raise UnsupportedError(f"'{layer.name}' is called with training=True: not supported")
    ports = [port.name for port in graph.inputs]
    stated = [*form.args, *(v for k, v in form.kwargs.items() if k in ("inputs", "x"))]
    given = [filled(slot, values) for part in stated for slot in _flat(part, ports)]
    return tuple(node.run(graph, given))


def _flat(argument: Any, ports: list[str]) -> list[Any]:
    """The parts of an argument in the order of a model's inputs."""
    if isinstance(argument, dict):
        keys = ports if set(argument) == set(ports) else sorted(argument)
        return [v for key in keys for v in _flat(argument[key], ports)]
    if isinstance(argument, (list, tuple)):
        return [v for part in argument for v in _flat(part, ports)]
    return [argument]


for _name in ("Functional", "Model", "Network", "Sequential"):
    KERAS.operator(_name)(_model)
