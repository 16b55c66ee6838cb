"""MetaGraphDef: a graph and its collections, as variables are found in it again."""

from typing import Any

from tfc.errors import ShapeError
from tfc.graph import errors
from tfc.graph.files.importing import import_graph_def
from tfc.graph.files.messages import message, message_class, parsed, read, write
from tfc.graph.graph import Graph, get_default_graph
from tfc.graph.operation import Operation, Tensor
from tfc.graph.variables.variable import Variable

_VERSION = "1.12.0"


def export_meta_graph(
    filename: Any = None, as_text: bool = False, graph: Graph | None = None
) -> Any:
    """A graph with its collections as a MetaGraphDef, written into a file if one is named.

    Collections of variables, tensors, operations, numbers and texts are in it, others are not.
    """
    graph = graph or get_default_graph()
    made = message("MetaGraphDef", graph_def=graph.as_graph_def())
    made.meta_info_def.tensorflow_version = _VERSION
    for key in graph.get_all_collection_keys():
        if isinstance(key, str):
            _collection(made.collection_def, key, graph.get_collection(key))
    if filename is not None:
        write(made, filename, as_text)
    return made


def _collection(collections: Any, key: str, values: list[Any]) -> None:
    if not values:
        return
    if all(isinstance(x, Variable) for x in values):
        held = [_variable(x).SerializeToString() for x in values]
        collections[key].bytes_list.value.extend(held)
    elif all(isinstance(x, (Tensor, Operation)) for x in values):
        collections[key].node_list.value.extend(x.name for x in values)
    elif all(isinstance(x, int) for x in values):
        collections[key].int64_list.value.extend(values)
    elif all(isinstance(x, float) for x in values):
        collections[key].float_list.value.extend(values)
    elif all(isinstance(x, str) for x in values):
        collections[key].bytes_list.value.extend(x.encode() for x in values)


def _variable(v: Variable) -> Any:
    return message(
        "VariableDef",
        variable_name=v.name,
        initializer_name=v.initializer.name,
        snapshot_name=v.value().name,
        initial_value_name=v.initial_value.name,
        is_resource=True,
        trainable=v.trainable,
    )


def import_into_graph(meta_graph_or_file: Any, import_scope: str | None = None) -> None:
    """Make the operations of a MetaGraphDef in the default graph, and fill its collections.

    Raises:
        NotFoundError, DataLossError: the file is damaged. KeyError: a collection names what is not
            there.
    """
    made = meta_graph_or_file
    if not isinstance(made, message_class("MetaGraphDef")):
        made = read("MetaGraphDef", meta_graph_or_file)
    import_graph_def(made.graph_def, name=import_scope or "")
    prefix = f"{import_scope}/" if import_scope else ""
    graph = get_default_graph()
    variables: dict[str, Variable] = {}
    for key, held in made.collection_def.items():
        match held.WhichOneof("kind"):
            case "node_list":
                values = [graph.as_graph_element(prefix + x) for x in held.node_list.value]
            case "bytes_list":
                values = [_of_bytes(graph, prefix, x, variables) for x in held.bytes_list.value]
            case "int64_list":
                values = list(held.int64_list.value)
            case _:
                values = list(held.float_list.value)
        for value in values:
            graph.add_to_collection(key, value)


def _of_bytes(graph: Graph, prefix: str, content: bytes, known: dict[str, Variable]) -> Any:
    """The variable that a collection has as bytes; bytes that name none are a text."""
    try:
        held = parsed("VariableDef", content, "a collection")
        found = graph.get_tensor_by_name(prefix + held.variable_name)
    except (errors.DataLossError, KeyError, ShapeError):
        return content.decode(errors="replace")
    if held.variable_name not in known:
        known[held.variable_name] = Variable.of_operations(
            found,
            graph.get_operation_by_name(prefix + held.initializer_name),
            graph.get_tensor_by_name(prefix + held.snapshot_name),
            held.trainable,
        )
    return known[held.variable_name]
