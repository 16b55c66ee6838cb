"""The part of a GraphDef that is compiled: what the fetches need, down to the feeds.

    x ─► square ─► y     fetch y, feed square:   square_fed ─► y

A feed becomes a placeholder in the tensor's place, so that what only it needed is gone, operators
that tfc does not know included. What XLA compiles to nothing is taken out (Assert), and variables
of older graphs, which are references, become handles.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from tfc.aot.configured.config import Configuration, TensorName
from tfc.errors import TfcError, did_you_mean
from tfc.graph.files.messages import message
from tfc.graph.types.dtypes import DType

PLACEHOLDERS = frozenset({"Placeholder", "PlaceholderV2"})
HANDLES = frozenset({"VarHandleOp"})
REFERENCES = frozenset({"Variable", "VariableV2"})
# An operator on a reference to a variable, and the one that does the same to a handle.
_ASSIGNMENTS = {
    "Assign": "AssignVariableOp",
    "AssignAdd": "AssignAddVariableOp",
    "AssignSub": "AssignSubVariableOp",
}
# Where XLA has it: what only checks does nothing, what checks and hands on hands on.
_CHECKS = frozenset({"Assert"})
_HANDED_ON = {"CheckNumerics": "Identity", "CheckNumericsV2": "Identity"}


def tensor_of(reference: str) -> TensorName:
    """The tensor that a node's input names, control inputs apart."""
    node, _, index = reference.partition(":")
    return TensorName(node, int(index) if index.isdigit() else 0)


def pruned(
    graph_def: Any, config: Configuration, fed: Mapping[TensorName, tuple[str, DType]], file: str
) -> Any:
    """A GraphDef with the nodes that the fetches need, and placeholders for the feeds.

    Args:
        fed: the placeholder's name and dtype for each tensor that is fed.
        file: the graph's, for messages.

    Raises:
        TfcError: a node that is named is not there, or a placeholder or variable is needed that is
            neither feed nor variable of the configuration.
    """
    by_name = {node.name: node for node in graph_def.node}
    wanted = _needed(by_name, config, fed, file)
    made = message("GraphDef")
    made.versions.CopyFrom(graph_def.versions)
    made.library.CopyFrom(graph_def.library)
    for feed in config.feeds:
        name, dtype = fed[feed.id]
        node = made.node.add(name=name, op="Placeholder")
        node.attr["dtype"].type = dtype.number
        for size in feed.dims:
            node.attr["shape"].shape.dim.add(size=size)
        node.attr["shape"].shape.SetInParent()
    for node in graph_def.node:
        if node.name in wanted:
            copy = made.node.add()
            copy.CopyFrom(node)
            _feed(copy, fed, wanted)
    _check_complete(made, config, {name for name, _ in fed.values()}, file)
    for nodes in (made.node, *(f.node_def for f in made.library.function)):
        _without_checks(nodes)
    called = {function.signature.name for function in made.library.function}
    for nodes in (made.node, *(f.node_def for f in made.library.function)):
        _calls(nodes, called)
    return without_references(made)


def require_node(graph_def: Any, name: str, what: str, file: str) -> Any:
    """The node of a name.

    Raises:
        TfcError: there is none.
    """
    for node in graph_def.node:
        if node.name == name:
            return node
    close = did_you_mean(name, [node.name for node in graph_def.node])
    raise TfcError(f"{what} names the node '{name}', which is not in {file}{close}")


def _needed(
    by_name: Mapping[str, Any], config: Configuration, fed: Iterable[TensorName], file: str
) -> set[str]:
    fed = set(fed)
    wanted: set[str] = set()
    left = [fetch.id.node for fetch in config.fetches if fetch.id not in fed]
    left += [variable.node for variable in config.variables]
    while left:
        name = left.pop()
        if name in wanted:
            continue
        if name not in by_name:
            raise TfcError(f"{file} is damaged: it takes '{name}', which is no node of it")
        wanted.add(name)
        fed_nodes = {id.node for id in fed}
        for reference in by_name[name].input:
            if reference.startswith("^"):
                if reference[1:] not in fed_nodes:
                    left.append(reference[1:])
            elif tensor_of(reference) not in fed:
                left.append(reference.split(":")[0])
    return wanted


def _feed(node: Any, fed: Mapping[TensorName, tuple[str, DType]], wanted: set[str]) -> None:
    """Let a node take the placeholders; what it waits for that is fed needs no waiting."""
    inputs = []
    for reference in node.input:
        if not reference.startswith("^"):
            placeholder = fed.get(tensor_of(reference))
            inputs.append(placeholder[0] if placeholder else reference)
        elif reference[1:] in wanted:
            inputs.append(reference)
    del node.input[:]
    node.input.extend(inputs)


def _check_complete(made: Any, config: Configuration, fed: set[str], file: str) -> None:
    """Check that everything that is open is stated.

    Raises:
        TfcError: a placeholder is no feed, or a variable is not stated.
    """
    known = {variable.node for variable in config.variables}
    for node in made.node:
        if node.op in PLACEHOLDERS and node.name not in fed:
            raise TfcError(
                f"the fetches of {config.source} need the placeholder '{node.name}' of {file}: "
                "state it as a feed"
            )
        if node.op in HANDLES | REFERENCES and node.name not in known:
            raise TfcError(
                f"the fetches of {config.source} need the variable '{node.name}' of {file}: state "
                "it as a variable, feed its value, or freeze the graph"
            )


def _without_checks(nodes: Any) -> None:
    for node in nodes:
        if node.op in _CHECKS:
            controls = [x for x in node.input if x.startswith("^")]
            node.op = "NoOp"
            del node.input[:]
            node.input.extend(controls)
            node.attr.clear()
        elif node.op in _HANDED_ON:
            dtype = node.attr["T"].type
            node.op = _HANDED_ON[node.op]
            node.attr.clear()
            node.attr["T"].type = dtype


def _calls(nodes: Any, functions: set[str]) -> None:
    """Let nodes whose operator is a function of the library call it."""
    for node in nodes:
        if node.op in functions:
            name, attributes = node.op, dict(node.attr)
            node.op = "PartitionedCall"
            node.attr.clear()
            function = node.attr["f"].func
            function.name = name
            for key, value in attributes.items():
                function.attr[key].CopyFrom(value)


# --- Variables that are references


def without_references(graph_def: Any) -> Any:
    """The same with handles instead of references, read where they are used.

    v = VariableV2; w = Assign(v, x); y = Add(w, v)
      →  v = VarHandleOp; w/assign = AssignVariableOp(v, x); w = ReadVariableOp(v) after w/assign;
         y = Add(w, ReadVariableOp(v))
    """
    holders: dict[str, str] = {}  # by the node that gives the reference: the variable's
    for node in graph_def.node:
        if node.op in REFERENCES:
            holders[node.name] = node.name
    if not holders:
        return graph_def
    dtypes = {n.name: n.attr["dtype"].type for n in graph_def.node if n.name in holders}
    made = message("GraphDef")
    made.CopyFrom(graph_def)
    del made.node[:]
    for node in _after_assignments(graph_def.node, holders):
        if node.op in REFERENCES:
            made.node.add(name=node.name, op="VarHandleOp", attr=_stated(node))
        elif node.op in _ASSIGNMENTS and node.input[0].split(":")[0] in holders:
            _assign(made, node, holders, dtypes)
        else:
            _reading(made, made.node.add(), node, holders, dtypes)
    return made


def _after_assignments(nodes: Iterable[Any], holders: dict[str, str]) -> list[Any]:
    """The nodes; those that hand a reference on are entered in `holders`."""
    found = list(nodes)
    grows = True
    while grows:
        grows = False
        for node in found:
            if node.op in _ASSIGNMENTS and node.name not in holders:
                variable = holders.get(node.input[0].split(":")[0])
                if variable is not None:
                    holders[node.name] = variable
                    grows = True
    return found


def _stated(node: Any) -> dict[str, Any]:
    """The attributes of a variable that its handle has too."""
    kept = {key: value for key, value in node.attr.items() if key in ("dtype", "shape")}
    return {**kept, "shared_name": message("AttrValue", s=node.name.encode())}


def _assign(made: Any, node: Any, holders: Mapping[str, str], dtypes: Mapping[str, int]) -> None:
    """An assignment, and the reading of what it gives."""
    source = node.input[0].split(":")[0]
    variable = holders[source]
    assignment = made.node.add(op=_ASSIGNMENTS[node.op], device=node.device)
    before = [] if source == variable else [f"^{source}"]
    rest = message("NodeDef", name=f"{node.name}/assign", input=node.input[1:])
    _reading(made, assignment, rest, holders, dtypes)
    assignment.name, assignment.op = f"{node.name}/assign", _ASSIGNMENTS[node.op]
    inputs = [variable, *assignment.input, *before]
    del assignment.input[:]
    assignment.input.extend(inputs)
    assignment.attr["dtype"].type = dtypes[variable]
    read = made.node.add(name=node.name, op="ReadVariableOp")
    read.input.extend([variable, f"^{node.name}/assign"])
    read.attr["dtype"].type = dtypes[variable]


def _reading(
    made: Any, copy: Any, node: Any, holders: Mapping[str, str], dtypes: Mapping[str, int]
) -> None:
    """A node as it is, but that it takes what variables hold when it runs."""
    copy.CopyFrom(node)
    controls = [x for x in node.input if x.startswith("^")]
    for place, reference in enumerate(node.input):
        source = reference.split(":")[0]
        if source in dtypes:
            read = made.node.add(name=f"{node.name}/read_{place}", op="ReadVariableOp")
            read.input.extend([source, *controls])
            read.attr["dtype"].type = dtypes[source]
            copy.input[place] = read.name
