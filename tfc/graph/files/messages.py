"""The messages of TensorFlow's formats, and how they are read from bytes and text."""

from pathlib import Path
from typing import Any

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from tfc.files import write_files
from tfc.graph import errors
from tfc.protos import message_classes


def message(name: str, /, **fields: Any) -> Any:
    """A message of TensorFlow's formats, `GraphDef` for example."""
    return message_class(name)(**fields)


def message_class(name: str) -> Any:
    """The class of a message."""
    return message_classes("tensorflow")[f"tfc.tensorflow.{name}"]


def parsed(name: str, content: bytes, source: str) -> Any:
    """The message that bytes hold.

    Raises:
        DataLossError: they hold none.
    """
    try:
        return message_class(name).FromString(content)
    except DecodeError:
        raise errors.DataLossError(None, None, f"{source} holds no valid {name}") from None


def parsed_text(name: str, content: str, source: str) -> Any:
    """The message that a text holds; fields that are not known are left out.

    Raises:
        InvalidArgumentError: it holds none.
    """
    made = message_class(name)()
    try:
        return text_format.Parse(content, made, allow_unknown_field=True)
    except text_format.ParseError as error:
        raise errors.InvalidArgumentError(
            None, None, f"{source} holds no valid {name}: {error}"
        ) from None


def read(name: str, path: Any) -> Any:
    """The message in a file: text if it ends with .pbtxt or .config, else bytes.

    Raises:
        NotFoundError: there is no such file. DataLossError, InvalidArgumentError: it is damaged.
    """
    content = content_of(path)
    if Path(path).suffix in (".pbtxt", ".txt"):
        return parsed_text(name, content.decode(errors="replace"), str(path))
    return parsed(name, content, str(path))


def content_of(path: Any) -> bytes:
    """The bytes of a file.

    Raises:
        NotFoundError: it cannot be read.
    """
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise errors.NotFoundError(None, None, f"{path}: {error.strerror or error}") from None


def write(made: Any, path: Any, as_text: bool) -> None:
    """Write a message into a file, which is whole or not there."""
    content = as_string(made).encode() if as_text else made.SerializeToString(deterministic=True)
    write_files((Path(path), content))


def as_string(made: Any) -> str:
    """A message as text."""
    return text_format.MessageToString(made)
