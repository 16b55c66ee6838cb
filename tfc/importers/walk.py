"""Going through a graph in the current trace, node by node.

What is known is evaluated at once: shapes, and what depends on constants alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfc.errors import (
    InternalError,
    ModelFileError,
    OutOfMemoryError,
    TfcError,
    UnsupportedError,
)
from tfc.frontend import operations as ops
from tfc.frontend import tree
from tfc.frontend.tensor import Tensor
from tfc.frontend.trace import Trace, blame
from tfc.hlo.evaluation.evaluator import evaluate_computation
from tfc.hlo.ir import Metadata
from tfc.importers.graph import (
    AttributeReference,
    Function,
    Graph,
    Key,
    Node,
    all_nodes,
)
from tfc.importers.table import Row, Table, unknown_operators
from tfc.importers.values import (
    Held,
    UnknownValueError,
    Value,
    holds,
    is_known,
    known,
    size,
    traced,
)

_MOST_KNOWN = 1 << 20  # elements of a value that is evaluated while importing
_MOST_HELD = 1 << 10  # of one that is computed from parameters, too: scales, bounds
_MOST_DEPTH = 64  # graphs within graphs, and functions that call functions
_MOST_STEPS = 1 << 19  # nodes, each counted as often as loops and functions run it


@dataclass
class Scope:
    """The values of a graph by name, within those of the graph around it.

    bindings: the attributes of the call, in a function of the file's own.
    """

    outer: "Scope | None" = None
    bindings: Mapping[str, Any] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)
    depth: int = 0

    def find(self, name: str) -> Value:
        """The value of a name, here or further out.

        Raises:
            ModelFileError: nothing computes it.
        """
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.outer
        raise ModelFileError(f"nothing computes the value '{name}'")


@dataclass(frozen=True)
class Call:
    """What a row may ask of the node that it is called for."""

    walk: "Walk"
    node: Node
    scope: Scope

    @property
    def version(self) -> int:
        """The version of the operator's domain."""
        return self.node.version

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node.name

    @property
    def results(self) -> tuple[bool, ...]:
        """For each output, whether it is asked for."""
        return tuple(bool(name) for name in self.node.outputs)

    @property
    def inputs(self) -> list[Value]:
        """The inputs as they are known, which rows get as arrays and Tensors."""
        return [self.scope.find(name) if name else None for name in self.node.inputs]

    def run(self, graph: Graph, inputs: Sequence[Value]) -> list[Value]:
        """The outputs of a graph among the node's attributes, computed in the current trace."""
        return self.walk.run(graph, inputs, self.scope, self.scope.bindings)


class Walk:
    """One import of a model in a trace.

    parameters: what to compute with for each parameter.
    functions: the operators that the file defines.
    state: what rows of an importer share while they run: the values of variables, say.
    """

    def __init__(
        self,
        table: Table,
        file: str,
        parameters: Mapping[str, Any],
        functions: Mapping[Key, Function],
    ):
        self.table, self.file = table, file
        self.parameters, self.functions = parameters, functions
        self.state: Any = None
        self._graphs: Sequence[Graph] = ()
        self._steps = 0

    def run(
        self,
        graph: Graph,
        inputs: Sequence[Value],
        outer: Scope | None = None,
        bindings: Mapping[str, Any] | None = None,
    ) -> list[Value]:
        """The outputs of a graph; nodes that they do not need are left out.

        Raises:
            ModelFileError: the graph is inconsistent.
            UnsupportedError: it has operators without a row, or needs a value that is not known.
        """
        if len(inputs) > len(graph.inputs):
            raise ModelFileError(f"{graph.name} takes {len(graph.inputs)} inputs")
        depth = 0 if outer is None else outer.depth + 1
        if depth > _MOST_DEPTH:
            raise UnsupportedError(f"{self.file} nests graphs more than {_MOST_DEPTH} deep")
        scope = Scope(outer, bindings or {}, depth=depth)
        for name, array in graph.constants.items():
            scope.values[name] = self._constant(graph, name, array)
        scope.values |= {port.name: value for port, value in zip(graph.inputs, inputs)}
        for node in graph.needed:
            self._enter(node, scope)
        return [scope.find(port.name) for port in graph.outputs]

    def _constant(self, graph: Graph, name: str, array: np.ndarray) -> Value:
        parameter = graph.weights.get(name)
        if parameter is None or parameter not in self.parameters:
            return array
        given = self.parameters[parameter]
        return Held(array, given if isinstance(given, Tensor) else ops.constant(np.asarray(given)))

    def _enter(self, node: Node, scope: Scope) -> None:
        """Compute a node's outputs."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise UnsupportedError(f"{self.file} unrolls to more than {_MOST_STEPS} nodes")
        metadata = Metadata(op_type=node.label, op_name=node.name or "/".join(node.outputs[:1]))
        try:
            inputs = [scope.find(name) if name else None for name in node.inputs]
            with blame(metadata):
                results = self._results(node, inputs, scope)
        except TfcError as error:
            if not isinstance(error, InternalError):
                error.add_note(f"at the node '{node.name}' ({node.label}) of {self.file}")
            raise
        except MemoryError as error:
            raise OutOfMemoryError(
                f"the node '{node.name}' ({node.label}) of {self.file} needs more memory than "
                "there is"
            ) from error
        except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
            reason = str(error).partition("\n")[0]
            raise ModelFileError(
                f"the node '{node.name}' ({node.label}) of {self.file} is not as its operator "
                f"requires: {reason}"
            ) from error
        if len(results) < len(node.outputs):
            raise ModelFileError(
                f"the node '{node.name}' ({node.label}) of {self.file} has {len(node.outputs)} "
                f"outputs, of which its operator gives {len(results)}"
            )
        scope.values |= {name: value for name, value in zip(node.outputs, results) if name}

    def _results(self, node: Node, inputs: list[Value], scope: Scope) -> list[Value]:
        attributes = _bound(node.attributes, scope.bindings)
        node = node if attributes is node.attributes else _with(node, attributes)
        function = self.functions.get((node.domain, node.op))
        if function is not None:
            given = {k: v for k, v in function.attributes.items() if k not in node.attributes}
            return self.run(
                function.graph,
                [*inputs, *[None] * (len(function.graph.inputs) - len(inputs))],
                Scope(depth=scope.depth),
                {**given, **node.attributes},
            )
        row = self.table.find(node)
        if row is None:
            raise self._unknown(node)
        self.table.check_count(row, node)
        options = self.table.attributes(row, node)
        if "node" in row.attributes:
            options["node"] = Call(self, node, scope)
        return self._computed(row, inputs, options)

    def _computed(self, row: Row, inputs: list[Value], options: dict[str, Any]) -> list[Value]:
        """The outputs of a row, known where its inputs are."""
        if not row.is_pure or not all(map(is_known, inputs)):
            return _outputs(_applied(row, inputs, options, traced))
        held = any(map(holds, inputs))
        most = _MOST_HELD if held else _MOST_KNOWN
        found = None
        if sum(map(size, inputs)) <= most:
            found = _evaluated(lambda: _applied(row, inputs, options, known), most)
        if found is not None and (row.decides or not held):
            return found
        results = _outputs(_applied(row, inputs, options, traced))
        if found is None:
            return results
        return [
            Held(k, t) if isinstance(k, np.ndarray) and isinstance(t, Tensor) else t
            for k, t in zip(found, results)
        ]

    def _unknown(self, node: Node) -> TfcError:
        graphs = [function.graph for function in self.functions.values()]
        nodes = [*all_nodes([*graphs, *self._graphs])]
        error = unknown_operators(nodes, self.table, self.functions, self.file)
        return error or UnsupportedError(f"{node.label} is not supported")

    def main(self, graph: Graph, inputs: Sequence[Value]) -> list[Value]:
        """The outputs of the model's own graph."""
        self._graphs = [graph]
        return self.run(graph, inputs)


def _applied(
    row: Row, inputs: Sequence[Value], options: dict[str, Any], form: Callable[[Value], Any]
) -> Any:
    """What a row's function returns for inputs in a form: `known` or `traced`."""
    args = []
    for number, value in enumerate(inputs):
        if not row.needs_value(number):
            args.append(form(value))
        elif is_known(value):
            args.append(known(value))
        else:
            name = row.inputs[min(number, len(row.inputs) - 1)]
            raise UnknownValueError(
                f"the value of its input '{name}' must be known while importing, but depends on "
                "the model's inputs: fix those that decide it, such as by fixed={'name': value}"
            )
    return row.function(*args, **options)


def _outputs(result: Any) -> list[Value]:
    return list(result) if isinstance(result, tuple) else [result]


def _evaluated(compute: Callable[[], Any], most: int) -> list[Value] | None:
    """What a computation of known values gives; None if it is large."""
    with Trace("known") as trace:
        results = _outputs(compute())
        leaves, structure = tree.flatten(results)
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        if sum(tensor.size for tensor in tensors) > most:
            return None
        root = ops.make_tuple(tensors) if tensors else None
    if root is not None:
        found = iter(evaluate_computation(trace.computation(root.instruction), ()))
        leaves = [np.asarray(next(found)) if isinstance(v, Tensor) else v for v in leaves]
    return tree.unflatten(structure, leaves)


def _bound(attributes: Mapping[str, Any], bindings: Mapping[str, Any]) -> Mapping[str, Any]:
    """A node's attributes, those of a function's call put in their places."""
    if not any(isinstance(value, AttributeReference) for value in attributes.values()):
        return attributes
    found = {}
    for name, value in attributes.items():
        if not isinstance(value, AttributeReference):
            found[name] = value
        elif value.name in bindings:
            found[name] = bindings[value.name]
    return found


def _with(node: Node, attributes: Mapping[str, Any]) -> Node:
    return Node(
        node.domain, node.op, node.version, node.name, node.inputs, node.outputs, attributes
    )
