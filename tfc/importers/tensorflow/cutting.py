"""Where a graph becomes numbers: the values behind all that is text or has no row.

text -> StringSplit -> LookupTableFindV2 -> Embedding -> y      cut: LookupTableFindV2
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tfc.graph.operators.registry import OPERATORS
from tfc.importers.tensorflow.nodes import CHECKS, Nodes, value_name

TEXT = 7  # the number of the type of texts
_MOST_NAMED = 8


def is_of_numbers(node: Any, library: Mapping[str, Any], has_row: Callable[[str], bool]) -> bool:
    """Whether a node can be compiled: its operator has a row, and so have those it runs."""
    for attribute in node.attr.values():
        if TEXT in (attribute.type, *attribute.list.type):
            return False
        for called in (attribute.func, *attribute.list.func):
            function = library.get(called.name)
            if function is not None and not all(
                is_of_numbers(x, library, has_row) for x in function.node_def
            ):
                return False
    return node.op in OPERATORS or node.op in CHECKS or node.op in library or has_row(node.op)


def numeric_values(
    nodes: Nodes, fetched: Sequence[str], is_numeric: Callable[[Any], bool]
) -> list[str]:
    """The values that numbers alone are computed of, behind everything that is none.

    A model that is fed them computes the fetched values without what is before them.
    """
    wanted = [nodes.place(x) for x in fetched]
    taken = {name: nodes.taken(node) for name, node in nodes.by_name.items()}
    needed = _reached([n for n, _ in wanted], lambda name: (n for n, _ in taken.get(name, ())))
    users: dict[str, list[str]] = {}
    for name in needed:
        for before, _ in taken.get(name, ()):
            users.setdefault(before, []).append(name)
    refused = [n for n in needed if n in nodes.by_name and not is_numeric(nodes.by_name[n])]
    before = _reached(refused, lambda name: (n for n, _ in taken.get(name, ())))
    behind = _reached(refused, lambda name: users.get(name, ()))
    both = before & behind
    uses = [x for name in needed if name not in before for x in taken.get(name, ())]
    found = [x for x in (*uses, *wanted) if x[0] in both]
    return [value_name(*x) for x in dict.fromkeys(found)]


def _reached(starts: Sequence[str], following: Callable[[str], Iterable[str]]) -> set[str]:
    found: set[str] = set()
    pending = list(starts)
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += following(name)
    return found


def advice(values: Sequence[str]) -> str:
    """How to import a model without what is no numbers, as the end of a message."""
    if not values:
        return "state inputs= and outputs= between which the graph computes with numbers"
    listed = ", ".join(repr(x) for x in values[:_MOST_NAMED])
    more = f", and {len(values) - _MOST_NAMED} more" if len(values) > _MOST_NAMED else ""
    return (
        f"import what is behind it by inputs=[{listed}]{more} (--inputs on the command line), and "
        "compute these beforehand"
    )
