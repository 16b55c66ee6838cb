"""A graph without the functions that it calls: their nodes in place of the calls.

    y = f(x) with f(a): b = Neg(a)  =>  y/b = Neg(x);  y = IdentityN(y/b)

A node of a function is called as the call's node, /, its own name. Functions of loops and branches
stay. So any value outside of these has a name by which a model may be cut there.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tfc.errors import UnsupportedError
from tfc.importers.tensorflow.nodes import Nodes, value_name

CALLS = ("PartitionedCall", "StatefulPartitionedCall")
_MOST_DEPTH = 48  # functions within functions
_MOST_NODES = 1 << 18


def inlined(nodes: Nodes, library: Mapping[str, Any]) -> Nodes:
    """Nodes with those of functions in place of their calls.

    Raises:
        ModelFileError: the graph is inconsistent.
        UnsupportedError: functions call themselves, or make too many nodes.
    """
    made: list[Any] = []
    for node in nodes.by_name.values():
        copy = type(node)()
        copy.CopyFrom(node)
        _enter(copy, library, nodes.file, made, 0)
    return Nodes(nodes.file, made, sorted(nodes.arguments))


def _called(node: Any, library: Mapping[str, Any]) -> Any:
    """The function that a node calls; None if it calls none."""
    name = node.attr["f"].func.name if node.op in CALLS and "f" in node.attr else node.op
    return library.get(name)


def _enter(
    node: Any, library: Mapping[str, Any], file: str, made: list[Any], depth: int
) -> None:  # fmt: skip
    function = _called(node, library)
    if depth > _MOST_DEPTH or len(made) > _MOST_NODES:
        raise UnsupportedError(f"{file} has functions that call themselves, or too many of them")
    if function is None:
        made.append(node)
        return
    names = [x.name for x in function.signature.input_arg]
    inner = Nodes(f"{file}, function '{function.signature.name}'", function.node_def, names)
    taken = [x for x in node.input if not x.startswith("^")]
    before = [x for x in node.input if x.startswith("^")]
    arguments = dict(zip(names, taken))

    def outside(reference: str) -> str:
        name, place = inner.place(reference)
        return arguments[name] if name in arguments else value_name(f"{node.name}/{name}", place)

    for part in inner.by_name.values():
        copy = type(part)()
        copy.CopyFrom(part)
        copy.name = f"{node.name}/{part.name}"
        inputs = [outside(x) for x in part.input if not x.startswith("^")]
        inputs += [f"^{node.name}/{name}" for name in inner.before(part)]
        del copy.input[:]
        copy.input.extend(inputs + [x for x in before if not part.input])
        _bind(copy, node, function)
        _enter(copy, library, file, made, depth + 1)
    results = [outside(function.ret[x.name]) for x in function.signature.output_arg]
    waits = [f"^{node.name}/{x}" for x in function.control_ret.values() if x in inner.by_name]
    made.append(_results(node, results, [*waits, *before]))


def _bind(copy: Any, call: Any, function: Any) -> None:
    """Put the attributes of a call in the places that a function has for them."""
    stated = call.attr["f"].func.attr if call.op in CALLS else call.attr
    for attribute in copy.attr.values():
        name = attribute.placeholder
        source = stated if name in stated else function.attr
        if name and name in source:
            attribute.CopyFrom(source[name])


def _results(call: Any, results: Sequence[str], before: Sequence[str]) -> Any:
    """A node of the call's name that hands on what a function gives."""
    copy = type(call)()
    copy.name, copy.op = call.name, "IdentityN" if results else "NoOp"
    copy.input.extend([*results, *before])
    if "Tout" in call.attr:
        copy.attr["T"].CopyFrom(call.attr["Tout"])
    return copy
