"""Constants: the elements of a `dense<…>` attribute as an array, and an array as an attribute.

The bindings give arrays of the types that NumPy knows. Elements of other types (bf16, f8, i4,
complex) are read from the attribute's text: numbers in nested brackets, or the bytes in hexadecimal
if there are more than a hundred.
"""

import re
from typing import Any

import numpy as np

from tfc.backends.mlir.provider import ir
from tfc.errors import UnsupportedError
from tfc.hlo.shape import Shape
from tfc.stablehlo.types import mlir_element_type, shape_from

_DENSE = re.compile(r'value = (dense|dense_resource)<(.*?)> : tensor<[^"]*?>(?:[,}]|$)', re.DOTALL)
_NUMBER = re.compile(r"true|false|0x[0-9A-Fa-f]+|[-+\d.][-+\d.eE]*")


def array_of(constant: Any) -> np.ndarray:
    """The elements of a stablehlo.constant operation, read-only for splats.

    Raises:
        UnsupportedError: its type has no HLO type, or its elements are not in the module.
    """
    shape = shape_from(constant.results[0].type)
    assert isinstance(shape, Shape)
    try:
        value = constant.attributes["value"]
        if not isinstance(value, ir.DenseElementsAttr):
            return _resource(constant, shape)
        return np.array(value, dtype=shape.element_type.dtype).reshape(shape.dims)
    except TypeError:
        return _from_text(constant, shape)


def splat_of(constant: Any) -> np.ndarray | None:
    """The one element, as an array of rank 0, that a constant has everywhere; None for others.

    Raises:
        UnsupportedError: its type has no HLO type.
    """
    shape = shape_from(constant.results[0].type)
    assert isinstance(shape, Shape)
    try:
        value = constant.attributes["value"]
        if not isinstance(value, ir.DenseElementsAttr) or not value.is_splat:
            return None
    except TypeError:  # the bindings have no class for dense complex numbers
        pass
    array = _elements_in_text(constant, shape)
    return array.reshape(()) if array.size == 1 else None


def _text(constant: Any) -> tuple[str, str]:
    """Which kind of attribute holds the elements, and what stands between its brackets."""
    form = {"print_generic_op_form": True, "use_local_scope": True, "enable_debug_info": False}
    match = _DENSE.search(constant.get_asm(**form))
    if match is None:
        raise UnsupportedError("a constant must be dense, with its elements in the module")
    return match[1], match[2]


def _from_text(constant: Any, shape: Shape) -> np.ndarray:
    array = _elements_in_text(constant, shape)
    dims = shape.dims
    return np.broadcast_to(array.reshape(dims if array.size == shape.size else ()), dims)


def _elements_in_text(constant: Any, shape: Shape) -> np.ndarray:
    """The elements that the text of a constant lists: all, or the one that is everywhere."""
    _, text = _text(constant)
    dtype = shape.element_type.dtype
    if text.startswith('"0x'):
        return np.frombuffer(bytes.fromhex(text[3:-1]), dtype)
    part = np.dtype(f"f{dtype.itemsize // 2}") if shape.element_type.is_complex else dtype
    numbers = np.array([_number(token, part) for token in _NUMBER.findall(text)], part)
    return numbers.view(dtype) if shape.element_type.is_complex else numbers


def _number(token: str, dtype: np.dtype) -> Any:
    """A number as MLIR prints it: bits in hexadecimal where decimals would not do."""
    if token.startswith("0x"):
        return np.array(int(token, 16), f"u{dtype.itemsize}").view(dtype)[()]
    return dtype.type(float(token) if "float" in dtype.name else int(token))


def _resource(constant: Any, shape: Shape) -> np.ndarray:
    """The elements of a `dense_resource`, which lie at the end of the module's text."""
    _, key = _text(constant)
    module = constant
    while module.parent is not None:
        module = module.parent
    tail = module.get_asm().rpartition("{-#")[2]
    match = re.search(rf'\b{re.escape(key)}: "0x([0-9A-Fa-f]*)"', tail)
    if match is None:
        raise UnsupportedError(f"the module does not hold the elements of its resource {key}")
    # Four bytes of alignment come first.
    raw = bytes.fromhex(match[1])[4:]
    if len(raw) != shape.size * shape.element_type.dtype.itemsize:
        raise UnsupportedError(f"the resource {key} does not hold {shape.size} elements")
    return np.frombuffer(raw, shape.element_type.dtype).reshape(shape.dims)


def dense_attribute(array: np.ndarray, shape: Shape) -> Any:
    """The attribute that holds an array's elements; needs a current MLIR context."""
    raw = array if array.dtype == np.bool_ else np.ascontiguousarray(array)
    if array.dtype.kind == "V" or "float" in array.dtype.name or "int" in array.dtype.name:
        raw = raw.view(f"u{array.dtype.itemsize}")
    element_type = ir.Type.parse(mlir_element_type(shape.element_type))
    return ir.DenseElementsAttr.get(raw, type=element_type, shape=list(shape.dims))
