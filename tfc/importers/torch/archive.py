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

from tfc.errors import ModelFileError, TfcError, UnsupportedError

torch: Any = import_module("torch")

_TORCHSCRIPT = "constants.pkl"
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
    if any(Path(entry).name == _TORCHSCRIPT for entry in names):
        raise UnsupportedError(
            f"{name} is a TorchScript module: export the module that it was made of by "
            "torch.export.export(module, args), and save that by torch.export.save"
        )
    if any(Path(entry).name == "data.pkl" for entry in names):
        raise UnsupportedError(
            f"{name} holds objects that torch.save pickled, and no program: make the module, load "
            "its state_dict, and give it to tfc.from_torch with the arguments of a call"
        )
    if any("aotinductor" in entry or "custom_obj" in Path(entry).name for entry in names):
        raise _unsafe(name, "native code or objects of custom classes")
    for entry in names:
        if entry.endswith("_config.json"):
            for payload in json.loads(archive.read(entry))["config"].values():
                if payload["use_pickle"]:
                    raise _unsafe(name, "pickled weights")
        elif entry.endswith(".pt") and len(content := archive.read(entry)):
            try:
                torch.load(io.BytesIO(content), weights_only=True)
            except Exception as error:
                raise _unsafe(name, "pickled Python objects") from error


def _unsafe(name: str, what: str) -> UnsupportedError:
    return UnsupportedError(
        f"{name} has {what}, which run code when they are read: if you trust the file, give "
        "tfc.from_torch what torch.export.load returns"
    )
