"""Reading StableHLO: a program in any of its forms becomes an MLIR module that verifies.

The forms are text, MLIR bytecode, and the portable artifact: bytecode in the versioned dialect
VHLO, which newer readers turn into today's StableHLO. CHLO operations may occur in text.
"""

import os
from pathlib import Path
from typing import Any

from tfc.backends.mlir import provider
from tfc.backends.mlir.provider import ir
from tfc.errors import ParseError, TfcError, UnsupportedError

BYTECODE = b"ML\xefR"
MAX_NESTING = 200
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
        source = serialized
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
        return _parse_bytecode(content, name or "the bytecode")
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
    """An MLIR context that knows StableHLO and CHLO, and nothing that is not registered.

    Raises:
        UnsupportedError: the MLIR bindings come without StableHLO.
    """
    stablehlo = provider.stablehlo()
    context = ir.Context()
    context.enable_multithreading(False)
    # Nothing is printed beside the exceptions.
    context.attach_diagnostic_handler(lambda _: True)
    stablehlo.register_dialect(context)
    # The bindings have no way to load CHLO but through a pass that makes it.
    module = ir.Module.parse("module {}", context)
    provider.passmanager.PassManager.parse(
        "builtin.module(func.func(stablehlo-legalize-quant-to-math))", context
    ).run(module.operation)
    return context


def _parse_text(text: str, name: str) -> Any:
    _check_nesting(text, name)
    try:
        return ir.Module.parse(text, new_context())
    except ir.MLIRError as error:
        raise _parse_error(error, text, name) from None


def _check_nesting(text: str, name: str) -> None:
    """Refuse what the parser, which is recursive, would run out of stack on."""
    depth = 0
    for offset, character in enumerate(text):
        if character in "([{<":
            depth += 1
            if depth > MAX_NESTING:
                raise ParseError(f"brackets nest deeper than {MAX_NESTING}", text, offset, name)
        elif character in ")]}>" and depth and text[offset - 1] != "-":
            depth -= 1


def _parse_error(error: Any, text: str, name: str) -> TfcError:
    for diagnostic in error.error_diagnostics:
        location = diagnostic.location
        if isinstance(location, ir.FileLineColLoc) and location.start_line:
            lines = text.split("\n")[: location.start_line]
            offset = sum(len(line) + 1 for line in lines[:-1]) + max(location.start_col - 1, 0)
            return ParseError(diagnostic.message, text, min(offset, len(text)), name)
        return TfcError(f"{name} is no valid StableHLO: {diagnostic.message}")
    return TfcError(f"{name} is no valid StableHLO: {error}")


def _parse_bytecode(content: bytes, name: str) -> Any:
    context = new_context()
    messages: list[str] = []
    handler = context.attach_diagnostic_handler(lambda d: not messages.append(d.message))
    try:
        return provider.stablehlo().deserialize_portable_artifact(context, content)
    except (ValueError, ir.MLIRError) as error:
        reason = messages[0] if messages else str(error)
        newest = provider.stablehlo().get_current_version()
        raise UnsupportedError(
            f"{name} is no StableHLO that version {newest} reads: {reason}"
        ) from None
    finally:
        handler.detach()
