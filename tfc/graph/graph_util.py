"""What is done with GraphDefs before they are taken elsewhere."""

from tfc.graph.files.freezing import (
    as_function,
    convert_variables_to_constants,
    export_for_tfcompile,
    extract_sub_graph,
)

__all__ = [
    "as_function",
    "convert_variables_to_constants",
    "export_for_tfcompile",
    "extract_sub_graph",
]
