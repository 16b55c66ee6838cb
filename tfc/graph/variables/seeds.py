"""Seeds of random operations: of the graph and of the operation, by TensorFlow's rule."""

from typing import Any

from tfc.graph.graph import Graph, get_default_graph
from tfc.graph.subgraph import Subgraph

_DEFAULT_GRAPH_SEED = 87654321
_IN_PLACE_OF_ZEROS = 2**31 - 1


def seeds(seed: int | None) -> dict[str, Any]:
    """The attributes `seed` and `seed2`: zeros for numbers that differ in every session.

    Args:
        seed: the operation's, or None: its number where the graph has a seed. In bodies of loops
            and branches operations are counted with those around them.
    """
    graph = get_default_graph()
    if graph.seed is None and seed is None:
        return {"seed": 0, "seed2": 0}
    first = _DEFAULT_GRAPH_SEED if graph.seed is None else graph.seed
    second = _number(graph) if seed is None else seed
    if first == second == 0:
        second = _IN_PLACE_OF_ZEROS
    return {"seed": first, "seed2": second}


def _number(graph: Graph) -> int:
    """A number that no other operation of a graph and its bodies gets for its seed."""
    outermost = graph
    while isinstance(outermost, Subgraph):
        outermost = outermost.outer
    number = outermost.version + outermost.seeds_within
    if graph is not outermost:
        outermost.seeds_within += 1
    return number
