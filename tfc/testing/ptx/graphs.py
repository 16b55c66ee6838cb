"""Graphs of launches, copies and conditional nodes, as strict as CUDA's documentation of them.

What CUDA leaves undefined, or only some drivers refuse, is refused here too: nodes that nothing
orders, conditions that are read before they are set, graphs that are made ready twice.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import count

from tfc.testing.ptx.state.conditions import Conditions

INSIDE = ("kernel", "copy", "memset", "empty", "graph", "conditional")  # kinds of nodes of a part
_handles = count(0x600D_0001)


class GraphError(Exception):
    """What graphs must not be."""


class Node:
    """A node of a graph: its kind, and what it does."""

    def __init__(self, kind: str, run: Callable[[], None], parts: "Sequence[Graph]" = ()):
        self.kind, self.run, self.parts = kind, run, list(parts)


class Condition:
    """A condition of a graph, and the node that it decides over once there is one.

    default: what it is when a graph begins; None if that is what the last run has left.
    """

    def __init__(self, graph: "Graph", default: int | None):
        self.handle, self.graph, self.default = next(_handles), graph, default
        self.node: Node | None = None


class Graph:
    """A graph that is being made.

    Args:
        conditions: what the kernels of the machine set.
        parent: the graph that it is a part of.
    """

    def __init__(self, conditions: Conditions, parent: "Graph | None" = None):
        self.nodes: list[Node] = []
        self.own: list[Condition] = []
        self.is_ready = False
        self._conditions, self.parent = conditions, parent

    def add(self, kind: str, run: Callable[[], None], after: Iterable[Node]) -> Node:
        """Add a node.

        Args:
            after: the nodes that are before it, which must be the last one.
        """
        return self._append(Node(kind, run), after)

    def _append(self, node: Node, after: Iterable[Node]) -> Node:
        if list(after) != self.nodes[-1:]:
            raise GraphError("a node that does not come after the last one of its graph")
        self.nodes.append(node)
        return node

    def condition(self, default: int | None = None) -> int:
        """A condition that is to decide over a node of this graph or of a part of it."""
        self.own.append(Condition(self, default))
        return self.own[-1].handle

    def decide(self, kind: str, handle: int, size: int, after: Iterable[Node]) -> Node:
        """Add a conditional node.

        Args:
            kind: "IF", "WHILE" or "SWITCH".
            size: how many parts it has, which are empty graphs.
        """
        known = {c.handle: c for graph in self._above() for c in graph.own}
        if handle not in known:
            raise GraphError(f"condition {handle:#x} belongs to another graph")
        condition = known[handle]
        if condition.node is not None:
            raise GraphError(f"condition {handle:#x} decides already")
        if size not in {"IF": (1, 2), "WHILE": (1,)}.get(kind, (max(size, 1),)):
            raise GraphError(f"a node {kind} of {size} parts")
        parts = [Graph(self._conditions, self) for _ in range(size)]
        ask = _question(kind, handle, parts, self._conditions)
        condition.node = self._append(Node("conditional", ask, parts), after)
        return condition.node

    def _above(self) -> list["Graph"]:
        found: list[Graph] = [self]
        while found[-1].parent is not None:
            found.append(found[-1].parent)
        return found

    def graphs(self) -> "list[Graph]":
        """This graph, and all parts within it."""
        found: list[Graph] = [self]
        for graph in found:
            found += [part for node in graph.nodes for part in node.parts]
        return found

    def ready(self) -> "ReadyGraph":
        """The graph made ready to be launched."""
        return ReadyGraph(self, self._conditions)

    def run(self) -> None:
        """Run all nodes."""
        for node in self.nodes:
            node.run()


class ReadyGraph:
    """A graph that can be launched, as it was when it was made ready."""

    def __init__(self, graph: Graph, conditions: Conditions):
        all_graphs = graph.graphs()
        if graph.parent is not None:
            raise GraphError("a part of a conditional node is no graph by itself")
        own = [c for each in all_graphs for c in each.own]
        if any(c.node is None for c in own):
            raise GraphError("a condition decides nothing")
        for part in all_graphs[1:]:
            strange = [n.kind for n in part.nodes if n.kind not in INSIDE]
            if strange:
                raise GraphError(f"a part of a conditional node has a node of kind '{strange[0]}'")
            if not part.nodes:
                raise GraphError("a part of a conditional node is empty, which older drivers lack")
        if graph.is_ready and own:
            raise GraphError("a graph with conditions is made ready twice")
        graph.is_ready = True
        self.graph, self._conditions = graph, conditions
        self._defaults = {c.handle: c.default for c in own}

    def close(self) -> None:
        """Give it up."""
        self.graph.is_ready = False

    def launch(self) -> None:
        """Run it."""
        self._conditions.begin(self._defaults)
        try:
            self.graph.run()
        finally:
            self._conditions.end()


def _question(
    kind: str, handle: int, parts: Sequence[Graph], conditions: Conditions
) -> Callable[[], None]:
    def value() -> int:
        try:
            return conditions.value(handle)
        except KeyError as error:
            raise GraphError(str(error)) from None

    def run() -> None:
        if kind == "WHILE":
            while value():
                parts[0].run()
            return
        now = value()
        chosen = now if kind == "SWITCH" else (0 if now else 1)
        if chosen < len(parts):
            parts[chosen].run()

    return run
