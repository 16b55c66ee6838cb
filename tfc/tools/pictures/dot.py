"""A graph as Graphviz text: `dot -Tsvg` draws it; what an instruction calls is a cluster.

An edge goes to the node of an instruction, also where that has a cluster: the node is its head,
from which dashed edges lead to the parameters inside, and to which one leads from the root.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from tfc.tools.pictures.graph import Graph, Node
from tfc.tools.pictures.svg import CATEGORIES

_HEADER = """  rankdir=TB; bgcolor="white"; fontname="Helvetica"; fontsize=11;
  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=10, color="#8b99a8"];
  edge [color="#8b99a8", arrowsize=0.6];"""

_MOST_NODES = 200_000


def graph_dot(graph: Graph, title: str) -> str:
    """The text of a digraph."""
    if graph.size > _MOST_NODES:  # computations with many callers, again in each of them
        graph = replace(graph, nodes=tuple(replace(n, parts=()) for n in graph.nodes))
    lines = [f"digraph {quoted(title)} {{", _HEADER, f"  label={quoted(title)};"]
    _emit(graph, lines, "  ", count())
    return "\n".join([*lines, "}", ""])


def quoted(content: str) -> str:
    """A string of Graphviz, in which only quotes and backslashes mean something."""
    escaped = content.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _emit(graph: Graph, lines: list[str], indent: str, numbers: Iterator[int]) -> list[str]:
    """Write the nodes and edges of a graph; returns the nodes' names."""
    names = [_emit_node(node, lines, indent, numbers) for node in graph.nodes]
    lines += [f"{indent}{names[a]} -> {names[b]};" for a, b in graph.edges]
    return names


def _emit_node(node: Node, lines: list[str], indent: str, numbers: Iterator[int]) -> str:
    name = f"n{next(numbers)}"
    colour, _ = CATEGORIES[node.category]
    label = quoted("\n".join(node.lines))
    shown = f'{name} [label={label}, tooltip={quoted(node.hint)}, fillcolor="{colour}"];'
    if not node.parts:
        lines.append(indent + shown)
        return name
    lines += [
        f"{indent}subgraph cluster_{name} {{",
        f'{indent}  label={quoted(node.name)}; style="rounded,filled"; '
        'fillcolor="#f5f7f9"; color="#5d6b7a";',
        f"{indent}  {shown}",
    ]
    for part in node.parts:
        inside = indent + "  "
        lines += [
            f"{inside}subgraph cluster_{name}_{next(numbers)} {{",
            f'{inside}  label={quoted(part.name)}; style="rounded,dashed";',
        ]
        names = _emit(part, lines, inside + "  ", numbers)
        lines.append(f"{inside}}}")
        lines += [f"{inside}{name} -> {names[p]} [style=dashed];" for p in part.parameters]
    lines.append(f"{indent}}}")
    return name
