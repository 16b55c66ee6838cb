"""Keys of sorts (`analysis/sort_keys.py`) as unsigned integers in the comparator's order."""

from collections.abc import Sequence

from tfc.backends.mlir.arithmetic.elemental import total_order
from tfc.backends.mlir.arithmetic.value import (
    Scalar,
    bitcast,
    constant,
    convert,
    resize,
    select,
)
from tfc.backends.mlir.scalar_computation import emit_scalar
from tfc.hlo.ir import Computation
from tfc.hlo.shape import ELEMENT_TYPES, F32, U32, U64, ElementType
from tfc.passes.analysis.sort_keys import SortKey


def integer_key(
    keys: Sequence[SortKey], comparator: Computation, elements: Sequence[Scalar]
) -> Scalar:
    """An unsigned integer of 32 or 64 bits in the order of the comparator."""
    wide = _key_type(keys)
    sides = [e for e in elements for _side in range(2)]
    joined = constant(wide, 0)
    for key in keys:
        part = _unsigned(key, emit_scalar(comparator, sides, key.value))
        shifted = joined << part.element_type.bits if key is not keys[0] else joined
        joined = shifted | resize(part, wide)
    return joined


def is_whole_element(keys: Sequence[SortKey], comparator: Computation) -> bool:
    """Whether elements are one integer that is the key, so that equal ones cannot be told apart."""
    if len(keys) != 1 or len(comparator.parameters) != 2:
        return False
    (key,) = keys
    element_type = key.value.array_shape.element_type
    return key.value is comparator.parameters[0] and element_type.is_integer


def element_of_key(key: SortKey, found: Scalar) -> Scalar:
    """The element whose `integer_key` is given, if `is_whole_element`."""
    element_type = key.value.array_shape.element_type
    bits = resize(~found if key.descending else found, ELEMENT_TYPES[f"u{key.bits}"])
    if element_type.kind != "signed":
        return resize(bits, element_type)
    signed = bitcast(bits ^ (1 << (key.bits - 1)), ELEMENT_TYPES[f"s{key.bits}"])
    return resize(signed, element_type)


def _key_type(keys: Sequence[SortKey]) -> ElementType:
    return U32 if sum(k.bits for k in keys) <= 32 else U64


def _unsigned(key: SortKey, value: Scalar) -> Scalar:
    """A key as an unsigned integer of its width."""
    unsigned = ELEMENT_TYPES[f"u{key.bits}"]
    if value.element_type.is_float:
        if value.element_type.bits < key.bits:
            value = convert(value, F32)
        value = total_order(value if key.total else _canonical(value))
    if value.element_type.kind == "signed":
        signed = resize(value, ELEMENT_TYPES[f"s{key.bits}"])
        value = bitcast(signed, unsigned) ^ (1 << (key.bits - 1))
    value = resize(value, unsigned)
    return ~value if key.descending else value


def _canonical(x: Scalar) -> Scalar:
    """A float with one zero and one NaN, which is positive."""
    wide = convert(x, F32) if x.element_type.bits < 32 else x
    nan = constant(x.element_type, float("nan"))
    return select(wide.ne(wide), nan, select(wide.eq(0), constant(x.element_type, 0), x))
