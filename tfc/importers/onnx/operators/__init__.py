"""The operators of ONNX, by family: each a function over tfc's own functions. Rooms: `layers` of
networks, and `domains` other than ai.onnx.

Importing this enters all of them in the table. May import the importers' common parts and the
frontend's namespaces.
"""

from importlib import import_module

from tfc.importers.onnx.table import ONNX

FAMILIES = (
    *("activations", "casts", "control", "elementwise", "indexing", "padding", "products"),
    *("randoms", "reductions", "selections", "sequences", "shapes", "signals"),
    *("layers.attention", "layers.convolutions", "layers.images", "layers.losses"),
    *("layers.normalization", "layers.pooling", "layers.quantization", "layers.recurrent"),
    *("layers.resizing", "domains.learning", "domains.machines", "domains.trees"),
    *("domains.microsoft", "domains.quantized"),
)
for _family in FAMILIES:
    import_module(f"tfc.importers.onnx.operators.{_family}")

__all__ = ["FAMILIES", "ONNX"]
