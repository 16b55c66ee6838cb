"""What running a subgraph does: effects, host code, the variables that it writes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tfc.graph.evaluation import needed
from tfc.graph.operation import Operation
from tfc.graph.operators.registry import Attributes, Effect, Operator, find
from tfc.graph.subgraph import Subgraph
from tfc.graph.types.dtypes import resource


@dataclass(frozen=True)
class Facts:
    """What running a subgraph does.

    effect: as of a row: the strongest of its operations'.
    on_host: whether some of it cannot be compiled.
    written: the numbers of its inputs that are handles of variables it writes.
    """

    effect: Effect
    on_host: bool
    written: frozenset[int]


def facts(graph: Subgraph) -> Facts:
    """What running a subgraph does, found once for each state of it."""
    key = (graph.version, tuple(graph.outputs))
    if graph.known_facts is None or graph.known_facts[0] != key:
        graph.known_facts = (key, _found(graph))
    return graph.known_facts[1]


def _found(graph: Subgraph) -> Facts:
    effect: Effect = ""
    on_host = False
    written: set[int] = set()
    places = {x: n for n, x in enumerate(graph.inputs)}
    for op in needed([x.op for x in graph.outputs] + graph.control_outputs, graph.inputs):
        row = find(op.type, op.attributes)
        on_host |= row.on_host
        if row.effect and effect != "write":
            effect = row.effect
        written |= {places[x] for x in _written_by(op, row) if x in places}
    return Facts(effect, on_host, frozenset(written))


def _written_by(op: Operation, row: Operator) -> list[Any]:
    """The handles that an operation writes."""
    graphs = subgraphs(op.attributes)
    if not graphs:
        written = op.inputs[:1] if row.effect == "write" else ()
        return [x for x in written if x.dtype == resource]
    given = op.inputs[len(op.inputs) - len(graphs[0].inputs) :]
    return [given[n] for graph in graphs for n in facts(graph).written]


def subgraphs(attributes: Attributes) -> list[Subgraph]:
    """The subgraphs among attributes."""
    listed = [*attributes.values(), *attributes.get("branches", ())]
    return [x for x in listed if isinstance(x, Subgraph)]


def decided(row: Operator, attributes: Attributes) -> Operator:
    """The row of an operation that runs subgraphs: with effects if they have some."""
    known = [facts(graph) for graph in subgraphs(attributes)]
    effects = {fact.effect for fact in known}
    effect: Effect = "write" if "write" in effects else "read" if "read" in effects else ""
    on_host = any(fact.on_host for fact in known) or bool(attributes.get("_on_host"))
    return replace(row, effect=effect, on_host=on_host)


def written(graphs: Sequence[Subgraph], arguments: Sequence[Any]) -> list[Any]:
    """The handles among the arguments of subgraphs that one of them writes."""
    places = sorted(set().union(*(facts(graph).written for graph in graphs)))
    return list(dict.fromkeys(arguments[n] for n in places))
