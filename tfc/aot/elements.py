"""What an array is in C++ and in C: the type of its elements, and where they lie."""

from collections.abc import Sequence

from tfc.hlo.shape import ElementType

# What C++11 has no type for is passed as its bits; integers of 4 bits take a byte each.
# fmt: off
_TYPES = {
    "pred": "bool", "s4": "std::int8_t", "u4": "std::uint8_t",
    "s8": "std::int8_t", "s16": "std::int16_t", "s32": "std::int32_t", "s64": "std::int64_t",
    "u8": "std::uint8_t", "u16": "std::uint16_t", "u32": "std::uint32_t", "u64": "std::uint64_t",
    "f16": "std::uint16_t", "bf16": "std::uint16_t", "f32": "float", "f64": "double",
    "c64": "std::complex<float>", "c128": "std::complex<double>",
}
_IN_C = {"std::complex<float>": "float _Complex", "std::complex<double>": "double _Complex"}
# fmt: on


def cpp_type(element_type: ElementType) -> str:
    """The C++ type of one element (API-8)."""
    return _TYPES.get(element_type.name, "std::uint8_t")  # f8…


def c_type(element_type: ElementType) -> str:
    """The type of one element in C99."""
    found = cpp_type(element_type)
    return _IN_C.get(found, found.removeprefix("std::"))


def remark(element_type: ElementType) -> str:
    """What a comment says of elements that C++ has no type for."""
    if element_type.is_float and "int" in cpp_type(element_type):
        return ", as the bits of its elements"
    return ", an element in each byte" if element_type.bits == 4 else ""


def position(dims: Sequence[int]) -> str:
    """Where an element lies in row-major order (API-7): (dim0 * 3 + dim1) * 4 + dim2."""
    if not dims:
        return "0"
    text = "dim0"
    for d, size in enumerate(dims[1:], start=1):
        text = f"{text if d == 1 else f'({text})'} * {size} + dim{d}"
    return text
