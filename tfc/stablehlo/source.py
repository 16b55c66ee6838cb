"""Reading StableHLO: a program in any of its forms becomes an MLIR module that verifies.

The forms are text, MLIR bytecode, and the portable artifact: bytecode in the versioned dialect
VHLO, which newer readers turn into today's StableHLO. CHLO operations may occur in text.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tfc.backends.mlir import provider
from tfc.backends.mlir.package import PROVIDER
from tfc.backends.mlir.provider import ir
from tfc.errors import InternalError, ParseError, TfcError, UnsupportedError
from tfc.hlo.lexer import BYTE_ORDER_MARK
from tfc.hlo.shape import Shape
from tfc.stablehlo import parser, shardy
from tfc.stablehlo.parser_process import PARSER, Reply
from tfc.stablehlo.types import mlir_type

BYTECODE = b"ML\xefR"
MAX_NESTING = 200
# Strings, and brackets that are no part of an arrow.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[(\[{<]|(?<!-)[)\]}>]', re.DOTALL)
# What MLIR says of operations that it does not know.
_OTHER_DIALECT = re.compile(r"Dialect `\w+' not found for custom op '([^']*)'")
_UNKNOWN = re.compile(r"(?:custom op|unregistered operation) '(\w+\.[^']*)' (?:is unknown|found)")
Source = str | bytes | os.PathLike[str] | Any


def read_module(source: Source, name: str = "", shapes: Sequence[Shape] | None = None) -> Any:
    """The MLIR module of a program.

    Args:
        source: text; bytes of bytecode, of a portable artifact or of text; the path of a file; or
            what jax.export.export returns. A string without a brace is a path.
        name: what to call the source in errors.
        shapes: those of the entry's arguments, for a program that leaves sizes open.

    Raises:
        TfcError: it is of no such form, is malformed, or cannot be read; ParseError with the place
            for text.
    """
    provider.stablehlo()
    exported: Any = source
    serialized = getattr(exported, "mlir_module_serialized", None)
    if isinstance(serialized, (bytes, bytearray)):
        if b"\0sdy\0" in serialized:  # whose bytecode only JAX reads
            return _read_text(exported.mlir_module(), name or "<exported function>", shapes)
        return _read_bytecode(bytes(serialized), name or "the exported function", shapes)
    if isinstance(source, os.PathLike) or (isinstance(source, str) and "{" not in source):
        return read_module(_read_file(Path(source)), name or str(source), shapes)
    if isinstance(source, str):
        return _read_text(source, name or "<stablehlo>", shapes)
    if not isinstance(source, (bytes, bytearray)):
        raise TfcError(
            "StableHLO is taken as text, bytes, a path or a jax.export.Exported, "
            f"got {type(source).__name__}"
        )
    content = bytes(source)
    if content.startswith(BYTECODE):
        return _read_bytecode(content, name or "the bytecode", shapes)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        advice = ": what jax.export serialized is for tfc.from_jax" if BYTECODE in content else ""
        raise TfcError(
            f"{name or 'the program'} is neither MLIR bytecode nor text{advice}"
        ) from None
    return _read_text(text, name or "<stablehlo>", shapes)


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TfcError(f"cannot read {path}: {reason}") from error


def new_context() -> Any:
    """An MLIR context that knows StableHLO and CHLO, and prints nothing beside its exceptions.

    Raises:
        UnsupportedError: the MLIR bindings come without StableHLO.
    """
    provider.stablehlo()
    context = parser.new_context(PROVIDER)
    context.attach_diagnostic_handler(lambda _: True)
    return context


# What is read is short, but for the constants in it.
_CONTEXT = provider.ReusedContext(new_context, parser.MOST_KEPT)


def _read_text(text: str, name: str, shapes: Sequence[Shape] | None) -> Any:
    text = text.removeprefix(BYTE_ORDER_MARK)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise TfcError(f"{name} is no text: {text[error.start]!a} is half a character") from None
    _check(text, name)
    text = shardy.generic(text, name)
    reply = PARSER.parse("text", text.encode("utf-8"), _refinement(shapes))
    if reply.refused:
        raise _parse_error(reply.refused, text, name)
    return _module(reply)


def _read_bytecode(content: bytes, name: str, shapes: Sequence[Shape] | None) -> Any:
    reply = PARSER.parse("bytecode", content, _refinement(shapes))
    if reply.refused:
        newest = provider.stablehlo().get_current_version()
        reason = reply.refused[0][1]
        if "dialect 'sdy'" in reason:
            raise UnsupportedError(
                f"{name} holds shardings of the dialect sdy, whose bytecode only JAX reads: "
                "pass what jax.export.export returns, or the text of its mlir_module()"
            )
        raise UnsupportedError(f"{name} is no StableHLO that version {newest} reads: {reason}")
    return _module(reply)


def _refinement(shapes: Sequence[Shape] | None) -> str:
    """The passes that give a program's arguments these shapes, and so all values theirs."""
    if shapes is None:
        return ""
    types = ",".join(mlir_type(shape) for shape in shapes)
    return f"builtin.module(stablehlo-refine-arguments{{types={types}}},stablehlo-refine-shapes)"


def _module(reply: Reply) -> Any:
    try:
        return ir.Module.parse(reply.content, _CONTEXT.take(len(reply.content)))
    except ir.MLIRError as error:
        raise InternalError(f"what was parsed cannot be read back: {error}") from error


def _check(text: str, name: str) -> None:
    """Refuse what would end the process: the parser is recursive, and strings must be UTF-8."""
    depth = 0
    for token in _TOKEN.finditer(text):
        found = token[0]
        if found[0] == '"':
            if not parser.is_utf8(found.encode()):
                raise ParseError("this string is not UTF-8", text, token.start(), name)
        elif found in "([{<":
            depth += 1
            if depth > MAX_NESTING:
                message = f"brackets nest deeper than {MAX_NESTING}"
                raise ParseError(message, text, token.start(), name)
        elif depth:
            depth -= 1


def _advised(message: str) -> str:
    """MLIR's message; of operations that it does not know, with what to do."""
    if found := _OTHER_DIALECT.search(message):
        return f"{found[1]} is of another dialect: lower the program to StableHLO before"
    if found := _UNKNOWN.search(message):
        newest = provider.stablehlo().get_current_version()
        return f"{found[1]} is unknown to StableHLO {newest}: export the program for that version"
    return message


def _parse_error(refused: Sequence[tuple[str, str]], text: str, name: str) -> TfcError:
    location, message = refused[0][0], _advised(refused[0][1])
    place = re.fullmatch(r'loc\("-":(\d+):(\d+)\)', location)
    if place is None or place[1] == "0":
        return TfcError(f"{name} is no valid StableHLO: {message}")
    before = text.split("\n")[: int(place[1]) - 1]
    offset = sum(len(line) + 1 for line in before) + int(place[2]) - 1
    return ParseError(message, text, min(offset, len(text)), name)
