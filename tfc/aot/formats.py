"""The kinds of files that tfc reads programs from: a row of FORMATS each.

    Format("ONNX", (".onnx",), _onnx, begins=_ONNX, takes=("shapes", "fixed")),

A row costs a function that reads, which loads what it needs when it is called, and says how its
files are told: by the ending of their name, else by how they begin, or for folders by a file that
lies in them. All commands take what has a row here. Rows are asked in order; HLO text is
what is left, so it has the last one.

What a reader gets is the path as it was given, or the bytes of the standard input or a pipe, and
what to call it in errors; a reader of bytes asks `content_of`. What it gives is an HLO module, or
what has the attributes of `ImportedModel`, of which commands take the module.
"""

import errno
import os
import re
import sys
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tfc.console import Reading
from tfc.errors import TfcError
from tfc.frontend.precision import with_default_precision
from tfc.hlo.ir import Module
from tfc.hlo.text.parser import parse
from tfc.imported import read_stablehlo
from tfc.importers.interface import ImportedModel

SNIFFED = 1 << 16  # bytes of a file that its kind is told by
AS_IT_IS = Reading()
Source = str | bytes
Program = Module | ImportedModel
# What a command's options are called of which rows say whether they take them.
_OPTIONS = {
    "shapes": "--shape", "fixed": "--fix", "fill_constants": "--fill-constants",
    "outputs": "--outputs", "inputs": "--inputs", "signature": "--signature", "tags": "--tag",
}  # fmt: skip


@dataclass(frozen=True)
class Format:
    """A kind of file.

    name: as messages call it.
    suffixes: endings of names, in small letters, that decide.
    read: makes a program of (path or bytes, name for errors, options).
    begins: matches the first SNIFFED bytes of files of this kind; None if they do not tell.
    holds: the file that a folder of this kind has in it; "" if no folder is of this kind.
    takes: which fields of Reading it heeds; others are refused.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[Source, str, Reading], Program]
    begins: "re.Pattern[bytes] | None" = None
    holds: str = ""
    takes: tuple[str, ...] = ()


def content_of(source: Source) -> bytes:
    """The bytes of a file, without the mark that some editors put before text."""
    content = source if isinstance(source, bytes) else Path(source).read_bytes()
    return content.removeprefix(BOM_UTF8)


def _onnx(source: Source, _: str, reading: Reading) -> Program:
    loader: Any = import_module("tfc.importers.onnx.load")
    return loader.from_onnx(source, reading.shapes, reading.fixed)


def _graphdef(source: Source, name: str, reading: Reading) -> Program:
    loader: Any = import_module("tfc.importers.tensorflow.load")
    if loader.holds_saved_model(source):
        return _savedmodel(source, name, reading)
    _refuse(name, "a GraphDef", reading, ("signature", "tags"))
    return loader.from_graphdef(
        source,
        reading.outputs or None,
        reading.inputs or None,
        shapes=reading.shapes,
        fixed=reading.fixed,
    )


def _savedmodel(source: Source, _: str, reading: Reading) -> Program:
    loader: Any = import_module("tfc.importers.tensorflow.load")
    return loader.from_savedmodel(
        source,
        reading.signature,
        reading.tags or None,
        reading.shapes,
        reading.fixed,
        inputs=reading.inputs or None,
        outputs=reading.outputs or None,
    )


def _jax(source: Source, name: str, reading: Reading) -> Program:
    loader: Any = import_module("tfc.importers.jax.load")
    return loader.from_jax(source, shapes=reading.shapes)


def _torch(source: Source, _: str, reading: Reading) -> Program:
    loader: Any = import_module("tfc.importers.torch.load")
    return loader.from_torch(source, shapes=reading.shapes)


def _keras(source: Source, _: str, reading: Reading) -> Program:
    loader: Any = import_module("tfc.importers.keras.load")
    return loader.from_keras(source, reading.shapes, reading.fixed)


def _stablehlo(source: Source, name: str, _: Reading) -> Program:
    return read_stablehlo(content_of(source), name)


def _hlo(source: Source, name: str, reading: Reading) -> Program:
    content = content_of(source)
    try:
        module = parse(content.decode("utf-8"), name, reading.fill_constants)
        return with_default_precision(module)
    except UnicodeDecodeError as error:
        if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
            raise TfcError(f"{name} is not text in UTF-8 but in UTF-16: convert it") from error
        raise TfcError(f"{name} is not text: {error}") from error


# A message whose first fields are a small version of the format and one that follows it in a model.
_ONNX = re.compile(rb"\x08[\x01-\x20][\x12\x1a\x22\x28\x32\x3a\x42]")
# A zip file with the weights of an exported program, as torch.export.save writes it, or wrote it.
_ARCHIVE = re.compile(rb"PK\x03\x04.{26}(?:[^/]*/data/weights/|(?:version|serialized_))", re.DOTALL)
# HDF5, and a zip file that is none of those above.
_KERAS = re.compile(rb"\x89HDF\r\n\x1a\n|PK\x03\x04")
# Bytecode, or text of which the first thing that is no comment or alias is a module or a function.
_STABLEHLO = re.compile(
    rb"ML\xefR|(?:\s|//[^\n]*|#[^\n]*)*"
    rb'"?(?:builtin\.)?(?:module\s*["@{(]|module attributes|func\.func)'
)

# A node with a name and an operator comes first, or in text a field of such a message.
_GRAPHDEF = re.compile(
    rb"\n(?:[\0-\x7f]|[\x80-\xff]{1,3}[\0-\x7f])\n(?:[\x01-\x7f]|[\x80-\xff][\x01-\x7f])"
    rb"[!-~]+\x12[\x01-\x7f][A-Z_]|(?:\s|#[^\n]*)*node\s*:?\s*\{\s*(?:name|op)\s*:"
)
_TENSORFLOW = ("shapes", "fixed", "inputs", "outputs", "signature", "tags")
# A table of offsets, with the program's bytecode behind it.
_JAX = re.compile(rb"(?!ML\xefR)[^\0].{3,60000}?ML\xefR", re.DOTALL)

FORMATS: tuple[Format, ...] = (
    Format("GraphDef", (".pb", ".pbtxt"), _graphdef, begins=_GRAPHDEF, takes=_TENSORFLOW),
    Format(
        "SavedModel",
        (),
        _savedmodel,
        holds="saved_model.pb",
        takes=_TENSORFLOW,
    ),
    Format("ONNX", (".onnx",), _onnx, begins=_ONNX, takes=("shapes", "fixed")),
    Format("PyTorch", (".pt2", ".pt", ".pth"), _torch, begins=_ARCHIVE, takes=("shapes",)),
    Format("Keras", (".keras", ".h5", ".hdf5"), _keras, begins=_KERAS, takes=("shapes", "fixed")),
    Format("StableHLO", (".mlir", ".mlirbc", ".stablehlo"), _stablehlo, begins=_STABLEHLO),
    Format("jax.export", (".jax",), _jax, begins=_JAX, takes=("shapes",)),
    Format("HLO text", (".hlo",), _hlo, begins=re.compile(b""), takes=("fill_constants",)),
)


def accepted() -> str:
    """The kinds of files, as a list for messages."""
    *first, last = (row.name for row in FORMATS)
    return f"{', '.join(first)} or {last}"


def read_program(path: str, reading: Reading = AS_IT_IS) -> Program:
    """The program in a file or folder of any kind, or in the standard input ("-").

    Raises:
        TfcError: it is of no known kind or damaged, or an option is given that its kind lacks.
        OSError: the file cannot be read.
    """
    name, source = path, _source(path)
    if path == "-":
        name = "<stdin>"
    row = _format_of(path, source)
    _refuse(name, row.name, reading, [field for field in _OPTIONS if field not in row.takes])
    return row.read(source, name, reading)


def _refuse(name: str, kind: str, reading: Reading, fields: Sequence[str]) -> None:
    """Check that options are not given which a kind of file does not take.

    Raises:
        TfcError: one is.
    """
    for field in fields:
        if getattr(reading, field):
            raise TfcError(f"{name} is {kind}, which takes no {_OPTIONS[field]}")


def read_module(path: str, reading: Reading = AS_IT_IS) -> Module:
    """The module of the program that `read_program` reads, a model's weights as constants.

    Raises:
        TfcError: as there; or the sizes of a model's inputs are open.
        OSError: the file cannot be read.
    """
    program = read_program(path, reading)
    return program if isinstance(program, Module) else program.hlo


def _source(path: str) -> Source:
    """The path of a file or a folder; of what can be read only once, the bytes."""
    if path == "-":
        if sys.stdin is None:
            raise TfcError("the standard input, which is to be read, is closed")
        return sys.stdin.buffer.read()
    is_stream = Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir()
    return Path(path).read_bytes() if is_stream else path


def _format_of(path: str, source: Source) -> Format:
    """The row of a file, a folder or bytes.

    Raises:
        OSError: it is a folder of no known kind, or cannot be read.
    """
    if Path(path).is_dir():
        for row in FORMATS:
            if row.holds and (Path(path) / row.holds).exists():
                return row
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    for row in FORMATS:
        if Path(path).suffix.lower() in row.suffixes:
            return row
    if isinstance(source, bytes):
        head = source[:SNIFFED]
    else:
        with Path(source).open("rb") as file:
            head = file.read(SNIFFED)
    head = head.removeprefix(BOM_UTF8)
    return next(row for row in FORMATS if row.begins and row.begins.match(head))
