"""GraphDef messages as operations of a graph."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tfc.errors import ShapeError, TraceError
from tfc.graph import errors
from tfc.graph.files.attributes import attributes_from_proto
from tfc.graph.files.exporting import PRODUCER, RESULTS
from tfc.graph.files.messages import message_class
from tfc.graph.files.tensors import shape_from_proto
from tfc.graph.graph import Graph, get_default_graph
from tfc.graph.operation import Operation, Tensor
from tfc.graph.subgraph import Subgraph
from tfc.graph.types.dtypes import resource
from tfc.graph.types.shapes import TensorShape

_LOOPS = ("Enter", "Exit", "NextIteration", "LoopCond", "RefEnter", "RefExit")


def import_graph_def(
    graph_def: Any,
    input_map: Mapping[str, Tensor] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
) -> list[Any] | None:
    """Make the operations of a GraphDef in the default graph.

    Args:
        input_map: tensors to take instead of those that the names mean in the GraphDef.
        return_elements: names of operations and tensors to give.
        name: the scope of their names; `import` if left out, none if "".

    Raises:
        TypeError: it is no GraphDef. ValueError: it names what is not there, or is for another
            version, or a name in it is taken. UnsupportedError: it has an operator of no row.
    """
    if not isinstance(graph_def, message_class("GraphDef")):
        raise TraceError(f"graph_def must be a GraphDef proto, got {type(graph_def).__name__}")
    check_versions(graph_def.versions)
    graph = get_default_graph()
    with graph.name_scope("import" if name is None else name) as scope:
        into = _Import(graph, scope, input_map or {})
        functions = _library(graph, graph_def.library)
        into.nodes(graph_def.node, functions)
    unused = sorted(set(into.mapped) - into.used)
    if unused:
        raise ShapeError(f"Attempted to map inputs that were not found in graph_def: {unused}")
    if return_elements is None:
        return None
    return [into.element(wanted) for wanted in return_elements]


def check_versions(versions: Any) -> None:
    """Check that a graph may be read here: TensorFlow's rule of producers and consumers.

    Raises:
        ValueError: it is too old, too new, or names this version as one that misreads it.
    """
    if versions.min_consumer > PRODUCER:
        raise ShapeError(
            f"the graph needs version {versions.min_consumer} of its readers, this is {PRODUCER}"
        )
    if PRODUCER in versions.bad_consumers:
        raise ShapeError(f"the graph says that version {PRODUCER} of its readers is not to read it")


class _Import:
    """Nodes on their way into a graph."""

    def __init__(self, graph: Graph, scope: str, mapped: Mapping[str, Tensor]):
        self._graph, self._scope = graph, scope
        self.mapped = {key.removesuffix(":0"): value for key, value in mapped.items()}
        self.used: set[str] = set()
        self._made: dict[str, Operation] = {}
        self.arguments: dict[str, Tensor] = {}

    def nodes(self, nodes: Sequence[Any], functions: Mapping[str, Subgraph]) -> None:
        """Make nodes, whose order may be any."""
        for node in in_order(nodes, self.arguments):
            self._node(node, functions)

    def _node(self, node: Any, functions: Mapping[str, Subgraph]) -> None:
        graph, full = self._graph, f"{self._scope}{node.name}"
        if not node.name or any(op == full for op in graph_names(graph, full)):
            raise ShapeError(f"Node name {full!r} already exists in the Graph")
        attributes = attributes_from_proto(node.attr, functions, f"node {node.name!r}")
        inputs = [self.tensor(x, node.name) for x in node.input if not x.startswith("^")]
        before = [self._operation(x[1:], node.name) for x in node.input if x.startswith("^")]
        if node.op == "VarHandleOp" and not attributes.get("shared_name"):
            attributes["shared_name"] = full
        with (
            graph.control_dependencies(None),
            graph.control_dependencies(before),
            graph.device(node.device or None),
        ):
            graph.unique_name(node.name)
            made = graph.create_operation(node.op, inputs, attributes, f"{full}/")
        if node.op == "VarHandleOp":
            spec = (attributes["dtype"], TensorShape(attributes.get("shape")))
            made.outputs[0].element = spec
        self._made[node.name] = made

    def tensor(self, reference: str, by: str) -> Tensor:
        """The tensor that an input names.

        Raises:
            ValueError: there is none.
        """
        key = reference.removesuffix(":0")
        if key in self.mapped:
            self.used.add(key)
            return self.mapped[key]
        if reference in self.arguments:
            return self.arguments[reference]
        parts = reference.split(":")
        op = self._operation(parts[0], by)
        place = _place(op.type, parts)
        if place is None or place >= len(op.outputs):
            raise ShapeError(f"node {by!r} takes {reference!r}, but {op.name!r} has no such output")
        return op.outputs[place]

    def _operation(self, name: str, by: str) -> Operation:
        if name in self.arguments:
            return self.arguments[name].op
        if name not in self._made:
            raise ShapeError(f"node {by!r} takes {name!r}, which is not in the graph_def")
        return self._made[name]

    def element(self, name: str) -> Any:
        """The operation or tensor of a name in the GraphDef.

        Raises:
            ValueError: there is none.
        """
        if not isinstance(name, str):
            raise TraceError(f"return_elements must be strings, got {name!r}")
        if ":" in name:
            return self.tensor(name, "return_elements")
        return self._operation(name, "return_elements")


def graph_names(graph: Graph, name: str) -> Iterable[str]:
    """The name, if an operation of the graph has it."""
    try:
        return [graph.get_operation_by_name(name).name]
    except (KeyError, ShapeError):
        return []


def _place(type: str, parts: Sequence[str]) -> int | None:
    """Which output an input's name means: `node:1`, or within functions `node:values:0`."""
    if len(parts) == 1:
        return 0
    if not parts[-1].isdigit() or len(parts) > 3:
        return None
    if len(parts) == 2:
        return int(parts[1])
    names = RESULTS.get(type, ())
    if len(names) > 1:
        return names.index(parts[1]) if parts[1] in names else None
    return int(parts[2])


def in_order(nodes: Sequence[Any], known: Iterable[str] = ()) -> list[Any]:
    """The nodes, each behind those that it takes.

    Raises:
        ValueError: two have one name, or they take each other in a circle.
    """
    by_name: dict[str, Any] = {}
    for node in nodes:
        if node.op in _LOOPS:
            raise errors.UnimplementedError(
                None, None, f"node {node.name!r}: loops of {node.op} are not offered, While is"
            )
        if node.name in by_name:
            raise ShapeError(f"two nodes are called {node.name!r}")
        by_name[node.name] = node
    waits = {name: _taken(node) & by_name.keys() for name, node in by_name.items()}
    followers: dict[str, list[str]] = {}
    for name, before in waits.items():
        for other in before:
            followers.setdefault(other, []).append(name)
    ready = [name for name, before in waits.items() if not before]
    ordered: list[Any] = []
    for name in ready:
        ordered.append(by_name[name])
        for other in followers.get(name, ()):
            waits[other].discard(name)
            if not waits[other]:
                ready.append(other)
    if len(ordered) < len(by_name):
        circle = sorted(name for name, before in waits.items() if before)[:3]
        raise ShapeError(f"the graph_def has a cycle through {circle}")
    return ordered


def _taken(node: Any) -> set[str]:
    return {x.lstrip("^").split(":")[0] for x in node.input}


# --- functions


def _library(graph: Graph, library: Any) -> dict[str, Subgraph]:
    """The functions of a library, as bodies within a graph; called ones before those that call."""
    by_name = {function.signature.name: function for function in library.function}
    made: dict[str, Subgraph] = {}
    waiting = list(by_name)
    while waiting:
        ready = [
            name for name in waiting if not (_called(by_name[name]) & by_name.keys()) - made.keys()
        ]
        if not ready:
            raise ShapeError(f"functions call each other in a circle: {sorted(waiting)[:3]}")
        for name in ready:
            made[name] = _body(graph, by_name[name], made)
        waiting = [name for name in waiting if name not in made]
    return made


def _called(function: Any) -> set[str]:
    found: set[str] = set()
    for node in function.node_def:
        for value in node.attr.values():
            found.add(value.func.name)
            found.update(f.name for f in value.list.func)
    return found


def _body(graph: Graph, function: Any, functions: Mapping[str, Subgraph]) -> Subgraph:
    """A function of the library as a body."""
    body = Subgraph(graph, function.signature.name)
    with body.building():
        into = _Import(body, "", {})
        shapes = [shape_from_proto(x) for x in function.attr["_input_shapes"].list.shape]
        shapes += [TensorShape(None)] * (len(function.signature.input_arg) - len(shapes))
        for argument, shape in zip(function.signature.input_arg, shapes):
            dtype = attributes_from_proto(
                {"dtype": message_class("AttrValue")(type=argument.type)}, {}, argument.name
            )["dtype"]
            made = body.parameter(
                dtype, shape if dtype != resource else TensorShape(()), argument.name
            )
            into.arguments[argument.name] = made
        into.nodes(function.node_def, functions)
        for result in function.signature.output_arg:
            if result.name not in function.ret:
                raise ShapeError(f"function {body.name!r} states no result {result.name!r}")
            body.outputs.append(into.tensor(function.ret[result.name], body.name))
        for control in function.control_ret.values():
            body.control_outputs.append(into._operation(control, body.name))
    return body
