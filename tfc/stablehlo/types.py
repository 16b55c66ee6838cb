"""MLIR's types and HLO's shapes: tensor<2x3xf32> is f32[2,3], tuple<…> a tuple."""

from collections.abc import Sequence
from typing import Any

from tfc.backends.mlir.provider import ir
from tfc.errors import UnsupportedError
from tfc.hlo.shape import ELEMENT_TYPES, TOKEN, AnyShape, ElementType, Shape, TupleShape

_FROM_MLIR = {"i1": "pred", "complex<f32>": "c64", "complex<f64>": "c128"}
_TO_MLIR = {name: mlir for mlir, name in _FROM_MLIR.items()}
# The shapes of the types met so far, by their text: there are few, and every value asks for one.
_KNOWN: dict[str, AnyShape] = {}


def element_type_from(mlir_type: Any) -> ElementType:
    """The element type of an MLIR type: i32 is s32, ui8 is u8, f8E4M3FN is f8e4m3fn.

    Raises:
        UnsupportedError: HLO or tfc has none such.
    """
    text = str(mlir_type)
    name = _FROM_MLIR.get(text) or (f"s{text[1:]}" if text[:1] == "i" else text.lower())
    name = f"u{name[2:]}" if name.startswith("ui") else name
    if name not in ELEMENT_TYPES:
        quantized = "dequantize the program first" if "quant" in text else "it has no HLO type"
        raise UnsupportedError(f"the element type {text} is not supported: {quantized}")
    return ELEMENT_TYPES[name]


def shape_from(mlir_type: Any) -> AnyShape:
    """The shape of an MLIR type.

    Raises:
        UnsupportedError: it has sizes that are not known, or no HLO shape corresponds.
    """
    text = str(mlir_type)
    if text not in _KNOWN:
        _KNOWN[text] = _shape_from(mlir_type)
    return _KNOWN[text]


def _shape_from(mlir_type: Any) -> AnyShape:
    if isinstance(mlir_type, ir.TupleType):
        types = (mlir_type.get_type(n) for n in range(mlir_type.num_types))
        return TupleShape(tuple(map(shape_from, types)))
    if str(mlir_type) == "!stablehlo.token":
        return TOKEN
    if not isinstance(mlir_type, ir.RankedTensorType):
        raise UnsupportedError(f"values of the type {mlir_type} are not supported")
    if not mlir_type.has_static_shape:
        raise UnsupportedError(
            f"dynamic sizes are not supported, got {mlir_type}: export the program for fixed shapes"
        )
    return Shape(element_type_from(mlir_type.element_type), tuple(mlir_type.shape))


def result_shape(shapes: Sequence[AnyShape]) -> AnyShape:
    """The shape of one instruction that stands for an operation: a tuple for several results."""
    return shapes[0] if len(shapes) == 1 else TupleShape(tuple(shapes))


def mlir_element_type(element_type: ElementType) -> str:
    """MLIR's name of an element type."""
    name = element_type.name
    if name in _TO_MLIR:
        return _TO_MLIR[name]
    if name.startswith("f8"):
        return f"f8{name[2:].upper()}"
    return {"signed": "i", "unsigned": "ui"}.get(element_type.kind, name[0]) + name[1:]


def mlir_type(shape: AnyShape) -> str:
    """MLIR's notation of a shape."""
    if isinstance(shape, TupleShape):
        return f"tuple<{', '.join(map(mlir_type, shape.elements))}>"
    if not isinstance(shape, Shape):
        return "!stablehlo.token"
    sizes = "".join(f"{size}x" for size in shape.dims)
    return f"tensor<{sizes}{mlir_element_type(shape.element_type)}>"
