"""Which nodes of a GraphDef or of a function are needed, in which order; what inputs name.

A reference is `node`, `node:1`, or within functions `node:values:0`; `^node` only orders. What
comes out names each value once: `node` for the first result, `node:1` for the second.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tfc.errors import ModelFileError, UnsupportedError
from tfc.graph.files.exporting import RESULTS
from tfc.graph.operators.registry import OPERATORS

# Operators that only check or show: nothing that a model computes depends on them.
CHECKS = frozenset({
    "Assert", "NoOp", "Print", "PrintV2", "CheckNumerics", "CheckNumericsV2", "Placeholder",
    "PyFunc", "EagerPyFunc",
})  # fmt: skip
# What the names of operators without a row begin with that change variables.
_CHANGING = ("Assign", "Apply", "Resource", "Scatter", "SparseApply")


class Nodes:
    """The nodes of a graph or function by name.

    file: what to call the source in errors.
    arguments: the names of a function's arguments.
    """

    def __init__(self, file: str, nodes: Iterable[Any], arguments: Sequence[str] = ()):
        self.file, self.arguments = file, frozenset(arguments)
        self.by_name: dict[str, Any] = {}
        self._results: dict[str, str] = {}
        for node in nodes:
            if not node.name or node.name in self.by_name or node.name in self.arguments:
                raise ModelFileError(f"{file} has two nodes of the name '{node.name[:200]}'")
            self.by_name[node.name] = node

    def place(self, reference: str) -> tuple[str, int]:
        """The node, or argument, and which of its results a reference means.

        Raises:
            ModelFileError: there is no such node or result.
        """
        name, *rest = reference.split(":")
        if name in self.arguments and not rest:
            return name, 0
        node = self.by_name.get(name)
        if node is None:
            raise ModelFileError(f"{self.file} has no node '{name[:200]}'")
        if not rest:
            return name, 0
        if len(rest) > 2 or not rest[-1].isdigit() or len(rest[-1]) > 6:
            raise ModelFileError(f"{self.file}: '{reference[:200]}' is no name of a tensor")
        names = RESULTS.get(node.op, ())
        if len(rest) == 2 and len(names) < 2:
            self._check_only_result(node.op, rest[0])
        if len(rest) == 1 or len(names) < 2:
            return name, int(rest[-1])
        if rest[0] not in names:
            raise ModelFileError(f"{self.file}: {node.op} has no result '{rest[0][:200]}'")
        return name, names.index(rest[0]) + int(rest[1])

    def _check_only_result(self, op: str, result: str) -> None:
        """Check that an operator whose results have no known names has one name of them.

        Raises:
            UnsupportedError: it has several.
        """
        if self._results.setdefault(op, result) != result:
            raise UnsupportedError(
                f"{self.file}: the order of the results of {op} is not known, which are called "
                f"'{self._results[op][:200]}' and '{result[:200]}'"
            )

    def value(self, reference: str) -> str:
        """A reference as the one name of its value."""
        return value_name(*self.place(reference))

    def taken(self, node: Any) -> list[tuple[str, int]]:
        """What a node takes: nodes and which of their results."""
        return [self.place(x) for x in node.input if not x.startswith("^")]

    def before(self, node: Any) -> list[str]:
        """The nodes that a node only waits for."""
        found = [self.place(x[1:])[0] for x in node.input if x.startswith("^")]
        return [name for name in found if name not in self.arguments]

    def ancestors(self, names: Iterable[str]) -> list[str]:
        """The nodes that some need, also by waiting for them, in the file's order."""
        found: set[str] = set()
        pending = list(names)
        while pending:
            name = pending.pop()
            if name not in found and name not in self.arguments:
                found.add(name)
                node = self.by_name[name]
                pending += [n for n, _ in self.taken(node)] + self.before(node)
        return [name for name in self.by_name if name in found]


def value_name(name: str, place: int) -> str:
    """The name of a result."""
    return f"{name}:{place}" if place else name


def changes(op: str, writers: Mapping[str, bool]) -> bool:
    """Whether an operator changes variables.

    Args:
        writers: of functions that are called by name, whether they do.
    """
    if op in CHECKS:
        return False
    if op in writers:
        return writers[op]
    row = OPERATORS.get(op)
    if row is None:
        return op.startswith(_CHANGING) and "Gather" not in op
    return row.effect == "write"


def in_order(nodes: Nodes, wanted: Sequence[str], fed: Iterable[tuple[str, int]]) -> list[Any]:
    """The nodes that some need, also by waiting for them, each behind those it needs.

    Args:
        wanted: names of nodes.
        fed: results that are given, for which nothing is needed.

    Raises:
        ModelFileError: nodes need each other in a circle.
    """
    given = set(fed)
    state: dict[str, bool] = {}  # False while what a node needs is looked at
    ordered: list[Any] = []
    pending = list(reversed(wanted))
    while pending:
        name = pending[-1]
        if name in nodes.arguments or state.get(name) is True:
            pending.pop()
            continue
        node = nodes.by_name[name]
        needed = [n for n, place in nodes.taken(node) if (n, place) not in given]
        needed += nodes.before(node)
        left = [n for n in needed if n not in nodes.arguments and state.get(n) is not True]
        if not left:
            state[name] = True
            ordered.append(node)
            pending.pop()
        elif name in state:
            raise ModelFileError(f"{nodes.file} has nodes that need each other: '{name}'")
        else:
            state[name] = False
            if circular := [n for n in left if state.get(n) is False]:
                raise ModelFileError(f"{nodes.file} has nodes that need each other: {circular[:3]}")
            pending += reversed(left)
    return ordered


def computed(
    nodes: Nodes, ordered: Sequence[Any], wanted: Iterable[str], fed: Iterable[tuple[str, int]]
) -> set[str]:
    """The nodes that some take values of, directly or not."""
    given, found = set(fed), set(wanted)
    for node in reversed(ordered):
        if node.name in found:
            found.update(n for n, place in nodes.taken(node) if (n, place) not in given)
    return found
