"""Files of exported programs, read by torch after a look at what it would unpickle.

torch.export.load falls back to unpickling anything, and loads native code that a file brings: both
run what somebody else wrote. Only archives are given to it in which there is none of this.
"""

import io
import json
from importlib import import_module
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from tfc.errors import ModelFileError, TfcError
from tfc.importers.torch.pt2.archive import check_kind, unsafe

torch: Any = import_module("torch")

_MEANT = "which torch.export.save writes"


def load(source: str | bytes, name: str) -> Any:
    """The exported program in a file, or in its bytes.

    Raises:
        TfcError: there is no such file.
        ModelFileError: it is no exported program.
        UnsupportedError: it has Python's objects or native code, or another kind of program.
    """
    content = source if isinstance(source, bytes) else _content(Path(source))
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            _check(archive, name)
        return torch.export.load(io.BytesIO(content))
    except TfcError:
        raise
    except Exception as error:  # whatever it is that is damaged
        kind = "no archive" if isinstance(error, BadZipFile) else "damaged"
        raise ModelFileError(f"{name} is no exported program, {_MEANT}: it is {kind}") from error


def _content(path: Path) -> bytes:
    if not path.is_file():
        raise TfcError(f"there is no file {path}")
    return path.read_bytes()


def _check(archive: ZipFile, name: str) -> None:
    """Check that nothing in an archive runs code when it is read."""
    names = archive.namelist()
    check_kind(names, name)
    for entry in names:
        if entry.endswith("_config.json"):
            for payload in json.loads(archive.read(entry))["config"].values():
                if payload["use_pickle"]:
                    raise unsafe(name, "pickled weights")
        elif entry.endswith(".pt") and len(content := archive.read(entry)):
            try:
                torch.load(io.BytesIO(content), weights_only=True)
            except Exception as error:
                raise unsafe(name, "pickled Python objects") from error
