"""Graphs with their variables from files: `import_meta_graph`."""

from typing import Any

from tfc.graph.files.metagraphs import import_into_graph
from tfc.graph.training.saver import Saver


def import_meta_graph(
    meta_graph_or_file: Any, clear_devices: bool = False, import_scope: str | None = None
) -> Saver:
    """Make the operations and collections of a MetaGraphDef in the default graph.

    Returns:
        what restores the values of its variables.
    """
    import_into_graph(meta_graph_or_file, import_scope)
    return Saver(allow_empty=True)
