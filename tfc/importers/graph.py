"""What readers make of a file: a graph of nodes, with its inputs, outputs and constants."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

Key = tuple[str, str]  # of an operator: its domain and its name


@dataclass(frozen=True)
class Port:
    """An input or an output of a graph.

    dtype: None where the file does not say it.
    is_assumed: whether the dtype is what seems likely by what takes the value: others fit, too.
    dims: sizes, names of sizes that are open, None for open ones without a name; None if not even
        their number is known.
    kind: "tensor", "sequence" of tensors, or "optional" tensor.
    """

    name: str
    dtype: np.dtype | None = None
    dims: tuple[int | str | None, ...] | None = None
    kind: str = "tensor"
    is_assumed: bool = False

    def __str__(self) -> str:
        dtype = "?" if self.dtype is None else self.dtype
        sizes = "…" if self.dims is None else ",".join("?" if d is None else str(d)
                                                       for d in self.dims)  # fmt: skip
        kind = "" if self.kind == "tensor" else f" {self.kind}"
        return f"{self.name}: {dtype}[{sizes}]{kind}"


@dataclass(frozen=True, eq=False)
class Node:
    """One use of an operator.

    version: that of the operator's domain which the file was written for.
    inputs, outputs: names of values; "" for one that is left out.
    attributes: numbers, text, tuples of them, NumPy arrays, Graphs, AttributeReferences.
    """

    domain: str
    op: str
    version: int
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The operator as messages show it: its name, with the domain if it has one."""
        return f"{self.domain}.{self.op}" if self.domain else self.op

    def subgraphs(self) -> Iterator["Graph"]:
        """The graphs among its attributes."""
        for value in self.attributes.values():
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Graph):
                    yield part


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes in an order in which each comes after what it uses.

    constants: values by name.
    weights: those of the constants that are parameters of the model, by the names they have there.
    also: values that are computed though no output needs them, of nodes that change variables.
    """

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    nodes: tuple[Node, ...]
    constants: Mapping[str, np.ndarray] = field(default_factory=dict)
    weights: Mapping[str, str] = field(default_factory=dict)
    also: frozenset[str] = frozenset()

    @cached_property
    def free_names(self) -> frozenset[str]:
        """The values it uses that are none of its own: those of the graphs around it."""
        own = {p.name for p in self.inputs} | set(self.constants)
        used = {p.name for p in self.outputs}
        for node in self.nodes:
            own.update(node.outputs)
            used.update(uses(node))
        return frozenset(used - own - {""})

    @cached_property
    def needed(self) -> tuple[Node, ...]:
        """The nodes that the outputs, and what is computed besides, depend on, in order."""
        wanted = {port.name for port in self.outputs} | self.also
        found = []
        for node in reversed(self.nodes):
            if wanted.intersection(node.outputs):
                wanted |= uses(node)
                found.append(node)
        return tuple(found[::-1])


@dataclass(frozen=True)
class AttributeReference:
    """In a function of the file's own: the attribute of the call that goes here."""

    name: str


@dataclass(frozen=True, eq=False)
class Function:
    """An operator that the file defines by a graph.

    attributes: those that calls may give, with their defaults; those without one are absent.
    """

    graph: Graph
    attributes: Mapping[str, Any]


def uses(node: Node) -> set[str]:
    """The values that a node needs: its inputs, and what its subgraphs take from around it."""
    found = set(node.inputs)
    for graph in node.subgraphs():
        found |= graph.free_names
    return found


def all_nodes(graphs: Sequence[Graph]) -> Iterator[Node]:
    """The nodes of graphs and of the graphs within them."""
    pending = list(graphs)
    while pending:
        for node in pending.pop().nodes:
            yield node
            pending += node.subgraphs()


def all_needed_nodes(graphs: Sequence[Graph]) -> Iterator[Node]:
    """The nodes that the outputs of graphs depend on, and those of the graphs within them."""
    pending = list(graphs)
    while pending:
        for node in pending.pop().needed:
            yield node
            pending += node.subgraphs()


def operators(graphs: Sequence[Graph]) -> Counter[Key]:
    """How often each operator is used."""
    return Counter((node.domain, node.op) for node in all_nodes(graphs))
