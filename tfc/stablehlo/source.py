"""Reading StableHLO: a program in any of its forms becomes an MLIR module that verifies.

The forms are text, MLIR bytecode, and the portable artifact: bytecode in the versioned dialect
VHLO, which newer readers turn into today's StableHLO. CHLO operations may occur in text.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from tfc.backends.mlir import provider
from tfc.backends.mlir.provider import PROVIDER, ir
from tfc.errors import InternalError, ParseError, TfcError, UnsupportedError
from tfc.hlo.lexer import BYTE_ORDER_MARK
from tfc.stablehlo import bytecode

BYTECODE = b"ML\xefR"
MAX_NESTING = 200
SECONDS = 300
# Strings, and brackets that are no part of an arrow.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[(\[{<]|(?<!-)[)\]}>]', re.DOTALL)
_ESCAPE = re.compile(rb"\\([0-9A-Fa-f]{2})")
Source = str | bytes | os.PathLike[str] | Any


def read_module(source: Source, name: str = "") -> Any:
    """The MLIR module of a program.

    Args:
        source: text; bytes of bytecode, of a portable artifact or of text; the path of a file; or
            what jax.export.export returns. A string without a brace is a path.
        name: what to call the source in errors.

    Raises:
        TfcError: it is of no such form, is malformed, or cannot be read; ParseError with the place
            for text.
    """
    serialized = getattr(source, "mlir_module_serialized", None)
    if isinstance(serialized, (bytes, bytearray)):
        # Made in this process by JAX, so that there is no need of another to read it.
        provider.stablehlo()
        return bytecode.deserialize(PROVIDER, bytes(serialized))
    if isinstance(source, os.PathLike) or (isinstance(source, str) and "{" not in source):
        return read_module(_read_file(Path(source)), name or str(source))
    if isinstance(source, str):
        return _parse_text(source, name or "<stablehlo>")
    if not isinstance(source, (bytes, bytearray)):
        raise TfcError(
            "StableHLO is taken as text, bytes, a path or a jax.export.Exported, "
            f"got {type(source).__name__}"
        )
    content = bytes(source)
    if content.startswith(BYTECODE):
        return _parse_text(_read_bytecode(content, name or "the bytecode"), name or "<bytecode>")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise TfcError(f"{name or 'the program'} is neither MLIR bytecode nor text") from None
    return _parse_text(text, name or "<stablehlo>")


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
    context = bytecode.new_context(PROVIDER)
    context.attach_diagnostic_handler(lambda _: True)
    return context


def _parse_text(text: str, name: str) -> Any:
    text = text.removeprefix(BYTE_ORDER_MARK)
    _check(text, name)
    try:
        return ir.Module.parse(text, new_context())
    except ir.MLIRError as error:
        raise _parse_error(error, text, name) from None


def _check(text: str, name: str) -> None:
    """Refuse what would end the process: the parser is recursive, and strings must be UTF-8."""
    depth = 0
    for token in _TOKEN.finditer(text):
        found = token[0]
        if found[0] == '"':
            if not _is_utf8(found):
                raise ParseError("this string is not UTF-8", text, token.start(), name)
        elif found in "([{<":
            depth += 1
            if depth > MAX_NESTING:
                message = f"brackets nest deeper than {MAX_NESTING}"
                raise ParseError(message, text, token.start(), name)
        elif depth:
            depth -= 1


def _is_utf8(string: str) -> bool:
    """Whether a string is UTF-8 once its escapes, two hexadecimal digits, are bytes."""
    if "\\" not in string:
        return True
    escaped = _ESCAPE.sub(lambda m: bytes([int(m[1], 16)]), string.encode("utf-8"))
    try:
        escaped.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _parse_error(error: Any, text: str, name: str) -> TfcError:
    for diagnostic in error.error_diagnostics:
        place = re.fullmatch(r'loc\("-":(\d+):(\d+)\)', str(diagnostic.location))
        if place is None or place[1] == "0":
            return TfcError(f"{name} is no valid StableHLO: {diagnostic.message}")
        before = text.split("\n")[: int(place[1]) - 1]
        offset = sum(len(line) + 1 for line in before) + int(place[2]) - 1
        return ParseError(diagnostic.message, text, min(offset, len(text)), name)
    return TfcError(f"{name} is no valid StableHLO: {error}")


def _read_bytecode(content: bytes, name: str) -> str:
    """The text of bytecode, read in another process, which malformed bytecode may end."""
    newest = provider.stablehlo().get_current_version()
    # -P: the folder of the program is no place to import from.
    command = [sys.executable, "-P", bytecode.__file__, PROVIDER]
    try:
        done = subprocess.run(
            command, input=content, capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise TfcError(f"{name} takes more than {SECONDS} seconds to read") from None
    if done.returncode == 0:
        return done.stdout.decode("utf-8")
    said = done.stderr.decode("utf-8", "replace")
    if done.returncode == 1:  # a Python exception
        raise InternalError(f"the reader of bytecode failed: {said.strip()[-300:]}")
    found = re.search(r"error: (.*)", said)
    reason = found[1] if found and done.returncode == bytecode.REFUSED else "it is malformed"
    raise UnsupportedError(f"{name} is no StableHLO that version {newest} reads: {reason}")
