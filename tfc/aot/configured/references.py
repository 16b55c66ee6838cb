"""Variables of older graphs, which are references, as handles.

v = VariableV2; w = Assign(v, x); y = Add(w, v)
  →  v = VarHandleOp; w/assign = AssignVariableOp(v, x); w = ReadVariableOp(v) after w/assign;
     y = Add(w, ReadVariableOp(v))
"""

from collections.abc import Iterable, Mapping
from typing import Any

from tfc.graph.files.messages import message

HANDLES = frozenset({"VarHandleOp"})
REFERENCES = frozenset({"Variable", "VariableV2"})
# An operator on a reference to a variable, and the one that does the same to a handle.
_ASSIGNMENTS = {
    "Assign": "AssignVariableOp",
    "AssignAdd": "AssignAddVariableOp",
    "AssignSub": "AssignSubVariableOp",
}


def without_references(graph_def: Any) -> Any:
    """The same GraphDef with handles instead of references, read where they are used."""
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
