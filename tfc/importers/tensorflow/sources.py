"""What a source of a model is: a message, bytes, or a file, as text or not."""

import os
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

from google.protobuf import text_format

from tfc.errors import KindError, ModelFileError, TfcError
from tfc.protos import message_classes, parse_message

_TEXT = frozenset(range(0x20, 0x7F)) | {0x09, 0x0A, 0x0D}


def graph_def(source: Any) -> tuple[str, Any]:
    """What to call a source in errors, and the GraphDef that it is.

    Args:
        source: a path, the bytes or the text of a file, a GraphDef message, also of TensorFlow's
            own, or a graph that has `as_graph_def`.

    Raises:
        ModelFileError: it is damaged, or no GraphDef.
        KindError: it is none of these.
        TfcError: the file cannot be read.
    """
    if hasattr(source, "as_graph_def"):
        source = source.as_graph_def()
    wanted = message_classes("tensorflow")["tfc.tensorflow.GraphDef"]
    if isinstance(source, wanted):
        return "the graph", source
    if hasattr(source, "SerializeToString"):
        source = source.SerializeToString()
    if isinstance(source, (bytes, bytearray, memoryview)):
        return "the graph", _parsed(bytes(source), "the graph")
    file = checked_path(source)
    if Path(file).is_dir():
        raise TfcError(f"{file} is a folder: a SavedModel is read by tfc.from_savedmodel")
    try:
        content = Path(source).read_bytes()
    except OSError as error:
        raise TfcError(f"cannot read {file}: {error.strerror}") from error
    return file, _parsed(content, file)


def checked_path(source: Any) -> str:
    """A path as text.

    Raises:
        KindError: it is none.
    """
    if not isinstance(source, (str, os.PathLike)):
        raise KindError(f"a path, bytes or a message is asked for, got {type(source).__name__}")
    return str(os.fspath(source))


def _parsed(content: bytes, file: str) -> Any:
    made = message_of("GraphDef", content, file)
    if not made.node:
        raise ModelFileError(
            f"{file} is no GraphDef, or one without nodes (from_savedmodel reads SavedModels)"
        )
    return made


def message_of(name: str, content: bytes, file: str) -> Any:
    """The message of TensorFlow's formats that content is, as text or not.

    Raises:
        ModelFileError: it is none.
    """
    if not is_text(content):
        return parse_message("tensorflow", name, content, file)
    made = message_classes("tensorflow")[f"tfc.tensorflow.{name}"]()
    try:
        text = content.removeprefix(BOM_UTF8).decode()
        return text_format.Parse(text, made, allow_unknown_field=True)
    except (text_format.ParseError, UnicodeDecodeError, RecursionError, ValueError) as error:
        reason = str(error).partition("\n")[0][:300]
        raise ModelFileError(f"{file} is no valid text of a {name}: {reason}") from None


def is_text(content: bytes) -> bool:
    """Whether content is text: no byte at its beginning is one that texts do not have."""
    start = content[:256].removeprefix(BOM_UTF8)
    return bool(start) and all(byte in _TEXT or byte > 0x7F for byte in start)
