"""Seeds of random operations: of the graph and of the operation, by TensorFlow's rule."""

from typing import Any

from tfc.graph.graph import get_default_graph

_DEFAULT_GRAPH_SEED = 87654321


def seeds(seed: int | None) -> dict[str, Any]:
    """The attributes `seed` and `seed2`: zeros for numbers that differ in every session.

    Args:
        seed: the operation's, or None: its number where the graph has a seed.
    """
    graph = get_default_graph()
    if graph.seed is None and seed is None:
        return {"seed": 0, "seed2": 0}
    first = _DEFAULT_GRAPH_SEED if graph.seed is None else graph.seed
    second = graph.version if seed is None else seed
    return {"seed": first, "seed2": second}
