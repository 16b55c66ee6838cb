"""Configs of models as layers and graphs: Sequential, Functional, and each within the other."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from tfc.errors import ModelFileError, UnsupportedError
from tfc.importers.graph import Graph, Node, Port
from tfc.importers.keras.calls import Calls, calls_of, references
from tfc.importers.keras.layer import Layer, dtype_of, serialized
from tfc.importers.keras.old import modern
from tfc.importers.keras.table import KINDS, Form, Slot

FUNCTIONAL = ("Functional", "Model", "Network", "Graph")
SEQUENTIAL = ("Sequential",)
_OUR_MODULES = ("keras", "tf_keras", "tensorflow", "builtins", "tensorflow_core")
_MOST_DEPTH = 32  # layers within layers
INPUT = "InputLayer"


class Architecture:
    """Makes layers, and in the end graphs, of one file's configs.

    is_old: whether a Keras before 3 wrote it.
    arrays: the parameters by name, which are bound to the layers between the two.
    """

    def __init__(self, file: str, is_old: bool):
        self.file, self.is_old = file, is_old
        self.arrays: Mapping[str, np.ndarray] = {}

    def model(self, entry: Any) -> Layer:
        """The model that a file's config describes.

        Raises:
            UnsupportedError: it is no Sequential or Functional model.
        """
        class_name, _ = serialized(entry)
        found = self.layer(entry)
        if found.build is None:
            raise UnsupportedError(
                f"{self.file} is a model of the class {class_name}, whose code is not in the file: "
                "only Sequential and Functional models can be read"
            )
        return found

    def layer(self, entry: Any, depth: int = 0) -> Layer:
        """The layer that an entry of a config describes, with those within it."""
        if depth > _MOST_DEPTH:
            raise ModelFileError(f"{self.file} nests layers more than {_MOST_DEPTH} deep")
        class_name, config = serialized(entry)
        domain, class_name = _domain(entry, class_name, self.is_old)
        if isinstance(config, list):  # what the first Keras wrote of a Sequential
            config = {"layers": config}
        if not isinstance(config, Mapping):
            raise ModelFileError(f"{self.file} has a layer {class_name} without a config")
        name = str(entry.get("name") or config.get("name") or class_name.lower())
        if domain == "" and self.is_old:
            class_name, config = modern(class_name, config)
        made = Layer(class_name, name, config, self.is_old, domain=domain)
        if domain == "" and class_name in (*FUNCTIONAL, *SEQUENTIAL) and "layers" in config:
            return self._model_of(made, depth)
        kind = KINDS.get((domain, class_name))
        if kind is not None:
            made.variables = tuple(kind.variables(made))
            made.children = {
                attribute: self.layer(_inheriting(inner, config), depth + 1)
                for attribute, inner in kind.children(made).items()
            }
        return made

    def _model_of(self, made: Layer, depth: int) -> Layer:
        entries = made.config["layers"]
        if not isinstance(entries, list) or not entries:
            raise ModelFileError(f"{self.file} has a model '{made.name}' without layers")
        layers = [self.layer(entry, depth + 1) for entry in entries]
        is_sequence = made.class_name in SEQUENTIAL
        # What groups of weights are counted by: the layers that Keras lists.
        made.children = {
            str(number): layer
            for number, layer in enumerate(layers)
            if layer.domain == "" and not (is_sequence and layer.class_name == INPUT)
        }
        build = self._chain if is_sequence else self._network
        made.build = partial(build, made, entries, layers)
        return made

    def finish(self, layer: Layer) -> None:
        """Make the graphs of a model and of those within it, once its weights are bound."""
        for child in layer.children.values():
            self.finish(child)
        if layer.build is not None:
            layer.graph = layer.build()

    # --- graphs ---------------------------------------------------------------------------------

    def _chain(self, made: Layer, entries: list[Any], layers: list[Layer]) -> Graph:
        """The graph of a Sequential."""
        first = layers[0]
        rest = layers[1:] if first.class_name == INPUT else layers
        port = _input_port(first, made.config.get("build_input_shape"))
        value, nodes = port.name, []
        for number, layer in enumerate(rest):
            result = f"{layer.name}:{number}"
            form = Form((Slot(0),), {}, 1)
            nodes.append(self._node(layer, form, [value], [result]))
            value = result
        return self._graph(made, (port,), (Port(value),), nodes)

    def _network(self, made: Layer, entries: list[Any], layers: list[Layer]) -> Graph:
        """The graph of a Functional model."""
        by_name = {layer.name: layer for layer in layers}
        if len(by_name) < len(layers):
            raise ModelFileError(f"the model '{made.name}' has two layers of one name")
        outputs = references(made.config.get("output_layers"))
        inputs = references(made.config.get("input_layers"))
        found = calls_of(entries, layers, [*inputs, *outputs])
        names: dict[str, None] = {}
        ports = []
        for reference in inputs:
            layer = by_name.get(reference.layer)
            if layer is None:
                raise ModelFileError(f"the model '{made.name}' has no input '{reference.layer}'")
            names[reference.layer] = None
            ports.append(_input_port(layer, None))
        nodes = self._ordered_nodes(made, found, layers, set(names))
        results = tuple(Port(found.value(reference, True)) for reference in outputs)
        return self._graph(made, tuple(ports), results, nodes)

    def _ordered_nodes(
        self, made: Layer, found: Calls, layers: list[Layer], ready: set[str]
    ) -> list[Node]:
        """The calls of a model's layers, each after those that it uses."""
        pending, nodes = list(found.all(layers)), []
        for layer in layers:
            if layer.class_name == INPUT:
                ready.add(layer.name)
        while pending:
            waiting = []
            for layer, number, form, used in pending:
                if not set(used) <= ready:
                    waiting.append((layer, number, form, used))
                    continue
                results = found.results(layer, number)
                nodes.append(self._node(layer, form, used, results))
                ready.update(results)
            if len(waiting) == len(pending):
                layer, _, _, used = waiting[0]
                lacking = next(u for u in used if u not in ready)
                raise ModelFileError(
                    f"the layer '{layer.name}' of the model '{made.name}' uses '{lacking}', which "
                    "nothing computes before it"
                )
            pending = waiting
        return nodes

    def _node(
        self, layer: Layer, form: Form, inputs: Sequence[str], outputs: Sequence[str]
    ) -> Node:
        weights = [name for leaf in layer.leaves() for name in leaf.weights.values()]
        if layer.build is not None:
            weights = []
        attributes = {"layer": layer, "form": form}
        if graphs := tuple(_graphs(layer)):
            attributes["graphs"] = graphs
        return Node(
            layer.domain, layer.class_name, 1, layer.name, (*inputs, *weights), tuple(outputs),
            attributes,
        )  # fmt: skip

    def _graph(
        self, made: Layer, inputs: tuple[Port, ...], outputs: tuple[Port, ...], nodes: list[Node]
    ) -> Graph:
        used = {name for node in nodes for name in node.inputs if name in self.arrays}
        constants = {name: self.arrays[name] for name in self.arrays if name in used}
        weights = {name: name for name in constants}
        return Graph(made.name, inputs, outputs, tuple(nodes), constants, weights)


def _graphs(layer: Layer) -> list[Graph]:
    """The graphs of the models within a layer that are not within another model."""
    if layer.graph is not None:
        return [layer.graph]
    return [graph for child in layer.children.values() for graph in _graphs(child)]


def _domain(entry: Mapping[str, Any], class_name: str, is_old: bool) -> tuple[str, str]:
    """The domain that a class's row is in, and the name that it has there."""
    module, config = entry.get("module"), entry.get("config")
    registered = entry.get("registered_name")
    if isinstance(module, str) and ".ops" in module and module.startswith("keras"):
        return "ops", class_name
    if class_name in ("TFOpLambda", "SlicingOpLambda", "ClassMethod") and isinstance(
        config, Mapping
    ):
        return "tf", str(config.get("function", "")).removeprefix("tf.").removeprefix("compat.v1.")
    if (isinstance(module, str) and module.partition(".")[0] not in _OUR_MODULES) or (
        module is None and isinstance(registered, str) and ">" in registered
    ):
        return "custom", str(registered or class_name)
    # An operation in an `.h5` file of Keras 3 says no module; layers say whether they are trained.
    is_operation = not is_old and module is None and isinstance(config, Mapping) and (
        "trainable" not in config and "layers" not in config
    )  # fmt: skip
    return ("ops" if is_operation and ("ops", class_name) in KINDS else ""), class_name


def _inheriting(entry: Any, config: Mapping[str, Any]) -> Any:
    """The config of a layer within another, with its policy where it has none of its own."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("config"), Mapping):
        return entry
    inner = entry["config"]
    if "dtype" in inner or "dtype" not in config:
        return entry
    return {**entry, "config": {**inner, "dtype": config["dtype"]}}


def _input_port(layer: Layer, shape: Any) -> Port:
    """The input that a model's first layer stands for."""
    config = layer.config
    for name in ("batch_shape", "batch_input_shape"):
        shape = config[name] if config.get(name) is not None else shape
    if shape is None and config.get("input_dim") is not None:
        shape = (None, config["input_dim"])
    dtype = config.get("dtype") if layer.class_name == INPUT else config.get("input_dtype")
    if dtype is None and layer.class_name == "Embedding":
        dtype = "int32"
    if dtype == "string":
        raise UnsupportedError(f"the input '{layer.name}' is text, which is not supported")
    if config.get("sparse") or config.get("ragged"):
        raise UnsupportedError(f"the input '{layer.name}' is sparse or ragged: not supported")
    name = layer.name if layer.class_name == INPUT else f"{layer.name}_input"
    found = dtype_of(dtype if dtype is not None else config.get("dtype"), layer.name)
    if shape is None:
        return Port(name, found)
    if not isinstance(shape, (list, tuple)) or not all(
        d is None or (isinstance(d, int) and d >= 0) for d in shape
    ):
        raise ModelFileError(f"the input '{name}' cannot have the shape {str(shape)[:60]}")
    dims = tuple("batch" if d is None and not n else d for n, d in enumerate(shape))
    return Port(name, found, dims)
