"""Graphs with their variables as constants: what is compiled ahead of time, or taken elsewhere."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.graph import errors
from tfc.graph.evaluation import evaluate, order
from tfc.graph.files.importing import import_graph_def
from tfc.graph.files.messages import message, write
from tfc.graph.files.tensors import shape_to_proto, tensor_to_proto
from tfc.graph.graph import Graph
from tfc.graph.operation import Operation, Tensor
from tfc.graph.operators.registry import find
from tfc.graph.running.effects import Effects


def write_graph(graph_or_graph_def: Any, logdir: Any, name: str, as_text: bool = True) -> str:
    """Write a graph into a folder, which is made if it is not there; gives the file's path."""
    held = graph_or_graph_def
    made = held.as_graph_def() if isinstance(held, Graph) else held
    path = Path(logdir) / name
    write(made, path, as_text)
    return str(path)


def extract_sub_graph(graph_def: Any, dest_nodes: Sequence[str]) -> Any:
    """A GraphDef of the nodes that some nodes need.

    Raises:
        ValueError: one is not there.
    """
    if isinstance(dest_nodes, str):
        raise TypeError("dest_nodes must be a list")
    by_name = {node.name: node for node in graph_def.node}
    wanted: set[str] = set()
    left = list(dest_nodes)
    while left:
        name = left.pop()
        if name in wanted:
            continue
        if name not in by_name:
            raise ShapeError(f"{name} is not in graph")
        wanted.add(name)
        left += [x.lstrip("^").split(":")[0] for x in by_name[name].input]
    made = message("GraphDef", node=[node for node in graph_def.node if node.name in wanted])
    made.library.CopyFrom(graph_def.library)
    made.versions.CopyFrom(graph_def.versions)
    return made


def convert_variables_to_constants(
    sess: Any,
    input_graph_def: Any,
    output_node_names: Sequence[str],
    variable_names_whitelist: Iterable[str] | None = None,
    variable_names_blacklist: Iterable[str] | None = None,
) -> Any:
    """A GraphDef of what some nodes need, with the variables' values in a session as constants.

    Raises:
        ValueError: a node is not there. InvalidArgumentError: one that is needed changes a
            variable.
    """
    made = extract_sub_graph(input_graph_def, output_node_names)
    kept = set(variable_names_blacklist or ())
    only = None if variable_names_whitelist is None else set(variable_names_whitelist)
    frozen = {
        node.name
        for node in made.node
        if node.op == "VarHandleOp"
        and node.name not in kept
        and (only is None or node.name in only)
    }
    values = _values(sess, sorted(frozen))
    for node in made.node:
        if node.name in frozen:
            array = values[node.name]
            node.op = "Const"
            node.attr.clear()
            node.attr["value"].tensor.CopyFrom(tensor_to_proto(array))
            node.attr["dtype"].type = node.attr["value"].tensor.dtype
        elif frozen & {x.split(":")[0] for x in node.input}:
            _without_handle(node)
    return made


def _without_handle(node: Any) -> None:
    """Let a node that reads a variable give the constant."""
    if node.op != "ReadVariableOp":
        raise errors.InvalidArgumentError(
            None,
            None,
            f"node {node.name} of type {node.op} takes a variable that is frozen",
        )
    dtype = node.attr["dtype"].type
    node.op = "Identity"
    node.attr.clear()
    node.attr["T"].type = dtype


def _values(sess: Any, names: Sequence[str]) -> dict[str, np.ndarray]:
    """The values of variables in a session, by their handles' names."""
    reads: dict[str, Tensor] = {}
    for op in sess.graph.get_operations():
        if op.type == "ReadVariableOp" and not op.control_inputs:
            reads.setdefault(op.inputs[0].op.name, op.outputs[0])
    return dict(zip(names, sess.run([reads[name] for name in names])))


def export_for_tfcompile(
    session: Any, feeds: Sequence[Tensor], fetches: Sequence[Tensor], folder: Any, name: str
) -> tuple[str, str]:
    """Write what tfcompile takes: NAME.pb, the frozen graph, and NAME.config.pbtxt.

    Returns:
        the paths of both.

    Raises:
        ValueError: a feed's shape is not known.
    """
    config = message("Config")
    for tensor in feeds:
        tensor.shape.known()
        feed = config.feed.add()
        _identify(feed.id, tensor)
        feed.shape.CopyFrom(shape_to_proto(tensor.shape))
    for tensor in fetches:
        _identify(config.fetch.add().id, tensor)
    names = sorted({x.op.name for x in [*feeds, *fetches]})
    graph = convert_variables_to_constants(session, session.graph.as_graph_def(), names)
    paths = Path(folder) / f"{name}.pb", Path(folder) / f"{name}.config.pbtxt"
    write(graph, paths[0], as_text=False)
    write(config, paths[1], as_text=True)
    return str(paths[0]), str(paths[1])


def _identify(made: Any, tensor: Tensor) -> None:
    made.node_name, made.output_index = tensor.op.name, tensor.value_index


def as_function(
    session: Any, feeds: Sequence[Tensor], fetches: Sequence[Tensor]
) -> Callable[..., tuple[Any, ...]]:
    """A function of tfc's own of feeds -> fetches, with the variables' values as constants.

    It is traced, compiled and exported like any other: `tfc.jit`, `tfc.aot.compile` take it.

    Raises:
        InvalidArgumentError: what it needs is not fed, changes a variable, or runs on the host.
    """
    names = sorted({x.op.name for x in [*feeds, *fetches]})
    frozen = convert_variables_to_constants(session, session.graph.as_graph_def(), names)
    with Graph().as_default():
        names = [x.name for x in [*feeds, *fetches]]
        found = import_graph_def(frozen, return_elements=names, name="")
    assert found is not None
    inputs, outputs = found[: len(feeds)], found[len(feeds) :]
    operations = order([x.op for x in outputs], set(inputs))
    for op in operations:
        _check_pure(op)

    def function(*values: Any) -> tuple[Any, ...]:
        known = dict(zip(inputs, values, strict=True))
        evaluate(operations, known, Effects({}, np.uint32(0)))
        return tuple(known[x] for x in outputs)

    return function


def _check_pure(op: Operation) -> None:
    row = find(op.type, op.attributes)
    if op.type in ("Placeholder", "PlaceholderV2"):
        raise errors.InvalidArgumentError(op, op, f"placeholder {op.name!r} must be a feed")
    if row.on_host or (row.effect and row.takes_context):
        raise errors.InvalidArgumentError(
            op, op, f"operation {op.name!r} of type {op.type} is none of a pure function"
        )
