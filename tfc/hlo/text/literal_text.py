"""Literals as text: 2.5, {1, 2}, { { 1, 2 }, { 3, 4 } }, (re, im), nan(0x1).

Floats print as XLA prints them: f32 and f64 with 6 and 15 significant digits where these read back
as the same number, else with 9 and 17; narrower types with as many as always suffice. A negative
zero prints as -0.0, since XLA reads -0 as the integer 0.
"""

import math
import re
from collections.abc import Callable, Sequence

import ml_dtypes
import numpy as np

from tfc.hlo.lexer import Lexer
from tfc.hlo.literal import Literal
from tfc.hlo.shape import ElementType, Shape
from tfc.hlo.text.plain_literal import read_plain

_SPECIAL = r"nan(?:\(0x[0-9a-fA-F]{1,16}\))?+|inf"
_FLOAT = rf"-?(?:{_SPECIAL}|(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?)(?![\w.])"
_SKIPPED = r"(?:[\s,]++|//[^\n]*+|/\*(?s:.*?)\*/)*+"
_GAP = re.compile(_SKIPPED)
_ITEM = re.compile(
    rf"""{_SKIPPED}(
        [{{}}] | {_FLOAT} | true\b | false\b | \(\s*+{_FLOAT}\s*+,?\s*+{_FLOAT}\s*+\)
    )""",
    re.VERBOSE,
)
_NAN = re.compile(r"(-?)nan(?:\(0x([0-9a-fA-F]+)\))?")
_COMPLEX = re.compile(rf"\(\s*+({_FLOAT})\s*+,?\s*+({_FLOAT})\s*+\)")


def print_literal(literal: Literal) -> str:
    """The text between the parentheses of a constant."""
    array = literal.array
    element_type = literal.shape.element_type
    if element_type.kind == "pred":
        words = ("0", "1") if array.ndim else ("false", "true")
        texts = [words[int(v)] for v in array.reshape(-1)]
    elif element_type.is_float:
        texts = _print_floats(array.reshape(-1), element_type)
    elif element_type.is_complex:
        halves = (np.real(array), np.imag(array))
        real, imaginary = (_print_floats(half.reshape(-1), element_type) for half in halves)
        texts = [f"({r}, {i})" for r, i in zip(real, imaginary)]
    else:
        texts = [str(int(v)) for v in array.reshape(-1)]
    return _nest(texts, array.shape, ()) if array.ndim else texts[0]


def _nest(texts: Sequence[str], dims: Sequence[int], index: tuple[int, ...]) -> str:
    """Braces around the elements of one sub-array, spaced as XLA does."""
    size = dims[len(index)]
    if len(index) == len(dims) - 1:
        wide = size > 1 and len(dims) > 1
        return ("{ " if wide else "{") + ", ".join(texts) + (" }" if wide else "}")
    step = math.prod(dims[len(index) + 1 :])
    rows = [_nest(texts[i * step : (i + 1) * step], dims, (*index, i)) for i in range(size)]
    if len(dims) > 3 and index:
        comment = f"/*i{len(index) - 1}={index[-1]}*/"
        return f"{{ {comment} {', '.join(rows)} }}" if rows else f"{{ {comment} }}"
    return f"{{ {', '.join(rows)} }}"


def _print_floats(values: np.ndarray, element_type: ElementType) -> list[str]:
    dtype = values.dtype
    if dtype in (np.float32, np.float64):
        digits = (6, 9) if dtype == np.float32 else (15, 17)
    else:
        # The fewest significant digits from which every value of the type reads back.
        bits = ml_dtypes.finfo(dtype).nmant + 1
        digits = (math.ceil(1 + bits * math.log10(2)),) * 2
    short, long = (f"%.{n}g" for n in digits)
    with np.errstate(all="ignore"):  # signalling NaNs are values like others
        wide = values.astype(np.float64)
        texts = [short % v for v in wide.tolist()]
        inexact = np.array(texts, np.float64).astype(dtype) != values
        nan = np.isnan(wide)
    for i in np.flatnonzero(inexact | nan | (wide == 0)).tolist():
        if nan[i]:
            texts[i] = _print_nan(values[i : i + 1])
        elif wide[i] == 0:
            texts[i] = "-0.0" if np.signbit(wide[i]) else "0"
        else:
            texts[i] = long % wide[i]
    return texts


def _print_nan(value: np.ndarray) -> str:
    """nan with its sign, and with its payload where that is not the quiet NaN's."""
    sign = "-" if np.signbit(value)[0] else ""
    mantissa = ml_dtypes.finfo(value.dtype).nmant
    if not _has_payload(value.dtype):
        return f"{sign}nan"
    payload = int(value.view(f"u{value.dtype.itemsize}")[0]) & (2**mantissa - 1)
    return f"{sign}nan" if payload == 2 ** (mantissa - 1) else f"{sign}nan({payload:#x})"


def _has_payload(dtype: np.dtype) -> bool:
    """True for IEEE-like types, where NaNs are many; the fn and fnuz types have one or two."""
    return bool(np.isinf(np.array(math.inf).astype(dtype)))


def parse_literal(lexer: Lexer, shape: Shape) -> Literal:
    """The literal at the lexer's current token, of a known shape.

    Raises:
        ParseError: it is malformed, of another shape, or out of range.
    """
    plain = read_plain(lexer.source, lexer.start, shape)
    if plain is not None:
        lexer.seek(plain[1])
        return Literal(plain[0].reshape(shape.dims))
    texts, starts = _items(lexer, shape)
    element_type = shape.element_type
    convert = _CONVERT[element_type.kind]

    def refuse(number: int, reason: str) -> None:
        lexer.error(f"{texts[number][:40]} {reason} {element_type}", starts[number])

    return Literal(convert(texts, element_type, refuse).reshape(shape.dims))


def _items(lexer: Lexer, shape: Shape) -> tuple[list[str], list[int]]:
    """The elements' texts and positions; checks that the braces are nested as the shape is."""
    rank, counts, depth = shape.rank, [0] * (shape.rank + 1), 0
    texts, starts, position = [], [], lexer.start
    while not (texts if rank == 0 else depth == 0 and counts[0]):
        match = _ITEM.match(lexer.source, position)
        if match is None:
            gap = _GAP.match(lexer.source, position)
            lexer.seek(gap.end() if gap else position)
            lexer.expected("an element of a literal")
        item, start, position = match[1], match.start(1), match.end()
        if item == "}":
            depth -= 1
            if depth < 0 or counts[depth + 1] != shape.dims[depth]:
                _refuse_count(lexer, shape, depth, counts, start)
        elif item == "{" and depth < rank:
            counts[depth] += 1
            depth += 1
            counts[depth] = 0
        elif item == "{" or depth != rank:
            # `{}` stands for an array without elements, however many dimensions it has.
            what = "deeper than" if item == "{" else "less deeply than"
            lexer.error(f"the literal nests {what} {shape.without_layout()}", start)
        else:
            counts[depth] += 1
            texts.append(item)
            starts.append(start)
    lexer.seek(position)
    return texts, starts


def _refuse_count(
    lexer: Lexer, shape: Shape, depth: int, counts: Sequence[int], start: int
) -> None:
    if depth < 0:
        lexer.error("expected a number, got '}'", start)
    lexer.error(
        f"the literal has {counts[depth + 1]} where dimension {depth} of {shape.without_layout()} "
        f"has {shape.dims[depth]}",
        start,
    )


Refuse = Callable[[int, str], None]


def _parse_preds(texts: Sequence[str], _: ElementType, refuse: Refuse) -> np.ndarray:
    known = {"0": False, "1": True, "false": False, "true": True}
    for number, text in enumerate(texts):
        if text not in known:
            refuse(number, "is no value of type")
    return np.array([known[t] for t in texts], bool)


def _parse_integers(texts: Sequence[str], to: ElementType, refuse: Refuse) -> np.ndarray:
    low, high = to.limits
    values = []
    for number, text in enumerate(texts):
        if not text.removeprefix("-").isdigit():
            refuse(number, "is no value of type")
        if len(text) > 20 or not low <= int(text) <= high:
            refuse(number, f"is outside {low}..{high}, the range of")
        values.append(int(text))
    wide = np.uint64 if to.kind == "unsigned" else np.int64
    return np.array(values, wide).astype(to.dtype)


def _parse_floats(texts: Sequence[str], to: ElementType, refuse: Refuse) -> np.ndarray:
    wide = np.empty(len(texts))
    for number, text in enumerate(texts):
        if text in ("true", "false") or text[0] == "(":
            refuse(number, "is no value of type")
        wide[number] = math.nan if "nan" in text else float(text)
    finite = np.array([math.isfinite(v) or t[-1] in "fn)" for v, t in zip(wide, texts)], bool)
    with np.errstate(all="ignore"):
        values = wide.astype(to.dtype)
        overflow = ~finite | (np.isfinite(wide) & ~np.isfinite(values))
        overflow |= np.isinf(wide) & ~np.isinf(values)
    for number in np.flatnonzero(overflow).tolist():
        refuse(number, "is outside the range of")
    for number in np.flatnonzero(np.isnan(wide)).tolist():
        if not _set_nan(values[number : number + 1], texts[number]):
            refuse(int(number), "has a payload that does not fit")
    return values


def _set_nan(place: np.ndarray, text: str) -> bool:
    """Write the NaN that `text` names, bit by bit; False if its payload does not fit the type."""
    match = _NAN.fullmatch(text)
    assert match is not None
    dtype, bits = place.dtype, place.view(f"u{place.dtype.itemsize}")
    place[0] = math.nan
    if not _has_payload(dtype):
        if match[1]:
            place[0] = -place[0]
        return match[2] is None
    mantissa = ml_dtypes.finfo(dtype).nmant
    payload = int(match[2], 16) if match[2] else 2 ** (mantissa - 1)
    exponent = (2 ** (dtype.itemsize * 8 - 1 - mantissa) - 1) << mantissa
    bits[0] = exponent | (payload & (2**mantissa - 1)) | (len(match[1]) << (dtype.itemsize * 8 - 1))
    return 0 < payload < 2**mantissa


def _parse_complexes(texts: Sequence[str], to: ElementType, refuse: Refuse) -> np.ndarray:
    parts: list[list[str]] = [[], []]
    for text in texts:
        match = _COMPLEX.fullmatch(text)
        for part, found in zip(parts, match.groups() if match else (text, "0")):
            part.append(found)
    # Written through a view of (re, im) pairs: complex arithmetic would spoil NaNs and signs.
    values = np.stack([_parse_floats(part, to.component, refuse) for part in parts], axis=-1)
    return values.view(to.dtype).reshape(-1)


_CONVERT = {
    "pred": _parse_preds,
    "signed": _parse_integers,
    "unsigned": _parse_integers,
    "float": _parse_floats,
    "complex": _parse_complexes,
}
