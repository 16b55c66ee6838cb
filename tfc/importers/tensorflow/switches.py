"""Branches of TensorFlow 1 as If: what lies between Switch and Merge, as functions.

    Switch(x, p):0 → … → Merge              y = If(p, x, …)
    Switch(x, p):1 → … ↗                    then_branch(x, …), else_branch(x, …)

Merges that need no other one are taken together by their predicates, so that branches within a
branch become If first, and one If gives all that is chosen by one predicate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.errors import UnsupportedError
from tfc.graph.files.messages import message
from tfc.importers.tensorflow.frames import (
    MERGE,
    SWITCH,
    Rewritten,
    between,
    function_of,
    reference,
    rewrite_frames,
    source_of,
)

Value = tuple[str, int]


def rewritten(nodes: Sequence[Any], wanted: Sequence[str], taken: Sequence[str]) -> Rewritten:
    """Nodes without control flow of TensorFlow 1, and the functions that came of it.

    Args:
        wanted: the nodes whose values are needed.
        taken: names of functions that there are.
    """
    copies = {}
    for node in nodes:
        copies[node.name] = message("NodeDef")
        copies[node.name].CopyFrom(node)
    made = Rewritten(copies)
    made.functions += [_named(name) for name in taken]
    rewrite_frames(made)
    _rewrite_merges(made, wanted)
    made.functions = made.functions[len(taken) :]
    for function in list(made.functions):
        _rewrite_body(made, function)
    return made


def _named(name: str) -> Any:
    function = message("FunctionDef")
    function.signature.name = name
    return function


def _rewrite_body(made: Rewritten, function: Any) -> None:
    """Branches in a body of a loop."""
    if not any(node.op in MERGE for node in function.node_def):
        return
    inner = Rewritten({node.name: node for node in function.node_def})
    inner.functions = list(made.functions)
    count = len(inner.functions)
    _rewrite_merges(inner, [source_of(x)[0] for x in function.ret.values()])
    made.functions += inner.functions[count:]
    made.refused |= inner.refused
    kept = [message("NodeDef") for _ in inner.nodes]
    for copy, node in zip(kept, inner.nodes.values()):
        copy.CopyFrom(node)
    del function.node_def[:]
    function.node_def.extend(kept)
    for added in inner.functions[count:]:
        _rewrite_body(made, added)


def _rewrite_merges(made: Rewritten, wanted: Sequence[str]) -> None:
    """Put If in place of all Merges that some nodes need."""
    merges = {name for name in between(made, wanted, ()) if made.nodes[name].op in MERGE}
    left = [name for name in made.nodes if name in merges]
    before = {name: between(made, [n for n, _ in made.inputs(name)], merges) & merges
              for name in left}  # fmt: skip
    while left:
        waiting = set(left)
        ready = [name for name in left if not before[name] & waiting]
        groups: dict[Value, list[Choice]] = {}
        for name in ready or left:
            left.remove(name)
            try:
                if not ready:
                    raise UnsupportedError(f"'{name}' merges what it is computed from")
                choice = _choice(made, name)
                groups.setdefault(choice.predicate, []).append(choice)
            except UnsupportedError as error:
                _refuse(made, name, str(error))
        for predicate, choices in groups.items():
            try:
                _replace(made, predicate, choices)
            except UnsupportedError as error:
                for choice in choices:
                    _refuse(made, choice.merge, str(error))


def _refuse(made: Rewritten, name: str, reason: str) -> None:
    made.refused[name] = reason
    del made.nodes[name].input[:]


@dataclass(frozen=True)
class Choice:
    """A Merge: which value it gives where a predicate is false, and where it is true."""

    merge: str
    predicate: Value
    values: tuple[Value, Value]


def _choice(made: Rewritten, name: str) -> Choice:
    """What a Merge chooses by.

    Raises:
        UnsupportedError: no predicate decides it.
    """
    taken = made.inputs(name)
    if len(taken) != 2:
        raise UnsupportedError(f"'{name}' merges {len(taken)} values, which no predicate chooses")
    first, second = (_sides(made, value) for value in taken)
    for predicate, side in first:
        opposite = (predicate, 1 - side)
        if opposite in second and opposite not in first and (predicate, side) not in second:
            values = (taken[0], taken[1]) if side == 0 else (taken[1], taken[0])
            return Choice(name, predicate, values)
    raise UnsupportedError(f"no predicate decides which value '{name}' gives")


def _sides(made: Rewritten, value: Value) -> list[tuple[Value, int]]:
    """The predicates whose branches a value is of: those of the Switches met first."""
    found: dict[tuple[Value, int], None] = {}
    seen: set[Value] = set()
    pending = [value]
    while pending:
        name, place = current = pending.pop()
        node = made.nodes.get(name)
        if current in seen or node is None:
            continue
        seen.add(current)
        if node.op in SWITCH and len(made.inputs(name)) == 2:
            if place >= 0:
                found[_predicate(made, name), place] = None
            continue
        pending += [source_of(x) for x in node.input]
    return list(found)


def _predicate(made: Rewritten, switch: str) -> Value:
    """What a Switch chooses by, behind Identity."""
    value = made.inputs(switch)[1]
    for _ in range(len(made.nodes)):
        node = made.nodes.get(value[0])
        if node is None or node.op != "Identity" or not made.inputs(value[0]):
            break
        value = made.inputs(value[0])[0]
    return value


def _replace(made: Rewritten, predicate: Value, choices: Sequence[Choice]) -> None:
    """Put one If in place of Merges that one predicate decides."""
    captured: dict[Value, str] = {}
    meant = [_captures(made, predicate, choices, side, captured) for side in (0, 1)]
    names = list(captured.values())
    name = f"{choices[0].merge}/If"
    while name in made.nodes:
        name += "_"
    branches = [
        function_of(made, f"{name}/{what}", names, [c.values[side] for c in choices], meant[side])
        for side, what in ((0, "else"), (1, "then"))
    ]
    node = message("NodeDef", name=name, op="If")
    node.input.append(reference(*predicate))
    node.input.extend(reference(*value) for value in captured)
    node.attr["else_branch"].func.name = branches[0].signature.name
    node.attr["then_branch"].func.name = branches[1].signature.name
    made.nodes[name] = node
    for number, choice in enumerate(choices):
        merge = made.nodes[choice.merge]
        merge.op = "Identity"
        del merge.input[:]
        merge.input.append(f"{name}:{number}")


def _captures(
    made: Rewritten,
    predicate: Value,
    choices: Sequence[Choice],
    side: int,
    captured: dict[Value, str],
) -> Mapping[Value, str]:
    """Which argument of a branch stands for each value that it takes from around it."""
    meant: dict[Value, str] = {}
    within = _within(made, predicate, [c.values[side] for c in choices])
    pending = [c.values[side] for c in choices]
    seen: set[Value] = set()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        name = value[0]
        node = made.nodes.get(name)
        if node is not None and node.op in SWITCH and _is_of(made, name, predicate):
            outer = made.inputs(name)[0]
        elif name in within or (node is not None and node.op == "Const"):
            pending += made.inputs(name)
            continue
        else:
            outer = value
        meant[value] = captured.setdefault(outer, f"captured_{len(captured)}")
    return meant


def _is_of(made: Rewritten, switch: str, predicate: Value) -> bool:
    return len(made.inputs(switch)) == 2 and _predicate(made, switch) == predicate


def _within(made: Rewritten, predicate: Value, values: Sequence[Value]) -> set[str]:
    """The nodes of a branch: those that depend on its Switches, also by waiting for them."""
    state: dict[str, bool] = {}
    pending = [(name, False) for name, _ in values]
    inside: set[str] = set()
    while pending:
        name, done = pending.pop()
        node = made.nodes.get(name)
        if node is None or (name in state and not done):
            continue
        sources = [source_of(x)[0] for x in node.input]
        if done:
            is_switch = node.op in SWITCH and _is_of(made, name, predicate)
            if is_switch or any(s in inside for s in sources):
                inside.add(name)
            continue
        state[name] = True
        pending.append((name, True))
        if not (node.op in SWITCH and _is_of(made, name, predicate)):
            pending += [(s, False) for s in sources]
    return inside
