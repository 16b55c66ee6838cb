"""PTX text as tokens."""

import re
from dataclasses import dataclass

from tfc.errors import ParseError

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<string>"[^"]*")
    |(?P<bits>0[fF][0-9a-fA-F]{8}(?![0-9a-fA-F])|0[dD][0-9a-fA-F]{16})
    |(?P<decimal>\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)
    |(?P<integer>(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?)
    |(?P<word>[.%]?[A-Za-z_$%][\w$]*(?:(?:\.|::)[\w$]+)*)
    |(?P<mark>[{}\[\]();,:@!|<>=+\-*])""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    """One token: its kind (a group of the expression above), text, and where it starts."""

    kind: str
    text: str
    start: int
    line: int


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text, without spaces and comments; the last one has the kind 'end'.

    Raises:
        ParseError: a character begins no token.
    """
    tokens: list[Token] = []
    position, line = 0, 1
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ParseError(f"unexpected character {text[position]!r}", text, position, "PTX")
        kind = match.lastgroup or "space"
        if kind != "space":
            tokens.append(Token(kind, match.group(), position, line))
        line += match.group().count("\n")
        position = match.end()
    tokens.append(Token("end", "", len(text), line))
    return tokens


def integer_of(text: str) -> int:
    """The value of an integer token: hexadecimal, binary, octal or decimal, with U or without."""
    digits = text.rstrip("U")
    if len(digits) > 1 and digits[0] == "0" and digits.isdigit():
        return int(digits, 8)
    return int(digits, 0)
