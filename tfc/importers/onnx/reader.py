"""An ONNX file as a Graph and the functions that it defines."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tfc.errors import ModelFileError, TfcError
from tfc.importers.graph import AttributeReference, Function, Graph, Key, Node, Port
from tfc.importers.onnx.tensors import Tensors, dtype_of
from tfc.importers.onnx.weights import Source, Weights, opened
from tfc.protos import parse_message

NEWEST = 28  # the last version of ai.onnx whose operators were looked through
_MANY = 1024  # elements of a Constant from which on it is a weight
_STANDARD = ("", "ai.onnx")
# The field of an attribute that holds its value, by the number of its type.
_SCALARS = {1: "f", 2: "i", 3: "s", 4: "t", 5: "g", 11: "sparse_tensor", 13: "tp"}
_LISTS = {6: "floats", 7: "ints", 8: "strings", 9: "tensors", 10: "graphs"}


@dataclass(frozen=True)
class Content:
    """What a file has: its graph, its functions by domain and name, its parameters by name."""

    file: str
    graph: Graph
    functions: Mapping[Key, Function]
    parameters: Mapping[str, np.ndarray]
    versions: Mapping[str, int]


def read(source: Any) -> Content:
    """The content of an ONNX model.

    Args:
        source: a path, the bytes of a file, or what has a SerializeToString that gives them.

    Raises:
        ModelFileError: it is damaged or inconsistent.
        TfcError: the file cannot be read.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _read(Source(bytes(source)), "the ONNX model", None)
    if hasattr(source, "SerializeToString"):
        return _read(Source(source.SerializeToString()), "the ONNX model", None)
    file = os.fspath(source)
    try:
        with opened(source) as content:
            return _read(content, file, Path(source).parent)
    except OSError as error:
        raise TfcError(f"cannot read {error.filename or file}: {error.strerror}") from error


def _read(source: Source, file: str, folder: Path | None) -> Content:
    weights = Weights(source)
    message = parse_message("onnx", "Model", weights.skeleton(), file)
    tensors = Tensors(file, folder, source.size, weights)
    try:
        return _Reader(file, tensors).content(message)
    except UnicodeDecodeError as error:
        raise ModelFileError(f"{file} is damaged: a name in it is no UTF-8") from error


class _Reader:
    """Reads one file; weights get names of their own as they are met."""

    def __init__(self, file: str, tensors: Tensors):
        self.file, self.tensors = file, tensors
        self.parameters: dict[str, np.ndarray] = {}

    def content(self, model: Any) -> Content:
        if not model.HasField("graph") or not model.opset_import:
            raise ModelFileError(f"{self.file} is no ONNX model, or only a part of one")
        versions = _versions(model.opset_import)
        if versions.get("", 1) > NEWEST:
            raise ModelFileError(
                f"{self.file} is for version {versions['']} of ONNX's operators; {NEWEST} is the "
                "newest that is known"
            )
        functions = {}
        for function in model.functions:
            own = {**versions, **_versions(function.opset_import)}
            key = _domain(function.domain), _overloaded(function.name, function.overload)
            functions[key] = self._function(function, own)
        graph = self.graph(model.graph, versions)
        return Content(self.file, graph, functions, self.parameters, versions)

    def graph(self, message: Any, versions: Mapping[str, int]) -> Graph:
        """A Graph message; the initializers are no inputs."""
        constants: dict[str, np.ndarray] = {}
        weights: dict[str, str] = {}
        for tensor in message.initializer:
            self._constant(message, tensor.name, self.tensors.read(tensor), 1, constants, weights)
        for tensor in message.sparse_initializer:
            dense = self.tensors.sparse(tensor)
            self._constant(message, tensor.values.name, dense, 1, constants, weights)
        nodes = []
        for node in message.node:
            value = self._constant_node(node)
            if value is None:
                nodes.append(self._node(node, versions, len(nodes)))
            else:
                self._constant(message, node.output[0], value, _MANY, constants, weights)
        inputs = tuple(self._port(v) for v in message.input if v.name not in constants)
        outputs = tuple(map(self._port, message.output))
        name = message.name or "graph"
        return Graph(name, inputs, outputs, tuple(nodes), constants, weights)

    def _constant(
        self,
        graph: Any,
        name: str,
        array: np.ndarray,
        least: int,
        constants: dict[str, np.ndarray],
        weights: dict[str, str],
    ) -> None:
        """Enter a constant, as a parameter of the model too if it is an array of floats.

        Args:
            least: how many elements a parameter has at least.
        """
        constants[name] = array
        is_float = array.dtype.kind == "f" or array.dtype.name in ("bfloat16",)
        if is_float and array.ndim and array.size >= least:
            unique = name if name not in self.parameters else f"{graph.name}/{name}"
            number = 1
            while unique in self.parameters:
                number += 1
                unique = f"{graph.name}/{name}/{number}"
            self.parameters[unique] = array
            weights[name] = unique

    def _constant_node(self, node: Any) -> np.ndarray | None:
        """The value of a Constant node; None for other nodes."""
        if node.op_type != "Constant" or _domain(node.domain) or len(node.output) != 1:
            return None
        (attribute,) = node.attribute if len(node.attribute) == 1 else (None,)
        if attribute is None or attribute.ref_attr_name:
            return None
        value = self._attribute(attribute, {})
        if attribute.name in ("value", "sparse_value") and isinstance(value, np.ndarray):
            return value
        if attribute.name in ("value_float", "value_floats"):
            return np.array(value, np.float32)
        if attribute.name in ("value_int", "value_ints"):
            return np.array(value, np.int64)
        if attribute.name in ("value_string", "value_strings"):
            return np.array(value, object)
        return None

    def _node(self, node: Any, versions: Mapping[str, int], number: int) -> Node:
        domain = _domain(node.domain)
        attributes = {a.name: self._attribute(a, versions) for a in node.attribute}
        op = _overloaded(node.op_type, node.overload)
        name = node.name or f"{op}_{number}"
        inputs, outputs = tuple(node.input), tuple(node.output)
        while inputs and not inputs[-1]:
            inputs = inputs[:-1]
        return Node(domain, op, versions.get(domain, 1), name, inputs, outputs, attributes)

    def _function(self, message: Any, versions: Mapping[str, int]) -> Function:
        nodes = tuple(self._node(n, versions, i) for i, n in enumerate(message.node))
        graph = Graph(
            message.name, tuple(map(Port, message.input)), tuple(map(Port, message.output)), nodes
        )
        defaults = {a.name: self._attribute(a, versions) for a in message.attribute_proto}
        return Function(graph, defaults)

    def _attribute(self, attribute: Any, versions: Mapping[str, int]) -> Any:
        """The value of an attribute."""
        if attribute.ref_attr_name:
            return AttributeReference(attribute.ref_attr_name)
        kind = attribute.type or _guessed(attribute)
        if kind in _LISTS:
            return tuple(self._part(v, versions) for v in getattr(attribute, _LISTS[kind]))
        if kind in _SCALARS:
            return self._part(getattr(attribute, _SCALARS[kind]), versions)
        raise ModelFileError(f"{self.file}: the attribute '{attribute.name}' has no known type")

    def _part(self, value: Any, versions: Mapping[str, int]) -> Any:
        if isinstance(value, bytes):
            return value.decode("utf-8", "surrogateescape")
        if isinstance(value, (int, float)):
            return value
        kind = value.DESCRIPTOR.name
        if kind == "Tensor":
            return self.tensors.read(value)
        if kind == "SparseTensor":
            return self.tensors.sparse(value)
        return self.graph(value, versions) if kind == "Graph" else self._typed("", value)

    def _port(self, message: Any) -> Port:
        return self._typed(message.name, message.type)

    def _typed(self, name: str, message: Any) -> Port:
        """The Port of a Type message."""
        kind = "tensor"
        for _ in range(8):
            if message.HasField("sequence_type"):
                kind, message = "sequence", message.sequence_type.elem_type
            elif message.HasField("optional_type"):
                kind = "optional" if kind == "tensor" else kind
                message = message.optional_type.elem_type
        tensor = message.tensor_type
        dtype = dtype_of(tensor.elem_type) if tensor.elem_type else None
        if not tensor.HasField("shape"):
            return Port(name, dtype, None, kind)
        return Port(name, dtype, tuple(map(_dimension, tensor.shape.dim)), kind)


def _dimension(dimension: Any) -> int | str | None:
    if dimension.HasField("dim_value") and dimension.dim_value >= 0:
        return dimension.dim_value
    return dimension.dim_param or None


def _guessed(attribute: Any) -> int:
    """The type of an attribute that does not say it, as the first files did."""
    for kind, name in _LISTS.items():
        if len(getattr(attribute, name)):
            return kind
    for kind, name in _SCALARS.items():
        if attribute.HasField(name):
            return kind
    return 7  # an empty list


def _domain(name: str) -> str:
    return "" if name in _STANDARD else name


def _overloaded(name: str, overload: str) -> str:
    return f"{name}:{overload}" if overload else name


def _versions(imports: Sequence[Any]) -> dict[str, int]:
    return {_domain(entry.domain): entry.version for entry in imports}
