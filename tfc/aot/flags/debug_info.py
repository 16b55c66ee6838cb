"""Where the nodes that an error names were made, by TensorFlow's GraphDebugInfo.

error: … 'logits' …
  the node 'logits' was made at model.py:12, in build: return tf.matmul(x, w)
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from tfc.errors import TfcError
from tfc.protos import message_classes

_MESSAGE = "tfc.debug_info.GraphDebugInfo"


@contextmanager
def explained(file: str | None, begin_marker: str = "") -> Iterator[None]:
    """Have errors that name nodes say where these were made.

    Args:
        file: a GraphDebugInfo, as text if its name ends with .pbtxt; None for none.
        begin_marker: of files' names what comes before it, and it itself, are left out.

    Raises:
        TfcError: the file cannot be read or is none; or any error of the body.
    """
    found = None if file is None else _read(file)
    try:
        yield
    except TfcError as error:
        if found is not None:
            for note in _notes(error, found, begin_marker):
                error.add_note(note)
        raise


def _read(file: str) -> Any:
    made = message_classes("debug_info")[_MESSAGE]()
    try:
        content = Path(file).read_bytes()
        if Path(file).suffix == ".pbtxt":
            return text_format.Parse(content.decode(errors="replace"), made)
        made.ParseFromString(content)
        return made
    except OSError as error:
        raise TfcError(f"cannot read {file}: {error.strerror or error}") from error
    except (text_format.ParseError, DecodeError) as error:
        raise TfcError(f"{file} is no GraphDebugInfo: {error}") from error


def _notes(error: TfcError, found: Any, begin_marker: str) -> Iterator[str]:
    said = "\n".join((str(error), *getattr(error, "__notes__", ())))
    for name in dict.fromkeys(re.findall(r"'([^'\n]+)'", said)):
        places = _places(found, name)
        if places:
            yield f"the node '{name}' was made at {_text(found, places[0], begin_marker)}"


def _places(found: Any, name: str) -> list[Any]:
    """Where a node was made, the innermost call first; of the graph itself before functions."""
    for key in (name, f"{name}@"):
        if key in found.traces:
            return _of_trace(found, found.traces[key])
        if key in found.name_to_trace_id:
            return _of_trace(found, found.traces_by_id[found.name_to_trace_id[key]])
    return []


def _of_trace(found: Any, trace: Any) -> list[Any]:
    known = [
        found.frames_by_id[number] for number in trace.frame_id if number in found.frames_by_id
    ]
    return [*trace.file_line_cols, *known]


def _text(found: Any, place: Any, begin_marker: str) -> str:
    """A place in words: its file and line, and if it is known its function and the line itself."""
    is_known = 0 <= place.file_index < len(found.files)
    file = found.files[place.file_index] if is_known else "a file that is not named"
    if begin_marker and begin_marker in file:
        file = file.partition(begin_marker)[2]
    function = f", in {place.func}" if place.func else ""
    code = f": {place.code.strip()}" if place.code.strip() else ""
    return f"{file}:{place.line}{function}{code}"
