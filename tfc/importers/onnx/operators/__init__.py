"""The operators of ONNX, by family: each a function over tfc's own functions.

Importing this enters all of them in the table. May import the importers' common parts and the
frontend's namespaces.
"""

from importlib import import_module

from tfc.importers.onnx.table import ONNX

FAMILIES = (
    "activations",
    "casts",
    "elementwise",
    "indexing",
    "products",
    "reductions",
    "shapes",
)
for _family in FAMILIES:
    import_module(f"tfc.importers.onnx.operators.{_family}")

__all__ = ["FAMILIES", "ONNX"]
