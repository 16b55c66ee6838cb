"""Shapes and attribute values as text: one row for each kind of attribute, printed and parsed.

ints {0,1} · int 3 · bool true · name kLoop · string "s" · raw {…} left alone · slice {[0:4:2]}
padding 0_1x2_3_1 · computation %f · computations {%f, %g} · shape f32[2]{0} · shapes {f32[2]{0}}
literal s32[] 3 · groups {{0,1},{2,3}} or [2,2]<=[4] · pairs {{0,1},{1,0}}
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tfc.errors import ShapeError
from tfc.hlo.ir import Computation
from tfc.hlo.lexer import Lexer, quote
from tfc.hlo.literal import Literal
from tfc.hlo.literal_text import parse_literal, print_literal
from tfc.hlo.replica_groups import ReplicaGroups, parse_groups, parse_replica_groups
from tfc.hlo.shape import ELEMENT_TYPES, TOKEN, AnyShape, Layout, Shape, TokenShape, TupleShape

MAX_NESTING = 100
NameOf = Callable[[Computation], str]
Called = Callable[[], Computation]

_SHAPE = re.compile(r"([a-z]\w*)\s*\[([^\]]*)\](?:\{(.*)\})?", re.DOTALL)
_SIZES = re.compile(r"\s*(?:\d{1,18}\s*(?:,\s*\d{1,18}\s*)*)?")
_LAYOUT = re.compile(r"\s*((?:\d{1,9}\s*(?:,\s*\d{1,9}\s*)*)?)(?::(.*))?", re.DOTALL)
# What may follow the order of the dimensions without changing where an element lies.
_HARMLESS = re.compile(r"\s*(?:D\((?:D,?)*\)|S\(\d+\)|L\(1\)|\s)*")


def parse_shape(lexer: Lexer, nesting: int = 0) -> AnyShape:
    """The shape at the lexer's current token; a layout that is left out is row-major.

    Raises:
        ParseError: it is malformed, or means something that Shape cannot say.
    """
    if nesting > MAX_NESTING:
        lexer.error(f"tuples nest deeper than {MAX_NESTING}")
    if lexer.is_symbol("("):
        return TupleShape(parse_list(lexer, "(", ")", lambda: parse_shape(lexer, nesting + 1)))
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
    if name == "token" and not sizes.strip() and layout is None:
        return TOKEN
    if name not in ELEMENT_TYPES:
        raise ShapeError(f"unknown element type '{name}'")
    if "?" in sizes or "<=" in sizes:
        raise ShapeError("dynamic dimension sizes are not supported")
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
    if match[2] and not _HARMLESS.fullmatch(match[2]):
        raise ShapeError(f"the layout property {match[2].strip()} is not supported")
    return Layout(tuple(int(d) for d in match[1].split(",") if d.strip()))


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
    if lexer.kind != "padding":
        return ()  # a scalar has no dimension to pad
    numbers = [[_bounded(lexer, n) for n in part.split("_")] for part in lexer.text.split("x")]
    lexer.advance()
    return tuple((n[0], n[1], n[2] if len(n) == 3 else 0) for n in numbers)


def _bounded(lexer: Lexer, text: str) -> int:
    if len(text) > 18:
        lexer.error(f"{text[:40]} is too much padding")
    return int(text)


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
    "bool":         Form(lambda v, _: "true" if v else "false", _parse_bool),
    "name":         Form(lambda v, _: v, lambda lexer, _: lexer.name()),
    "string":       Form(lambda v, _: quote(v), lambda lexer, _: lexer.string()),
    "raw":          Form(lambda v, _: v, lambda lexer, _: lexer.raw()),
    "slice":        Form(_print_slice,
                         lambda lexer, _: parse_list(lexer, "{", "}",
                                                     lambda: _parse_interval(lexer))),
    "padding":      Form(_print_padding, _parse_padding),
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
