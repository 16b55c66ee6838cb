"""A configured graph as a module: its feeds and variables are parameters, its fetches results.

    f32[2,3] x, f32[] counter ─► f32[2,3] y, f32[] counter      {1}: (1, {}, may-alias)

The importers' reader takes the part between feeds and fetches out of the GraphDef, so that what is
not needed may be anything, and their Walk traces it. A variable that may change is a result as
well, which lies in the memory of its parameter. What random operators draw depends on one more
variable, which counts the runs.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tfc.aot.configured.config import Configuration, Feed, Fetch, TensorName, Variable
from tfc.aot.configured.references import HANDLES, REFERENCES, without_references
from tfc.aot.interface import Interface, State
from tfc.errors import TfcError, did_you_mean
from tfc.frontend import operations as ops
from tfc.frontend.program import Abstract, trace_function
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import Tensor
from tfc.graph.files.checkpoints import CheckpointReader
from tfc.graph.files.freezing import extract_sub_graph
from tfc.graph.files.importing import import_graph_def
from tfc.graph.files.tensors import shape_from_proto
from tfc.graph.graph import Graph
from tfc.graph.types.dtypes import DType, as_dtype
from tfc.graph.types.shapes import TensorShape
from tfc.hlo.ir import Module
from tfc.hlo.shape import Shape, element_type_of
from tfc.importers.tensorflow import model as models
from tfc.importers.tensorflow import reader as readers
from tfc.importers.tensorflow.context import Context
from tfc.importers.tensorflow.meanings import file_errors
from tfc.importers.values import Held, traced
from tfc.importers.walk import Walk

Values = Callable[[Any, frozenset[str]], Mapping[str, np.ndarray]]
_OF_OBJECTS = "/.ATTRIBUTES/VARIABLE_VALUE"  # behind the names of tf.train.Checkpoint
RUNS = "runs"  # the variable that counts runs, where random numbers are drawn


@dataclass(frozen=True)
class HeldVariable:
    """A variable as it is traced: its name among the effects, and what it holds.

    initial: its value at first, if that is not zero.
    """

    stated: Variable
    name: str
    shape: Shape
    initial: np.ndarray | None = None


def configured_module(
    graph_def: Any,
    config: Configuration,
    file: str,
    checkpoint: str | None = None,
    is_initial: bool = False,
) -> Interface:
    """The module of a graph and its configuration, with the names that its class has.

    Args:
        file: the graph's, for messages.
        checkpoint: where values of variables are, of which those that are no state are constants.
        is_initial: whether state begins as what the checkpoint holds.

    Raises:
        TfcError: graph and configuration do not go together, or an operation cannot be compiled.
    """
    graph_def = without_references(graph_def)
    for fetch in config.fetches:
        _node(graph_def, fetch.id.node, f"a fetch of {config.source}", file)
    dtypes = [_dtype_of(graph_def, feed, config, file) for feed in config.feeds]
    held = [held_by(graph_def, variable, config, file) for variable in config.variables]
    reader = readers.Reader(file, graph_def)
    values = _no_values if checkpoint is None else _values_in(checkpoint)
    return module_between(reader, config, dtypes, held, word(Path(file).stem), values, is_initial)


def module_between(
    reader: readers.Reader,
    config: Configuration,
    dtypes: Sequence[DType],
    held: Sequence[HeldVariable],
    name: str,
    values: Values,
    is_initial: bool = False,
) -> Interface:
    """The module of what lies between feeds and fetches.

    Args:
        dtypes: those of the feeds.
        held: the variables of the configuration, in its order.
        name: the module's.
        values: tells what variables hold that the part needs, and those of further names, by what
            their handles name: those that are not held are constants.
        is_initial: whether those that are held begin as what they hold.

    Raises:
        TfcError: a placeholder or variable is needed that is not stated, or an operation cannot be
            compiled.
    """
    feeds = [
        readers.Feed(_named(feed.id), feed.name, dtype.dtype, feed.dims)
        for feed, dtype in zip(config.feeds, dtypes)
    ]
    fetches = [readers.Fetch(_named(fetch.id), fetch.name) for fetch in config.fetches]
    reader.limit([fetch.tensor for fetch in fetches])
    # An argument that nothing needs is an argument all the same.
    used = [n for n, feed in enumerate(config.feeds) if feed.id.node in reader.nodes.by_name]
    feeds = [feeds[n] for n in used]
    _check_complete(reader, feeds, fetches, config)
    content = reader.content(feeds, fetches)
    names = frozenset(h.name for h in held)
    known = dict(values(content, names if is_initial else frozenset()))
    first = {name: known.pop(name) for name in names if name in known}
    if is_initial:
        held = [_begun(h, first, config) for h in held]
    _check_variables(content, config, known)
    shapes = [Shape(element_type_of(dtype.dtype), feed.dims)
              for feed, dtype in zip(config.feeds, dtypes)]  # fmt: skip
    return _Tracing(config, content, shapes, used, held, known).interface(name)


def _no_values(content: Any, names: frozenset[str]) -> Mapping[str, np.ndarray]:
    return {}


def _values_in(prefix: str) -> Values:
    """What a checkpoint holds for variables."""

    def values(content: Any, names: frozenset[str]) -> Mapping[str, np.ndarray]:
        graphs = [content.graph, *(f.graph for f in content.functions.values())]
        needed = {n.attributes.get("shared_name") or n.name
                  for graph in graphs for n in graph.nodes if n.op in HANDLES}  # fmt: skip
        with file_errors(prefix):
            checkpoint = CheckpointReader(prefix)
            found = {}
            for name in sorted(needed | names):
                keys = (name, f"{name}{_OF_OBJECTS}")
                if key := next((k for k in keys if checkpoint.has_tensor(k)), None):
                    found[name] = checkpoint.get_tensor(key)
            return found

    return values


def _begun(
    held: HeldVariable, values: Mapping[str, np.ndarray], config: Configuration
) -> HeldVariable:  # fmt: skip
    """A variable with its value at first.

    Raises:
        TfcError: there is none, or it is not as the variable.
    """
    where = f"the variable '{held.stated.node}' of {config.source}"
    value = values.get(held.name)
    if value is None:
        raise TfcError(f"{where} has no value in the checkpoint, as which it could begin")
    if Shape(element_type_of(value.dtype), value.shape) != held.shape:
        raise TfcError(
            f"{where} is {held.shape.without_layout()}, but {value.dtype}{list(value.shape)} in "
            "the checkpoint"
        )
    return replace(held, initial=value)


def _named(id: TensorName) -> str:
    """A tensor as the importers name it."""
    return f"{id.node}:{id.index}" if id.index else id.node


def _node(graph_def: Any, name: str, what: str, file: str) -> Any:
    """The node of a name.

    Raises:
        TfcError: there is none.
    """
    for node in graph_def.node:
        if node.name == name:
            return node
    close = did_you_mean(name, [node.name for node in graph_def.node])
    raise TfcError(f"{what} names the node '{name}', which is not in {file}{close}")


def _check_complete(
    reader: Any, feeds: Sequence[Any], fetches: Sequence[Any], config: Configuration
) -> None:
    """Check that every placeholder is fed.

    Raises:
        TfcError: one that is needed is not.
    """
    fed = {feed.tensor for feed in feeds}
    for found in reader.placeholders([fetch.tensor for fetch in fetches], sorted(fed)):
        if found.tensor not in fed:
            raise TfcError(
                f"the fetches of {config.source} need the placeholder '{found.tensor}' of "
                f"{reader.file}: state it as a feed"
            )


def _check_variables(content: Any, config: Configuration, values: Mapping[str, Any]) -> None:
    """Check that every variable is stated, or its value known.

    Raises:
        TfcError: one that is needed is not.
    """
    known = {variable.node for variable in config.variables}
    for node in content.graph.nodes:
        is_known = (node.attributes.get("shared_name") or node.name) in values
        if node.op in HANDLES and node.name not in known and not is_known:
            raise TfcError(
                f"the fetches of {config.source} need the variable '{node.name}' of "
                f"{content.file}: state it as a variable, feed its value, or freeze the graph"
            )


# --- What is fed and held


def _dtype_of(graph_def: Any, feed: Feed, config: Configuration, file: str) -> DType:
    """The dtype of a tensor that is fed: the graph's, or where that cannot say it the config's.

    Raises:
        TfcError: the node is not there, has no such output, or is of another dtype than stated.
    """
    what = f"a feed of {config.source}"
    node = _node(graph_def, feed.id.node, what, file)
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
    try:
        if node.op in ("Placeholder", "PlaceholderV2"):
            outputs = [as_dtype(node.attr["dtype"].type)]
        else:
            part = extract_sub_graph(graph_def, [id.node])
            with Graph().as_default() as graph:
                import_graph_def(part, name="")
            outputs = [x.dtype for x in graph.get_operation_by_name(id.node).outputs]
    except (TfcError, LookupError, TypeError, ValueError):
        return None
    if id.index >= len(outputs):
        count = f"{len(outputs)} output{'s' * (len(outputs) != 1)}"
        raise TfcError(f"{id} is fed, but '{id.node}' has {count}")
    return outputs[id.index]


def held_by(graph_def: Any, stated: Variable, config: Configuration, file: str) -> HeldVariable:
    """What a variable holds, by the graph and the configuration.

    Raises:
        TfcError: they contradict each other, or the shape is not known.
    """
    node = _node(graph_def, stated.node, f"a variable of {config.source}", file)
    where = f"the variable '{stated.node}' of {config.source}"
    if node.op not in HANDLES | REFERENCES:
        raise TfcError(f"{where} is no variable in {file} but a {node.op}")
    with file_errors(file):
        dtype = as_dtype(node.attr["dtype"].type)
        shape = shape_from_proto(node.attr["shape"].shape)
    if "shape" not in node.attr:
        shape = TensorShape(None)
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
    name = node.attr["shared_name"].s.decode(errors="replace") or node.name
    return HeldVariable(stated, name, Shape(element_type_of(dtype.dtype), dims))


# --- Tracing


class _Tracing:
    """The tracing of what is configured.

    content: the part of the graph between feeds and fetches.
    shapes: those of the feeds; used: the numbers of those that the content takes.
    values: what variables hold that are constants of the program.
    """

    def __init__(
        self,
        config: Configuration,
        content: Any,
        shapes: Sequence[Shape],
        used: Sequence[int],
        held: Sequence[HeldVariable],
        values: Mapping[str, np.ndarray],
    ):
        self.config, self.content, self.shapes = config, content, shapes
        self.used, self.held, self.values = used, held, values
        self.draws = False
        self.written: frozenset[str] = frozenset()

    def interface(self, name: str) -> Interface:
        """The module, and what its class has of it.

        Raises:
            TfcError: an operation cannot be compiled, or a result is not as it is stated.
        """
        names = [word(f.name or f.id.node) for f in self.config.feeds]
        names += [word(h.stated.name) for h in self.held]
        runs = Shape(element_type_of(np.dtype(np.uint32)), ())
        shapes = [*self.shapes, *(h.shape for h in self.held), runs]
        made = trace_function(name, self._call, list(map(Abstract, shapes)), [*names, RUNS])
        if not self.draws:
            made.trace.parameters.pop()
        states = self._states()
        computation = made.computation()
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
        found, result = [], len(self.config.fetches)
        for number, held in enumerate(self.held, len(self.shapes)):
            is_read = self._is_read_only(held)
            initial = None if held.initial is None else held.initial.tobytes()
            place = None if is_read else result
            found.append(State(held.stated.name, number, place, initial=initial))
            result += not is_read
        if self.draws:
            number = len(self.shapes) + len(self.held)
            found.append(State(RUNS, number, result, is_own=True))
        return tuple(found)

    def _call(self, *tensors: Tensor) -> list[Tensor]:
        """Compute the graph on Tensors of the trace."""
        content, count = self.content, len(self.shapes)
        given: dict[str, Any] = dict(zip([h.name for h in self.held], tensors[count:]))
        constants = {k: Held(x, ops.constant(x)) for k, x in self.values.items() if k not in given}
        walk = Walk(models.TENSORFLOW, content.file, content.parameters, content.functions)
        context = Context(
            {**constants, **given}, content.facts, count=tensors[-1], tables=content.tables
        )
        walk.state = context
        found = walk.main(content.graph, [tensors[n] for n in self.used])
        self.draws, self.written = context.draws, frozenset(context.written)
        results = [as_tensor(traced(value)) for value in found]
        for fetch, result in zip(self.config.fetches, results):
            self._check_stated(fetch, result)
        results += [as_tensor(traced(x)) for x in self._changed(context.written, given)]
        return [*results, tensors[-1] + np.uint32(1)] if self.draws else results

    def _changed(self, written: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[Any]:
        """What the variables that may change become.

        Raises:
            TfcError: one that is stated as read only is written.
        """
        for held in self.held:
            if held.stated.readonly and held.name in written:
                raise TfcError(
                    f"{self.config.source} states the variable '{held.stated.node}' as readonly, "
                    "but the graph writes it: leave readonly out"
                )
            if not self._is_read_only(held):
                yield written.get(held.name, given[held.name])

    def _is_read_only(self, held: HeldVariable) -> bool:
        stated = held.stated.readonly
        return held.name not in self.written if stated is None else stated

    def _check_stated(self, fetch: Fetch, result: Tensor) -> None:
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


def word(name: str) -> str:
    """A name as programs can have it."""
    return re.sub(r"\W", "_", name, flags=re.ASCII)
