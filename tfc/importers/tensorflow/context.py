"""What nodes act on beyond their inputs: variables and random keys, as graph mode's rows ask."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfc.errors import UnsupportedError
from tfc.graph.control.facts import Facts
from tfc.graph.running.effects import Effects
from tfc.graph.types.handles import Handle
from tfc.importers.graph import Function, Graph
from tfc.importers.tensorflow.meanings import FunctionReference
from tfc.importers.values import Value, traced
from tfc.importers.walk import Call, Scope, Walk

_ALWAYS = np.uint32(0)  # the number of every run
_PASSING = ("Identity", "Snapshot", "StopGradient", "PreventGradient")


class Body:
    """A function of the library as graph mode's rows of control flow take one: a Subgraph.

    inputs, outputs: names of its values; an output that is an input handed on is that very one.
    """

    def __init__(self, function: Function, reference: FunctionReference, facts: Facts):
        self.graph: Graph = function.graph
        self.attributes = {**function.attributes, **reference.attributes}
        self.inputs = [port.name for port in self.graph.inputs]
        origins = {name: name for name in self.inputs}
        for node in self.graph.nodes:
            if node.op in _PASSING and origins.keys() & node.inputs[:1]:
                origins[node.outputs[0]] = origins[node.inputs[0]]
        self.outputs = [origins.get(p.name, p.name) for p in self.graph.outputs]
        self.version = 0
        self.known_facts = ((self.version, tuple(self.outputs)), facts)


class Context(Effects):
    """Variables and random keys of one walk.

    Random numbers are the same in each call of a model, as it is a pure function, unless `count`
    tells the calls apart.

    call: the node at hand.
    values: what variables hold, Held where that is known.
    tables: what tables hold, by the nodes that make them.
    """

    def __init__(
        self,
        values: Mapping[str, Value],
        facts: Mapping[str, Facts],
        path: tuple[str, ...] = (),
        iterations: tuple[Any, ...] = (),
        count: Any = _ALWAYS,
        tables: Mapping[str, Any] | None = None,
    ):
        super().__init__(values, count, path, iterations)
        self.facts, self.at, self.tables = facts, None, tables or {}

    at: Call | None

    def held(self, handle: Handle) -> Value:
        """The value of a variable as it is known.

        Raises:
            UnsupportedError: it has none in the file.
        """
        if handle.name not in self.written and handle.name not in self._values:
            raise UnsupportedError(
                f"the variable '{handle.name}' has no value in the file: freeze the graph, or read "
                "it from a SavedModel with its checkpoint"
            )
        return super().read(handle)

    def read(self, handle: Handle) -> Any:
        """The value of a variable, to compute with."""
        return traced(self.held(handle))

    def body(self, reference: FunctionReference, walk: Walk) -> Body:
        """A function that an attribute names."""
        function = walk.functions["", reference.name]
        return Body(function, reference, self.facts[reference.name])

    def call(self, subgraph: Any, arguments: Sequence[Any]) -> list[Any]:
        """The results of a function, whose effects are of this context, to compute with."""
        return [traced(value) for value in self.called(subgraph, arguments)]

    def called(self, body: Body, arguments: Sequence[Value]) -> list[Value]:
        """The results of a function as they are known."""
        at, operation, path = self.at, self.operation, self._path
        assert at is not None
        before, at.walk.state = at.walk.state, self
        self._path = self._inner_path()
        try:
            return at.walk.run(body.graph, arguments, Scope(depth=at.scope.depth), body.attributes)
        finally:
            at.walk.state, self.at, self.operation, self._path = before, at, operation, path

    def nested(self, values: Mapping[Handle, Any], iteration: Any = None) -> "Context":
        """A context whose variables have these values, and where what is written stays."""
        more = () if iteration is None else (iteration,)
        named = {handle.name: value for handle, value in values.items()}
        path = self._inner_path()
        iterations = (*self._iterations, *more)
        made = Context(named, self.facts, path, iterations, self._count, self.tables)
        made.operation, made.at, made._drawn = self.operation, self.at, self._drawn
        return made


def context_at(call: Call) -> Context:
    """The context of a walk, at a node."""
    found: Context = call.walk.state
    found.at, found.operation = call, call.node  # type: ignore[assignment]
    return found
