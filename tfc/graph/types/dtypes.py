"""Element types of graphs: TensorFlow's names and numbers, each with the NumPy dtype it means."""

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from tfc.errors import TraceError


@dataclass(frozen=True, repr=False)
class DType:
    """An element type: what TensorFlow calls it, its number in files, and NumPy's dtype.

    numpy: None for what has no arrays: handles of variables, lists of tensors, text.
    """

    name: str
    number: int
    numpy: np.dtype | None

    @property
    def as_numpy_dtype(self) -> Any:
        """The NumPy scalar type, as in `np.zeros(3, tf.float32.as_numpy_dtype)`."""
        return self.dtype.type

    @property
    def dtype(self) -> np.dtype:
        """The NumPy dtype.

        Raises:
            TraceError: there are no arrays of this type.
        """
        if self.numpy is None:
            raise TraceError(f"there are no arrays of {self.name}")
        return self.numpy

    @property
    def as_datatype_enum(self) -> int:
        """The number that stands for it in files."""
        return self.number

    @property
    def base_dtype(self) -> "DType":
        """Itself: variables are handles, so that no type is a reference."""
        return self

    @property
    def real_dtype(self) -> "DType":
        """The type of real and imaginary parts."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    @property
    def is_floating(self) -> bool:
        """Whether it holds real numbers in floating point."""
        return self.numpy is not None and ml_dtypes_kind(self.numpy) == "f"

    @property
    def is_integer(self) -> bool:
        """Whether it holds integers; booleans are none."""
        return self.numpy is not None and ml_dtypes_kind(self.numpy) in "iu"

    @property
    def is_unsigned(self) -> bool:
        """Whether it holds integers without sign."""
        return self.numpy is not None and ml_dtypes_kind(self.numpy) == "u"

    @property
    def is_complex(self) -> bool:
        """Whether it holds complex numbers."""
        return self.numpy is not None and self.numpy.kind == "c"

    @property
    def is_bool(self) -> bool:
        """Whether it holds booleans."""
        return self.numpy is not None and self.numpy.kind == "b"

    @property
    def size(self) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize

    @property
    def min(self) -> Any:
        """The smallest finite value."""
        return self._limits().min

    @property
    def max(self) -> Any:
        """The largest finite value."""
        return self._limits().max

    def _limits(self) -> Any:
        return ml_dtypes.iinfo(self.dtype) if self.is_integer else ml_dtypes.finfo(self.dtype)

    def is_compatible_with(self, other: Any) -> bool:
        """Whether it is the same type as `other`, which may be whatever `as_dtype` takes."""
        return self == as_dtype(other)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self.number == other.number
        try:
            return self.number == as_dtype(other).number
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self.number)

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: '{self.name}'>"


def ml_dtypes_kind(dtype: np.dtype) -> str:
    """The kind of a dtype as NumPy names it (b, i, u, f, c), for ml_dtypes' types as well."""
    if dtype.kind != "V":
        return dtype.kind
    name = dtype.name
    return "u" if name.startswith("uint") else "i" if name.startswith("int") else "f"


# fmt: off
float32 = DType("float32", 1, np.dtype(np.float32))
float64 = DType("float64", 2, np.dtype(np.float64))
int32 = DType("int32", 3, np.dtype(np.int32))
uint8 = DType("uint8", 4, np.dtype(np.uint8))
int16 = DType("int16", 5, np.dtype(np.int16))
int8 = DType("int8", 6, np.dtype(np.int8))
string = DType("string", 7, None)
complex64 = DType("complex64", 8, np.dtype(np.complex64))
int64 = DType("int64", 9, np.dtype(np.int64))
bool_ = DType("bool", 10, np.dtype(np.bool_))
qint8 = DType("qint8", 11, np.dtype(np.int8))
quint8 = DType("quint8", 12, np.dtype(np.uint8))
qint32 = DType("qint32", 13, np.dtype(np.int32))
bfloat16 = DType("bfloat16", 14, np.dtype(ml_dtypes.bfloat16))
qint16 = DType("qint16", 15, np.dtype(np.int16))
quint16 = DType("quint16", 16, np.dtype(np.uint16))
uint16 = DType("uint16", 17, np.dtype(np.uint16))
complex128 = DType("complex128", 18, np.dtype(np.complex128))
float16 = DType("float16", 19, np.dtype(np.float16))
resource = DType("resource", 20, None)
variant = DType("variant", 21, None)
uint32 = DType("uint32", 22, np.dtype(np.uint32))
uint64 = DType("uint64", 23, np.dtype(np.uint64))
float8_e5m2 = DType("float8_e5m2", 24, np.dtype(ml_dtypes.float8_e5m2))
float8_e4m3fn = DType("float8_e4m3fn", 25, np.dtype(ml_dtypes.float8_e4m3fn))
int4 = DType("int4", 29, np.dtype(ml_dtypes.int4))
uint4 = DType("uint4", 30, np.dtype(ml_dtypes.uint4))
# fmt: on

half, double = float16, float64

DTYPES: tuple[DType, ...] = (
    float32, float64, int32, uint8, int16, int8, string, complex64, int64, bool_, qint8, quint8,
    qint32, bfloat16, qint16, quint16, uint16, complex128, float16, resource, variant, uint32,
    uint64, float8_e5m2, float8_e4m3fn, int4, uint4,
)  # fmt: skip
_BY_NAME = {dtype.name: dtype for dtype in DTYPES} | {"half": float16, "double": float64}
_BY_NUMBER = {dtype.number: dtype for dtype in DTYPES}
_BY_NUMPY = {d.numpy: d for d in reversed(DTYPES) if d.numpy and not d.name.startswith("q")}
_REFERENCES = 100  # the number of the type of a reference to a variable, above its element type


def as_dtype(value: Any) -> DType:
    """The type that a DType, its name or number, a NumPy dtype or a Python type means.

    Python's own types are TensorFlow's: int is int32, float is float32, complex is complex128.

    Raises:
        TypeError: it means none.
    """
    if isinstance(value, DType):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        number = value - _REFERENCES if value > _REFERENCES else value
        if number in _BY_NUMBER:
            return _BY_NUMBER[number]
    if isinstance(value, str) and value.removesuffix("_ref") in _BY_NAME:
        return _BY_NAME[value.removesuffix("_ref")]
    python = {bool: bool_, int: int32, float: float32, complex: complex128, str: string}
    if isinstance(value, type) and value in python:
        return python[value]
    try:
        wanted: Any = value
        return _BY_NUMPY[np.dtype(wanted)]
    except (TypeError, KeyError):
        raise TypeError(f"cannot convert value {value!r} to a DType") from None
