"""Loops of TensorFlow 1 as While: what a frame's nodes do, as functions of a condition and a body.

    Enter → Merge ← NextIteration            x = While(x₀, …, invariants)
              ↓                              cond(x, …): what LoopCond takes
            Switch(·, LoopCond) → Exit       body(x, …): what NextIteration takes
              ↓
            the body → NextIteration

Frames within a frame become While first, so that they are nodes of its body like any other.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tfc.errors import UnsupportedError
from tfc.graph.files.messages import message
from tfc.importers.tensorflow.nodes import changes

ENTER = ("Enter", "RefEnter")
EXIT = ("Exit", "RefExit")
NEXT = ("NextIteration", "RefNextIteration")
MERGE = ("Merge", "RefMerge")
SWITCH = ("Switch", "RefSwitch")


def source_of(reference: str) -> tuple[str, int]:
    """The node and which of its results a reference means; of ^node, -1."""
    if reference.startswith("^"):
        return reference[1:], -1
    name, _, place = reference.partition(":")
    return name, int(place.rpartition(":")[2]) if place.rpartition(":")[2].isdigit() else 0


@dataclass
class Rewritten:
    """Nodes on their way to having no control flow of TensorFlow 1.

    nodes: by name. functions: those that were made of them.
    refused: nodes that stand for what could not be rewritten, with the reasons.
    """

    nodes: dict[str, Any]
    functions: list[Any] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)

    def inputs(self, name: str) -> list[tuple[str, int]]:
        """What a node takes values of."""
        node = self.nodes.get(name)
        taken = [] if node is None else [source_of(x) for x in node.input]
        return [(n, place) for n, place in taken if place >= 0]


@dataclass
class Frame:
    """The nodes of one loop.

    enters: what values come in by; constant ones are the same in each iteration.
    merges: for each of the others, what the iteration begins with.
    """

    name: str
    enters: list[Any] = field(default_factory=list)
    merges: dict[str, Any] = field(default_factory=dict)  # by the Enter's name
    condition: str = ""


def rewrite_frames(made: Rewritten) -> None:
    """Put While in place of all frames, innermost ones first."""
    frames = _frames(made)
    frame_of = {m.name: frame.name for frame in frames.values() for m in frame.merges.values()}
    exits: dict[str, list[Any]] = {}
    for name in [n for n, node in made.nodes.items() if node.op in EXIT]:
        # An Exit is of the frame of its Switch's Merge.
        switch = made.inputs(name)[:1]
        merge = made.inputs(switch[0][0])[:1] if switch else []
        frame = frame_of.get(merge[0][0], "") if merge else ""
        exits.setdefault(frame, []).append(made.nodes[name])
    left = dict(frames)
    while left:
        ready = [f for f in left.values() if not _inner(made, f, exits, left)]
        for frame in ready or list(left.values()):
            del left[frame.name]
            found = exits.get(frame.name, [])
            try:
                if not ready:
                    raise UnsupportedError(f"the loop '{frame.name}' is no loop as TensorFlow's")
                _replace(made, frame, found)
            except UnsupportedError as error:
                _refuse(made, found, str(error))
    _refuse(made, exits.get("", []), "an Exit is of no loop")
    _without_remains(made)


def _without_remains(made: Rewritten) -> None:
    """Take the nodes away that only work within loops; nothing waits for them any more."""
    working = (*ENTER, *NEXT, "LoopCond")
    remains = {name for name, node in made.nodes.items() if node.op in working}
    for name in [n for n, node in made.nodes.items() if node.op in (*MERGE, *SWITCH)]:
        remains |= {name} if remains.intersection(n for n, _ in made.inputs(name)) else set()
    pending = list(remains)
    users: dict[str, list[str]] = {}
    for node in made.nodes.values():
        for name, _ in made.inputs(node.name):
            users.setdefault(name, []).append(node.name)
    while pending:
        for user in users.get(pending.pop(), ()):
            if user not in remains:
                remains.add(user)
                pending.append(user)
    for name in remains:
        del made.nodes[name]
    for node in made.nodes.values():
        kept = [x for x in node.input if not (x[0] == "^" and x[1:] in remains)]
        if len(kept) < len(node.input):
            del node.input[:]
            node.input.extend(kept)


def _frames(made: Rewritten) -> dict[str, Frame]:
    found: dict[str, Frame] = {}
    for node in made.nodes.values():
        if node.op in ENTER:
            name = node.attr["frame_name"].s.decode(errors="replace")
            found.setdefault(name, Frame(name)).enters.append(node)
    frame_of = {node.name: frame for frame in found.values() for node in frame.enters}
    for node in made.nodes.values():
        if node.op in MERGE:
            for name, _ in made.inputs(node.name):
                if name in frame_of:
                    frame_of[name].merges[name] = node
    merges = {m.name: frame for frame in found.values() for m in frame.merges.values()}
    for node in made.nodes.values():
        taken = made.inputs(node.name) if node.op in SWITCH else []
        if len(taken) == 2 and taken[0][0] in merges:
            merges[taken[0][0]].condition = taken[1][0]
    return found


def _inner(
    made: Rewritten, frame: Frame, exits: Mapping[str, list[Any]], left: Mapping[str, Frame]
) -> bool:
    """Whether other frames that are left lie within one."""
    ends = {node.name for name in left if name != frame.name for node in exits.get(name, ())}
    starts = [n for m in frame.merges.values() for n, _ in made.inputs(m.name)]
    stops = {node.name for node in frame.enters}
    return bool(ends & between(made, [*starts, frame.condition], stops))


def between(made: Rewritten, starts: Iterable[str], stops: Container[str]) -> set[str]:
    """The nodes that values are computed by, up to those that they come from, and these too."""
    found: set[str] = set()
    pending = list(starts)
    while pending:
        name = pending.pop()
        if name not in found and name in made.nodes:
            found.add(name)
            pending += [] if name in stops else [n for n, _ in made.inputs(name)]
    return found


def _refuse(made: Rewritten, exits: Sequence[Any], reason: str) -> None:
    for node in exits:
        made.refused[node.name] = reason
        del node.input[:]


def _replace(made: Rewritten, frame: Frame, exits: Sequence[Any]) -> None:
    """Put While in place of a frame.

    Raises:
        UnsupportedError: it is not as TensorFlow makes loops.
    """
    varying = [node for node in frame.enters if node.name in frame.merges]
    invariant = [node for node in frame.enters if node.name not in frame.merges]
    test = made.nodes.get(frame.condition)
    if test is None or test.op != "LoopCond" or not test.input:
        raise UnsupportedError(f"the loop '{frame.name}' has no condition")
    if not all(made.inputs(node.name) for node in frame.enters):
        raise UnsupportedError(f"nothing comes into the loop '{frame.name}'")
    arguments = {f"{node.name}:argument": node for node in (*varying, *invariant)}
    names = [x.replace(":", "_") for x in arguments]
    merges = [frame.merges[node.name] for node in varying]
    next_values = [_next(made, frame, m) for m in merges]
    meant = {(node.name, 0): name for node, name in zip((*varying, *invariant), names)}
    for merge, name in zip(merges, names):
        meant[merge.name, 0] = name
    switches = _switches(made, frame)
    body_meant = meant | {(s, 1): meant[m, 0] for s, m in switches.items()}
    unique = frame.name.replace(":", "_")
    condition = function_of(made, f"{unique}/cond", names, [source_of(test.input[0])], meant)
    results = [*next_values, *((node.name, 0) for node in invariant)]
    body = function_of(made, f"{unique}/body", names, results, body_meant)
    loop = message("NodeDef", name=_unique(made, f"{unique}/While"), op="While")
    loop.input.extend(node.input[0] for node in (*varying, *invariant))
    loop.attr["cond"].func.name, loop.attr["body"].func.name = (
        condition.signature.name, body.signature.name,
    )  # fmt: skip
    made.nodes[loop.name] = loop
    places = {merge.name: n for n, merge in enumerate(merges)}
    for node in exits:
        place = places.get(switches.get(made.inputs(node.name)[0][0], ""))
        if place is None:
            raise UnsupportedError(f"'{node.name}' ends no loop")
        node.op = "Identity"
        del node.input[:]
        node.input.append(f"{loop.name}:{place}")


def _unique(made: Rewritten, name: str) -> str:
    while name in made.nodes:
        name += "_"
    return name


def _next(made: Rewritten, frame: Frame, merge: Any) -> tuple[str, int]:
    """What an iteration hands to the next one for a Merge."""
    for name, _ in made.inputs(merge.name):
        node = made.nodes.get(name)
        if node is not None and node.op in NEXT and node.input:
            return source_of(node.input[0])
    raise UnsupportedError(f"the loop '{frame.name}' hands nothing on to '{merge.name}'")


def _switches(made: Rewritten, frame: Frame) -> dict[str, str]:
    """The Merge that each of the frame's Switches takes."""
    merges = {m.name for m in frame.merges.values()}
    found = {}
    for node in made.nodes.values():
        taken = made.inputs(node.name) if node.op in SWITCH else []
        if taken and taken[0][0] in merges:
            found[node.name] = taken[0][0]
    return found


def function_of(
    made: Rewritten,
    name: str,
    arguments: Sequence[str],
    results: Sequence[tuple[str, int]],
    meant: Mapping[tuple[str, int], str],
) -> Any:
    """A function of the nodes between arguments and results, which is entered in `functions`.

    Args:
        meant: which argument a value is.

    Raises:
        UnsupportedError: a node in it changes variables.
    """
    taken = {f.signature.name for f in made.functions}
    while name in taken:
        name += "_"
    function = message("FunctionDef")
    function.signature.name = name
    for argument in arguments:
        function.signature.input_arg.add(name=argument)
    found: set[str] = set()
    pending = [n for n, place in results if (n, place) not in meant]
    while pending:
        current = pending.pop()
        if current in found:
            continue
        if current not in made.nodes:
            raise UnsupportedError(f"a loop or branch takes '{current}', which there is not")
        found.add(current)
        node = function.node_def.add()
        node.CopyFrom(made.nodes[current])
        if changes(node.op, {}):
            raise UnsupportedError(
                f"a loop or branch of TensorFlow 1 changes a variable at '{current}'"
            )
        del node.input[:]
        for value in made.inputs(current):
            node.input.append(meant[value] if value in meant else reference(*value))
            if value not in meant:
                pending.append(value[0])
    for number, value in enumerate(results):
        function.signature.output_arg.add(name=f"result_{number}")
        function.ret[f"result_{number}"] = meant.get(value, reference(*value))
    made.functions.append(function)
    return function


def reference(name: str, place: int) -> str:
    """A value as inputs name it."""
    return f"{name}:{place}" if place else name
