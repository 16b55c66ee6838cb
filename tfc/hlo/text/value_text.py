"""Shapes and attribute values as text: one row for each kind of attribute, printed and parsed.

ints {0,1} · int 3 · float 0.001 · bool true · name kLoop · string "s" · raw {…} left alone
slice {[0:4:2]} · padding 0_1x2_3_1 · window {size=3x3 stride=2x2} · labels b0f_0io->b0f
precisions {highest,default} · computation %f · computations {%f, %g} · shape f32[2]{0}
shapes {f32[2]{0}} · literal s32[] 3 · groups {{0,1},{2,3}} or [2,2]<=[4] · pairs {{0,1},{1,0}}
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tfc.errors import ShapeError, did_you_mean
from tfc.hlo.attributes.convolution_dimensions import parse_labels
from tfc.hlo.attributes.precision import PRECISIONS
from tfc.hlo.attributes.replica_groups import ReplicaGroups, parse_groups, parse_replica_groups
from tfc.hlo.attributes.window import parse_window, print_window
from tfc.hlo.ir import Computation
from tfc.hlo.lexer import TYPE_NAMES, Lexer, quote
from tfc.hlo.literal import Literal
from tfc.hlo.shape import ELEMENT_TYPES, TOKEN, AnyShape, Layout, Shape, TokenShape, TupleShape
from tfc.hlo.text.literal_text import parse_literal, print_literal

NameOf = Callable[[Computation], str]
Called = Callable[[], Computation]

_COMMENT = re.compile(r"/\*.*?\*/")
_SHAPE = re.compile(r"([a-z]\w*)\s*\[((?:/\*.*?\*/|[^\]])*)\]\s*(?:\{(.*)\})?", re.DOTALL)
_SIZES = re.compile(r"\s*(?:\d{1,18}\s*(?:,\s*\d{1,18}\s*)*)?", re.ASCII)
_LAYOUT = re.compile(r"\s*((?:\d{1,9}\s*(?:,\s*\d{1,9}\s*)*)?)(?::(.*))?", re.DOTALL | re.ASCII)
# In XLA's order: dense dimensions, tiles, alignment, index and pointer types, element size, memory
# space, splits, bytes of metadata. What in a drop group says no more than leaving it out.
_PROPERTIES = re.compile(
    r"""(?P<drop_d>D\((?:D,?)*\))? (?P<tiles>T(?:\((?:(?:\d+|\*)(?:,(?:\d+|\*))*)?\))+)?
    (?P<drop_l>L\(1\))? (?P<tail>L\(\d+\))? (?P<index>\#\([us]\d+\))? (?P<pointer>\*\([us]\d+\))?
    (?P<drop_e>E\(0\))? (?P<size>E\(\d+\))? (?P<drop_s>S\(0\))? (?P<space>S\(\d+\))?
    (?P<split>SC(?:\(\d+:\d+(?:,\d+)*\))+)? (?P<drop_m>M\(0\))? (?P<metadata>M\(\d+\))?""",
    re.VERBOSE | re.ASCII,
)


def parse_shape(lexer: Lexer) -> AnyShape:
    """The shape at the lexer's current token; a layout that is left out is row-major.

    Raises:
        ParseError: it is malformed, or means something that Shape cannot say.
    """
    if lexer.is_symbol("("):
        with lexer.nested("tuples"):
            return TupleShape(parse_list(lexer, "(", ")", lambda: parse_shape(lexer)))
    if lexer.kind != "shape":
        lexer.expected("a shape such as f32[2,3]")
    try:
        shape = _array_shape(lexer.text)
    except ShapeError as error:
        lexer.error(str(error))
    lexer.advance()
    return shape


@lru_cache(maxsize=4096)
def _array_shape(text: str) -> Shape | TokenShape:
    """The shape that a shape token describes; a module repeats few of them very often."""
    match = _SHAPE.fullmatch(text)
    assert match is not None
    name, sizes, layout = match.groups()
    sizes = _COMMENT.sub("", sizes)
    if name == "token" and not sizes.strip() and layout is None:
        return TOKEN
    if name not in ELEMENT_TYPES:
        if name in TYPE_NAMES:
            raise ShapeError(f"values of type {name} are not supported")
        raise ShapeError(f"unknown element type '{name}'{did_you_mean(name, ELEMENT_TYPES)}")
    if "?" in sizes or "<=" in sizes:
        raise ShapeError(
            f"the sizes [{sizes}] are dynamic, which is not supported: write a number for each "
            "dimension, such as the largest that is needed"
        )
    if not _SIZES.fullmatch(sizes):
        raise ShapeError(f"expected dimension sizes such as [2,3], got [{sizes}]")
    dims = tuple(int(size) for size in sizes.split(",") if size.strip())
    return Shape(ELEMENT_TYPES[name], dims, _layout(layout))  # type: ignore[arg-type]


def _layout(text: str | None) -> Layout | None:
    if text is None:
        return None
    match = _LAYOUT.fullmatch(text)
    if match is None:
        raise ShapeError(f"expected a layout such as {{1,0}}, got {{{text}}}")
    properties = _PROPERTIES.fullmatch("".join((match[2] or "").split()))
    if properties is None:
        raise ShapeError(f"the layout property {match[2].strip()} is not supported")
    kept = (v for k, v in properties.groupdict().items() if v and not k.startswith("drop"))
    order = tuple(int(d) for d in match[1].split(",") if d.strip())
    return Layout(order, properties="".join(kept))


def parse_list(
    lexer: Lexer, opening: str, closing: str, item: Callable[[], Any]
) -> tuple[Any, ...]:
    """Items between brackets, separated by commas."""
    lexer.expect(opening)
    items: list[Any] = []
    while not lexer.accept(closing):
        if items and not lexer.accept(","):
            lexer.expected(f"',' or '{closing}'")
        items.append(item())
    return tuple(items)


def _parse_bool(lexer: Lexer, _: Called) -> bool:
    if not (lexer.is_word("true") or lexer.is_word("false")):
        lexer.expected("true or false")
    return lexer.advance() == "true"


def print_float(value: float) -> str:
    """A float attribute, of f32's precision: as short as XLA has it, but never another value."""
    short = f"{value:g}"
    return short if np.float32(short) == np.float32(value) else f"{np.float32(value)!s}"


def _parse_float(lexer: Lexer) -> float:
    if lexer.kind != "number":
        lexer.expected("a number")
    with np.errstate(over="ignore"):
        return float(np.float32(lexer.advance()))


def _parse_interval(lexer: Lexer) -> tuple[int, int, int]:
    lexer.expect("[")
    start = lexer.integer()
    lexer.expect(":")
    limit = lexer.integer()
    stride = lexer.integer() if lexer.accept(":") else 1
    lexer.expect("]")
    return start, limit, stride


def _print_slice(value: Sequence[tuple[int, int, int]], _: NameOf) -> str:
    # XLA leaves the strides out only if all of them are one.
    plain = all(stride == 1 for _, _, stride in value)
    parts = [f"[{a}:{b}]" if plain else f"[{a}:{b}:{c}]" for a, b, c in value]
    return "{" + ", ".join(parts) + "}"


def _parse_padding(lexer: Lexer, _: Called) -> tuple[tuple[int, int, int], ...]:
    if lexer.kind in ("number", "string", "wrong"):
        lexer.expected("padding such as 0_1x2_3")
    if lexer.kind != "padding":
        return ()  # a scalar has no dimension to pad
    numbers = [[_bounded(lexer, n) for n in part.split("_")] for part in lexer.text.split("x")]
    lexer.advance()
    return tuple((n[0], n[1], n[2] if len(n) == 3 else 0) for n in numbers)


def _bounded(lexer: Lexer, text: str) -> int:
    if len(text) > 18:
        lexer.error(f"{text[:40]} is too much padding")
    return int(text)


def _parse_precisions(lexer: Lexer, _: Called) -> tuple[str, ...]:
    """How exactly a product is to be computed, for each operand."""

    def precision() -> str:
        start, word = lexer.start, lexer.name("a precision").lower()
        if word not in PRECISIONS:
            lexer.error(f"a precision must be default, high or highest, got {word}", start)
        return word

    start, words = lexer.start, parse_list(lexer, "{", "}", precision)
    if len(words) != 2:
        lexer.error(f"expected a precision for each of 2 operands, got {len(words)}", start)
    return tuple(words)


def _print_padding(value: Sequence[tuple[int, int, int]], _: NameOf) -> str:
    plain = all(interior == 0 for _, _, interior in value)
    return "x".join(f"{a}_{b}" if plain else f"{a}_{b}_{c}" for a, b, c in value)


def _parse_shaped_literal(lexer: Lexer, _: Called) -> Literal:
    shape = parse_shape(lexer)
    if not isinstance(shape, Shape):
        lexer.error("a literal must be an array here")
    return parse_literal(lexer, shape)


@dataclass(frozen=True)
class Form:
    """How one kind of attribute value is printed and parsed."""

    print: Callable[[Any, NameOf], str]
    parse: Callable[[Lexer, Called], Any]


# fmt: off
FORMS: dict[str, Form] = {
    "ints":         Form(lambda v, _: "{" + ",".join(map(str, v)) + "}",
                         lambda lexer, _: parse_list(lexer, "{", "}", lexer.integer)),
    "int":          Form(lambda v, _: str(v), lambda lexer, _: lexer.integer()),
    "float":        Form(lambda v, _: print_float(v), lambda lexer, _: _parse_float(lexer)),
    "bool":         Form(lambda v, _: "true" if v else "false", _parse_bool),
    "name":         Form(lambda v, _: v, lambda lexer, _: lexer.name()),
    "string":       Form(lambda v, _: quote(v), lambda lexer, _: lexer.string()),
    "raw":          Form(lambda v, _: v, lambda lexer, _: lexer.raw()),
    "slice":        Form(_print_slice,
                         lambda lexer, _: parse_list(lexer, "{", "}",
                                                     lambda: _parse_interval(lexer))),
    "precisions":   Form(lambda v, _: "{" + ",".join(v) + "}", _parse_precisions),
    "padding":      Form(_print_padding, _parse_padding),
    "window":       Form(lambda v, _: print_window(v), lambda lexer, _: parse_window(lexer)),
    "labels":       Form(lambda v, _: str(v), lambda lexer, _: parse_labels(lexer)),
    "computation":  Form(lambda v, name_of: "%" + name_of(v), lambda _, called: called()),
    "shape":        Form(lambda v, _: str(v), lambda lexer, _: parse_shape(lexer)),
    "shapes":       Form(lambda v, _: "{" + ", ".join(map(str, v)) + "}",
                         lambda lexer, _: parse_list(lexer, "{", "}", lambda: parse_shape(lexer))),
    "literal":      Form(lambda v, _: f"{v.shape} {print_literal(v)}", _parse_shaped_literal),
    "groups":       Form(lambda v, _: str(v), lambda lexer, _: parse_replica_groups(lexer)),
    "pairs":        Form(lambda v, _: str(ReplicaGroups(v)), lambda lexer, _: parse_groups(lexer)),
    # A computation that another attribute has already: read, and not kept.
    "known":        Form(lambda v, name_of: "", lambda _, called: called() and None),
    "computations": Form(lambda v, name_of: "{" + ", ".join("%" + name_of(c) for c in v) + "}",
                         lambda lexer, called: parse_list(lexer, "{", "}", called)),
}
# fmt: on
