"""The lexer of HLO text: tokens on demand, each with its position, and strings in C notation.

A shape with its layout is one token, and so is everything between a pair of braces where the
grammar leaves the content alone (`raw`). Lexing on demand lets constants of millions of elements
be read by their own scanner.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from tfc.errors import ParseError

_SPACE = r"(?:\s++|//[^\n]*+|/\*(?s:.*?)\*/)*+"
_NUMBER = r"-?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?"
# A brace after a shape opens a layout only if a number or a colon follows.
_LAYOUT = r"(?:\s*+\{(?=\s*+[0-9:])(?:[^{}\"]|\{[^{}\"]*\})*+\})"
_TOKEN = re.compile(
    rf"""{_SPACE}(?:
      (?P<shape>   [a-z]\w*+ \s*+ \[ (?:/\*[^\n]*?\*/|[^\]\n])*+ \] {_LAYOUT}?+ )
    | (?P<labels> [0-9bf?]{{2,}}+_[0-9io?]{{2,}}+->[0-9bf?]{{2,}}+ )
    | (?P<name>   %?[A-Za-z_][\w.\-]*+ )
    | (?P<padding> -?\d++_-?\d++(?:_\d++)?+(?:x-?\d++_-?\d++(?:_\d++)?+)*+ (?!\w) )
    | (?P<number> -inf\b | {_NUMBER} )
    | (?P<string> "(?:[^"\\]|\\(?s:.))*+" | '(?:[^'\\\n]|\\.)*+' )
    | (?P<symbol> -> | <= | [=,:\#*?+~\[\]{{}}()] )
    | (?P<end>    \Z )
    | (?P<wrong>  (?s:.) )
    )""",
    re.VERBOSE | re.ASCII,
)
_RAW = re.compile(r'"(?:[^"\\]|\\.)*+"|//[^\n]*+|/\*(?s:.*?)\*/|[{}]|\s++|[^"{}\s/]++|.')
_FLAT = re.compile(r'\{[^{}"]*+(?:"(?:[^"\\]|\\.)*+"[^{}"]*+)*+\}')
_NAMES = re.compile(r"\((%?[A-Za-z_][\w.\-]*+(?:, ?%?[A-Za-z_][\w.\-]*+)*+)\)", re.ASCII)
_ATOM = re.compile(rf"{_SPACE}([\w.+%\->]++)", re.ASCII)
_INTEGER = re.compile(r"-?\d{1,19}", re.ASCII)
_ELIDED = re.compile(rf"\{{{_SPACE}\.\.\.{_SPACE}\}}")

# Words that XLA does not take as names: element types never, the others not without their %.
TYPE_NAMES = frozenset({
    "pred", "s1", "s2", "s4", "s8", "s16", "s32", "s64", "u1", "u2", "u4", "u8", "u16", "u32",
    "u64", "f16", "bf16", "f32", "f64", "c64", "c128", "token", "opaque", "f8e5m2", "f8e4m3",
    "f8e4m3fn", "f8e4m3b11fnuz", "f8e3m4", "f8e5m2fnuz", "f8e4m3fnuz", "f8e8m0fnu", "f4e2m1fn",
    "f6e2m3fn", "f6e3m2fn",
})  # fmt: skip
KEYWORDS = frozenset({
    "true", "false", "inf", "nan", "HloModule", "ENTRY", "ROOT", "maximal", "replicated",
    "manual", "last_tile_dim_replicate", "shard_as", "shard_like", "unknown", "unreduced",
    "FileNames", "FunctionNames", "FileLocations", "StackFrames",
})  # fmt: skip
MAX_NESTING = 100
BYTE_ORDER_MARK = "\ufeff"  # which some editors put before everything else


class Lexer:
    """The text of a module and a position in it.

    `kind`, `text` and `start` describe the current token; `advance` moves on to the next one.
    Kinds: shape, labels, name (its % left out), padding, number, string, symbol, end, wrong.
    """

    def __init__(self, source: str, file: str):
        self.source, self.file = source, file
        self.kind, self.text, self.start, self.end = "", "", 0, 0
        self.nesting = 0
        self.advance()

    def advance(self) -> str:
        """Move to the next token; returns the text of the one left behind."""
        left = self.text
        self.seek(self.end)
        return left

    def seek(self, position: int) -> None:
        """Make the token that starts at or after `position` the current one."""
        match = _TOKEN.match(self.source, position)
        assert match is not None  # the last alternative takes any character
        kind = match.lastgroup
        assert kind is not None
        text, end = match[kind], match.end()
        # What is missing at the end of the text is missing right after its last token.
        self.kind, self.end = kind, end
        self.start = position if kind == "end" else end - len(text)
        self.text = text[1:] if kind == "name" and text[0] == "%" else text

    def _refuse(self) -> NoReturn:
        if self.source.startswith("/*", self.start):
            self.error("the comment that begins here does not end")
        if self.text in "\"'":
            self.error("the string that begins here does not end")
        self.error(f"unexpected character {self.text!r}")

    def error(self, message: str, at: int | None = None) -> NoReturn:
        """Raise a ParseError at a position, by default that of the current token."""
        raise ParseError(message, self.source, self.start if at is None else at, self.file)

    def expected(self, what: str) -> NoReturn:
        """Raise the ParseError that says what should stand here and what does."""
        if self.kind == "wrong":
            self._refuse()
        got = "the end of the text" if self.kind == "end" else f"'{self.text[:40]}'"
        self.error(f"expected {what}, got {got}")

    @contextmanager
    def nested(self, what: str) -> Iterator[None]:
        """Go one level deeper; hostile text must not overflow the stack.

        Raises:
            ParseError: `what` nests too deeply.
        """
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            self.error(f"{what} nest deeper than {MAX_NESTING}")
        yield
        self.nesting -= 1

    def is_symbol(self, text: str) -> bool:
        """True if the current token is that symbol."""
        return self.text == text and self.kind == "symbol"

    def is_word(self, text: str) -> bool:
        """True if the current token is that name, written without %."""
        return self.text == text and self.kind == "name" and self.source[self.start] != "%"

    def accept(self, text: str) -> bool:
        """Move past the symbol if it is the current token."""
        found = self.text == text and self.kind == "symbol"
        if found:
            self.seek(self.end)
        return found

    def accept_word(self, text: str) -> bool:
        """Move past the name if it is the current token."""
        found = self.is_word(text)
        if found:
            self.advance()
        return found

    def expect(self, text: str) -> None:
        """Move past the symbol, which must be the current token."""
        if not self.accept(text):
            self.expected(f"'{text}'")

    def name(self, what: str = "a name") -> str:
        """Take a name."""
        if self.kind != "name":
            self.expected(what)
        return self.advance()

    def integer(self, what: str = "an integer") -> int:
        """Take an integer of at most 64 bits."""
        if self.kind != "number" or any(c in ".eEf" for c in self.text):
            self.expected(what)
        if not _INTEGER.fullmatch(self.text) or not -(2**63) <= int(self.text) < 2**63:
            self.error(f"{self.text[:40]} does not fit 64 bits")
        return int(self.advance())

    def string(self) -> str:
        """Take a string, its escapes resolved."""
        if self.kind != "string":
            self.expected("a string")
        return unquote(self.advance())

    def names(self) -> list[str] | None:
        """Take names in parentheses; None, taking nothing, if something else stands there."""
        match = _NAMES.match(self.source, self.start)
        if match is None:
            return None
        self.seek(match.end())
        return match[1].replace("%", "").replace(" ", "").split(",")

    def elided(self) -> bool:
        """Move past `{...}`, which stands for a literal that was left out, if it is here."""
        match = _ELIDED.match(self.source, self.start)
        if match is not None:
            self.seek(match.end())
        return match is not None

    def flat_braces(self) -> str:
        """The braces that open here, if no others are inside, else nothing; takes nothing."""
        match = _FLAT.match(self.source, self.start)
        return match[0] if match else ""

    def raw(self) -> str:
        """Take a value whose content is left alone: braces, a string or one word, as text.

        Comments are dropped and white space is reduced, so that it prints on one line.
        """
        if self.kind == "string":
            return self.advance()
        if not self.is_symbol("{"):
            match = _ATOM.match(self.source, self.start)
            if match is None:
                self.expected("a value")
            self.seek(match.end())
            return match[1]
        position, depth, parts = self.start, 0, []
        while match := _RAW.match(self.source, position):
            part, position = match[0], match.end()
            if part.startswith(("//", "/*")):
                continue
            if part == '"':
                self.error("the string that begins here does not end", match.start())
            if part == "/" and self.source.startswith("*", position):
                self.error("the comment that begins here does not end", match.start())
            depth += (part == "{") - (part == "}")
            parts.append(" " if part.isspace() else part)
            if depth == 0:
                self.seek(position)
                return "".join(parts)
        self.error("the brace that opens here is never closed")


_UNESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
_SIMPLE = {letter.encode(): value for letter, value in zip("nrtabfv", b"\n\r\t\a\b\f\v")}
_ESCAPES = {
    **{byte: f"\\{byte:03o}" for byte in [*range(32), *range(127, 256)]},
    **{ord(k): v for k, v in {"\n": r"\n", "\r": r"\r", "\t": r"\t"}.items()},
    **{ord(c): "\\" + c for c in "\"'\\"},
}


def unquote(text: str) -> str:
    """The value of a string token in C notation."""

    def resolve(match: re.Match[bytes]) -> bytes:
        octal, hexadecimal, simple = match.groups()
        if simple is not None:
            return bytes([_SIMPLE[simple]]) if simple in _SIMPLE else simple
        return bytes([(int(octal, 8) if octal else int(hexadecimal, 16)) & 255])

    encoded = text[1:-1].encode(errors="surrogatepass")
    return _UNESCAPE.sub(resolve, encoded).decode(errors="surrogateescape")


def quote(value: str) -> str:
    """A string token in C notation, other than ASCII in octal, as XLA prints it."""
    encoded = value.encode(errors="surrogateescape")
    return '"' + "".join(_ESCAPES.get(byte, chr(byte)) for byte in encoded) + '"'
