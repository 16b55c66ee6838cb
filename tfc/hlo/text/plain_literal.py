"""Long literals of plain numbers, read as a whole: {1.5, -2, 3e7}, { { 1, 2 }, { 3, 4 } }.

Going through a literal number by number takes a microsecond each, which counts where there are
millions. What is not plain (NaNs, infinities, complex numbers, left-out commas, mistakes) is for
the general way, which also says what is wrong.
"""

import re
import warnings

import numpy as np

from tfc.hlo.shape import ElementType, Shape

LEAST = 64  # elements, from which on it is worth a try
_PLAIN = re.compile(r"(?:[-+\d.eE\s,{}]++|/\*[^*]*\*/)*+", re.ASCII)
_COMMENT = re.compile(r"/\*[^*]*\*/")
_WRONG = re.compile(r"[,{]\s*[,}]|[^eE]\+", re.ASCII)
_LONG_INTEGER = re.compile(r"\d{19}", re.ASCII)
_NO_BRACES = str.maketrans("{}", "  ")
_ONLY_DIGITS = str.maketrans("", "", "-+.eE,{} \t\r\n\f\v")
_ONLY_STRUCTURE = str.maketrans("", "", "-+.eE0123456789 \t\r\n\f\v")


def read_plain(source: str, start: int, shape: Shape) -> tuple[np.ndarray, int] | None:
    """The elements of the literal at a position, and where it ends; None if it is not plain.

    Elements are those of the shape's type; their array has one dimension.
    """
    if shape.rank == 0 or shape.size < LEAST:
        return None
    found = _PLAIN.match(source, start)
    end = source.rfind("}", start, found.end() if found else start) + 1
    text = source[start:end]
    if len(text) < shape.size:  # a short text may state any shape
        return None
    if "/" in text:
        text = _COMMENT.sub(" ", text)
    # NumPy takes nothing between two commas for a number, and a sign before one.
    if text.translate(_ONLY_STRUCTURE) != _structure(shape.dims) or _WRONG.search(text):
        return None
    values = _numbers(text, shape.element_type)
    return None if values is None or values.size != shape.size else (values, end)


def _structure(dims: tuple[int, ...]) -> str:
    """The braces and commas of a literal."""
    text = "{" + "," * (dims[-1] - 1) + "}"
    for size in reversed(dims[:-1]):
        text = "{" + ",".join([text] * size) + "}"
    return text


def _numbers(text: str, element_type: ElementType) -> np.ndarray | None:
    """The numbers of a text of plain ones; None if the type does not hold them."""
    match element_type.kind:
        case "pred":
            digits = np.frombuffer(text.translate(_ONLY_DIGITS).encode(), np.uint8)
            good = re.search(r"[-+.eE2-9]", text) is None
            return (digits == ord("1")) if good else None
        case "float":
            wide = _split(text, np.dtype(np.float64))
            with np.errstate(all="ignore"):
                values = None if wide is None else wide.astype(element_type.dtype)
            is_finite = values is not None and bool(np.isfinite(values).all())
            return values if is_finite else None
        case "signed" | "unsigned":
            if re.search("[.eE]", text) or _LONG_INTEGER.search(text):
                return None
            whole = _split(text, np.dtype(np.int64))
            low, high = element_type.limits
            good = whole is not None and low <= int(whole.min()) and int(whole.max()) <= high
            return whole.astype(element_type.dtype) if whole is not None and good else None
        case _:
            return None


def _split(text: str, dtype: np.dtype) -> np.ndarray | None:
    """The numbers between commas; None if something else is there."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.fromstring(text.translate(_NO_BRACES), dtype, sep=",")
        except (ValueError, DeprecationWarning):
            return None
