"""A cursor over tokens, and the grammar of operands."""

import struct
from collections.abc import Mapping

from tfc.errors import ParseError
from tfc.testing.ptx.text.syntax import (
    Address,
    Float,
    Integer,
    Operand,
    Pair,
    Register,
    Sink,
    Symbol,
    Vector,
)
from tfc.testing.ptx.text.tokens import Token, integer_of


class Cursor:
    """A place in a sequence of tokens."""

    def __init__(self, text: str, tokens: list[Token]):
        self._text, self._tokens, self._position = text, tokens, 0

    @property
    def at_end(self) -> bool:
        """Whether all tokens are taken."""
        return self.peek().kind == "end"

    def peek(self, ahead: int = 0) -> Token:
        """A token that is not taken yet."""
        return self._tokens[min(self._position + ahead, len(self._tokens) - 1)]

    def previous(self) -> Token:
        """The token that was taken last."""
        return self._tokens[self._position - 1]

    def next(self, kind: str | None = None) -> Token:
        """Take a token, which must be of a kind if one is given."""
        token = self.peek()
        if token.kind == "end" or (kind and token.kind != kind):
            raise self.error(f"expected a {kind or 'token'}")
        self._position += 1
        return token

    def accept(self, text: str) -> bool:
        """Take the token if it is this one."""
        found = self.peek().text == text
        self._position += found
        return found

    def expect(self, text: str) -> None:
        """Take this token.

        Raises:
            ParseError: another one stands here.
        """
        if not self.accept(text):
            raise self.error(f"expected '{text}'")

    def error(self, message: str) -> ParseError:
        """The error that the token in front of the cursor is not what is expected."""
        token = self.peek()
        found = f"'{token.text}'" if token.text else "the end"
        return ParseError(f"{message}, got {found}", self._text, token.start, "PTX")


def operand(cursor: Cursor, renamed: Mapping[str, str] | None = None) -> Operand:
    """Take an operand; `renamed` has the own names of what a scope declares."""
    names = renamed or {}
    if cursor.accept("["):
        return _address(cursor, names)
    if cursor.peek().text in ("{", "("):
        closing = "}" if cursor.next().text == "{" else ")"
        elements = []
        while not cursor.accept(closing):
            elements.append(operand(cursor, names))
            cursor.accept(",")
        return Vector(tuple(elements))
    first = _plain(cursor, names)
    if cursor.accept("|"):
        return Pair(first, _plain(cursor, names))
    return first


def _plain(cursor: Cursor, names: Mapping[str, str]) -> Operand:
    if cursor.accept("!"):
        return Register(_name(cursor, names), True)
    sign = -1 if cursor.accept("-") else 1
    token = cursor.peek()
    match token.kind:
        case "bits":
            return Float(int(cursor.next().text[2:], 16), 4 * (len(token.text) - 2))
        case "decimal":
            packed = struct.pack("<d", sign * float(cursor.next().text))
            return Float(int.from_bytes(packed, "little"), 64)
        case "integer":
            return Integer(sign * integer_of(cursor.next().text))
        case "word" if token.text == "_":
            cursor.next()
            return Sink()
        case "word" if token.text == "WARP_SZ":
            cursor.next()
            return Integer(32)
        case "word":
            name = _name(cursor, names)
            if name.startswith("%"):
                return Register(name)
            if cursor.accept("+"):
                return Symbol(name, integer_of(cursor.next("integer").text))
            return Symbol(name)
    raise cursor.error("expected an operand")


def _name(cursor: Cursor, names: Mapping[str, str]) -> str:
    name = cursor.next("word").text
    return names.get(name, name)


def _address(cursor: Cursor, names: Mapping[str, str]) -> Address:
    base: Register | Symbol | None = None
    offset = 0
    if cursor.peek().kind == "word":
        name = _name(cursor, names)
        base = Register(name) if name.startswith("%") else Symbol(name)
    else:
        offset = integer_of(cursor.next("integer").text)
    while cursor.peek().text in ("+", "-"):
        sign = -1 if cursor.next().text == "-" else 1
        sign *= -1 if cursor.accept("-") else 1
        offset += sign * integer_of(cursor.next("integer").text)
    coordinates: tuple[Operand, ...] = ()
    if cursor.accept(","):
        inner = operand(cursor, names)
        coordinates = inner.elements if isinstance(inner, Vector) else (inner,)
    cursor.expect("]")
    return Address(base, offset, coordinates)
