"""What NCCL reduces to the values that HLO means; kernels reduce whatever else is gathered.

Not left to NCCL: minimum and maximum of floats, which lose a NaN there; f8, whose sums are rounded
and saturate in NCCL's own way; products of complex numbers, bits and 16-bit integers, which it has
not; functions of the user's.
"""

from dataclasses import dataclass

import numpy as np

# ncclDataType_t and ncclRedOp_t.
BYTE, INT8, INT32, INT64, FLOAT32, FLOAT64 = 1, 0, 2, 4, 7, 8
_INTEGERS = {"int8": INT8, "uint8": BYTE, "int32": INT32, "uint32": 3, "int64": INT64, "uint64": 5}
_FLOATS = {"float16": 6, "float32": FLOAT32, "float64": FLOAT64, "bfloat16": 9}
_COMPLEX = {"complex64": FLOAT32, "complex128": FLOAT64}
SUM, PRODUCT, MAXIMUM, MINIMUM = range(4)
_EXACT = {"add": SUM, "multiply": PRODUCT, "maximum": MAXIMUM, "minimum": MINIMUM}
# A pred is a byte that is 0 or 1.
_OF_PRED = {
    "add": MAXIMUM, "or": MAXIMUM, "maximum": MAXIMUM,
    "multiply": MINIMUM, "and": MINIMUM, "minimum": MINIMUM,
}  # fmt: skip


@dataclass(frozen=True)
class Native:
    """NCCL's type and operation for a reduction; an element is so many (`parts`) of that type."""

    datatype: int
    operation: int
    parts: int = 1


def native(name: str, dtype: np.dtype) -> Native | None:
    """How NCCL reduces elements by HLO's operation of that name; None if it does not."""
    kind = dtype.name
    if kind == "bool" and name in _OF_PRED:
        return Native(BYTE, _OF_PRED[name])
    if kind in _INTEGERS and name in _EXACT:
        return Native(_INTEGERS[kind], _EXACT[name])
    if kind in _FLOATS and name in ("add", "multiply"):
        return Native(_FLOATS[kind], _EXACT[name])
    if kind in _COMPLEX and name == "add":
        return Native(_COMPLEX[kind], SUM, 2)
    return None


def is_native(name: str, dtype: np.dtype) -> bool:
    """Whether NCCL reduces elements by HLO's operation of that name."""
    return native(name, dtype) is not None
