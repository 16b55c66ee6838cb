"""Element types, layouts and shapes: the value types of the IR and their notation f32[2,3]{1,0}.

Semantics: SH-1..SH-5 and LY-1..LY-7 of the operation semantics (dimension numbers say nothing about
memory order; `minor_to_major` does).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from math import prod
from typing import Any, ClassVar

import ml_dtypes
import numpy as np

from tfc.errors import ShapeError


@dataclass(frozen=True, eq=False)
class ElementType:
    """One element type, named as in HLO text; there is one object of each.

    `kind` is one of "pred", "signed", "unsigned", "float", "complex"; `bits` is the width of one
    element; `dtype` the NumPy type that holds it (4-bit types take a byte each, as in ml_dtypes).
    """

    name: str
    kind: str
    bits: int
    dtype: np.dtype

    @property
    def is_integer(self) -> bool:
        """True for signed and unsigned integers, not for pred."""
        return self.kind in ("signed", "unsigned")

    @property
    def is_float(self) -> bool:
        """True for real floating-point types."""
        return self.kind == "float"

    @property
    def is_complex(self) -> bool:
        """True for c64 and c128."""
        return self.kind == "complex"

    @property
    def component(self) -> "ElementType":
        """The type of a complex number's parts; of a real type, the type itself."""
        return ELEMENT_TYPES[f"f{self.bits // 2}"] if self.is_complex else self

    @property
    def bytes(self) -> int:
        """Bytes that one element takes in memory."""
        return self.dtype.itemsize

    @cached_property
    def limits(self) -> tuple[int, int]:
        """The least and greatest value of an integer type or pred."""
        if self.kind == "pred":
            return 0, 1
        low = -(1 << self.bits - 1) if self.kind == "signed" else 0
        return low, low + (1 << self.bits) - 1

    def wrapped(self, value: int) -> int:
        """A whole number as the integer type holds it: modulo two to the power of its bits."""
        low, high = self.limits
        return (value - low) % (high - low + 1) + low

    @cached_property
    def float_limits(self) -> Any:
        """What NumPy's finfo says of a floating-point type, or of a complex type's component."""
        return ml_dtypes.finfo(self.component.dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return _named, (self.name,)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name


def _named(name: str) -> ElementType:
    return ELEMENT_TYPES[name]


# fmt: off
_TYPES = [
    ElementType("pred", "pred",     8,  np.dtype(np.bool_)),
    ElementType("s4",   "signed",   4,  np.dtype(ml_dtypes.int4)),
    ElementType("s8",   "signed",   8,  np.dtype(np.int8)),
    ElementType("s16",  "signed",   16, np.dtype(np.int16)),
    ElementType("s32",  "signed",   32, np.dtype(np.int32)),
    ElementType("s64",  "signed",   64, np.dtype(np.int64)),
    ElementType("u4",   "unsigned", 4,  np.dtype(ml_dtypes.uint4)),
    ElementType("u8",   "unsigned", 8,  np.dtype(np.uint8)),
    ElementType("u16",  "unsigned", 16, np.dtype(np.uint16)),
    ElementType("u32",  "unsigned", 32, np.dtype(np.uint32)),
    ElementType("u64",  "unsigned", 64, np.dtype(np.uint64)),
    ElementType("f8e4m3",         "float", 8, np.dtype(ml_dtypes.float8_e4m3)),
    ElementType("f8e4m3fn",       "float", 8, np.dtype(ml_dtypes.float8_e4m3fn)),
    ElementType("f8e4m3fnuz",     "float", 8, np.dtype(ml_dtypes.float8_e4m3fnuz)),
    ElementType("f8e4m3b11fnuz",  "float", 8, np.dtype(ml_dtypes.float8_e4m3b11fnuz)),
    ElementType("f8e5m2",         "float", 8, np.dtype(ml_dtypes.float8_e5m2)),
    ElementType("f8e5m2fnuz",     "float", 8, np.dtype(ml_dtypes.float8_e5m2fnuz)),
    ElementType("f16",  "float",    16, np.dtype(np.float16)),
    ElementType("bf16", "float",    16, np.dtype(ml_dtypes.bfloat16)),
    ElementType("f32",  "float",    32, np.dtype(np.float32)),
    ElementType("f64",  "float",    64, np.dtype(np.float64)),
    ElementType("c64",  "complex",  64, np.dtype(np.complex64)),
    ElementType("c128", "complex", 128, np.dtype(np.complex128)),
]
# fmt: on

ELEMENT_TYPES: dict[str, ElementType] = {t.name: t for t in _TYPES}
_BY_DTYPE: dict[np.dtype, ElementType] = {t.dtype: t for t in _TYPES}

PRED, S4, S8, S16, S32, S64 = (ELEMENT_TYPES[n] for n in ("pred", "s4", "s8", "s16", "s32", "s64"))
U4, U8, U16, U32, U64 = (ELEMENT_TYPES[n] for n in ("u4", "u8", "u16", "u32", "u64"))
F8E4M3FN, F8E4M3FNUZ, F8E5M2 = (ELEMENT_TYPES[n] for n in ("f8e4m3fn", "f8e4m3fnuz", "f8e5m2"))
F16, BF16, F32, F64 = (ELEMENT_TYPES[n] for n in ("f16", "bf16", "f32", "f64"))
C64, C128 = ELEMENT_TYPES["c64"], ELEMENT_TYPES["c128"]


def element_type_of(dtype: object) -> ElementType:
    """The element type that holds a NumPy dtype.

    Raises:
        ShapeError: no element type corresponds (strings, objects, datetimes …), or it is no dtype.
    """
    try:
        known = np.dtype(dtype)  # type: ignore[arg-type]
    except TypeError as error:
        raise ShapeError(f"NumPy has no dtype {dtype!r}") from error
    found = _BY_DTYPE.get(known)
    if found is None:
        raise ShapeError(f"no element type holds the NumPy dtype {known}")
    return found


def complex_of(component: ElementType) -> ElementType:
    """The complex type whose parts are of the type f32 or f64."""
    return {F32: C64, F64: C128}[component]


@dataclass(frozen=True)
class Layout:
    """How an array lies in memory (LY-1, LY-2, LY-4).

    `minor_to_major[0]` is the dimension that varies fastest. `padded_dimensions`, when given, is
    the total width that each dimension takes in memory; what lies beyond the array's own width
    holds `padding_value`.

    `properties` is what the text form says beyond the order, such as T(8,128)S(1): tiles, memory
    space, element size. It is carried along without a meaning, and layouts are equal without it.
    """

    minor_to_major: tuple[int, ...]
    padded_dimensions: tuple[int, ...] = ()
    padding_value: int | float = 0
    properties: str = field(default="", compare=False)

    @property
    def is_tiled(self) -> bool:
        """True if the properties have tiles: the elements then lie otherwise than in order."""
        return self.properties.startswith("T(")

    @staticmethod
    @cache
    def default(rank: int) -> "Layout":
        """Row-major: the last dimension is the most minor (LY-3)."""
        return Layout(tuple(range(rank - 1, -1, -1)))

    def __str__(self) -> str:
        properties = f":{self.properties}" if self.properties else ""
        return "{" + ",".join(map(str, self.minor_to_major)) + properties + "}"


MOST_DIMENSIONS = 64  # as many as NumPy's arrays can have


@dataclass(frozen=True)
class Shape:
    """The element type, dimension sizes and layout of one array; a scalar has no dimensions.

    Raises:
        ShapeError: a negative size, more dimensions than NumPy has, more bytes than an address can
            count, or a layout that does not fit the dimensions.
    """

    element_type: ElementType
    dims: tuple[int, ...] = ()
    layout: Layout = field(default=None)  # type: ignore[assignment]  # row-major when left out

    def __post_init__(self) -> None:
        if self.dims and min(self.dims) < 0:
            raise ShapeError(f"dimension sizes must not be negative, got {list(self.dims)}")
        if len(self.dims) > MOST_DIMENSIONS:
            raise ShapeError(
                f"an array must have at most {MOST_DIMENSIONS} dimensions, got {len(self.dims)}"
            )
        # NumPy leaves out sizes of 0, too.
        count = prod(self.dims) or prod(filter(None, self.dims))
        if count * self.element_type.bytes >= 1 << 63:
            raise ShapeError(
                f"an array must take fewer than 2^63 bytes, got {self.without_layout()}"
            )
        default = Layout.default(len(self.dims))
        if self.layout is None:
            object.__setattr__(self, "layout", default)
        if self.layout is default:
            return
        if sorted(self.layout.minor_to_major) != list(range(self.rank)):
            raise ShapeError(
                f"minor_to_major must be a rearrangement of 0..{self.rank - 1}, "
                f"got {self.layout} (LY-2)"
            )
        padded = self.layout.padded_dimensions
        if padded and (len(padded) != self.rank or any(p < d for p, d in zip(padded, self.dims))):
            raise ShapeError(
                f"padded_dimensions must give each of {list(self.dims)} a width at least as large, "
                f"got {list(padded)} (LY-4)"
            )

    def __hash__(self) -> int:
        # Passes ask for it often, and of few shapes.
        found = self.__dict__.get("_hash")
        if found is None:
            found = self.__dict__["_hash"] = hash((self.element_type, self.dims, self.layout))
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        # Without what was computed from the fields: a hash means nothing to another process.
        return Shape, (self.element_type, self.dims, self.layout)

    @property
    def rank(self) -> int:
        """The number of dimensions (SH-1)."""
        return len(self.dims)

    @property
    def true_rank(self) -> int:
        """The number of dimensions larger than one (SH-1)."""
        return sum(d > 1 for d in self.dims)

    @cached_property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.dims)

    @property
    def memory_dims(self) -> tuple[int, ...]:
        """The width of each dimension in memory, padding included (LY-4)."""
        return self.layout.padded_dimensions or self.dims

    @property
    def storage_size(self) -> int:
        """The number of elements of memory the array takes, padding included."""
        return prod(self.memory_dims)

    @property
    def byte_size(self) -> int:
        """The bytes of memory the array takes."""
        return self.storage_size * self.element_type.bytes

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """Distance in elements between neighbours along each dimension."""
        strides, step = [0] * self.rank, 1
        for dimension in self.layout.minor_to_major:
            strides[dimension] = step
            step *= self.memory_dims[dimension]
        return tuple(strides)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The `minor_to_major` in one form for all that put every element at the same place."""
        return canonical_order(self.dims, self.layout.minor_to_major)

    @property
    def has_default_layout(self) -> bool:
        """True if the array lies row-major and unpadded."""
        default = Layout.default(len(self.dims))
        return self.layout is default or self.layout == default

    def with_layout(self, layout: Layout | None) -> "Shape":
        """The same array, laid out differently; None is row-major."""
        return Shape(self.element_type, self.dims, layout)  # type: ignore[arg-type]

    def with_element_type(self, element_type: ElementType) -> "Shape":
        """The same dimensions and layout with another element type."""
        same = element_type is self.element_type
        return self if same else Shape(element_type, self.dims, self.layout)

    def is_compatible(self, other: "AnyShape") -> bool:
        """True if element type and dimensions agree, whatever the layouts."""
        return (
            isinstance(other, Shape)
            and self.element_type == other.element_type
            and self.dims == other.dims
        )

    def __str__(self) -> str:
        """Notation with layout, as XLA prints instructions; a scalar shows none without reason."""
        shown = self.layout if self.rank or self.layout.properties else ""
        return f"{self.without_layout()}{shown}"

    def without_layout(self) -> str:
        """Notation without layout, as XLA prints program shapes: f32[2,3]."""
        return f"{self.element_type}[{','.join(map(str, self.dims))}]"


@dataclass(frozen=True)
class TupleShape:
    """The shape of a tuple value: the shapes of its elements, which may be tuples."""

    elements: tuple["AnyShape", ...] = ()

    def is_compatible(self, other: "AnyShape") -> bool:
        """True if the elements agree pairwise, whatever their layouts."""
        return (
            isinstance(other, TupleShape)
            and len(self.elements) == len(other.elements)
            and all(a.is_compatible(b) for a, b in zip(self.elements, other.elements))
        )

    def __str__(self) -> str:
        return self._join([str(e) for e in self.elements])

    def without_layout(self) -> str:
        """Notation without layouts: (f32[2], s32[])."""
        return self._join([e.without_layout() for e in self.elements])

    @staticmethod
    def _join(parts: Sequence[str]) -> str:
        # XLA marks every fifth element, so that long tuples can be read.
        marked = [f"/*index={i}*/{p}" if i and i % 5 == 0 else p for i, p in enumerate(parts)]
        return "(" + ", ".join(marked) + ")"


@dataclass(frozen=True)
class TokenShape:
    """The shape of a token: a value without bytes, passed along to order what talks to the world.

    It has no `elements`, so what walks over the arrays of a value finds none in it.
    """

    elements: ClassVar[tuple["AnyShape", ...]] = ()

    def is_compatible(self, other: "AnyShape") -> bool:
        """True for another token."""
        return self == other

    def __str__(self) -> str:
        return "token[]"

    def without_layout(self) -> str:
        """Notation: token[]."""
        return str(self)


TOKEN = TokenShape()
AnyShape = Shape | TupleShape | TokenShape


@lru_cache(maxsize=4096)
def canonical_order(dims: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    """The one form of all orders that put the elements of an array at the same places.

    Row-major if that does, else with the dimensions of size one last.
    """
    wide = [d for d in order if dims[d] != 1]
    if 0 in dims or wide == sorted(wide, reverse=True):
        return Layout.default(len(dims)).minor_to_major
    return (*wide, *(d for d in reversed(range(len(dims))) if dims[d] == 1))


def lies_alike(one: AnyShape, other: AnyShape) -> bool:
    """True if the arrays of two compatible shapes have every element at the same place in memory.

    The values of one can then be taken for those of the other without a conversion.
    """
    if one is other or one == other:
        return True
    if isinstance(one, Shape) and isinstance(other, Shape):
        return one.order == other.order and one.memory_dims == other.memory_dims
    if isinstance(one, Shape) or isinstance(other, Shape):
        return False
    return len(one.elements) == len(other.elements) and all(
        map(lies_alike, one.elements, other.elements)
    )


def leaves(shape: AnyShape) -> Iterator[Shape]:
    """The array shapes in a shape, depth first."""
    if isinstance(shape, Shape):
        yield shape
    else:
        for element in shape.elements:
            yield from leaves(element)


def row_major(shape: AnyShape) -> AnyShape:
    """The same shape with every array row-major and unpadded."""
    if isinstance(shape, TupleShape):
        return TupleShape(tuple(row_major(e) for e in shape.elements))
    return shape.with_layout(None) if isinstance(shape, Shape) else shape


def linear_index(shape: Shape, index: Sequence[int]) -> int:
    """The position in memory, in elements, of a multi-dimensional index (LY-7).

    Raises:
        ShapeError: the index has the wrong length or lies outside the array.
    """
    if len(index) != shape.rank or any(not 0 <= i < d for i, d in zip(index, shape.dims)):
        raise ShapeError(f"index {list(index)} does not lie in {shape.without_layout()}")
    return sum(i * s for i, s in zip(index, shape.strides))


def multi_index(shape: Shape, position: int) -> tuple[int, ...]:
    """The multi-dimensional index at a position in memory; the inverse of `linear_index` (LY-7).

    In a padded layout the result can lie outside `shape.dims`: the position then holds padding.

    Raises:
        ShapeError: the position lies outside the array's memory.
    """
    if not 0 <= position < shape.storage_size:
        raise ShapeError(f"position {position} lies outside the memory of {shape}")
    index = [0] * shape.rank
    for dimension in shape.layout.minor_to_major:
        position, index[dimension] = divmod(position, shape.memory_dims[dimension])
    return tuple(index)


def to_memory(array: np.ndarray, shape: Shape) -> np.ndarray:
    """The elements of an array in the order in which `shape` lays them out, in 1-D (LY-6)."""
    if around := [(0, n - d) for n, d in zip(shape.layout.padded_dimensions, shape.dims)]:
        array = np.pad(array, around, constant_values=shape.layout.padding_value)
    return np.ascontiguousarray(array.transpose(shape.layout.minor_to_major[::-1])).reshape(-1)


def from_memory(memory: np.ndarray, shape: Shape) -> np.ndarray:
    """The array whose elements lie in `memory` as `shape` says; the inverse of `to_memory`."""
    major_to_minor = shape.layout.minor_to_major[::-1]
    stored = memory.reshape([shape.memory_dims[d] for d in major_to_minor])
    return stored.transpose(np.argsort(major_to_minor))[tuple(slice(d) for d in shape.dims)]
