"""A configured graph as a module: its feeds and variables are parameters, its fetches results.

    f32[2,3] x, f32[] counter ─► f32[2,3] y, f32[] counter      {1}: (1, {}, may-alias)

A variable that may change is a result as well, which lies in the memory of its parameter. What
random operators draw depends on one more variable, which counts the runs.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tfc.aot.configured.config import Configuration, Feed, Fetch, TensorName, Variable
from tfc.aot.configured.pruning import (
    HANDLES,
    PLACEHOLDERS,
    REFERENCES,
    pruned,
    require_node,
    without_references,
)
from tfc.aot.interface import Interface, State
from tfc.errors import TfcError
from tfc.frontend.program import Abstract, trace_function
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import Tensor as Traced
from tfc.graph.evaluation import evaluate, order
from tfc.graph.files.freezing import extract_sub_graph
from tfc.graph.files.importing import import_graph_def
from tfc.graph.graph import Graph
from tfc.graph.operation import Operation, Tensor
from tfc.graph.running.effects import Effects
from tfc.graph.types.dtypes import DType, as_dtype
from tfc.graph.types.shapes import TensorShape
from tfc.hlo.ir import Module
from tfc.hlo.shape import Shape, element_type_of

RUNS = "runs"  # the variable that counts runs, where random numbers are drawn


def configured_module(graph_def: Any, config: Configuration, file: str) -> Interface:
    """The module of a graph and its configuration, with the names that its class has.

    Args:
        file: the graph's, for messages.

    Raises:
        TfcError: graph and configuration do not go together, or an operation cannot be compiled.
    """
    _check_nodes(graph_def, config, file)
    fed = {
        feed.id: (_placeholder(graph_def, number, feed), _dtype_of(graph_def, feed, config, file))
        for number, feed in enumerate(config.feeds)
    }
    made = pruned(graph_def, config, fed, file)
    with Graph().as_default() as graph:
        import_graph_def(made, name="")
    feeds = {id: graph.get_operation_by_name(name).outputs[0] for id, (name, _) in fed.items()}
    fetches = [feeds.get(x.id) or _output(graph, x.id, config) for x in config.fetches]
    held = [_held(graph.get_operation_by_name(v.node), v, config) for v in config.variables]
    tracing = _Tracing(config, list(feeds.values()), fetches, held)
    return tracing.interface(_word(Path(file).stem))


def _output(graph: Graph, id: TensorName, config: Configuration) -> Tensor:
    """The tensor that is fetched.

    Raises:
        TfcError: the node has no such output.
    """
    outputs = graph.get_operation_by_name(id.node).outputs
    if id.index >= len(outputs):
        raise TfcError(
            f"a fetch of {config.source} is {id}, but '{id.node}' has {len(outputs)} output"
            f"{'s' * (len(outputs) != 1)}"
        )
    return outputs[id.index]


def _check_nodes(graph_def: Any, config: Configuration, file: str) -> None:
    """Check that what a configuration names is there.

    Raises:
        TfcError: a node is not, or no variable where it should be one.
    """
    fed = {feed.id for feed in config.feeds}
    for fetch in config.fetches:
        if fetch.id not in fed:
            require_node(graph_def, fetch.id.node, f"a fetch of {config.source}", file)
    for variable in config.variables:
        node = require_node(graph_def, variable.node, f"a variable of {config.source}", file)
        if node.op not in HANDLES | REFERENCES:
            raise TfcError(
                f"{config.source} has the variable '{variable.node}', which is no variable in "
                f"{file} but a {node.op}"
            )


def _placeholder(graph_def: Any, number: int, feed: Feed) -> str:
    """A name that is free in the graph for what stands for a feed."""
    taken = {node.name for node in graph_def.node}
    name = f"{feed.id.node}_feed_{number}"
    while name in taken:
        name += "_"
    return name


def _dtype_of(graph_def: Any, feed: Feed, config: Configuration, file: str) -> DType:
    """The dtype of a tensor that is fed: the graph's, or where that cannot say it the config's.

    Raises:
        TfcError: the node is not there, has no such output, or is of another dtype than stated.
    """
    what = f"a feed of {config.source}"
    names = {x.split(":")[0].lstrip("^") for node in graph_def.node for x in node.input}
    if feed.dtype is not None and feed.id.node in names:
        nodes = [node for node in graph_def.node if node.name == feed.id.node]
        if not nodes:
            return feed.dtype
    node = require_node(graph_def, feed.id.node, what, file)
    found = _graphs_dtype(graph_def, node, feed.id)
    if found is None and feed.dtype is None:
        raise TfcError(
            f"{what} is {feed.id} of {file}, an operator that is not known ({node.op}): state the "
            "feed's type"
        )
    if found is not None and feed.dtype not in (None, found):
        raise TfcError(
            f"{what} states the type {feed.dtype.name} for {feed.id}, which is {found.name} in "
            f"{file}"
        )
    chosen = feed.dtype if found is None else found
    assert chosen is not None
    if chosen.numpy is None:
        raise TfcError(f"{what} is {feed.id} of type {chosen.name}: feed a tensor of numbers")
    return chosen


def _graphs_dtype(graph_def: Any, node: Any, id: TensorName) -> DType | None:
    """The dtype that a graph gives a tensor; None where it has operators that are not known.

    Raises:
        TfcError: the node has no such output.
    """
    if node.op in PLACEHOLDERS:
        if id.index:
            raise TfcError(f"{id} is fed, but '{id.node}' has one output")
        return as_dtype(node.attr["dtype"].type)
    try:
        part = extract_sub_graph(graph_def, [id.node])
        with Graph().as_default() as graph:
            import_graph_def(without_references(part), name="")
    except (TfcError, KeyError):
        return None
    outputs = graph.get_operation_by_name(id.node).outputs
    if id.index >= len(outputs):
        raise TfcError(f"{id} is fed, but '{id.node}' has {len(outputs)} outputs")
    return outputs[id.index].dtype


@dataclass(frozen=True)
class _Held:
    """A variable as it is traced: its name among the effects, and what it holds."""

    stated: Variable
    name: str
    shape: Shape


def _held(op: Operation, stated: Variable, config: Configuration) -> _Held:
    """What a variable holds, by the graph and the configuration.

    Raises:
        TfcError: they contradict each other, or the shape is not known.
    """
    where = f"the variable '{stated.node}' of {config.source}"
    dtype, shape = as_dtype(op.attributes["dtype"]), TensorShape(op.attributes.get("shape"))
    if stated.dtype not in (None, dtype):
        raise TfcError(f"{where} is stated as {stated.dtype.name}, but holds {dtype.name}")
    dims = stated.dims
    if dims is None:
        if shape.dims is None or None in shape.dims:
            raise TfcError(f"{where} has a shape that is not known: state it")
        dims = shape.known()
    if not shape.is_compatible_with(dims):
        raise TfcError(f"{where} is stated to be {list(dims)}, but has the shape {shape}")
    if dtype.numpy is None:
        raise TfcError(f"{where} is of type {dtype.name}, of which there are no arrays")
    name = op.attributes.get("shared_name") or op.name
    return _Held(stated, name, Shape(element_type_of(dtype.dtype), dims))


class _Tracing:
    """The tracing of what is configured."""

    def __init__(
        self,
        config: Configuration,
        feeds: Sequence[Tensor],
        fetches: Sequence[Tensor],
        held: Sequence[_Held],
    ):
        self.config, self.feeds, self.fetches, self.held = config, feeds, fetches, held
        self.operations = order([x.op for x in fetches], set(feeds))
        self.draws = False

    def interface(self, name: str) -> Interface:
        """The module, and what its class has of it.

        Raises:
            TfcError: an operation cannot be compiled, or a result is not as it is stated.
        """
        shapes = [Shape(element_type_of(x.dtype.dtype), x.shape.known()) for x in self.feeds]
        shapes += [h.shape for h in self.held]
        names = [_word(f.name or f.id.node) for f in self.config.feeds]
        names += [_word(h.stated.name) for h in self.held]
        runs = Shape(element_type_of(np.dtype(np.uint32)), ())
        arguments = [Abstract(shape) for shape in (*shapes, runs)]
        traced = trace_function(name, self._call, arguments, [*names, RUNS])
        if not self.draws:
            traced.trace.parameters.pop()
        states = self._states()
        computation = traced.computation()
        alias = [f"{{{s.result}}}: ({s.argument}, {{}}, may-alias)"
                 for s in states if s.result is not None]  # fmt: skip
        attributes = (("input_output_alias", f"{{ {', '.join(alias)} }}"),) if alias else ()
        return Interface(
            Module(name, computation, attributes),
            tuple(feed.name for feed in self.config.feeds),
            tuple(fetch.name for fetch in self.config.fetches),
            states,
        )

    def _states(self) -> tuple[State, ...]:
        """The variables, behind the feeds and, those that may change, behind the fetches."""
        found, result = [], len(self.fetches)
        for number, held in enumerate(self.held, len(self.feeds)):
            found.append(State(held.stated.name, number, None if held.stated.readonly else result))
            result += not held.stated.readonly
        if self.draws:
            number = len(self.feeds) + len(self.held)
            found.append(State(RUNS, number, result, is_own=True))
        return tuple(found)

    def _call(self, *tensors: Traced) -> list[Traced]:
        """Compute the operations on Tensors of the trace; what is known stays an array."""
        values: dict[Tensor, Any] = dict(zip(self.feeds, tensors))
        given = dict(zip([h.name for h in self.held], tensors[len(self.feeds) :]))
        effects = Effects(given, tensors[-1])
        evaluate(self.operations, values, effects)
        self.draws = effects.draws
        results = [as_tensor(values[x]) for x in self.fetches]
        for fetch, result in zip(self.config.fetches, results):
            self._check_stated(fetch, result)
        results += [as_tensor(x) for x in self._changed(effects, given)]
        return [*results, tensors[-1] + np.uint32(1)] if self.draws else results

    def _changed(self, effects: Effects, given: Mapping[str, Any]) -> Iterator[Any]:
        """What the variables that may change become.

        Raises:
            TfcError: one that is stated as read only is written.
        """
        for held in self.held:
            if held.stated.readonly and held.name in effects.written:
                raise TfcError(
                    f"{self.config.source} states the variable '{held.stated.node}' as readonly, "
                    "but the graph writes it: leave readonly out"
                )
            if not held.stated.readonly:
                yield effects.written.get(held.name, given[held.name])

    def _check_stated(self, fetch: Fetch, result: Traced) -> None:
        """Check a result against what the configuration says of it, if it does.

        Raises:
            TfcError: its dtype or its sizes are others.
        """
        dtype = None if fetch.dtype is None else fetch.dtype.dtype
        if dtype not in (None, result.dtype) or fetch.dims not in (None, tuple(result.shape)):
            raise TfcError(
                f"{self.config.source} states another type or shape for the fetch {fetch.id} than "
                f"it has: {result.dtype}{list(result.shape)}"
            )


def _word(name: str) -> str:
    return re.sub(r"\W", "_", name, flags=re.ASCII)
