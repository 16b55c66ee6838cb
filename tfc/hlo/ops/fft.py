"""The discrete Fourier transform over the last one to three dimensions.

Semantics: XLA's, which are those of numpy.fft without padding: FFT and RFFT have the exponent
-2πi jk/n and no scale, IFFT and IRFFT the opposite one and the scale 1/n. RFFT takes real numbers
and gives the half of the last dimension that determines the rest; IRFFT takes that half (of its
first element, and of the middle one, the real part) and gives real numbers.
The reference transforms in f64 and rounds once.
"""

from collections.abc import Sequence

import numpy as np

from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.op import Attribute, Call, Op, Value, register, require, require_array
from tfc.hlo.shape import C64, C128, F32, F64, AnyShape, ElementType, Shape, complex_of
from tfc.hlo.traits import Accuracy, Category, Cost

FFT_TYPES = ("FFT", "IFFT", "RFFT", "IRFFT")


def half(size: int) -> int:
    """How many elements of a transform of real numbers determine the others."""
    return size // 2 + 1 if size else 0


def _operand_types(fft_type: str) -> tuple[ElementType, ElementType]:
    return (F32, F64) if fft_type == "RFFT" else (C64, C128)


def _infer_fft(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> Shape:
    operand, fft_type, lengths = require_array("fft", shapes[0]), a["fft_type"], a["fft_length"]
    require(fft_type in FFT_TYPES, "fft", f"an fft_type {' '.join(FFT_TYPES)}", fft_type)
    types = _operand_types(fft_type)
    name = f"{fft_type} fft"
    require(operand.element_type in types, name, f"{types[0]} or {types[1]}", operand)
    require(
        1 <= len(lengths) <= min(3, operand.rank),
        name,
        f"an fft_length of 1 to 3 dimensions of {operand.without_layout()}",
        list(lengths),
    )
    require(all(n >= 0 for n in lengths), name, "lengths that are not negative", list(lengths))
    expected = (*lengths[:-1], half(lengths[-1])) if fft_type == "IRFFT" else lengths
    got = operand.dims[operand.rank - len(lengths) :]
    require(
        got == tuple(expected), name, f"last dimensions {list(expected)} for its lengths", operand
    )
    others, element_type = operand.dims[: operand.rank - len(lengths)], operand.element_type
    if fft_type == "RFFT":
        lengths = (*lengths[:-1], half(lengths[-1]))
        element_type = complex_of(element_type)
    elif fft_type == "IRFFT":
        element_type = element_type.component
    return Shape(element_type, (*others, *lengths))


def _evaluate_fft(x: Instruction, values: Sequence[Value], _: Call) -> np.ndarray:
    (value,), lengths, result = values, x["fft_length"], x.array_shape
    if not result.size:
        return np.zeros(result.dims, result.element_type.dtype)
    wide = value.astype(np.float64 if x["fft_type"] == "RFFT" else np.complex128)
    axes = tuple(range(value.ndim - len(lengths), value.ndim))
    with np.errstate(all="ignore"):
        match x["fft_type"]:
            case "FFT":
                found = np.fft.fftn(wide, axes=axes)
            case "IFFT":
                found = np.fft.ifftn(wide, axes=axes)
            case "RFFT":
                found = np.fft.rfftn(wide, axes=axes)
            case _:
                found = np.fft.irfftn(wide, lengths, axes=axes)
        return found.astype(result.element_type.dtype)


register(
    Op(
        "fft",
        1,
        _infer_fft,
        _evaluate_fft,
        (Attribute("fft_type", "name"), Attribute("fft_length", "ints")),
        domain=frozenset({"float", "complex"}),
        category=Category.OTHER,
        cost=Cost.OWN,
        accuracy=Accuracy.SUMMED,
    )
)
