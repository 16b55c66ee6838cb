"""What a command line names: a file of HLO, StableHLO or a model, or a Python function."""

import os
import re
import sys
import traceback
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from tfc.aot.source import described_arguments, module_of
from tfc.console import Reading
from tfc.errors import TfcError
from tfc.hlo.ir import Module
from tfc.hlo.text.parser import parse
from tfc.imported import read_stablehlo
from tfc.importers.keras.load import from_keras
from tfc.importers.model import Model
from tfc.importers.onnx.load import from_onnx

ACCEPTED = (
    "a file of HLO text, StableHLO, ONNX or Keras, or a Python function as module:function or "
    "file.py:function"
)
STABLEHLO_SUFFIXES = (".mlir", ".mlirbc", ".stablehlo")
# Bytecode, or text of which the first thing that is no comment or alias is a module or a function.
_STABLEHLO = re.compile(
    rb"ML\xefR|(?:\s|//[^\n]*|#[^\n]*)*"
    rb'"?(?:builtin\.)?(?:module\s*["@{(]|module attributes|func\.func)'
)
_KERAS = (b"\x89HDF\r\n\x1a\n", b"PK\x03\x04")  # HDF5, and a zip file
_KERAS_SUFFIXES = (".keras", ".h5", ".hdf5")
_MODELS = (".onnx", *_KERAS_SUFFIXES)
# A message whose first fields are a small version of the format and one that follows it in a model.
_ONNX = re.compile(rb"\x08[\x01-\x20][\x12\x1a\x22\x28\x32\x3a\x42]")
_DOTTED = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_FUNCTION = re.compile(rf"(?:{_DOTTED}|.+\.py):{_DOTTED}")


_AS_IT_IS = Reading()


def read_module(path: str, reading: Reading = _AS_IT_IS) -> Module:
    """The module in a file of HLO text, StableHLO or a model, or in the standard input ("-").

    StableHLO, ONNX and Keras are told by the file's name or by its content.

    Raises:
        TfcError: the file is no text; ParseError if it is no HLO.
        OSError: the file cannot be read.
    """
    if Path(path).suffix in _MODELS:
        return _model(path, reading).hlo
    name, content = _content(path)
    if _is_model(content):
        return _model(content if path == "-" else path, reading, content).hlo
    if Path(path).suffix in STABLEHLO_SUFFIXES or _STABLEHLO.match(content):
        return read_stablehlo(content, name)
    try:
        return parse(content.decode("utf-8"), name, reading.fill_constants)
    except UnicodeDecodeError as error:
        if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
            raise TfcError(f"{name} is not text in UTF-8 but in UTF-16: convert it") from error
        raise TfcError(f"{name} is not text: {error}") from error


def read_model(path: str, reading: Reading = _AS_IT_IS) -> Model:
    """The model in a file of another framework, or in the standard input ("-").

    Raises:
        TfcError: it is of no known kind, or damaged.
        OSError: the file cannot be read.
    """
    if Path(path).suffix in _MODELS:
        return _model(path, reading)
    name, content = _content(path)
    if not _is_model(content):
        raise TfcError(
            f"{name} is no model of a framework that is known: give an ONNX or Keras file"
        )
    return _model(content if path == "-" else path, reading, content)


def _content(path: str) -> tuple[str, bytes]:
    """What to call a file in errors, and its bytes."""
    if path != "-":
        return path, Path(path).read_bytes().removeprefix(BOM_UTF8)
    if sys.stdin is None:
        raise TfcError("the standard input, which is to be read, is closed")
    return "<stdin>", sys.stdin.buffer.read().removeprefix(BOM_UTF8)


def _is_model(content: bytes) -> bool:
    return content.startswith(_KERAS) or _ONNX.match(content) is not None


def _model(source: str | bytes, reading: Reading, content: bytes = b"") -> Model:
    """The model in a file or in bytes, which its name tells the kind of, or its content."""
    named = isinstance(source, str) and Path(source).suffix in _KERAS_SUFFIXES
    if named or content.startswith(_KERAS):
        return from_keras(source, reading.shapes, reading.fixed)
    return from_onnx(source, reading.shapes, reading.fixed)


def load(graph: str, args: Sequence[Any] = (), reading: Reading = _AS_IT_IS) -> Module:
    """The module that a text names, its arrays row-major.

    Args:
        graph: a file of HLO text, StableHLO, ONNX or Keras, "-" for the standard input, or a
            function as module:function or file.py:function; Python modules are also looked for in
            the current folder.
        args: the function's arguments, as `module_of` takes them. If there are none, and the
            defaults of its parameters are descriptions of arrays, it is those.
        reading: how to read a file, as far as it is open.

    Raises:
        TfcError: it is of no accepted kind, cannot be read or traced, or does not fit.
    """
    if Path(graph).suffix in (".pb", ".pbtxt"):
        raise TfcError(f"{graph} looks like a GraphDef, which cannot be read; pass {ACCEPTED}")
    if _FUNCTION.fullmatch(graph) and not os.path.exists(graph):
        return _run(graph, lambda: _traced(_function(graph), args))
    try:
        return module_of(read_module(graph, reading), args)
    except OSError as error:
        raise TfcError(f"cannot read {graph}: {error.strerror}; pass {ACCEPTED}") from error


def _traced(function: Callable[..., Any], args: Sequence[Any]) -> Module:
    return module_of(function, args or described_arguments(function))


def _function(graph: str) -> Callable[..., Any]:
    """The function named as module:function or file.py:function."""
    name, _, path = graph.rpartition(":")
    if name.endswith(".py"):
        found = _module_in(Path(name))
    else:
        # As with `python -m`, the current folder counts.
        if "" not in sys.path:
            sys.path.insert(0, "")
        found: Any = import_module(name)
    for attribute in path.split("."):
        if not hasattr(found, attribute):
            raise TfcError(f"the Python module {name} has no '{path}'")
        found = getattr(found, attribute)
    return found


def _module_in(path: Path) -> Any:
    """The Python module in a file, which finds others beside it, as a script does."""
    folder = str(path.parent.absolute())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None  # its name ends with .py
    assert spec.loader is not None
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def _run(graph: str, action: Callable[[], Module]) -> Module:
    """Run the user's Python, whose every exception becomes one sentence."""
    try:
        return action()
    except TfcError:
        raise
    except (Exception, SystemExit) as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        inside = not where.filename.startswith("<frozen ")
        place = f" at {where.filename}:{where.lineno}" if inside else ""
        raise TfcError(f"{graph} raised {type(error).__name__}: {error}{place}") from error
